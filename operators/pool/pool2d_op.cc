#include <algorithm>
#include <type_traits>

#include "sluice/operators/math/cast.h"
#include "sluice/operators/math/work.h"
#include "sluice/operators/pool/pool2d_kernel.h"
#include "sluice/operators/pool/pool2d_pairs.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"
#include "sluice/operators/window_shape.h"

namespace sluice {
namespace {

// Checks and returns the windows. Global pooling uses the input's size.
std::vector<WindowAxis> PoolAxes(const InferShapeContext& context) {
  const Ints& ksize = WindowInts(context, "ksize");
  // Checked before the strides, as many users derive these from ksize.
  for (size_t i = 0; i < 2; ++i) {
    context.Require(ksize[i] >= 1, "pool2d.ksize",
                    "ksize[{}] = {}; expected 1 or more", i, ksize[i]);
  }
  std::vector<WindowAxis> axes = WindowAxes(context);
  for (size_t i = 0; i < 2; ++i) {
    context.Require(
        axes[i].pad_before < ksize[i] && axes[i].pad_after < ksize[i],
        "pool2d.padding",
        "the padding of the {} ({} and {}) must be smaller than the window "
        "({}), or there would be windows of nothing",
        axes[i].name, axes[i].pad_before, axes[i].pad_after, ksize[i]);
    axes[i].kernel = ksize[i];
  }
  return axes;
}

DDim Pool2dOutShape(const InferShapeContext& context) {
  const DDim x = context.WithRank(context.input("X"), 4);
  const bool last = context.Attr<std::string>("data_format") == "NHWC";
  const int height = last ? 1 : 2;
  DDim out = x.rank_known() ? x : DDim{-1, -1, -1, -1};
  const bool global = context.Attr<bool>("global_pooling");
  const auto axes = global ? std::vector<WindowAxis>() : PoolAxes(context);
  for (int i = 0; i < 2; ++i) {
    const int64_t size = out[height + i];
    context.Require(size != 0, "pool2d.empty",
                    "input X {} has no pixels; expected a height and a width "
                    "of 1 or more",
                    x);
    out[height + i] = global ? 1
                             : WindowCount(context, axes[i], size,
                                           !context.Attr<bool>("ceil_mode"));
  }
  return out;
}

bool IsMax(const OpDesc& op) {
  return std::get<std::string>(op.attributes.find("pooling_type")->second) ==
         "max";
}

void Pool2dGradShape(InferShapeContext& context) {
  const DDim out = Pool2dOutShape(context);
  const bool max = context.Attr<std::string>("pooling_type") == "max";
  context.Require(!max || context.HasInput("Out"), "pool2d.out_missing",
                  "the gradient of a maximum needs input Out, got none");
  if (context.HasInput("Out")) context.Merge(context.input("Out"), {out, -1});
  context.Merge(context.input("Out@GRAD"), {out, -1});
  context.SetOutput("X@GRAD", context.input("X"));
}

std::vector<OpDesc> Pool2dGradient(const OpDesc& forward) {
  GradOpArgs arguments = {
      .inputs = {"X"}, .output_grads = {"Out"}, .wanted = {"X"}};
  if (IsMax(forward)) arguments.outputs = {"Out"};
  return {MakeGradOp(forward, "pool2d_grad", arguments)};
}

void PoolAttributes(OpSchema& op) {
  op.TypeVar("T", FloatDTypes());
  op.Attr<std::string>("pooling_type",
                       "max: the largest number of each window, NaN if there "
                       "is one; avg: the average.")
      .Default(std::string("max"))
      .OneOf({"max", "avg"});
  op.Attr<Ints>("ksize", "The windows' height and width.").Default(Ints());
  op.Attr<Ints>("strides", "Pixels from one window to the next: height, width.")
      .Default(Ints{1, 1});
  op.Attr<Ints>("paddings",
                "Pixels that the first and the last windows may reach out of "
                "the input: [height, width], or [top, bottom, left, right]; "
                "less than ksize.")
      .Default(Ints{0, 0});
  op.Attr<bool>("global_pooling",
                "One window over the whole height and width; ksize, strides "
                "and paddings are not used.")
      .Default(false);
  op.Attr<bool>("exclusive",
                "Averages are of the pixels inside the input; false: the "
                "padding counts as zeros, but not what a window of ceil_mode "
                "reaches past it.")
      .Default(true);
  op.Attr<bool>("ceil_mode",
                "Pixels left over at the end get a window that reaches past "
                "it, if it would begin inside the input.")
      .Default(false);
  op.Attr<std::string>("data_format", "NCHW, or NHWC with the channels last.")
      .Default(std::string("NCHW"))
      .OneOf({"NCHW", "NHWC"});
}

constexpr const char* kXDoc = "[N, C, H, W], or [N, H, W, C] for NHWC.";
constexpr const char* kOutDoc =
    "[N, C, H', W'], or [N, H', W', C], with H' = (H + padding - window) / "
    "stride + 1, rounded down, or up for ceil_mode.";

void PoolArguments(OpSchema& op) {
  op.Input("X", "T", kXDoc);
  op.Output("Out", "T", kOutDoc);
  PoolAttributes(op);
  op.InferShape(OutShape<Pool2dOutShape>);
}

void Pool2dSchema(OpSchema& op) {
  op.Doc(
      "The maximum or the average of each window that slides over the height "
      "and the width; each channel by itself.");
  PoolArguments(op);
  op.Gradient(Pool2dGradient);
  op.Sizes({{"X", "8, 16, n, n"}, {"ksize", "2, 2"}});
}

void PoolGradArguments(OpSchema& op) {
  op.Input("X", "T", kXDoc);
  op.Input("Out", "T", "What the forward op gave; max only.",
           {.optional = true});
  op.Input("Out@GRAD", "T", kOutDoc);
  op.Output("X@GRAD", "T", "In the shape of X.");
  PoolAttributes(op);
  op.InferShape(Pool2dGradShape);
}

void Pool2dGradSchema(OpSchema& op) {
  op.Doc(
      "The gradient of pool2d. max: the gradient of each window goes to the "
      "first of its pixels, row by row, that holds the maximum; avg: to all "
      "of them in equal parts.");
  PoolGradArguments(op);
}

void ReluPool2dSchema(OpSchema& op) {
  op.Doc("pool2d of relu(X), if no other op needs relu(X).");
  PoolArguments(op);
  op.Internal();
}

void ReluPool2dGradSchema(OpSchema& op) {
  op.Doc(
      "The gradient of X for Out = pool2d(relu(X)). The input X may as well "
      "be relu(X): the gradient is the same.");
  PoolGradArguments(op);
  op.Internal();
}

template <typename T>
class Pool2dKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    dims_ = preparation.query.outputs[0];
    geometry_ = Pool2dGeometryOf(preparation.query, dims_);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    Tensor& out = context.AllocateOutput("Out", dims_);
    if (out.numel() == 0) return;
    Pool2d(geometry_, x.data<T>(), out.data<T>());
  }

 private:
  Pool2dGeometry geometry_;
  DDim dims_;
};

template <typename T>
class Pool2dGradKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    dims_ = preparation.query.inputs[0];
    geometry_ =
        Pool2dGeometryOf(preparation.query, preparation.query.inputs.back());
    if (kRounds) {
      preparation.scratch_bytes =
          static_cast<size_t>(dims_.numel()) * sizeof(float);
    }
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& grad = context.Input("Out@GRAD");
    Tensor& x_grad = context.AllocateOutput("X@GRAD", dims_);
    if (x_grad.numel() == 0) return;
    const T* x = context.Input("X").data<T>();
    const T* out = geometry_.max ? context.Input("Out").data<T>() : nullptr;
    if constexpr (kRounds) {
      auto* const sums = static_cast<float*>(context.scratch());
      Pool2dGrad(geometry_, x, out, grad.data<T>(), sums);
      Cast(sums, x_grad.numel(), kDTypeOf<T>, x_grad.data<T>());
    } else {
      Pool2dGrad(geometry_, x, out, grad.data<T>(), x_grad.data<T>());
    }
  }

 private:
  // Gradients of overlapping windows are summed in float and rounded once.
  static constexpr bool kRounds = !std::is_same_v<PoolGrad<T>, T>;

  Pool2dGeometry geometry_;
  DDim dims_;
};

// Lines of windows or channels are processed tap by tap in short vectors, with
// overhead for each line. Maxima of pairs are vectorized.
KernelWork Work(const KernelQuery& query,
                const DDim& out,
                std::string_view costs) {
  const Pool2dGeometry g = Pool2dGeometryOf(query, out);
  const auto real = [](int64_t value) { return static_cast<double>(value); };
  const double windows = real(g.n * g.out_pixels()) * real(g.c);
  const double pixels = real(g.n * g.in_pixels()) * real(g.c);
  const double taps = real(g.kernel_h * g.kernel_w);
  const double lines =
      g.nhwc ? real(g.n * g.out_pixels()) * real((g.c + 127) / 128)
             : real(g.n * g.c * g.out_h) * real((g.out_w + 127) / 128);
  KernelWork work;
  work.flops = windows * taps;
  work.bytes =
      static_cast<double>(SizeOf(query.input_dtypes[0])) * (windows + pixels);
  // A shard has about 32,000 pixels of windows.
  const double shards = std::max(windows * taps / 32768, 1.0);
  work.max_threads = std::min(
      real(std::max<int64_t>(g.nhwc ? g.n * g.out_h : g.n * g.c, 1)), shards);
  work.costs = Format("{}_{}", costs, g.nhwc ? "last" : "first");
  if (IsMaxOfPairs(g)) return work;
  work.terms = windows * taps;
  work.runs = lines * taps;
  work.windows = windows;
  return work;
}

KernelWork ForwardWork(const KernelQuery& query) {
  KernelWork work = Work(query, query.outputs[0], "pool2d");
  const Pool2dGeometry g = Pool2dGeometryOf(query, query.outputs[0]);
  const size_t element = SizeOf(query.input_dtypes[0]);
  if (g.max && g.nhwc && element > 2 && !IsMaxOfPairs(g)) {
    // Each vector of channels takes a comparison and a selection per tap.
    const auto vectors = static_cast<double>(g.n * g.out_pixels()) *
                         Padded(g.c, VectorLanes(element)) /
                         static_cast<double>(VectorLanes(element));
    work.vectors = vectors * static_cast<double>(g.kernel_h * g.kernel_w);
    work.rows = vectors;
    work.terms = work.runs = work.windows = 0;
  }
  return work;
}
KernelWork BackwardWork(const KernelQuery& query) {
  return Work(query, query.inputs.back(), "pool2d_grad");
}

}  // namespace

REGISTER_OPERATOR(pool2d, Pool2dSchema);
REGISTER_OPERATOR(pool2d_grad, Pool2dGradSchema);
// The pass relu_pool2d inserts these ops.
REGISTER_OPERATOR(relu_pool2d, ReluPool2dSchema);
REGISTER_OPERATOR(relu_pool2d_grad, ReluPool2dGradSchema);
REGISTER_OP_CPU_KERNEL(pool2d,
                       EstimatedBy<&ForwardWork>,
                       Pool2dKernel<FloatAndHalfTypes>);
REGISTER_OP_CPU_KERNEL(pool2d_grad,
                       EstimatedBy<&BackwardWork>,
                       Pool2dGradKernel<FloatAndHalfTypes>);
REGISTER_OP_CPU_KERNEL(relu_pool2d,
                       EstimatedBy<&ForwardWork>,
                       Pool2dKernel<FloatAndHalfTypes>);
REGISTER_OP_CPU_KERNEL(relu_pool2d_grad,
                       EstimatedBy<&BackwardWork>,
                       Pool2dGradKernel<FloatAndHalfTypes>);

}  // namespace sluice
