#include "sluice/operators/math/distance/manhattan_distance_functor.cuh"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

constexpr int kBlockColumns = 32;
constexpr int kBlockRows = 8;

// Each thread computes one result.
template <typename T>
__global__ void DistanceKernel(Distances<T> args) {
  for (int64_t i = int64_t{blockIdx.y} * blockDim.y + threadIdx.y; i < args.n;
       i += int64_t{gridDim.y} * blockDim.y) {
    for (int64_t j = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; j < args.m;
         j += int64_t{gridDim.x} * blockDim.x) {
      double sum = 0;
      for (int64_t k = 0; k < args.p; ++k) {
        sum += fabs(args.x[i * args.p + k] - args.y[j * args.p + k]);
      }
      args.z[i * args.m + j] = static_cast<T>(sum);
    }
  }
}

template <typename T>
class DistanceCUDAKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const Tensor& y = context.Input("Y");
    Tensor& out = context.AllocateOutput("Out", {x.dims()[0], y.dims()[0]});
    const Distances<T> args = {x.data<T>(), y.data<T>(), out.data<T>(),
                               x.dims()[0], y.dims()[0], x.dims()[1]};
    if (args.n == 0 || args.m == 0) return;
    Launch<DistanceKernel<T>>(
        {context.device_context<CUDADeviceContext>(),
         DistanceGrid(args.n, args.m, kBlockRows, kBlockColumns),
         dim3(kBlockColumns, kBlockRows)},
        args);
  }
};

template <typename T>
class TiledDistanceCUDAKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const Tensor& y = context.Input("Y");
    Tensor& out = context.AllocateOutput("Out", {x.dims()[0], y.dims()[0]});
    ManhattanDistance<CUDADeviceContext, T>()(
        context.device_context<CUDADeviceContext>(), x, y, &out);
  }
};

template <typename T>
class DistanceGradCUDAKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const Tensor& y = context.Input("Y");
    ManhattanDistanceGrad<CUDADeviceContext, T>()(
        context.device_context<CUDADeviceContext>(), x, y,
        context.Input("Out@GRAD"), Wanted(context, "X@GRAD", x),
        Wanted(context, "Y@GRAD", y));
  }

 private:
  static Tensor* Wanted(OpKernelContext& context,
                        std::string_view name,
                        const Tensor& like) {
    if (!context.HasOutput(name)) return nullptr;
    return &context.AllocateOutput(name, like.dims());
  }
};

// The plain kernel reads X and Y once for each result. The tiled one reads them
// from device memory once for each tile.
KernelWork Work(const KernelQuery& query, double reads) {
  const auto& x = query.inputs[0];
  const auto& y = query.inputs[1];
  KernelWork work = DefaultKernelWork(query);
  const double terms = static_cast<double>(x.numel()) *
                       static_cast<double>(y.numel() > 0 ? y[0] : 0);
  work.flops = 3 * terms;
  work.bytes +=
      reads * terms * static_cast<double>(SizeOf(query.input_dtypes[0]));
  return work;
}
KernelWork PlainWork(const KernelQuery& query) {
  return Work(query, 2);
}
KernelWork TiledWork(const KernelQuery& query) {
  return Work(query, 2.0 / kDistanceTile);
}

}  // namespace

REGISTER_OP_CUDA_KERNEL(manhattan_distance,
                        EstimatedBy<&PlainWork>,
                        DistanceCUDAKernel<FloatTypes>);
REGISTER_OP_KERNEL(manhattan_distance,
                   PLAIN,
                   CUDAPlace,
                   tiled,
                   KernelTraits().Estimate(&TiledWork),
                   TiledDistanceCUDAKernel<FloatTypes>);
REGISTER_OP_CUDA_KERNEL(manhattan_distance_grad,
                        DistanceGradCUDAKernel<FloatTypes>);

}  // namespace sluice
