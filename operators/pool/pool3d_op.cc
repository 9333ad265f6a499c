#include <algorithm>
#include <cmath>
#include <limits>

#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"
#include "sluice/operators/window_shape.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

DDim Pool3dOutShape(const InferShapeContext& context) {
  const DDim x = context.WithRank(context.input("X"), 5);
  const Ints& ksize = WindowInts(context, "ksize", 3);
  std::vector<WindowAxis> axes = WindowAxes(context, 3);
  ReadDilations(context, &axes);
  DDim out = x.rank_known() ? x : DDim{-1, -1, -1, -1, -1};
  for (int i = 0; i < 3; ++i) {
    context.Require(ksize[i] >= 1, "pool3d.ksize",
                    "ksize[{}] = {}; expected 1 or more", i, ksize[i]);
    axes[i].kernel = ksize[i];
    context.Require(out[i + 2] != 0, "pool3d.empty",
                    "the {} of input X {} is 0; expected 1 or more",
                    axes[i].name, x);
    out[i + 2] = WindowCount(context, axes[i], out[i + 2],
                             !context.Attr<bool>("ceil_mode"));
  }
  return out;
}

void Pool3dShape(InferShapeContext& context) {
  const DDim out = Pool3dOutShape(context);
  context.SetOutput("Out", out);
  context.SetOutput("Mask", out);
}

void Pool3dSchema(OpSchema& op) {
  op.Doc(
      "The maximum or the average of each window that slides over the depth, "
      "the height and the width; each channel by itself. A window with no "
      "element inside the input has the maximum -infinity, and the average 0 "
      "or, if exclusive, NaN.");
  op.Input("X", "T", "[N, C, D, H, W]; images have D = 1, signals D = H = 1.");
  op.Output("Out", "T",
            "[N, C, D', H', W'], with D' = (D + padding - (window - 1) * "
            "dilation - 1) / stride + 1, rounded down, or up for ceil_mode.");
  op.Output("Mask", "int64",
            "Where each maximum is in X, counted over all elements of X; of "
            "equal ones the first, -1 for none. For avg -1.",
            {.optional = true});
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Attr<std::string>("pooling_type",
                       "max: the largest number of each window, NaN if there "
                       "is one; avg: the average.")
      .Default(std::string("max"))
      .OneOf({"max", "avg"});
  op.Attr<Ints>("ksize", "The windows' depth, height and width.");
  op.Attr<Ints>("strides", "Elements from one window to the next.")
      .Default(Ints{1, 1, 1});
  op.Attr<Ints>("paddings",
                "Elements that the first and the last windows may reach out "
                "of the input: [depth, height, width], or [front, back, top, "
                "bottom, left, right].")
      .Default(Ints{0, 0, 0});
  op.Attr<Ints>("dilations", "Elements from one of a window to the next.")
      .Default(Ints{1, 1, 1});
  op.Attr<bool>("exclusive",
                "Averages are of the elements inside the input; false: the "
                "padding counts as zeros. What is past it, where ceil_mode "
                "lets windows reach, never counts.")
      .Default(true);
  op.Attr<bool>("ceil_mode",
                "Elements left over at the end get a window that reaches past "
                "it, if it would begin inside the input.")
      .Default(false);
  op.InferShape(Pool3dShape);
}

constexpr GradientOp kPool3dGrad = {
    .forward = Pool3dSchema,
    .doc =
        "The gradient of pool3d. max: the gradient of each window goes to the "
        "first of its elements that holds the maximum; avg: to all of them in "
        "equal parts.",
    .inputs = {"X"},
    .dims = Pool3dOutShape};

// The elements of one window along one axis: there are `count` of them with a
// stride of `dilation`. `padded` also counts those in the padding.
struct Span {
  int64_t begin = 0;
  int64_t count = 0;
  int64_t padded = 0;
};

// Counts those of the first `most` of begin, begin + dilation, ... below `end`.
int64_t CountBelow(int64_t begin, int64_t dilation, int64_t most, int64_t end) {
  return begin >= end ? 0 : std::min(most, (end - 1 - begin) / dilation + 1);
}

struct PoolAxis {
  int64_t in = 0;
  int64_t out = 0;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t before = 0;
  int64_t after = 0;

  Span SpanOf(int64_t window) const {
    Span span;
    const int64_t first = window * stride - before;
    const int64_t skipped = CountBelow(first, dilation, kernel, 0);
    span.padded = CountBelow(first, dilation, kernel, in + after);
    span.begin = first + skipped * dilation;
    span.count = CountBelow(span.begin, dilation, kernel - skipped, in);
    return span;
  }
};

struct PoolGeometry {
  int64_t channels = 0;
  PoolAxis axes[3];
  bool max = true;
  bool exclusive = true;

  int64_t volume() const { return axes[0].in * axes[1].in * axes[2].in; }
  int64_t windows() const { return axes[0].out * axes[1].out * axes[2].out; }
};

PoolGeometry GeometryOf(const KernelQuery& query,
                        const DDim& x,
                        const DDim& out) {
  const Ints& paddings = query.Attr<Ints>("paddings");
  const bool both = paddings.size() == 6;
  PoolGeometry g;
  g.channels = x[0] * x[1];
  g.max = query.Attr<std::string>("pooling_type") == "max";
  g.exclusive = query.Attr<bool>("exclusive");
  for (int i = 0; i < 3; ++i) {
    PoolAxis& axis = g.axes[i];
    axis.in = x[i + 2];
    axis.out = out[i + 2];
    axis.kernel = query.Attr<Ints>("ksize")[i];
    axis.stride = query.Attr<Ints>("strides")[i];
    axis.dilation = query.Attr<Ints>("dilations")[i];
    axis.before = paddings[both ? 2 * i : i];
    axis.after = paddings[both ? 2 * i + 1 : i];
  }
  return g;
}

// Calls visit(offset in the channel) for each element of a window, in order.
template <typename Visit>
void ForEachElement(const PoolGeometry& g,
                    const Span& d,
                    const Span& h,
                    const Span& w,
                    const Visit& visit) {
  for (int64_t i = 0; i < d.count; ++i) {
    const int64_t plane = (d.begin + i * g.axes[0].dilation) * g.axes[1].in;
    for (int64_t j = 0; j < h.count; ++j) {
      const int64_t row =
          (plane + h.begin + j * g.axes[1].dilation) * g.axes[2].in;
      for (int64_t k = 0; k < w.count; ++k) {
        visit(row + w.begin + k * g.axes[2].dilation);
      }
    }
  }
}

// Returns the offset of a window's maximum, -1 for an empty window.
template <typename T>
int64_t FindMax(const PoolGeometry& g,
                const Span& d,
                const Span& h,
                const Span& w,
                const T* channel) {
  int64_t best = -1;
  ForEachElement(g, d, h, w, [&](int64_t at) {
    const bool first = best < 0 || channel[at] > channel[best] ||
                       (std::isnan(channel[at]) && !std::isnan(channel[best]));
    if (first) best = at;
  });
  return best;
}

double Divisor(const PoolGeometry& g,
               const Span& d,
               const Span& h,
               const Span& w) {
  const auto real = [](int64_t count) { return static_cast<double>(count); };
  if (g.exclusive) return real(d.count) * real(h.count) * real(w.count);
  return std::max(real(d.padded) * real(h.padded) * real(w.padded), 1.0);
}

// Calls visit(channel, window, depth, height, width) for all windows. One
// thread handles a channel.
template <typename Visit>
void ForEachWindow(const PoolGeometry& g, const Visit& visit) {
  ParallelFor(g.channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      int64_t window = c * g.windows();
      for (int64_t i = 0; i < g.axes[0].out; ++i) {
        const Span d = g.axes[0].SpanOf(i);
        for (int64_t j = 0; j < g.axes[1].out; ++j) {
          const Span h = g.axes[1].SpanOf(j);
          for (int64_t k = 0; k < g.axes[2].out; ++k) {
            visit(c, window++, d, h, g.axes[2].SpanOf(k));
          }
        }
      }
    }
  });
}

template <typename T>
class Pool3dKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    dims_ = query.outputs[0];
    geometry_ = GeometryOf(query, query.inputs[0], dims_);
  }

  void Compute(OpKernelContext& context) const override {
    const PoolGeometry& g = geometry_;
    T* const out = context.AllocateOutput("Out", dims_).template data<T>();
    int64_t* mask = nullptr;
    if (context.HasOutput("Mask")) {
      mask = context.AllocateOutput("Mask", dims_).template data<int64_t>();
    }
    if (dims_.numel() == 0) return;
    const T* const x = context.Input(0).data<T>();
    ForEachWindow(g, [&](int64_t c, int64_t window, const Span& d,
                         const Span& h, const Span& w) {
      const T* const channel = x + c * g.volume();
      if (!g.max) {
        const double divisor = Divisor(g, d, h, w);
        double sum = 0;
        ForEachElement(g, d, h, w, [&](int64_t at) { sum += channel[at]; });
        double average = sum / divisor;
        if (!std::isfinite(sum)) {
          average = 0;  // the average may be finite
          ForEachElement(g, d, h, w,
                         [&](int64_t at) { average += channel[at] / divisor; });
        }
        out[window] = static_cast<T>(average);
        if (mask != nullptr) mask[window] = -1;
        return;
      }
      const int64_t best = FindMax(g, d, h, w, channel);
      out[window] =
          best < 0 ? -std::numeric_limits<T>::infinity() : channel[best];
      if (mask != nullptr) {
        mask[window] = best < 0 ? -1 : c * g.volume() + best;
      }
    });
  }

 private:
  DDim dims_;
  PoolGeometry geometry_;
};

template <typename T>
class Pool3dGradKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    dims_ = query.inputs[0];
    geometry_ = GeometryOf(query, dims_, query.inputs[1]);
  }

  void Compute(OpKernelContext& context) const override {
    const PoolGeometry& g = geometry_;
    T* const x_grad = context.AllocateOutput(0, dims_).template data<T>();
    std::fill(x_grad, x_grad + dims_.numel(), T{0});
    if (dims_.numel() == 0) return;
    const T* const x = context.Input(0).data<T>();
    const T* const grad = context.Input(1).data<T>();
    ForEachWindow(g, [&](int64_t c, int64_t window, const Span& d,
                         const Span& h, const Span& w) {
      T* const to = x_grad + c * g.volume();
      if (g.max) {
        const int64_t best = FindMax(g, d, h, w, x + c * g.volume());
        if (best >= 0) to[best] += grad[window];
        return;
      }
      const T part = static_cast<T>(grad[window] / Divisor(g, d, h, w));
      ForEachElement(g, d, h, w, [&](int64_t at) { to[at] += part; });
    });
  }

 private:
  DDim dims_;
  PoolGeometry geometry_;
};

// A thread handles a channel, element by element.
KernelWork Pool3dWork(const KernelQuery& query,
                      const DDim& x,
                      const DDim& windows) {
  KernelWork work = DefaultKernelWork(query);
  work.costs = query.op.type;
  work.windows = static_cast<double>(windows.numel());
  double terms = work.windows;
  for (const int64_t size : query.Attr<Ints>("ksize")) {
    terms *= static_cast<double>(size);
  }
  const bool max = query.Attr<std::string>("pooling_type") == "max";
  (max ? work.terms : work.sums) = terms;
  work.max_threads = std::max(static_cast<double>(x[0] * x[1]), 1.0);
  return work;
}
KernelWork Pool3dForwardWork(const KernelQuery& query) {
  return Pool3dWork(query, query.inputs[0], query.outputs[0]);
}
KernelWork Pool3dBackwardWork(const KernelQuery& query) {
  return Pool3dWork(query, query.inputs[0], query.inputs[1]);
}

}  // namespace

REGISTER_OPERATOR(pool3d, WithGradient<kPool3dGrad>);
REGISTER_OPERATOR(pool3d_grad, GradientSchema<kPool3dGrad>);
REGISTER_OP_CPU_KERNEL(pool3d,
                       EstimatedBy<&Pool3dForwardWork>,
                       Pool3dKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(pool3d_grad,
                       EstimatedBy<&Pool3dBackwardWork>,
                       Pool3dGradKernel<FloatTypes>);

}  // namespace sluice
