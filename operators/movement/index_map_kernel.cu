#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/movement/index_map.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice {
namespace {

template <typename T>
T FillValue(const OpKernelConstruction& construction) {
  if (construction.op() != "pad") return T{};
  if (construction.Attr<std::string>("mode") != "constant") return T{};
  const auto value = construction.Attr<double>("value");
  if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else {
    return Narrow<T>(static_cast<Computed<T>>(value));
  }
}

template <typename T>
class IndexMapCUDAKernel final : public OpKernel {
 public:
  explicit IndexMapCUDAKernel(const OpKernelConstruction& construction)
      : fill_(FillValue<T>(construction)) {}

  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    out_dims_ = query.outputs[0];
    none_ = query.inputs[0].numel() == 0;
    if (out_dims_.numel() == 0 || none_) return;
    maps_ = IndexMapsOf(query, query.inputs[0], out_dims_);
  }

  void Compute(OpKernelContext& context) const override {
    const auto& device = context.device_context<CUDADeviceContext>();
    T* out = context.AllocateOutput(0, out_dims_).template data<T>();
    const T fill = fill_;
    if (none_) {
      ForEach(device, out_dims_.numel(),
              [=] __device__(int64_t i) { out[i] = fill; });
      return;
    }
    const T* x = context.Input(0).template data<T>();
    const AxisMaps maps = maps_;
    ForEach(device, out_dims_.numel(), [=] __device__(int64_t i) {
      const int64_t from = maps.At(i);
      out[i] = from < 0 ? fill : x[from];
    });
  }

 private:
  T fill_;
  bool none_ = false;
  DDim out_dims_;
  AxisMaps maps_;
};

// X only provides the shape. Sums are in double.
template <typename T>
class IndexMapGradCUDAKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    x_dims_ = query.inputs[0];
    empty_ = query.inputs[1].numel() == 0;
    if (x_dims_.numel() == 0 || empty_) return;
    maps_ = IndexMapsOf(query, x_dims_, query.inputs[1]);
  }

  void Compute(OpKernelContext& context) const override {
    const auto& device = context.device_context<CUDADeviceContext>();
    Tensor& output = context.AllocateOutput(0, x_dims_);
    T* x_grad = output.data<T>();
    if (empty_) return FillZero(device, x_grad, output.bytes());
    const T* grad = context.Input(1).template data<T>();
    const AxisMaps maps = maps_;
    ForEach(device, x_dims_.numel(), [=] __device__(int64_t i) {
      double sum = 0;
      maps.ForEachOf(i,
                     [&](int64_t j) { sum += static_cast<double>(grad[j]); });
      x_grad[i] = static_cast<T>(sum);
    });
  }

 private:
  DDim x_dims_;
  bool empty_ = false;
  AxisMaps maps_;
};

void AddIndexMapKernels(Registry& registry) {
  const CUDAPlace cuda;
  for (const std::string name :
       {"slice", "pad", "expand", "expand_as", "tile", "roll"}) {
    AddPlainKernels<IndexMapCUDAKernel<NumberAndBoolTypes>>(registry, name,
                                                            cuda);
    AddPlainKernels<IndexMapGradCUDAKernel<FloatTypes>>(registry,
                                                        name + "_grad", cuda);
  }
}

}  // namespace

REGISTER_TABLE(cuda_index_map_kernels, AddIndexMapKernels);

}  // namespace sluice
