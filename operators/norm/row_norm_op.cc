#include <algorithm>

#include "sluice/operators/conversion/widened_kernel.h"
#include "sluice/operators/norm/row_norm.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/row_wise.h"

// layer_norm, rms_norm, instance_norm and group_norm. They differ in the
// elements that form a row (operators/norm/row_norm.h).
namespace sluice {
namespace {

// Returns the first dim of a row.
int BeginAxis(const InferShapeContext& context, const DDim& x) {
  const auto axis = context.Attr<int64_t>("begin_norm_axis");
  context.Require(axis >= -x.rank() && axis < x.rank(), "row_norm.axis",
                  "attribute begin_norm_axis = {} is no dimension of input X "
                  "{}; expected {} to {}",
                  axis, x, -x.rank(), x.rank() - 1);
  return static_cast<int>(axis < 0 ? axis + x.rank() : axis);
}

int64_t ProductOf(const DDim& dims, int begin, int end) {
  for (int axis = begin; axis < end; ++axis) {
    if (dims[axis] < 0) return kUnknownDim;
  }
  return dims.Product(begin, end);
}

bool Agree(int64_t a, int64_t b) {
  return a < 0 || b < 0 || a == b;
}

// Checks that Scale or Bias has one number for each element of a row of X, in
// the dims of a row or in one dim.
void CheckParameter(const InferShapeContext& context,
                    const char* name,
                    const DDim& x,
                    int at) {
  if (!context.HasInput(name)) return;
  const DDim given = context.input(name);
  if (!given.rank_known()) return;
  bool same = given.rank() == x.rank() - at;
  for (int i = 0; same && i < given.rank(); ++i) {
    same = Agree(given[i], x[at + i]);
  }
  const bool flat =
      given.rank() == 1 && Agree(given[0], ProductOf(x, at, x.rank()));
  context.Require(same || flat, "row_norm.parameter",
                  "input {} has shape {}; expected the dims from {} on of "
                  "input X {}, or one dim of as many elements",
                  name, given, at, x);
}

// Sets the gradient's shape to that of Scale or Bias.
void SetParameterGrad(InferShapeContext& context,
                      const char* name,
                      int64_t parameters) {
  const DDim dims =
      context.HasInput(name) ? DDim(context.input(name)) : DDim{parameters};
  context.SetOutput(GradName(name), dims);
}

// Returns the shape of X, which is that of the gradient of Y.
ShapeHandle ShapeOfX(const InferShapeContext& context,
                     int least_rank,
                     bool gradient) {
  ShapeHandle x = context.input("X");
  if (gradient && context.HasInput("Y@GRAD")) {
    x = context.Merge(x, context.input("Y@GRAD"));
  }
  return context.WithRankAtLeast(x, least_rank);
}

// Checks that these gradients have the shape of Mean and Variance.
void CheckMomentGrads(const InferShapeContext& context, const DDim& moments) {
  for (const char* name : {"Mean@GRAD", "Variance@GRAD"}) {
    if (context.HasInput(name)) {
      context.Merge(context.input(name), {moments, -1});
    }
  }
}

void FromAxisShape(InferShapeContext& context, bool moments, bool gradient) {
  const ShapeHandle x = ShapeOfX(context, 1, gradient);
  int64_t rows = kUnknownDim, size = kUnknownDim;
  if (x.dims.rank_known()) {
    const int at = BeginAxis(context, x);
    CheckParameter(context, "Scale", x, at);
    if (moments) CheckParameter(context, "Bias", x, at);
    rows = ProductOf(x, 0, at);
    size = ProductOf(x, at, x.rank());
  }
  context.SetOutput(gradient ? "X@GRAD" : "Y", x);
  if (gradient) {
    SetParameterGrad(context, "Scale", size);
    if (!moments) return;
    SetParameterGrad(context, "Bias", size);
    CheckMomentGrads(context, {rows});
  } else if (moments) {
    context.SetOutput("Mean", {rows});
    context.SetOutput("Variance", {rows});
  }
}

// Checks [N, C, ...] with `groups` groups of channels; 0: each is a group.
void ChannelsShape(InferShapeContext& context, int64_t groups, bool gradient) {
  const ShapeHandle x = ShapeOfX(context, 2, gradient);
  DimHandle channels = context.Dim(x, 1);
  for (const char* name : {"Scale", "Bias"}) {
    if (!context.HasInput(name)) continue;
    const ShapeHandle given = context.WithRank(context.input(name), 1);
    channels = context.Merge(channels, context.Dim(given, 0));
  }
  const int64_t count = channels.size;
  context.Require(
      groups == 0 || count < 0 ||
          (count % groups == 0 && groups <= std::max<int64_t>(count, 1)),
      "group_norm.groups",
      "attribute groups = {} does not divide the {} channels of "
      "input X {}",
      groups, count, x.dims);
  const DDim moments{context.Dim(x, 0).size, groups == 0 ? count : groups};
  context.SetOutput(gradient ? "X@GRAD" : "Y", x);
  if (gradient) {
    CheckMomentGrads(context, moments);
    SetParameterGrad(context, "Scale", count);
    SetParameterGrad(context, "Bias", count);
  } else {
    context.SetOutput("Mean", moments);
    context.SetOutput("Variance", moments);
  }
}

template <bool kGradient>
void LayerNormShape(InferShapeContext& context) {
  FromAxisShape(context, /*moments=*/true, kGradient);
}
template <bool kGradient>
void RmsNormShape(InferShapeContext& context) {
  FromAxisShape(context, /*moments=*/false, kGradient);
}
template <bool kGradient>
void InstanceNormShape(InferShapeContext& context) {
  ChannelsShape(context, 0, kGradient);
}
template <bool kGradient>
void GroupNormShape(InferShapeContext& context) {
  ChannelsShape(context, context.Attr<int64_t>("groups"), kGradient);
}

std::vector<OpDesc> RowNormGradient(const OpDesc& forward) {
  return {MakeGradOp(forward, forward.type + "_grad",
                     {.inputs = {"X", "Scale", "Bias"},
                      .output_grads = {"Y", "Mean", "Variance"},
                      .wanted = {"X", "Scale", "Bias"}})};
}

template <int64_t kDefault>
void AxisAttribute(OpSchema& op) {
  op.Attr<int64_t>("begin_norm_axis",
                   "The first of the dims that are normalized together; a "
                   "negative one counts from the end.")
      .Default(kDefault);
}

void GroupsAttribute(OpSchema& op) {
  op.Attr<int64_t>("groups", "How many; a divisor of C.").AtLeast(1);
}

void NoAttribute(OpSchema& /*op*/) {}

struct Row {
  const char* name;
  const char* doc;
  const char* x_doc;
  const char* parameter_doc;
  const char* moments_doc;  // nullptr: no Bias, Mean and Variance
  const char* onnx;
  void (*attribute)(OpSchema& op);
  OpSchema::ShapeFn shape;
  OpSchema::ShapeFn grad_shape;
};

constexpr const char* kOfRow =
    "For each element of a row: in the dims from begin_norm_axis on, or in one "
    "dim";
constexpr const char* kOfChannel = "[C]";

constexpr Row kRows[] = {
    {"layer_norm",
     "Normalizes the elements of the dims from begin_norm_axis on, together, "
     "for each index of those before: Y = (X - mean) / sqrt(variance + "
     "epsilon) * Scale + Bias. The variance is the mean of squared distances "
     "to the mean; both are summed in float64.",
     "Of rank 1 or more.", kOfRow,
     "[rows], the product of the dims before begin_norm_axis", "",
     AxisAttribute<1>, LayerNormShape<false>, LayerNormShape<true>},
    {"rms_norm",
     "Divides the elements of the dims from begin_norm_axis on, for each index "
     "of those before, by the root of the mean of their squares: Y = X / "
     "sqrt(mean(X^2) + epsilon) * Scale. The mean is summed in float64.",
     "Of rank 1 or more.", kOfRow, nullptr, "", AxisAttribute<-1>,
     RmsNormShape<false>, RmsNormShape<true>},
    {"instance_norm",
     "layer_norm of each channel of each image by itself: Y = (X - mean) / "
     "sqrt(variance + epsilon) * Scale + Bias.",
     "[N, C, ...].", kOfChannel, "[N, C]", "InstanceNormalization", NoAttribute,
     InstanceNormShape<false>, InstanceNormShape<true>},
    {"group_norm",
     "layer_norm of groups of C / groups neighbouring channels of each image: "
     "Y = (X - mean) / sqrt(variance + epsilon) * Scale + Bias.",
     "[N, C, ...].", kOfChannel, "[N, groups]", "", GroupsAttribute,
     GroupNormShape<false>, GroupNormShape<true>},
};

void Attributes(const Row& row, OpSchema& op) {
  op.Attr<double>("epsilon", "Added to the variance.").Default(1e-5).AtLeast(0);
  row.attribute(op);
}

void Schema(const Row& row, OpSchema& op) {
  const std::string parameter = row.parameter_doc;
  op.Doc(row.doc);
  op.TypeVar("T", FloatDTypes());
  op.Input("X", "T", row.x_doc);
  op.Input("Scale", "T",
           parameter + ": multiplies what was normalized; 1 if left out.",
           {.optional = true});
  if (row.moments_doc != nullptr) {
    op.Input("Bias", "T", parameter + ": added at the end; 0 if left out.",
             {.optional = true});
  }
  op.Output("Y", "T", "In X's shape.");
  if (row.moments_doc != nullptr) {
    const std::string moments = row.moments_doc;
    op.Output("Mean", "T", moments + ": NaN without elements.",
              {.optional = true});
    op.Output("Variance", "T", moments + ": the same.", {.optional = true});
  }
  Attributes(row, op);
  op.InferShape(row.shape).Gradient(RowNormGradient).Onnx({row.onnx, {}});
  op.SharesRows("Y", {"X"}, [](const OpDesc& op, const DDim& x) {
    return !op.attributes.contains("begin_norm_axis") ||
           SparesRows(op, x, "begin_norm_axis");
  });
  if (row.moments_doc != nullptr) {
    op.SharesRows("Mean", {"X"}).SharesRows("Variance", {"X"});
  }
}

void GradSchema(const Row& row, OpSchema& op) {
  const bool moments = row.moments_doc != nullptr;
  op.Doc(std::string("The gradients of ") + row.name +
         ", whose moments it computes again.");
  op.TypeVar("T", FloatDTypes());
  op.Input("X", "T", row.x_doc);
  op.Input("Scale", "T", "As the forward op had it.", {.optional = true});
  if (moments) {
    op.Input("Bias", "T", "As the forward op had it.",
             {.optional = true, .shape_only = true});
  }
  op.Input("Y@GRAD", "T", "The gradient of Y; 0 if left out.",
           {.optional = true});
  if (moments) {
    op.Input("Mean@GRAD", "T", "The gradient of Mean.", {.optional = true});
    op.Input("Variance@GRAD", "T", "The gradient of Variance.",
             {.optional = true});
  }
  op.Output("X@GRAD", "T", "The gradient of X.", {.optional = true});
  op.Output("Scale@GRAD", "T", "The gradient of Scale.", {.optional = true});
  if (moments) {
    op.Output("Bias@GRAD", "T", "The gradient of Bias.", {.optional = true});
  }
  Attributes(row, op);
  op.InferShape(row.grad_shape);
}

void AddRowNormOps(Registry& registry) {
  for (const Row& row : kRows) {
    registry.AddOperator(row.name, [&](OpSchema& op) { Schema(row, op); });
    registry.AddOperator(std::string(row.name) + "_grad",
                         [&](OpSchema& op) { GradSchema(row, op); });
  }
}

template <typename T, typename Norm>
class RowNormKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    geometry_ = Norm::Of(preparation.query);
    moment_dims_ = Norm::MomentDims(preparation.query);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& y = context.AllocateOutput(0, x.dims());
    const auto given = [&](const char* name) -> const T* {
      return context.HasInput(name) ? context.Input(name).data<T>() : nullptr;
    };
    const auto wanted = [&](const char* name) -> T* {
      return context.HasOutput(name)
                 ? context.AllocateOutput(name, moment_dims_).data<T>()
                 : nullptr;
    };
    RowNorm<T>(geometry_, {.x = x.data<T>(),
                           .scale = given("Scale"),
                           .bias = given("Bias"),
                           .y = y.data<T>(),
                           .mean = wanted("Mean"),
                           .variance = wanted("Variance")});
  }

 private:
  RowNormGeometry geometry_;
  DDim moment_dims_;
};

template <typename T, typename Norm>
class RowNormGradKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    geometry_ = Norm::Of(preparation.query);
    preparation.scratch_bytes =
        sizeof(double) * static_cast<size_t>(geometry_.moment_count());
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const auto given = [&](const char* name) -> const T* {
      return context.HasInput(name) ? context.Input(name).data<T>() : nullptr;
    };
    const auto wanted = [&](const char* name, const char* of) -> T* {
      if (!context.HasOutput(name)) return nullptr;
      const DDim dims = context.HasInput(of) ? context.Input(of).dims()
                                             : DDim{geometry_.parameters()};
      return context.AllocateOutput(name, dims).data<T>();
    };
    RowNormGrad<T>(geometry_,
                   {.x = x.data<T>(),
                    .scale = given("Scale"),
                    .y_grad = given("Y@GRAD"),
                    .mean_grad = given("Mean@GRAD"),
                    .variance_grad = given("Variance@GRAD"),
                    .x_grad = wanted("X@GRAD", "X"),
                    .scale_grad = wanted("Scale@GRAD", "Scale"),
                    .bias_grad = wanted("Bias@GRAD", "Bias")},
                   static_cast<double*>(context.scratch()));
  }

 private:
  RowNormGeometry geometry_;
};

template <typename Norm>
void AddKernels(Registry& registry, const std::string& op) {
  const CPUPlace cpu;
  AddPlainKernels<RowNormKernel<FloatsAndWidenedHalves, Norm>>(registry, op,
                                                               cpu);
  AddPlainKernels<RowNormGradKernel<FloatsAndWidenedHalves, Norm>>(
      registry, op + "_grad", cpu);
}

void AddRowNormKernels(Registry& registry) {
  AddKernels<LayerNorm>(registry, "layer_norm");
  AddKernels<RmsNorm>(registry, "rms_norm");
  AddKernels<InstanceNorm>(registry, "instance_norm");
  AddKernels<GroupNorm>(registry, "group_norm");
}

}  // namespace

REGISTER_TABLE(row_norm_ops, AddRowNormOps);
REGISTER_TABLE(row_norm_kernels, AddRowNormKernels);

}  // namespace sluice
