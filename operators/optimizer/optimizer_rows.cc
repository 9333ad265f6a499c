#include <algorithm>
#include <cmath>
#include <vector>

#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/operators/math/simd_doubles-inl.h"
#include "sluice/operators/math/simd_formulas-inl.h"
#include "sluice/operators/optimizer/optimizer_row.h"

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
#include "sluice/operators/optimizer/optimizer_rows.inc"

// Elements [begin, end) as far as they fill vectors; returns where it stopped.
template <class Row, bool kStream, class D, typename T>
HWY_INLINE int64_t StepVectors(D d,
                               const OptimizerArrays<T>& a,
                               const OptimizerNumbers& numbers,
                               int64_t begin,
                               int64_t end) {
  using V = Lanes<D>;
  constexpr size_t kStates = Row::kInfo.state_count();
  constexpr int64_t kLanes = hn::MaxLanes(d);
  const V n[] = {V(numbers[0]), V(numbers[1]), V(numbers[2]), V(numbers[3]),
                 V(numbers[4]), V(numbers[5]), V(numbers[6]), V(numbers[7])};
  const auto store = [d](V value, T* to) {
    if constexpr (kStream) {
      hn::Stream(value.v, d, to);
    } else {
      hn::StoreU(value.v, d, to);
    }
  };
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    V param = hn::LoadU(d, a.param + i);
    V state[] = {V(0), V(0), V(0)};
    for (size_t s = 0; s < kStates; ++s) {
      state[s] = hn::LoadU(d, a.states[s] + i);
    }
    Row::Step(n, V(hn::LoadU(d, a.grad + i)), param, state);
    for (size_t s = 0; s < kStates; ++s) {
      store(state[s], a.states_out[s] + i);
    }
    store(param, a.param_out + i);
  }
  return i;
}

template <class Row, typename T>
void Loop(const OptimizerArrays<T>& arrays,
          const OptimizerNumbers& numbers,
          int64_t begin,
          int64_t end) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  int64_t rest = begin;
  if (arrays.stream) {
    // Up to the first whole cache line.
    constexpr int64_t kLine = 64 / sizeof(T);
    const int64_t whole = std::min(end, (begin + kLine - 1) / kLine * kLine);
    rest = StepVectors<Row, false>(one, arrays, numbers, begin, whole);
    rest = StepVectors<Row, true>(d, arrays, numbers, rest, end);
    hwy::FlushStream();
  } else {
    rest = StepVectors<Row, false>(d, arrays, numbers, begin, end);
  }
  StepVectors<Row, false>(one, arrays, numbers, rest, end);
}

// Writes Row::Direction of [begin, end), as far as vectors are filled, to `to`;
// returns where it stopped.
template <class Row, class D, typename T>
HWY_INLINE int64_t WriteDirections(D d,
                                   const OptimizerArrays<T>& a,
                                   const OptimizerNumbers& numbers,
                                   int64_t begin,
                                   int64_t end,
                                   T* to) {
  using V = Lanes<D>;
  const V n[] = {V(numbers[0]), V(numbers[1]), V(numbers[2]), V(numbers[3]),
                 V(numbers[4]), V(numbers[5]), V(numbers[6]), V(numbers[7])};
  constexpr int64_t kLanes = hn::MaxLanes(d);
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    V state[] = {V(0), V(0), V(0)};
    for (size_t s = 0; s < Row::kInfo.state_count(); ++s) {
      state[s] = hn::LoadU(d, a.states[s] + i);
    }
    const V direction = Row::Direction(n, V(hn::LoadU(d, a.grad + i)),
                                       V(hn::LoadU(d, a.param + i)), state);
    hn::StoreU(direction.v, d, to + i - begin);
  }
  return i;
}

template <typename T>
HWY_INLINE double SquareSum(const T* x, int64_t count) {
  return SumOf(
      [x](auto d, int64_t i) {
        const auto each = LoadDoubles(d, x + i);
        return hn::Mul(each, each);
      },
      count);
}

template <class Row, typename T>
OptimizerSquares Measure(const OptimizerArrays<T>& arrays,
                         const OptimizerNumbers& numbers,
                         int64_t begin,
                         int64_t end) {
  constexpr int64_t kBlock = 512;
  T directions[kBlock];
  OptimizerSquares squares = {SquareSum(arrays.param + begin, end - begin), 0};
  for (int64_t i = begin; i < end; i += kBlock) {
    const int64_t stop = std::min(i + kBlock, end);
    const int64_t rest = WriteDirections<Row>(hn::ScalableTag<T>(), arrays,
                                              numbers, i, stop, directions);
    WriteDirections<Row>(hn::CappedTag<T, 1>(), arrays, numbers, rest, stop,
                         directions + rest - i);
    squares[1] += SquareSum(directions, stop - i);
  }
  return squares;
}

template <class Row>
OptimizerRow RowOf() {
  OptimizerRow row = {Row::kInfo, &Row::Numbers, &Loop<Row, float>,
                      &Loop<Row, double>};
  if constexpr (requires { &Row::Scaled; }) {
    row.measure32 = &Measure<Row, float>;
    row.measure64 = &Measure<Row, double>;
    row.scaled = &Row::Scaled;
  }
  return row;
}

template <class... Row>
void AddOptimizerRows(Rows<Row...> /*table*/, std::vector<OptimizerRow>* rows) {
  (rows->push_back(RowOf<Row>()), ...);
}

void AddOptimizerTable(std::vector<OptimizerRow>* rows) {
  AddOptimizerRows(Table(), rows);
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {
HWY_EXPORT(AddOptimizerTable);
}  // namespace

std::span<const OptimizerRow> OptimizerRows() {
  static const auto* const kRows = [] {
    auto* rows = new std::vector<OptimizerRow>();
    HWY_DYNAMIC_DISPATCH(AddOptimizerTable)(rows);
    return rows;
  }();
  return *kRows;
}

const OptimizerRow* FindOptimizerRow(std::string_view name) {
  for (const OptimizerRow& row : OptimizerRows()) {
    if (row.info.name == name) return &row;
  }
  return nullptr;
}

}  // namespace sluice
#endif  // HWY_ONCE
