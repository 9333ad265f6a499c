// The forms of the documents that Sluice is based on, except namespaces:
// Fluid's design of devices and kernels, and two custom ops of TensorFlow in
// our casing. Each test checks that such a form does what the document says.
#include <algorithm>
#include <type_traits>

#include "tests/familiar_crop.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>
#include <unsupported/Eigen/CXX11/Tensor>

#include "sluice/framework/op/infer_shape_context.h"
#include "sluice/framework/op/op_registry.h"
#include "sluice/framework/op/op_requires.h"
#include "sluice/framework/run/run_op.h"
#include "sluice/memory/memory.h"
#include "sluice/operators/math/distance/manhattan_distance_functor.h"
#include "sluice/operators/math/eigen_views.h"
#include "sluice/operators/math/pool/maxouting.h"
#include "sluice/operators/movement/crop_kernel.h"
#include "sluice/platform/cpu_device_context.h"
#include "sluice/platform/cuda_device_context.h"
#include "sluice/platform/device_context_pool.h"
#include "sluice/platform/fpga_device_context.h"
#include "sluice/platform/place.h"

// Code of Fluid opens these namespaces, and qualifies names with them.
namespace sluice::operators {
class OpenedKernel final : public framework::OpKernel {
 public:
  void Compute(OpKernelContext& /*context*/) const override {}
};
}  // namespace sluice::operators
namespace sluice::framework {
static_assert(std::is_base_of_v<OpKernel, operators::OpenedKernel>);
}  // namespace sluice::framework

namespace sluice {

namespace ops = operators;

namespace {

using framework::DDim;
using framework::DimensionHandle;
using framework::DimHandle;
using framework::InferShapeContext;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::OpSchema;
using framework::RunOp;
using framework::ShapeHandle;
using framework::Status;
using framework::Tensor;
using framework::TTypes;
using platform::CPUDeviceContext;
using platform::CPUPlace;
using platform::CUDAPlace;
using platform::DType;
using platform::ErrorCode;
using platform::FPGAPlace;
using platform::Place;
namespace errors = framework::errors;
using Ints = std::vector<int64_t>;

// Fluid: places and contexts.

TEST(FamiliarForms, PlaceIsAVariantOfTheDevices) {
  static_assert(
      std::is_same_v<Place, boost::variant<CPUPlace, CUDAPlace, FPGAPlace,
                                           platform::CustomPlace>>);
  const Place place = FPGAPlace{1};
  EXPECT_EQ(boost::get<FPGAPlace>(place).device, 1);
  EXPECT_NE(boost::get<CPUPlace>(&static_cast<const Place&>(Place())), nullptr);
}

TEST(FamiliarForms, DeviceContextsHaveOneBaseThatGivesThePlace) {
  static_assert(std::is_base_of_v<platform::DeviceContext, CPUDeviceContext>);
  static_assert(
      std::is_base_of_v<platform::DeviceContext, platform::CUDADeviceContext>);
  static_assert(
      std::is_base_of_v<platform::DeviceContext, platform::FPGADeviceContext>);
  const auto context =
      platform::DeviceContextPool::Instance().Acquire(CPUPlace());
  const Place place = context->GetPlace();
  EXPECT_TRUE(place == Place(CPUPlace()));
}

// Fluid: memory and tensors.

TEST(FamiliarForms, AllocFreeAndUsedTakeAnyPlace) {
  const CPUPlace cpu;
  const size_t before = memory::Used(cpu);
  void* pointer = memory::Alloc<CPUPlace>(cpu, 1000);
  EXPECT_EQ(memory::Used<Place>(cpu), before + 1000);
  memory::Free<Place>(Place(cpu), pointer);
  EXPECT_EQ(memory::Used(cpu), before);
}

TEST(FamiliarForms, ATensorGetsItsShapeFirstAndItsMemoryLater) {
  Tensor t;
  CPUPlace place;
  t.Resize({2, 3});
  EXPECT_FALSE(t.allocated());
  float* data = t.mutable_data<float>(place);
  EXPECT_EQ(data, t.data<float>());
  EXPECT_EQ(t.dims(), DDim({2, 3}));
}

TEST(FamiliarForms, MutableDataTakesShapeAndPlace) {
  Tensor t;
  const Place place = CPUPlace();
  double* data = t.mutable_data<double>({4, 5}, place);
  EXPECT_EQ(t.dims(), DDim({4, 5}));
  // Smaller shapes keep the memory.
  EXPECT_EQ(t.Resize({5}).mutable_data<double>(place), data);
}

// Fluid: functors.

TEST(FamiliarForms, MaxOutFunctorIsCalledWithItsContext) {
  const Tensor input = Tensor::FromVector<float>({1, 4, 1, 1}, {3, 7, 5, 2});
  Tensor output;
  output.mutable_data<float>({1, 2, 1, 1}, CPUPlace());
  const auto lease =
      platform::DeviceContextPool::Instance().Acquire(CPUPlace());
  const auto& context = static_cast<const CPUDeviceContext&>(*lease);
  const int groups = 2;
  ops::math::MaxOutFunctor<CPUDeviceContext, float>()(context, input, &output,
                                                      groups);
  EXPECT_EQ(output.ToVector<float>(), std::vector<float>({7, 5}));
}

// Fluid: kernels of both forms, registered under one op each.

}  // namespace

REGISTER_OPERATOR(familiar_crop, testing::FamiliarCropSchema);
REGISTER_OPERATOR(familiar_crop_grad, testing::FamiliarCropGradSchema);
REGISTER_OP_CPU_KERNEL(familiar_crop, ops::CropKernel<float>);
REGISTER_OP_CPU_KERNEL(familiar_crop_grad,
                       ops::CropGradKernel<platform::CPUDeviceContext, float>);

namespace {

TEST(FamiliarForms, KernelsWithAndWithoutADeviceContextRegisterAlike) {
  const framework::AttributeMap box = {{"offsets", Ints{1}},
                                       {"shape", Ints{2}}};
  const Tensor x = Tensor::FromVector<float>({4}, {1, 2, 3, 4});
  const Tensor out = RunOp("familiar_crop", {{"X", x}}, box).at("Out");
  EXPECT_EQ(out.ToVector<float>(), std::vector<float>({2, 3}));
  const Tensor grad =
      RunOp("familiar_crop_grad", {{"X", x}, {"Out@GRAD", out}}, box)
          .at("X@GRAD");
  EXPECT_EQ(grad.ToVector<float>(), std::vector<float>({0, 2, 3, 0}));
}

// TensorFlow: PairwiseManhattanDistance, with OP_REQUIRES.

void PairwiseSchema(OpSchema& op) {
  op.Doc("Distances of the rows of x to the rows of y.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("x", "T", "[n, p].").Input("y", "T", "[m, p].");
  op.Output("z", "T", "[n, m].");
  op.Attr<int64_t>("a", "Sizes above it are refused.").Default(int64_t{1000});
  op.InferShape([](InferShapeContext& c) {
    ShapeHandle x = c.WithRank(c.input(0), 2);
    ShapeHandle y = c.WithRank(c.input(1), 2);
    DimHandle n_x = c.Dim(x, 0);
    DimHandle n_y = c.Dim(y, 0);
    DimHandle p = c.Merge(c.Dim(x, 1), c.Dim(y, 1));
    (void)p;
    c.SetOutput(0, c.Matrix(n_x, n_y));
  });
}

template <typename Device, typename T>
class PairwiseKernel : public OpKernel {
 public:
  explicit PairwiseKernel(const OpKernelConstruction& context)
      : OpKernel(context), limit_(context.Attr<int64_t>("a")) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor* x_tensor = nullptr;
    const Tensor* y_tensor = nullptr;
    OP_REQUIRES_OK(context, context.Input("x", &x_tensor));
    OP_REQUIRES_OK(&context, context.Input("y", &y_tensor));
    const int64_t n = x_tensor->dims()[0];
    const int64_t m = y_tensor->dims()[0];
    const int64_t p = x_tensor->dims()[1];
    OP_REQUIRES(context, p <= limit_,
                errors::InvalidArgument("x has {} columns, at most {} are "
                                        "allowed",
                                        p, limit_));
    if (limit_ == 1) {  // the same by exception
      SLUICE_ENFORCE(n == 1, ErrorCode::kInvalidArgument, "familiar.one_row",
                     "familiar_pairwise: x has {} rows, expected 1", n);
    }
    if (limit_ == 2) OP_REQUIRES_OK(context, context.Input("w", &x_tensor));

    Tensor temp;
    OP_REQUIRES_OK(context,
                   context.AllocateTemp(platform::kDTypeOf<T>, {n, m}, &temp));
    const auto& device = context.template device_context<Device>();
    ops::math::ManhattanDistance<Device, T>()(device, *x_tensor, *y_tensor,
                                              &temp);
    // The same output, by index or by name.
    Tensor* z_tensor = nullptr;
    OP_REQUIRES_OK(context, context.AllocateOutput(0, {n, m}, &z_tensor));
    OP_REQUIRES_OK(context, context.AllocateOutput("z", {n, m}, &z_tensor));
    std::copy_n(temp.data<T>(), temp.numel(), z_tensor->data<T>());
  }

 private:
  int64_t limit_;
};

// TensorFlow: the same op as a functor on an Eigen device, over Eigen's views.

using CPUDevice = Eigen::DefaultDevice;

namespace functor {

template <typename Device, typename T>
struct ManhattanDistance;

template <typename T>
struct ManhattanDistance<CPUDevice, T> {
  void operator()(OpKernelContext* /*ctx*/,
                  const CPUDevice& /*d*/,
                  typename TTypes<T>::ConstMatrix x,
                  typename TTypes<T>::ConstMatrix y,
                  typename TTypes<T>::Matrix z) const {
    auto n = x.dimension(0);
    auto m = y.dimension(0);
    auto p = y.dimension(1);

    T diff;
    T dist;
    for (int i = 0; i < n; i++) {
      for (int j = 0; j < m; j++) {
        dist = static_cast<T>(0);
        for (int k = 0; k < p; k++) {
          diff = x(i, k) - y(j, k);
          dist += Eigen::numext::abs(diff);
        }
        z(i, j) = dist;
      }
    }
  }
};

}  // namespace functor

template <typename Device, typename T>
class PairwiseEigenKernel : public OpKernel {
 public:
  explicit PairwiseEigenKernel(const OpKernelConstruction& context)
      : OpKernel(context) {}

  void Compute(OpKernelContext& context) const override {
    OpKernelContext* ctx = &context;
    const Tensor* x_tensor = nullptr;
    const Tensor* y_tensor = nullptr;
    OP_REQUIRES_OK(ctx, ctx->Input("x", &x_tensor));
    OP_REQUIRES_OK(ctx, ctx->Input("y", &y_tensor));
    const int64_t n = x_tensor->dims()[0];
    const int64_t m = y_tensor->dims()[0];
    Tensor* z_tensor = nullptr;
    OP_REQUIRES_OK(ctx, ctx->AllocateOutput("z", {n, m}, &z_tensor));

    const Device& device = ctx->eigen_device<Device>();
    functor::ManhattanDistance<Device, T>()(ctx, device, x_tensor->matrix<T>(),
                                            y_tensor->matrix<T>(),
                                            z_tensor->matrix<T>());
  }
};

}  // namespace

REGISTER_OPERATOR(familiar_pairwise, PairwiseSchema);
REGISTER_OP_CPU_KERNEL(familiar_pairwise,
                       PairwiseKernel<CPUDeviceContext, float>,
                       PairwiseKernel<CPUDeviceContext, double>);
REGISTER_OP_KERNEL(familiar_pairwise,
                   PLAIN,
                   CPUPlace,
                   eigen,
                   framework::KernelTraits(),
                   PairwiseEigenKernel<CPUDevice, float>,
                   PairwiseEigenKernel<CPUDevice, double>);

namespace {

Tensor Pairwise(const Tensor& x, const Tensor& y, int64_t a = 1000) {
  return RunOp("familiar_pairwise", {{"x", x}, {"y", y}}, {{"a", a}}).at("z");
}

const Tensor& Points() {
  static const Tensor points =
      Tensor::FromVector<double>({3, 2}, {0, 0, 1, 2, -3, 4});
  return points;
}

TEST(FamiliarForms, AKernelInTheHabitOfTensorFlowComputes) {
  const Tensor y = Tensor::FromVector<double>({1, 2}, {1, 1});
  EXPECT_EQ(Pairwise(Points(), y).ToVector<double>(),
            std::vector<double>({2, 1, 7}));
}

TEST(FamiliarForms, AFunctorOnAnEigenDeviceComputesOverMatrices) {
  const Tensor y = Tensor::FromVector<double>({2, 2}, {1, 1, 0, -2});
  const Tensor z = RunOp("familiar_pairwise", {{"x", Points()}, {"y", y}}, {},
                         {.hint = "require variant=eigen"})
                       .at("z");
  EXPECT_EQ(z.dims(), DDim({3, 2}));
  EXPECT_EQ(z.ToVector<double>(), std::vector<double>({2, 2, 1, 5, 7, 9}));
}

TEST(FamiliarForms, OpRequiresEndsTheKernelWithANamedError) {
  const Tensor wide = Tensor::FromVector<double>({1, 3}, {1, 2, 3});
  testing::ExpectError(ErrorCode::kInvalidArgument, "kernel.op_requires",
                       {"familiar_pairwise: x has 3 columns", "at most 2"},
                       [&] { Pairwise(wide, wide, 2); });
}

TEST(FamiliarForms, OpRequiresOkPassesTheErrorOfTheCallOn) {
  testing::ExpectError(ErrorCode::kNotFound, "kernel.no_such_argument",
                       {"familiar_pairwise: ", "argument w"},
                       [&] { Pairwise(Points(), Points(), 2); });
}

TEST(FamiliarForms, APlainExceptionEndsTheKernelJustSo) {
  const Tensor rows = Tensor::FromVector<double>({2, 1}, {1, 2});
  testing::ExpectError(ErrorCode::kInvalidArgument, "familiar.one_row",
                       {"familiar_pairwise: x has 2 rows"},
                       [&] { Pairwise(rows, rows, 1); });
}

// TensorFlow: shape functions that return a Status, of
// PairwiseManhattanDistanceGrad and AverageEmbeddingMask.

void PairwiseGradSchema(OpSchema& op) {
  op.Doc("The shapes of the gradient of familiar_pairwise.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("x", "T", "[n, p].").Input("y", "T", "[m, p].");
  op.Input("z_grad", "T", "[n, m].");
  op.Output("x_grad", "T", "[n, p].").Output("y_grad", "T", "[m, p].");
  op.InferShape([](InferShapeContext* c) {
    ShapeHandle x, y;
    SLUICE_RETURN_IF_ERROR(c->WithRank(c->input(0), 2, &x));
    SLUICE_RETURN_IF_ERROR(c->WithRank(c->input(1), 2, &y));

    DimensionHandle n_x = c->Dim(x, 0);
    DimensionHandle n_y = c->Dim(y, 0);
    DimensionHandle feature_dim = c->Dim(x, 1);

    c->set_output(0, c->Matrix(n_x, feature_dim));
    c->set_output(1, c->Matrix(n_y, feature_dim));
    return Status::OK();
  });
}

void MaskedAveragesSchema(OpSchema& op) {
  op.Doc("The shapes of average_embedding_mask.");
  op.TypeVar("T", {DType::kFloat32});
  op.Input("embedding", "T", "[B, X, Y, N].")
      .Input("rle_mask", "T", "[B, M, X, 2].");
  op.Output("all_but_last", "T", "[B, X, Y].");
  op.Output("mean", "T", "[B, M, N].");
  op.InferShape([](InferShapeContext* c) {
    ShapeHandle input;
    SLUICE_RETURN_IF_ERROR(c->WithRank(c->input(0), 4, &input));

    ShapeHandle rle_input;
    SLUICE_RETURN_IF_ERROR(c->WithRank(c->input(1), 4, &rle_input));

    DimensionHandle rle_end_dim;
    SLUICE_RETURN_IF_ERROR(c->WithValue(c->Dim(rle_input, 3), 2, &rle_end_dim));
    if (rle_end_dim != 2) return errors::Internal("runs are pairs");

    ShapeHandle loss_shape;
    SLUICE_RETURN_IF_ERROR(c->Subshape(c->input(0), 0, -1, &loss_shape));
    c->set_output(0, loss_shape);
    DDim mean_shape = input;
    mean_shape.RemoveDimRange(1, -2);
    mean_shape.InsertDim(1, c->Dim(rle_input, 1));
    c->SetOutput("mean", mean_shape);
    return Status::OK();
  });
}

}  // namespace

REGISTER_OPERATOR(familiar_pairwise_grad, PairwiseGradSchema);
REGISTER_OPERATOR(familiar_masked_averages, MaskedAveragesSchema);

namespace {

using Shapes = std::vector<std::vector<DDim>>;

Shapes ShapesOf(std::string_view type, std::vector<DDim> inputs) {
  const OpSchema& schema = framework::Registry::Global().Schema(type);
  framework::OpDesc op;
  op.type = type;
  for (const auto& input : schema.inputs()) {
    op.inputs.emplace_back(input.name, std::vector<std::string>{input.name});
  }
  for (const auto& output : schema.outputs()) {
    op.outputs.emplace_back(output.name, std::vector<std::string>{output.name});
  }
  std::vector<DType> dtypes(inputs.size(), DType::kFloat32);
  return InferShapes(schema, op, std::move(inputs), std::move(dtypes));
}

Shapes MaskedAveragesOf(const DDim& embedding, const DDim& mask) {
  return ShapesOf("familiar_masked_averages", {embedding, mask});
}

TEST(FamiliarForms, ShapeFunctionsWalkOverTheirHandles) {
  const Shapes shapes = MaskedAveragesOf({2, 5, 6, 7}, {2, 3, 5, 2});
  EXPECT_EQ(shapes[0][0], DDim({2, 5, 6}));
  EXPECT_EQ(shapes[1][0], DDim({2, 3, 7}));
}

TEST(FamiliarForms, ShapeFunctionsTakeWhatIsNotKnownYet) {
  const Shapes shapes = MaskedAveragesOf({-1, 5, -1, 7}, {-1, -1, 5, -1});
  EXPECT_EQ(shapes[0][0], DDim({-1, 5, -1}));
  EXPECT_EQ(shapes[1][0], DDim({-1, -1, 7}));
}

TEST(FamiliarForms, ShapeFunctionsRefuseWhatCannotBe) {
  testing::ExpectError(ErrorCode::kInvalidArgument, "infer_shape.value",
                       {"familiar_masked_averages: ", "rle_mask", "2", "3"},
                       [] {
                         MaskedAveragesOf({2, 5, 6, 7}, {2, 3, 5, 3});
                       });
  testing::ExpectError(ErrorCode::kInvalidArgument, "infer_shape.rank",
                       {"familiar_masked_averages: ", "embedding", "rank 4"},
                       [] {
                         MaskedAveragesOf({2, 5, 6}, {2, 3, 5, 2});
                       });
}

TEST(FamiliarForms, ShapeFunctionsMayReturnAStatus) {
  EXPECT_EQ(ShapesOf("familiar_pairwise_grad", {{3, 5}, {4, 5}, {3, 4}}),
            (Shapes{{{3, 5}}, {{4, 5}}}));
  // The second call fails, and the user of the op sees the error.
  framework::Program program;
  const auto data = [&](const char* name, const Ints& shape) {
    return program.Data(name, DType::kFloat32, DDim(shape));
  };
  data("x", {3, 5});
  data("y", {4});
  data("dz", {3, 4});
  testing::ExpectError(
      ErrorCode::kInvalidArgument, "infer_shape.rank",
      {"familiar_pairwise_grad: input y [4] must have rank 2, got rank 1"},
      [&] {
        program.AppendOp("familiar_pairwise_grad",
                         {{"x", {"x"}}, {"y", {"y"}}, {"z_grad", {"dz"}}});
      });
}

// A program registers its own op by one call.
const bool registered = [] {
  SLUICE_USE_OPERATOR(familiar_crop);
  SLUICE_USE_CPU_KERNEL(familiar_crop);
  SLUICE_USE_OPERATOR(familiar_crop_grad);
  SLUICE_USE_CPU_KERNEL(familiar_crop_grad);
  SLUICE_USE_OPERATOR(familiar_pairwise);
  SLUICE_USE_CPU_KERNEL(familiar_pairwise);
  SLUICE_USE_OPERATOR(familiar_pairwise_grad);
  SLUICE_USE_OPERATOR(familiar_masked_averages);
  SluiceRegisterKernel_familiar_pairwise_CPUPlace_PLAIN_eigen(
      framework::Registry::Global());
  return true;
}();

}  // namespace
}  // namespace sluice
