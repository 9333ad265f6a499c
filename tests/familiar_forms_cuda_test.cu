// The forms of the documents that Sluice is based on, on CUDA: their functors
// and kernels compile, link and compute in a user's .cu file.
#include <optional>
#include <string>
#include <vector>

#include "tests/familiar_crop.h"
#include "tests/testing/cuda_device.h"
#include <eigen_gpu.cuh>
#include <gtest/gtest.h>

#include "sluice/framework/op/infer_shape_context.h"
#include "sluice/framework/op/op_registry.h"
#include "sluice/framework/run/run_op.h"
#include "sluice/operators/math/distance/manhattan_distance_functor.cuh"
#include "sluice/operators/math/eigen_views.h"
#include "sluice/operators/math/pool/maxouting.cuh"
#include "sluice/operators/movement/crop_kernel.cuh"
#include "sluice/platform/device_context_pool.h"

namespace sluice {

namespace ops = operators;

namespace {

using framework::DDim;
using framework::InferShapeContext;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::OpSchema;
using framework::RunOp;
using framework::Tensor;
using framework::TTypes;
using platform::CUDADeviceContext;
using platform::CUDAPlace;
using platform::DType;
using Ints = std::vector<int64_t>;

class FamiliarCUDAForms : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string why = testing::WhyNoCUDA();
    if (!why.empty()) GTEST_SKIP() << why;
    lease_.emplace(
        platform::DeviceContextPool::Instance().Acquire(CUDAPlace{0}));
  }

  const CUDADeviceContext& context() {
    return static_cast<const CUDADeviceContext&>(**lease_);
  }
  static Tensor OnDevice(const DDim& dims, const std::vector<float>& values) {
    return Tensor::FromVector<float>(dims, values).CopyTo(CUDAPlace{0});
  }
  static Tensor Empty(const DDim& dims) {
    Tensor tensor;
    tensor.mutable_data<float>(dims, CUDAPlace{0});
    return tensor;
  }
  std::vector<float> Values(const Tensor& tensor) {
    (*lease_)->Wait();
    return tensor.ToVector<float>();
  }

 private:
  std::optional<platform::DeviceContextPool::Lease> lease_;
};

TEST_F(FamiliarCUDAForms, MaxOutFunctorIsCalledWithItsContext) {
  const Tensor input = OnDevice({1, 4, 1, 1}, {3, 7, 5, 2});
  Tensor output = Empty({1, 2, 1, 1});
  ops::math::MaxOutFunctor<CUDADeviceContext, float>()(context(), input,
                                                       &output, 2);
  EXPECT_EQ(Values(output), std::vector<float>({7, 5}));
  Tensor grad = Empty({1, 4, 1, 1});
  ops::math::MaxOutGradFunctor<CUDADeviceContext, float>()(context(), input,
                                                           output, &grad, 2);
  EXPECT_EQ(Values(grad), std::vector<float>({0, 7, 5, 0}));
}

TEST_F(FamiliarCUDAForms, ManhattanDistanceFunctorIsCalledWithItsContext) {
  const Tensor x = OnDevice({3, 2}, {0, 0, 1, 2, -3, 4});
  const Tensor y = OnDevice({1, 2}, {1, 1});
  Tensor z = Empty({3, 1});
  ops::math::ManhattanDistance<CUDADeviceContext, float>()(context(), x, y, &z);
  EXPECT_EQ(Values(z), std::vector<float>({2, 1, 7}));
  Tensor y_grad = Empty({1, 2});
  const Tensor ones = OnDevice({3, 1}, {1, 1, 1});
  ops::math::ManhattanDistanceGrad<CUDADeviceContext, float>()(
      context(), x, y, ones, nullptr, &y_grad);
  EXPECT_EQ(Values(y_grad), std::vector<float>({2, -1}));
}

// TensorFlow: an op as a functor on an Eigen device, over Eigen's views.

using GPUDevice = Eigen::GpuDevice;

namespace functor {

template <typename T>
__global__ void manhattan_distance(
    const T* x, const T* y, T* z, const int n, const int m, const int p) {
  const int i = blockIdx.y * blockDim.y + threadIdx.y;
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  const int index = i * m + j;

  if ((i >= n) || (j >= m)) return;

  T dist = 0.0;
  T diff;
  for (int k = 0; k < p; k++) {
    diff = x[i * p + k] - y[j * p + k];  // x[i, k] - y[j, k]
    dist += Eigen::numext::abs(diff);
  }

  z[index] = dist;
}

template <typename Device, typename T>
struct ManhattanDistance;

template <typename T>
struct ManhattanDistance<GPUDevice, T> {
  void operator()(OpKernelContext* ctx,
                  const GPUDevice& d,
                  typename TTypes<T>::ConstMatrix x,
                  typename TTypes<T>::ConstMatrix y,
                  typename TTypes<T>::Matrix z) const {
    const auto n = static_cast<int>(x.dimension(0));
    const auto m = static_cast<int>(y.dimension(0));
    const auto p = static_cast<int>(x.dimension(1));
    dim3 block_dim_2d(32, 8);
    auto grid_dim_x = (m + block_dim_2d.x - 1) / block_dim_2d.x;
    auto grid_dim_y = (n + block_dim_2d.y - 1) / block_dim_2d.y;
    dim3 grid_dim_2d(grid_dim_x, grid_dim_y);
    platform::Launch<manhattan_distance<T>>(
        {ctx->device_context<CUDADeviceContext>(), grid_dim_2d, block_dim_2d},
        x.data(), y.data(), z.data(), n, m, p);
    // Runs after the kernel, in stream order.
    z.device(d) = z * T(2);
  }
};

}  // namespace functor

void TwiceTheDistanceSchema(OpSchema& op) {
  op.Doc("Twice the distances of the rows of x to the rows of y.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("x", "T", "[n, p].").Input("y", "T", "[m, p].");
  op.Output("z", "T", "[n, m].");
  op.InferShape([](InferShapeContext& c) {
    c.SetOutput(0, c.Matrix(c.Dim(c.WithRank(c.input(0), 2), 0),
                            c.Dim(c.WithRank(c.input(1), 2), 0)));
  });
}

template <typename Device, typename T>
class TwiceTheDistanceKernel : public OpKernel {
 public:
  explicit TwiceTheDistanceKernel(const OpKernelConstruction& context)
      : OpKernel(context) {}

  void Compute(OpKernelContext& context) const override {
    OpKernelContext* ctx = &context;
    const Tensor* x_tensor = &ctx->Input("x");
    const Tensor* y_tensor = &ctx->Input("y");
    Tensor* z_tensor =
        &ctx->AllocateOutput("z", {x_tensor->dims()[0], y_tensor->dims()[0]});
    const Device& device = ctx->eigen_device<Device>();
    functor::ManhattanDistance<Device, T>()(ctx, device, x_tensor->matrix<T>(),
                                            y_tensor->matrix<T>(),
                                            z_tensor->matrix<T>());
  }
};

}  // namespace

REGISTER_OPERATOR(cuda_twice_the_distance, TwiceTheDistanceSchema);
REGISTER_OP_CUDA_KERNEL(cuda_twice_the_distance,
                        TwiceTheDistanceKernel<GPUDevice, float>,
                        TwiceTheDistanceKernel<GPUDevice, double>);
REGISTER_OPERATOR(cuda_crop, testing::FamiliarCropSchema);
REGISTER_OPERATOR(cuda_crop_grad, testing::FamiliarCropGradSchema);
REGISTER_OP_CUDA_KERNEL(cuda_crop, ops::CropKernel<float>);
REGISTER_OP_CUDA_KERNEL(
    cuda_crop_grad, ops::CropGradKernel<platform::CUDADeviceContext, float>);

namespace {

TEST_F(FamiliarCUDAForms, KernelsWithAndWithoutADeviceContextRegisterAlike) {
  auto& registry = framework::Registry::Global();
  SLUICE_USE_OPERATOR(cuda_crop);
  SLUICE_USE_OPERATOR(cuda_crop_grad);
  SluiceRegisterKernel_cuda_crop_CUDAPlace_PLAIN_plain(registry);
  SluiceRegisterKernel_cuda_crop_grad_CUDAPlace_PLAIN_plain(registry);
  const framework::AttributeMap box = {{"offsets", Ints{1, 1}},
                                       {"shape", Ints{2, 2}}};
  const Tensor x =
      Tensor::FromVector<float>({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const framework::RunOpOptions on_device{.place = CUDAPlace{0}};
  const Tensor out = RunOp("cuda_crop", {{"X", x}}, box, on_device).at("Out");
  EXPECT_EQ(out.ToVector<float>(), std::vector<float>({5, 6, 8, 9}));
  const Tensor grad =
      RunOp("cuda_crop_grad", {{"X", x}, {"Out@GRAD", out}}, box, on_device)
          .at("X@GRAD");
  EXPECT_EQ(grad.ToVector<float>(),
            std::vector<float>({0, 0, 0, 0, 5, 6, 0, 8, 9}));
}

TEST_F(FamiliarCUDAForms, AFunctorOnAnEigenDeviceComputesOverMatrices) {
  SLUICE_USE_OPERATOR(cuda_twice_the_distance);
  SluiceRegisterKernel_cuda_twice_the_distance_CUDAPlace_PLAIN_plain(
      framework::Registry::Global());
  const Tensor x = Tensor::FromVector<double>({3, 2}, {0, 0, 1, 2, -3, 4});
  const Tensor y = Tensor::FromVector<double>({2, 2}, {1, 1, 0, -2});
  const framework::RunOpOptions on_device{.place = CUDAPlace{0}};
  const Tensor z =
      RunOp("cuda_twice_the_distance", {{"x", x}, {"y", y}}, {}, on_device)
          .at("z");
  EXPECT_EQ(z.ToVector<double>(), std::vector<double>({4, 4, 2, 10, 14, 18}));
}

}  // namespace
}  // namespace sluice
