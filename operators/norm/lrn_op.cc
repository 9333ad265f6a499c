#include <algorithm>
#include <cmath>

#include "sluice/operators/conversion/widened_kernel.h"
#include "sluice/operators/norm/lrn.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/cpu/simd_dispatch.h"
#include "sluice/platform/parallel_for.h"

// Local response normalization across channels through ParallelFor. The bits do
// not depend on the number of threads.
#ifndef SLUICE_LRN_RANGE
#define SLUICE_LRN_RANGE
namespace sluice {

// The elements [begin, begin + count) of one row.
struct LrnRange {
  int64_t row;
  int64_t begin;
  int64_t count;
};

}  // namespace sluice
#endif

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
struct Lines {
  HWY_ALIGN T values[LrnGeometry::kBlock];
};

// sums[j] = the sum of v (or v^2) over the window of element begin + j.
template <bool kSquares, typename T>
HWY_INLINE void WindowSums(const LrnGeometry& g,
                           const T* v,
                           int64_t before,
                           int64_t after,
                           const LrnRange& range,
                           T* sums) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  std::fill(sums, sums + range.count, T{0});
  for (int64_t channel = -before; channel <= after; ++channel) {
    const int64_t offset = channel * g.step;
    // The range in which windows include this channel.
    const int64_t first = std::max<int64_t>(range.begin, -offset);
    const int64_t last = std::min(range.begin + range.count, g.row() - offset);
    const T* from = v + offset + range.begin;
    int64_t j = std::max<int64_t>(first - range.begin, 0);
    const int64_t end = last - range.begin;
    for (; j + lanes <= end; j += lanes) {
      const auto value = hn::LoadU(d, from + j);
      const auto sum = hn::LoadU(d, sums + j);
      if constexpr (kSquares) {
        hn::StoreU(hn::Add(sum, hn::Mul(value, value)), d, sums + j);
      } else {
        hn::StoreU(hn::Add(sum, value), d, sums + j);
      }
    }
    for (; j < end; ++j) {
      sums[j] += kSquares ? from[j] * from[j] : from[j];
    }
  }
}

// powers[j] = s^-beta; sums[j] becomes s. Most networks use beta = 3/4.
template <typename T>
HWY_INLINE void Powers(const LrnGeometry& g,
                       int64_t count,
                       T* sums,
                       T* powers) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto k = hn::Set(d, static_cast<T>(g.k));
  const auto scale = hn::Set(d, static_cast<T>(g.scale));
  const bool common = g.beta == 0.75;
  // Handles whole vectors; elements past `count` are not used.
  for (int64_t j = 0; j < count; j += lanes) {
    const auto s = hn::Add(k, hn::Mul(scale, hn::Load(d, sums + j)));
    hn::Store(s, d, sums + j);
    if (common) {
      const auto root = hn::Sqrt(s);
      const auto power = hn::Mul(root, hn::Sqrt(root));
      hn::Store(hn::Div(hn::Set(d, T{1}), power), d, powers + j);
    }
  }
  for (int64_t j = 0; !common && j < count; ++j) {
    powers[j] = std::pow(sums[j], static_cast<T>(-g.beta));
  }
}

// Whether a sum is 0, infinity or NaN, as it is if it exceeded the range of T.
template <typename T>
HWY_INLINE bool IsFar(T s) {
  return s == 0 || !(s * T{0} == 0);
}

// Computes an element whose sum of squares exceeds the range of T.
template <typename T>
T NormalizedFar(const LrnGeometry& g, const T* row, int64_t at) {
  const int64_t channel = at / g.step;
  long double sum = 0;
  for (int64_t i = std::max<int64_t>(channel - g.before, 0);
       i <= std::min(channel + g.after, g.row() / g.step - 1); ++i) {
    const long double value = row[at + (i - channel) * g.step];
    sum += value * value;
  }
  const long double power = std::pow(
      static_cast<long double>(g.k) + static_cast<long double>(g.scale) * sum,
      static_cast<long double>(-g.beta));
  return static_cast<T>(row[at] * power);
}

template <typename T>
void ForwardRange(const LrnGeometry& g,
                  const LrnRange& range,
                  const T* x,
                  T* out) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  Lines<T> sums, powers;
  x += range.row * g.row();
  out += range.row * g.row() + range.begin;
  WindowSums<true>(g, x, g.before, g.after, range, sums.values);
  Powers(g, range.count, sums.values, powers.values);
  x += range.begin;
  int64_t j = 0;
  for (; j + lanes <= range.count; j += lanes) {
    hn::StoreU(hn::Mul(hn::LoadU(d, x + j), hn::Load(d, powers.values + j)), d,
               out + j);
  }
  for (; j < range.count; ++j) {
    out[j] = x[j] * powers.values[j];
  }
  const auto correct = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (!IsFar(sums.values[i])) continue;
      out[i] = NormalizedFar(g, x - range.begin, range.begin + i);
    }
  };
  for (j = 0; j + lanes <= range.count; j += lanes) {
    const auto s = hn::Load(d, sums.values + j);
    // hn::Ne is not used here, as with AVX it is false for NaN.
    const auto near = hn::AndNot(hn::Eq(s, hn::Zero(d)), hn::IsFinite(s));
    if (!hn::AllTrue(d, near)) correct(j, j + lanes);
  }
  correct(j, range.count);
}

// Computes the first summand of the gradient and the terms of the second.
template <typename T>
void TermsRange(const LrnGeometry& g,
                const LrnRange& range,
                const T* x,
                const T* out_grad,
                T* terms,
                T* x_grad) {
  Lines<T> sums, powers;
  const int64_t row = range.row * g.row();
  WindowSums<true>(g, x + row, g.before, g.after, range, sums.values);
  Powers(g, range.count, sums.values, powers.values);
  const int64_t at = row + range.begin;
  for (int64_t j = 0; j < range.count; ++j) {
    const T grad = out_grad[at + j] * powers.values[j];
    terms[at + j] = grad * x[at + j] / sums.values[j];
    x_grad[at + j] = grad;
  }
}

// An element is in the windows of the channels up to `after` before it and up
// to `before` after it.
template <typename T>
void GradRange(const LrnGeometry& g,
               const LrnRange& range,
               const T* x,
               const T* terms,
               T* x_grad) {
  Lines<T> sums;
  const int64_t row = range.row * g.row();
  WindowSums<false>(g, terms + row, g.after, g.before, range, sums.values);
  const T factor = static_cast<T>(2 * g.scale * g.beta);
  const int64_t at = row + range.begin;
  for (int64_t j = 0; j < range.count; ++j) {
    x_grad[at + j] -= factor * x[at + j] * sums.values[j];
  }
}

SLUICE_SIMD_FLOATS(ForwardRange);
SLUICE_SIMD_FLOATS(TermsRange);
SLUICE_SIMD_FLOATS(GradRange);

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {

void LrnShape(InferShapeContext& context) {
  context.SetOutput("Out", context.WithRankAtLeast(context.input("X"), 2));
}

void LrnGradShape(InferShapeContext& context) {
  context.SetOutput(
      "X@GRAD",
      context.WithRankAtLeast(
          context.Merge(context.input("X"), context.input("Out@GRAD")), 2));
}

void LrnSchema(OpSchema& op) {
  op.Doc(
      "Local response normalization across channels: Out[c] = X[c] / (k + "
      "alpha / n * the sum of X[i]^2)^beta over the channels i from c - (n - "
      "1) / 2 to c + n / 2, both rounded down, that exist.");
  op.Input("X", "T", "[N, C, ...] for NCHW, [N, ..., C] for NHWC.");
  op.Output("Out", "T", "In the shape of X.");
  op.TypeVar("T", FloatDTypes());
  op.Attr<int64_t>("n", "The channels of a window.")
      .Default(int64_t{5})
      .AtLeast(1);
  op.Attr<double>("k", "What the sums of squares are added to.").Default(1.0);
  op.Attr<double>("alpha",
                  "What the mean of the squares over the n channels is "
                  "multiplied with, as in ONNX, PyTorch and Caffe: Fluid and "
                  "TensorFlow multiply the sum, their alpha is ours / n.")
      .Default(1e-4);
  op.Attr<double>("beta", "The exponent.").Default(0.75);
  op.Attr<std::string>("data_format",
                       "Where the channels are: dim 1 for NCHW, the last one "
                       "for NHWC.")
      .Default(std::string("NCHW"))
      .OneOf({"NCHW", "NHWC"});
  op.InferShape(LrnShape);
  op.Onnx({"LRN", {{"size", "n"}, {"bias", "k"}}});
}

constexpr GradientOp kLrnGrad = {.forward = LrnSchema,
                                 .doc = "The gradient of lrn.",
                                 .inputs = {"X"},
                                 .shape = LrnGradShape};

SLUICE_EXPORT_FLOATS(ForwardRange);
SLUICE_EXPORT_FLOATS(TermsRange);
SLUICE_EXPORT_FLOATS(GradRange);

// Calls body(range) for ranges that cover all rows.
template <typename Body>
void ForEachRange(const LrnGeometry& g, const Body& body) {
  constexpr int64_t kGrain = 8192, kBlock = LrnGeometry::kBlock;
  const int64_t row = g.row();
  if (g.rows * row == 0) return;
  const int64_t blocks = (row + kBlock - 1) / kBlock;
  const int64_t grain = std::max<int64_t>(1, kGrain / std::min(row, kBlock));
  ParallelFor(g.rows * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % blocks * kBlock;
      body(LrnRange{i / blocks, first, std::min(kBlock, row - first)});
    }
  });
}

// out = x * s^-beta with s = k + scale * the sum of x^2 over the window.
template <typename T>
void Lrn(const LrnGeometry& g, const T* x, T* out) {
  const auto run = ForwardRangeFor<T>();
  ForEachRange(g, [&](const LrnRange& range) { run(g, range, x, out); });
}

// x_grad = out_grad * s^-beta - 2 * scale * beta * x * the sum over all windows
// that contain x of out_grad * x * s^(-beta - 1). `terms` is memory for as many
// elements as x has.
template <typename T>
void LrnGrad(
    const LrnGeometry& g, const T* x, const T* out_grad, T* terms, T* x_grad) {
  const auto find_terms = TermsRangeFor<T>();
  ForEachRange(g, [&](const LrnRange& range) {
    find_terms(g, range, x, out_grad, terms, x_grad);
  });
  const auto run = GradRangeFor<T>();
  ForEachRange(g,
               [&](const LrnRange& range) { run(g, range, x, terms, x_grad); });
}

template <typename T>
class LrnKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    geometry_ = LrnGeometryOf(preparation.query);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, x.dims());
    if (x.numel() > 0) Lrn(geometry_, x.data<T>(), out.data<T>());
  }

 private:
  LrnGeometry geometry_;
};

template <typename T>
class LrnGradKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    geometry_ = LrnGeometryOf(preparation.query);
    preparation.scratch_bytes =
        static_cast<size_t>(preparation.query.inputs[0].numel()) * sizeof(T);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& x_grad = context.AllocateOutput(0, x.dims());
    if (x.numel() == 0) return;
    LrnGrad(geometry_, x.data<T>(), context.Input(1).data<T>(),
            static_cast<T*>(context.scratch()), x_grad.data<T>());
  }

 private:
  LrnGeometry geometry_;
};

}  // namespace

REGISTER_OPERATOR(lrn, WithGradient<kLrnGrad>);
REGISTER_OPERATOR(lrn_grad, GradientSchema<kLrnGrad>);
REGISTER_OP_CPU_KERNEL(lrn, LrnKernel<FloatsAndWidenedHalves>);
REGISTER_OP_CPU_KERNEL(lrn_grad, LrnGradKernel<FloatsAndWidenedHalves>);

}  // namespace sluice
#endif  // HWY_ONCE
