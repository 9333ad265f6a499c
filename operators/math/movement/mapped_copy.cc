#include "sluice/operators/math/movement/mapped_copy.h"

#include <cstring>

#include "sluice/operators/math/block_sums.h"
#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/math/strided_copy.h"
#include "sluice/platform/dtype.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

constexpr int64_t kCopyShardBytes = 128 << 10;
constexpr int64_t kMapGrain = 16384;

// Writes the elements of a run.
template <typename Unit>
void CopyRun(const AxisMap::Run& run,
             int64_t block,
             const Unit* x,
             Unit fill,
             Unit* out) {
  if (run.index < 0) {
    std::fill(out, out + run.count * block, fill);
    return;
  }
  const Unit* from = x + run.index * block;
  if (run.step == 1) {
    std::memcpy(out, from,
                static_cast<size_t>(run.count * block) * sizeof(Unit));
  } else if (block > 1) {
    for (int64_t i = 0; i < run.count; ++i, from += run.step * block) {
      std::memcpy(out + i * block, from,
                  static_cast<size_t>(block) * sizeof(Unit));
    }
  } else if (run.step == 0) {
    std::fill(out, out + run.count, *from);
  } else {
    for (int64_t i = 0; i < run.count; ++i, from += run.step) {
      out[i] = *from;
    }
  }
}

// The rows of Out: the indices of all axes but the last.
struct Rows {
  explicit Rows(const AxisMaps& all) : maps(all), last(all.axes[all.rank - 1]) {
    count = all.out_numel / (last.out * all.block);
  }

  // Returns the offset of a row in X, or -1 for a row of constants.
  int64_t Begin(int64_t row) const {
    int64_t from = 0;
    for (int i = maps.rank - 2; i >= 0; --i) {
      const int64_t index = maps.axes[i].At(row % maps.axes[i].out);
      if (index < 0) return -1;
      from += index * maps.x_steps[i];
      row /= maps.axes[i].out;
    }
    return from;
  }

  const AxisMaps& maps;
  const AxisMap& last;
  int64_t count = 0;
};

template <typename Unit>
void CopyAs(const AxisMaps& maps, const void* x_data, Unit fill, void* to) {
  const auto* x = static_cast<const Unit*>(x_data);
  auto* const out = static_cast<Unit*>(to);
  const Rows rows(maps);
  const int64_t positions = rows.last.out;
  const int64_t bytes = maps.block * static_cast<int64_t>(sizeof(Unit));
  // The positions of a row that form a piece of work for a thread.
  const int64_t piece =
      std::clamp<int64_t>(kCopyShardBytes / bytes, 1, positions);
  const int64_t pieces = (positions + piece - 1) / piece;
  const int64_t grain = std::max<int64_t>(1, kCopyShardBytes / (piece * bytes));
  const auto copy = [&](int64_t task) {
    const int64_t row = task / pieces;
    const int64_t first = task % pieces * piece;
    const int64_t end = std::min(first + piece, positions);
    const int64_t begin = rows.Begin(row);
    Unit* target = out + (row * positions + first) * maps.block;
    for (int64_t j = first; j < end;) {
      AxisMap::Run run = begin < 0 ? AxisMap::Run{end - j, -1, 0}  //
                                   : rows.last.RunAt(j);
      run.count = std::min(run.count, end - j);
      CopyRun(run, maps.block, begin < 0 ? x : x + begin, fill, target);
      target += run.count * maps.block;
      j += run.count;
    }
  };
  ParallelFor(rows.count * pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      copy(task);
    }
  });
}

template <typename Unit>
Unit Load(const void* from) {
  Unit unit;
  std::memcpy(&unit, from, sizeof(Unit));
  return unit;
}

// Adds `count` elements to one sum.
template <typename T>
void AddAll(const T* from, int64_t count, double* sum) {
  if constexpr (kIsHalf<T>) {
    for (int64_t i = 0; i < count; ++i) {
      *sum += static_cast<double>(Widen(from[i]));
    }
  } else {
    double block = 0;
    for (int64_t i = 0; i < count; i += kSumBlock) {
      SumBlocks(from + i, std::min(kSumBlock, count - i), &block);
      *sum += block;
    }
  }
}

template <typename T>
void AddRun(const AxisMap::Run& run,
            int64_t block,
            const T* from,
            double* row) {
  if (run.index < 0) return;
  double* to = row + run.index * block;
  if (run.step == 0 && block == 1) return AddAll(from, run.count, to);
  const int64_t width = run.step == 1 ? run.count * block : block;
  const int64_t count = run.step == 1 ? 1 : run.count;
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      to[j] += static_cast<double>(Widen(from[j]));
    }
    from += width;
    to += run.step * block;
  }
}

}  // namespace

void MappedCopy(const AxisMaps& maps,
                const void* x,
                const void* fill,
                size_t element_size,
                void* out) {
  if (maps.rank == 0) {
    return CopyBytes(x, out, static_cast<size_t>(maps.block) * element_size);
  }
  switch (element_size) {
    case 1:
      return CopyAs(maps, x, Load<uint8_t>(fill), out);
    case 2:
      return CopyAs(maps, x, Load<uint16_t>(fill), out);
    case 4:
      return CopyAs(maps, x, Load<uint32_t>(fill), out);
    default:
      return CopyAs(maps, x, Load<uint64_t>(fill), out);
  }
}

template <typename T>
void MappedSum(const AxisMaps& maps, const T* out_grad, double* x_sums) {
  AxisMaps outer = maps;  // all axes but the last
  AxisMap last;
  if (maps.rank > 0) {
    --outer.rank;
    last = maps.axes[outer.rank];
  }
  const int64_t width = last.size * maps.block;
  const int64_t out_width = last.out * maps.block;
  const int64_t rows = maps.x_numel / width;
  outer.block = 1;
  for (int i = 0; i < outer.rank; ++i) {
    outer.x_steps[i] /= width;
  }
  const int64_t grain =
      std::max<int64_t>(1, kMapGrain / std::max(width, maps.out_numel / rows));
  ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      double* const sums = x_sums + row * width;
      std::fill(sums, sums + width, 0.0);
      outer.ForEachOf(row, [&](int64_t out_row) {
        const T* from = out_grad + out_row * out_width;
        for (int64_t j = 0; j < last.out;) {
          const AxisMap::Run run = last.RunAt(j);
          AddRun(run, maps.block, from + j * maps.block, sums);
          j += run.count;
        }
      });
    }
  });
}

SLUICE_INSTANTIATE_FLOATS_AND_HALVES(MappedSum);

bool Invert(const AxisMaps& maps, AxisMaps* inverse) {
  AxisMaps result;
  AxisMap block;
  block.size = block.out = maps.block;
  result.AddOuter(block);
  for (int i = maps.rank - 1; i >= 0; --i) {
    const AxisMap& axis = maps.axes[i];
    const bool once = axis.step == 1 || axis.step == -1;
    const bool rolled = axis.beyond == AxisMap::Beyond::kWrap &&
                        axis.begin == 0 && axis.end == axis.size &&
                        axis.out == axis.size;
    const bool filled = axis.beyond == AxisMap::Beyond::kFill;
    if (!once || !(filled || rolled)) return false;
    AxisMap back = axis;
    back.size = axis.out;
    back.out = axis.size;
    back.first = -axis.first * axis.step;
    result.AddOuter(back);
  }
  *inverse = result;
  return true;
}

}  // namespace sluice
