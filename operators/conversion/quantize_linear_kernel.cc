#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/operators/math/cast.h"
#include "sluice/operators/math/simd_parts-inl.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/number_format.h"
#include "sluice/platform/parallel_for.h"

// quantize_linear and dequantize_linear. Between float32 and integers of 8 or
// 16 bits they are computed in float32 lanes, with the best instruction set of
// the CPU; the bits of an element do not depend on its position. Elements of
// other dtypes are converted to float64 and back, a block at a time.
#ifndef SLUICE_QUANTIZE_SCALES
#define SLUICE_QUANTIZE_SCALES
namespace sluice {

// Element i has scale[i] and zero[i], or all have scale[0] and zero[0]. Zeros
// are within the range of the integers.
struct QuantizeScales {
  const float* scale;
  const int32_t* zero;
  bool single;
};

}  // namespace sluice
#endif

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kStep = kLanes<float>;

// The scales and zeros of the elements from i on, of which `left` are there.
struct ScaleLanes {
  V<float> scale;
  V<int32_t> zero;

  HWY_INLINE explicit ScaleLanes(const QuantizeScales& all)
      : scale(hn::Set(Tag<float>(), all.scale[0])),
        zero(hn::Set(Tag<int32_t>(), all.zero[0])) {}
  HWY_INLINE ScaleLanes(const QuantizeScales& all, int64_t i, int64_t left)
      : scale(LoadPart(all.scale + i, left, 1.0F)),
        zero(LoadPart(all.zero + i, left, int32_t{0})) {}
};

// Added to a smaller number, it leaves no bits for a fraction, which rounds to
// even. Then the bits are those of this number, plus the whole number.
constexpr float kWhole = 12582912;  // 1.5 * 2^23

// Returns the bits of the integers: their signed and unsigned type have the
// same.
template <typename Q>
HWY_INLINE auto QuantizeVector(V<float> x, ScaleLanes by) {
  const Tag<float> d;
  const Tag<int32_t> di;
  // Both limits are whole numbers, so that it does not matter whether the
  // quotient is rounded before or after.
  const auto limit = [&](Q end) HWY_ATTR {
    return hn::ConvertTo(d, hn::Sub(hn::Set(di, int32_t{end}), by.zero));
  };
  const V<float> whole = hn::Set(d, kWhole);
  const V<float> quotient = hn::Div(x, by.scale);
  const V<float> number =
      hn::IfThenElseZero(hn::Eq(quotient, quotient), quotient);
  const V<float> within =
      hn::Min(hn::Max(number, limit(std::numeric_limits<Q>::min())),
              limit(std::numeric_limits<Q>::max()));
  const auto offset = hn::Sub(by.zero, hn::BitCast(di, whole));
  const auto bits = hn::Add(hn::BitCast(di, hn::Add(within, whole)), offset);
  return hn::TruncateTo(
      hn::Rebind<hwy::MakeUnsigned<Q>, Tag<float>>(),
      hn::BitCast(hn::RebindToUnsigned<Tag<int32_t>>(), bits));
}

template <bool kSingle, typename Q>
HWY_INLINE void QuantizeAll(const float* x,
                            const QuantizeScales& scales,
                            int64_t count,
                            Q* integers) {
  using Bits = hwy::MakeUnsigned<Q>;
  const hn::Rebind<Bits, Tag<float>> dq;
  auto* out = reinterpret_cast<Bits*>(integers);
  ScaleLanes by(scales);
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    if constexpr (!kSingle) by = ScaleLanes(scales, i, kStep);
    hn::StoreU(QuantizeVector<Q>(hn::LoadU(Tag<float>(), x + i), by), dq,
               out + i);
  }
  if (i == count) return;
  if constexpr (!kSingle) by = ScaleLanes(scales, i, count - i);
  HWY_ALIGN Bits last[kStep];
  hn::Store(QuantizeVector<Q>(LoadPart(x + i, count - i, 0.0F), by), dq, last);
  for (int64_t j = 0; i + j < count; ++j) {
    out[i + j] = last[j];
  }
}

template <typename Q>
HWY_INLINE void Quantize(const float* x,
                         const QuantizeScales& scales,
                         int64_t count,
                         Q* out) {
  // Limits of one scale are computed before the loop.
  scales.single ? QuantizeAll<true>(x, scales, count, out)
                : QuantizeAll<false>(x, scales, count, out);
}

template <typename Q>
HWY_INLINE void Dequantize(const Q* x,
                           const QuantizeScales& scales,
                           int64_t count,
                           float* out) {
  const hn::Rebind<Q, Tag<float>> dq;
  ScaleLanes by(scales);
  for (int64_t i = 0; i < count; i += kStep) {
    const int64_t left = count - i;
    HWY_ALIGN Q last[kStep] = {};
    const Q* from = x + i;
    if (left < kStep) {
      for (int64_t j = 0; j < left; ++j) {
        last[j] = from[j];
      }
      from = last;
    }
    if (!scales.single) by = ScaleLanes(scales, i, left);
    const auto whole = hn::PromoteTo(Tag<int32_t>(), hn::LoadU(dq, from));
    const auto number = hn::ConvertTo(Tag<float>(), hn::Sub(whole, by.zero));
    StorePart<float>(hn::Mul(number, by.scale), out + i, left);
  }
}

// out[i] = x[i] / scale, rounded to float32 and then to a whole number, ties to
// even (NaN counts as 0), plus zero; past the range of `dtype` its nearest end.
void QuantizeTo(const float* x,
                const QuantizeScales& scales,
                int64_t count,
                DType dtype,
                void* out) {
  if (dtype == DType::kInt8) {
    Quantize(x, scales, count, static_cast<int8_t*>(out));
  } else if (dtype == DType::kUInt8) {
    Quantize(x, scales, count, static_cast<uint8_t*>(out));
  } else if (dtype == DType::kInt16) {
    Quantize(x, scales, count, static_cast<int16_t*>(out));
  } else {
    Quantize(x, scales, count, static_cast<uint16_t*>(out));
  }
}

// out[i] = (x[i] - zero) * scale, rounded once.
void DequantizeFrom(DType dtype,
                    const void* x,
                    const QuantizeScales& scales,
                    int64_t count,
                    float* out) {
  if (dtype == DType::kInt8) {
    Dequantize(static_cast<const int8_t*>(x), scales, count, out);
  } else if (dtype == DType::kUInt8) {
    Dequantize(static_cast<const uint8_t*>(x), scales, count, out);
  } else if (dtype == DType::kInt16) {
    Dequantize(static_cast<const int16_t*>(x), scales, count, out);
  } else {
    Dequantize(static_cast<const uint16_t*>(x), scales, count, out);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {

HWY_EXPORT(QuantizeTo);
HWY_EXPORT(DequantizeFrom);

// Whether the loops take that dtype of integers.
bool QuantizesInLanes(DType dtype) {
  return dtype == DType::kInt8 || dtype == DType::kUInt8 ||
         dtype == DType::kInt16 || dtype == DType::kUInt16;
}

constexpr int64_t kBlock = 256;
constexpr int64_t kBlockOfLanes = 16384;  // needs no memory for float64

// Views X as rows of `inner` elements. A row has a single scale, or `inner`
// contiguous ones.
struct ScaleMap {
  ScaleMap() = default;
  ScaleMap(const KernelQuery& query, const DDim& x, const DDim& scale) {
    const auto block_size = query.Attr<int64_t>("block_size");
    inner = x.numel();
    if (block_size == 0 && scale.numel() == 1) return;
    const auto given = query.Attr<int64_t>("axis");
    const int axis = static_cast<int>(given < 0 ? given + x.rank() : given);
    size = x[axis];
    inner = x.Product(axis + 1, x.rank());
    together = std::max<int64_t>(block_size, 1);
    if (block_size == 0) {
      if (inner > 1) return;
      inner = size;  // the last axis: a row of X has a row of scales
      size = step = 1;
      return;
    }
    step = 1;
    outer_step = scale.Product(axis, scale.rank());
  }

  // Returns the index of the first scale of row `row`.
  int64_t First(int64_t row) const {
    const int64_t of_axis = row % size / together;
    return row / size * outer_step + of_axis * (step == 1 ? inner : 1);
  }

  int64_t inner = 0;
  int64_t size = 1;        // rows of X until the scales repeat
  int64_t together = 1;    // consecutive rows with the same scales
  int64_t step = 0;        // of the scales along a row
  int64_t outer_step = 0;  // scales between blocks of `size` rows
};

// Keeps the scales, followed by the zero points, in scratch: as float64, or for
// lanes as float32 and int32.
class ScaledKernel : public OpKernel {
 public:
  explicit ScaledKernel(const OpKernelConstruction& construction)
      : dtype_(construction.Attr<DType>("dtype")) {}

  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    dims_ = query.outputs[0];
    scales_ = query.inputs[1].numel();
    if (dims_.numel() == 0) return;
    map_ = ScaleMap(query, query.inputs[0], query.inputs[1]);
    in_lanes_ = FitsLanes(query.input_dtypes[0]);
    preparation.scratch_bytes =
        2 * static_cast<size_t>(scales_) * sizeof(double);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, dims_);
    if (out.numel() == 0) return;
    auto* scales = static_cast<double*>(context.scratch());
    double* zeros = scales + scales_;
    const Tensor& scale = context.Input("Scale");
    Cast(scale.dtype(), scale.raw_data(), scales_,
         in_lanes_ ? DType::kFloat32 : DType::kFloat64, scales);
    std::memset(zeros, 0, static_cast<size_t>(scales_) * sizeof(double));
    if (context.HasInput("ZeroPoint")) {
      const Tensor& zero = context.Input("ZeroPoint");
      Cast(zero.dtype(), zero.raw_data(), scales_,
           in_lanes_ ? DType::kInt32 : DType::kFloat64, zeros);
    }
    const auto* from = static_cast<const char*>(x.raw_data());
    auto* to = static_cast<char*>(out.raw_data());
    const auto from_size = static_cast<int64_t>(SizeOf(x.dtype()));
    const auto to_size = static_cast<int64_t>(SizeOf(dtype_));
    // Threads share pieces of rows: a row may be one element or all of X.
    const int64_t block = in_lanes_ ? kBlockOfLanes : kBlock;
    const int64_t pieces = (map_.inner + block - 1) / block;
    const int64_t grain =
        std::max<int64_t>(1, 16384 / std::min(map_.inner, block));
    ParallelFor(
        out.numel() / map_.inner * pieces, grain,
        [&](int64_t begin, int64_t end) {
          for (int64_t piece = begin; piece < end; ++piece) {
            const int64_t row = piece / pieces;
            const int64_t at = piece % pieces * block;
            const int64_t count = std::min(block, map_.inner - at);
            const int64_t element = row * map_.inner + at;
            const int64_t first = map_.First(row) + at * map_.step;
            const char* source = from + element * from_size;
            char* target = to + element * to_size;
            if (in_lanes_) {
              ConvertInLanes(x.dtype(), source,
                             {reinterpret_cast<const float*>(scales) + first,
                              reinterpret_cast<const int32_t*>(zeros) + first,
                              map_.step == 0},
                             count, target);
              continue;
            }
            double values[kBlock];
            Cast(x.dtype(), source, count, DType::kFloat64, values);
            Convert(scales + first, zeros + first, map_.step, count, values);
            Cast(DType::kFloat64, values, count, dtype_, target, narrowing_);
          }
        });
  }

 protected:
  // Whether X of that dtype, and Out, are converted in lanes.
  virtual bool FitsLanes(DType x) const = 0;
  virtual void ConvertInLanes(DType x_dtype,
                              const void* x,
                              QuantizeScales scales,
                              int64_t count,
                              void* out) const = 0;
  // Value i has its scale and zero point at index i * step.
  virtual void Convert(const double* scale,
                       const double* zero,
                       int64_t step,
                       int64_t count,
                       double* values) const = 0;

  DType dtype_;
  Narrowing narrowing_;

 private:
  int64_t scales_ = 0;
  bool in_lanes_ = false;
  DDim dims_;
  ScaleMap map_;
};

// Returns x / scale, rounded to `precision`. The quotient of two half-precision
// numbers is rounded twice with the same result: float32 has more than twice
// their bits.
double Quotient(double x, double scale, DType precision) {
  if (precision == DType::kFloat64) return x / scale;
  return static_cast<float>(x) / static_cast<float>(scale);
}

class QuantizeLinearKernel final : public ScaledKernel {
 public:
  static constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat64,
                                      DType::kFloat16, DType::kBFloat16,
                                      DType::kInt32};

  explicit QuantizeLinearKernel(const OpKernelConstruction& construction)
      : ScaledKernel(construction),
        precision_(construction.Attr<DType>("precision")) {
    narrowing_.saturate = construction.Attr<bool>("saturate");
    const NumberFormat& format = FormatOf(dtype_);
    to_integer_ = !format.is_float();
    const double count = std::ldexp(1.0, format.bits);
    least_ = format.is_signed ? -count / 2 : 0;
    largest_ = least_ + count - 1;
  }

 private:
  bool FitsLanes(DType x) const override {
    return x == DType::kFloat32 && precision_ == x && QuantizesInLanes(dtype_);
  }
  void ConvertInLanes(DType /*x_dtype*/,
                      const void* x,
                      QuantizeScales scales,
                      int64_t count,
                      void* out) const override {
    HWY_DYNAMIC_DISPATCH(QuantizeTo)
    (static_cast<const float*>(x), scales, count, dtype_, out);
  }

  void Convert(const double* scale,
               const double* zero,
               int64_t step,
               int64_t count,
               double* values) const override {
    // float16 and bfloat16 are rounded by Cast.
    double divisors[kBlock];
    for (int64_t i = 0; i < count; ++i) {
      divisors[i] = scale[i * step];
    }
    Round(count, values);
    Round(count, divisors);
    for (int64_t i = 0; i < count; ++i) {
      values[i] = Quotient(values[i], divisors[i], precision_);
    }
    Round(count, values);
    for (int64_t i = 0; i < count; ++i) {
      const double offset = zero[i * step];
      if (to_integer_) {
        const double whole = std::isnan(values[i]) ? 0 : std::rint(values[i]);
        values[i] = std::clamp(whole + offset, least_, largest_);
      } else if (offset != 0) {
        values[i] += offset;  // otherwise -0 would become 0
      }
    }
  }

  // Rounds to a precision below float32.
  void Round(int64_t count, double* values) const {
    if (SizeOf(precision_) > 2) return;
    uint16_t halves[kBlock];
    Cast(DType::kFloat64, values, count, precision_, halves);
    Cast(precision_, halves, count, DType::kFloat64, values);
  }

  DType precision_;
  bool to_integer_ = false;
  double least_ = 0;
  double largest_ = 0;
};

class DequantizeLinearKernel final : public ScaledKernel {
 public:
  static constexpr DType kDTypes[] = {
      DType::kInt8,           DType::kUInt8,      DType::kInt16,
      DType::kUInt16,         DType::kInt4,       DType::kUInt4,
      DType::kInt2,           DType::kUInt2,      DType::kFloat8E4M3FN,
      DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2, DType::kFloat8E5M2FNUZ,
      DType::kFloat4E2M1FN,   DType::kInt32};

  using ScaledKernel::ScaledKernel;

 private:
  bool FitsLanes(DType x) const override {
    return dtype_ == DType::kFloat32 && QuantizesInLanes(x);
  }
  void ConvertInLanes(DType x_dtype,
                      const void* x,
                      QuantizeScales scales,
                      int64_t count,
                      void* out) const override {
    HWY_DYNAMIC_DISPATCH(DequantizeFrom)
    (x_dtype, x, scales, count, static_cast<float*>(out));
  }

  void Convert(const double* scale,
               const double* zero,
               int64_t step,
               int64_t count,
               double* values) const override {
    for (int64_t i = 0; i < count; ++i) {
      values[i] = (values[i] - zero[i * step]) * scale[i * step];
    }
  }
};

}  // namespace

REGISTER_OP_CPU_KERNEL(quantize_linear, QuantizeLinearKernel);
REGISTER_OP_CPU_KERNEL(dequantize_linear, DequantizeLinearKernel);

}  // namespace sluice
#endif  // HWY_ONCE
