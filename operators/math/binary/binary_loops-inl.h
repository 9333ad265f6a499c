// The loops of binary rows of arithmetic, compiled for every instruction set:
// include this after hwy/highway.h, once for each.
#if defined(SLUICE_BINARY_LOOPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#if defined(HWY_TARGET_TOGGLE)
#undef SLUICE_BINARY_LOOPS_INL_H_
#else
#define SLUICE_BINARY_LOOPS_INL_H_
#endif

#include <cmath>
#include <cstdint>
#include <vector>

#include <hwy/highway.h>

#include "sluice/operators/math/binary/binary_row.h"
#include "sluice/operators/math/simd_formulas-inl.h"
#include "sluice/operators/math/simd_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {

// An operand: a tensor's elements, or one repeated number.
template <typename T, bool kSingle>
struct Operand {
  explicit HWY_INLINE Operand(const T* elements) : elements(elements) {}
  template <class D>
  HWY_INLINE Lanes<D> At(D d, int64_t i) const {
    return hwy::HWY_NAMESPACE::LoadU(d, elements + i);
  }
  HWY_INLINE T At(int64_t i) const { return elements[i]; }
  const T* elements;
};
template <typename T>
struct Operand<T, true> {
  explicit HWY_INLINE Operand(const T* elements) : number(*elements) {}
  template <class D>
  HWY_INLINE Lanes<D> At(D d, int64_t /*i*/) const {
    return hwy::HWY_NAMESPACE::Set(d, number);
  }
  HWY_INLINE T At(int64_t /*i*/) const { return number; }
  T number;
};

template <class Row, class X, class Y>
struct BinaryStep {
  template <class D>
  HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> operator()(D d, int64_t i) const {
    return Row::Of(x.At(d, i), y.At(d, i)).v;
  }
  X x;
  Y y;
};

// Rows that divide integers.
template <class Row>
constexpr bool Divides() {
  const std::string_view name = Row::kInfo.name;
  return name == "elementwise_mod" || name == "elementwise_fmod" ||
         name == "elementwise_floordiv";
}

// Computes kDivided elements, which compilers do in vectors of doubles, for
// int64 as int32; false if those are too large.
constexpr int64_t kDivided = 64;
template <class Row, typename T, class X, class Y>
HWY_INLINE bool DivideBlock(const X& x, const Y& y, int64_t i, T* out) {
  using U = std::conditional_t<sizeof(T) == 8, int32_t, T>;
  U values[kDivided];  // not `out`, which may be an input
  uint64_t wide = 0;
  for (int64_t j = 0; j < kDivided; ++j) {
    const T a = x.At(i + j), b = y.At(i + j);
    if constexpr (sizeof(T) == 8) {
      wide |= static_cast<uint64_t>(a ^ (a >> 63)) |
              static_cast<uint64_t>(b ^ (b >> 63));
    }
    values[j] = Row::Of(Wrapped<U>(static_cast<uint64_t>(a)),
                        Wrapped<U>(static_cast<uint64_t>(b)))
                    .v;
  }
  if (wide >> 30 != 0) return false;
  for (int64_t j = 0; j < kDivided; ++j) {
    out[i + j] = values[j];
  }
  return true;
}

template <class Row, typename T, bool kXSingle, bool kYSingle>
void BinaryLoop(const void* x, const void* y, int64_t count, void* out) {
  const Operand<T, kXSingle> left(static_cast<const T*>(x));
  const Operand<T, kYSingle> right(static_cast<const T*>(y));
  T* to = static_cast<T*>(out);
  if constexpr (std::is_integral_v<T>) {
    int64_t i = 0;
    if constexpr (std::is_signed_v<T> && Divides<Row>()) {
      while (i + kDivided <= count && DivideBlock<Row>(left, right, i, to)) {
        i += kDivided;
      }
    }
    for (; i < count; ++i) {
      to[i] = Row::Of(Wrapped<T>(static_cast<uint64_t>(left.At(i))),
                      Wrapped<T>(static_cast<uint64_t>(right.At(i))))
                  .v;
    }
  } else {
    ForEachElement(
        BinaryStep<Row, Operand<T, kXSingle>, Operand<T, kYSingle>>{left,
                                                                    right},
        count, to);
  }
}

// Inputs that a gradient does not read are 0 in its formula.
template <class Row, bool kOfX, typename T, bool kXSingle, bool kYSingle>
struct BinaryGradStep {
  template <class D>
  HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> operator()(D d, int64_t i) const {
    constexpr BinaryReads kReads = Row::kInfo.gradient_reads;
    using V = Lanes<D>;
    const V grad = hwy::HWY_NAMESPACE::LoadU(d, out_grad + i);
    V x_value(0.0), y_value(0.0), out_value(0.0);
    if constexpr (kReads.x) x_value = Element<kXSingle>(d, x, i);
    if constexpr (kReads.y) y_value = Element<kYSingle>(d, y, i);
    if constexpr (kReads.out) out_value = Element<false>(d, out, i);
    if constexpr (kOfX) {
      return Row::XGradient(grad, x_value, y_value, out_value).v;
    } else {
      return Row::YGradient(grad, x_value, y_value, out_value).v;
    }
  }
  template <bool kSingle, class D>
  static HWY_INLINE Lanes<D> Element(D d, const T* from, int64_t i) {
    return Operand<T, kSingle>(from).At(d, i);
  }
  const T* out_grad;
  const T* x;
  const T* y;
  const T* out;
};

template <class Row, bool kOfX, typename T, bool kXSingle, bool kYSingle>
void BinaryGradLoop(const void* out_grad,
                    const void* x,
                    const void* y,
                    const void* out,
                    int64_t count,
                    void* terms) {
  ForEachElement(
      BinaryGradStep<Row, kOfX, T, kXSingle, kYSingle>{
          static_cast<const T*>(out_grad), static_cast<const T*>(x),
          static_cast<const T*>(y), static_cast<const T*>(out)},
      count, static_cast<T*>(terms));
}

template <class Row, typename T>
void AddBinaryForward(BinaryRow* row) {
  row->Of<T>().forward = {&BinaryLoop<Row, T, false, false>,
                          &BinaryLoop<Row, T, true, false>,
                          &BinaryLoop<Row, T, false, true>};
}

template <class Row, bool kOfX, typename T>
BinaryGradLoops MakeBinaryGradLoops() {
  return {&BinaryGradLoop<Row, kOfX, T, false, false>,
          &BinaryGradLoop<Row, kOfX, T, true, false>,
          &BinaryGradLoop<Row, kOfX, T, false, true>};
}

template <class Row, typename T>
void AddBinaryFloats(BinaryRow* row) {
  AddBinaryForward<Row, T>(row);
  // A gradient that equals Out@GRAD needs no loop.
  if constexpr (Row::kInfo.x_term == BinaryTerm::kComputed) {
    row->Of<T>().x_terms = MakeBinaryGradLoops<Row, true, T>();
  }
  if constexpr (Row::kInfo.y_term == BinaryTerm::kComputed ||
                Row::kInfo.y_term == BinaryTerm::kNegated) {
    row->Of<T>().y_terms = MakeBinaryGradLoops<Row, false, T>();
  }
}

template <class Row>
BinaryRow MakeBinaryRow() {
  static_assert(Row::kInfo.dtypes != BinaryDTypes::kIntegers &&
                    Row::kInfo.dtypes != BinaryDTypes::kBool,
                "rows for integers alone and for bool are in bit_rows.inc");
  BinaryRow row = {Row::kInfo, {}};
  AddBinaryFloats<Row, float>(&row);
  return row;
}

template <class Row>
void AddMoreDTypes(BinaryRow* row) {
  AddBinaryFloats<Row, double>(row);
  if constexpr (Row::kInfo.dtypes != BinaryDTypes::kFloats) {
    AddBinaryForward<Row, int8_t>(row);
    AddBinaryForward<Row, uint8_t>(row);
    AddBinaryForward<Row, int32_t>(row);
    AddBinaryForward<Row, int64_t>(row);
    AddBinaryForward<Row, uint64_t>(row);
  }
  if constexpr (Row::kInfo.dtypes == BinaryDTypes::kAll) {
    AddBinaryForward<Row, bool>(row);
  }
}

// Adds the rows of a table, with loops for float32.

template <class... Row>
void AddBinaryRows(Rows<Row...> /*table*/, std::vector<BinaryRow>* rows) {
  (rows->push_back(MakeBinaryRow<Row>()), ...);
}

// Adds the loops for float64 and integers to consecutive rows, from `row` on.
template <class... Row>
void AddMoreDTypesOfRows(Rows<Row...> /*table*/, BinaryRow* row) {
  (AddMoreDTypes<Row>(row++), ...);
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#endif  // per target
