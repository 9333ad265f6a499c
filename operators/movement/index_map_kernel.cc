#include <algorithm>
#include <cstddef>
#include <cstring>

#include "sluice/operators/math/block_sums.h"
#include "sluice/operators/math/cast.h"
#include "sluice/operators/math/fill.h"
#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/movement/index_map.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/dtype.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

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

// out[i] = x[maps.At(i)], or *fill if that is -1, through ParallelFor. Both are
// in host memory and do not overlap. `element_size` is 1, 2, 4 or 8 bytes.
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

// x_sums[i] = the sum of out_grad[j] over all j with maps.At(j) == i, through
// ParallelFor. The order does not depend on the number of threads. T is a
// float.
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

// Finds the maps by which MappedCopy, with `fill` 0, computes the gradient of X
// from that of Out. Returns false if Out holds an element of X more than once,
// or if steps skip elements.
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

}  // namespace

AxisMap SliceAxis(int64_t size, int64_t start, int64_t end, int64_t step) {
  const int64_t least = step > 0 ? 0 : -1;
  const int64_t most = step > 0 ? size : size - 1;
  if (start < 0) start += size;
  if (end < 0) end += size;
  start = std::clamp(start, least, most);
  end = std::clamp(end, least, most);
  const int64_t longest = std::max<int64_t>(size, 1);
  step = std::clamp(step, -longest, longest);
  const int64_t reach = step > 0 ? end - start : start - end;
  const int64_t stride = step > 0 ? step : -step;
  AxisMap map;
  map.size = size;
  map.out = reach > 0 ? (reach - 1) / stride + 1 : 0;
  map.first = start;
  map.step = step;
  return map;
}

int AxisOf(int64_t axis, int rank) {
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Ints PadsOfAllDims(const Ints& pads, const Ints& axes, int rank) {
  if (axes.empty()) return pads;
  const auto dims = static_cast<size_t>(rank);
  Ints all(2 * dims, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(AxisOf(axes[i], rank));
    all[axis] = pads[i];
    all[axis + dims] = pads[i + axes.size()];
  }
  return all;
}

namespace {

AxisMaps SliceMaps(const KernelQuery& query, const DDim& x) {
  const Ints& starts = query.Attr<Ints>("starts");
  const Ints& ends = query.Attr<Ints>("ends");
  const Ints& axes = query.Attr<Ints>("axes");
  const Ints& steps = query.Attr<Ints>("steps");
  std::array<AxisMap, DDim::kMaxRank> maps;
  for (int axis = 0; axis < x.rank(); ++axis) {
    maps[axis].size = maps[axis].out = x[axis];
  }
  for (size_t i = 0; i < starts.size(); ++i) {
    const int axis = axes.empty() ? static_cast<int>(i)  //
                                  : AxisOf(axes[i], x.rank());
    maps[axis] =
        SliceAxis(x[axis], starts[i], ends[i], steps.empty() ? 1 : steps[i]);
  }
  AxisMaps all;
  for (int axis = x.rank() - 1; axis >= 0; --axis) {
    all.AddOuter(maps[axis]);
  }
  return all;
}

AxisMaps PadMaps(const KernelQuery& query, const DDim& x, const DDim& out) {
  const Ints pads = PadsOfAllDims(query.Attr<Ints>("pads"),
                                  query.Attr<Ints>("axes"), x.rank());
  const auto& mode = query.Attr<std::string>("mode");
  AxisMaps all;
  for (int axis = x.rank() - 1; axis >= 0; --axis) {
    AxisMap map;
    map.size = x[axis];
    map.out = out[axis];
    map.first = -pads[axis];
    if (mode == "edge") map.beyond = AxisMap::Beyond::kEdge;
    if (mode == "reflect") map.beyond = AxisMap::Beyond::kReflect;
    if (mode == "wrap") {
      map.beyond = AxisMap::Beyond::kWrap;
      map.begin = std::max<int64_t>(-pads[axis], 0);
      map.end = map.size + std::min<int64_t>(pads[axis + x.rank()], 0);
    }
    all.AddOuter(map);
  }
  return all;
}

// X may have fewer axes than Out.
AxisMaps ExpandMaps(const DDim& x, const DDim& out) {
  AxisMaps all;
  const int missing = out.rank() - x.rank();
  for (int axis = out.rank() - 1; axis >= 0; --axis) {
    AxisMap map;
    map.size = axis < missing ? 1 : x[axis - missing];
    map.out = out[axis];
    map.step = map.size == 1 && map.out != 1 ? 0 : 1;
    if (map.size != 1 && map.size != map.out) {  // expand_as
      map.beyond = AxisMap::Beyond::kWrap;
      map.end = map.size;
    }
    all.AddOuter(map);
  }
  return all;
}

AxisMaps TileMaps(const DDim& x, const DDim& out) {
  AxisMaps all;
  for (int axis = x.rank() - 1; axis >= 0; --axis) {
    AxisMap map;
    map.size = x[axis];
    map.out = out[axis];
    if (map.size == 1 && map.out != 1) {
      map.step = 0;
    } else if (map.size != map.out) {
      map.beyond = AxisMap::Beyond::kWrap;
      map.end = map.size;
    }
    all.AddOuter(map);
  }
  return all;
}

AxisMaps RollMaps(const KernelQuery& query, const DDim& x) {
  const Ints& shifts = query.Attr<Ints>("shifts");
  const Ints& axes = query.Attr<Ints>("axis");
  std::array<AxisMap, DDim::kMaxRank> maps;
  for (int axis = 0; axis < x.rank(); ++axis) {
    maps[axis].size = maps[axis].out = maps[axis].end = x[axis];
  }
  for (size_t i = 0; i < shifts.size(); ++i) {
    AxisMap& map = maps[AxisOf(axes[i], x.rank())];
    map.first = (map.first - shifts[i] % map.size) % map.size;
    map.beyond = map.Identity() ? AxisMap::Beyond::kFill  // may be merged
                                : AxisMap::Beyond::kWrap;
  }
  AxisMaps all;
  for (int axis = x.rank() - 1; axis >= 0; --axis) {
    all.AddOuter(maps[axis]);
  }
  return all;
}

}  // namespace

AxisMaps IndexMapsOf(const KernelQuery& query, const DDim& x, const DDim& out) {
  const std::string& type = query.op.type;
  if (type.starts_with("slice")) return SliceMaps(query, x);
  if (type.starts_with("pad")) return PadMaps(query, x, out);
  if (type.starts_with("expand")) return ExpandMaps(x, out);
  if (type.starts_with("roll")) return RollMaps(query, x);
  return TileMaps(x, out);
}

namespace {

// Returns the element that pad inserts, in the first bytes of the result.
uint64_t FillValue(const KernelQuery& query) {
  uint64_t element = 0;
  if (query.op.type != "pad") return element;
  if (query.Attr<std::string>("mode") != "constant") return element;
  const auto value = query.Attr<double>("value");
  Cast(&value, 1, query.input_dtypes[0], &element);
  return element;
}

// A box of X in short rows, for which MappedCopy has too much work: strides
// between elements, from the first one on.
struct ShortRows {
  static constexpr int64_t kBytes = 64;  // of a row, at most

  // False: X is not read so.
  bool Set(const AxisMaps& maps, size_t element_size) {
    const auto bytes = static_cast<int64_t>(element_size);
    const int last = maps.rank - 1;
    // Divided, as sizes that no memory can hold are multiplied past int64_t.
    if (last < 0 || maps.rank == DDim::kMaxRank ||
        maps.axes[last].out > kBytes / bytes / maps.block) {
      return false;
    }
    DDim sizes;
    StridedCopy::Strides from{};
    int64_t first = 0;
    for (int i = 0; i < maps.rank; ++i) {
      const AxisMap& axis = maps.axes[i];
      if (axis.step < 1 || axis.first < 0 || axis.first >= axis.size ||
          axis.out - 1 > (axis.size - 1 - axis.first) / axis.step ||
          axis.beyond == AxisMap::Beyond::kWrap) {
        return false;
      }
      sizes.InsertDim(i, axis.out);
      from[i] = axis.out == 1 ? 0 : axis.step * maps.x_steps[i];
      first += axis.first * maps.x_steps[i];
    }
    sizes.InsertDim(maps.rank, maps.block);
    from[maps.rank] = 1;
    offset = first * bytes;
    copy = StridedCopy(sizes, from, RowMajorStrides(sizes), element_size);
    return true;
  }

  StridedCopy copy;
  int64_t offset = 0;  // bytes
};

class IndexMapKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    fill_ = FillValue(query);
    size_ = SizeOf(query.input_dtypes[0]);
    out_dims_ = query.outputs[0];
    if (out_dims_.numel() == 0) return;
    none_ = query.inputs[0].numel() == 0;
    if (none_) return;
    maps_ = IndexMapsOf(query, query.inputs[0], out_dims_);
    short_ = short_rows_.Set(maps_, size_);
  }

  void Compute(OpKernelContext& context) const override {
    void* const out = context.AllocateOutput(0, out_dims_).raw_data();
    if (out_dims_.numel() == 0) return;
    if (none_) {
      FillBytes(&fill_, size_, out_dims_.numel(), out);
    } else if (short_) {
      const auto* x = static_cast<const char*>(context.Input(0).raw_data());
      short_rows_.copy(x + short_rows_.offset, out);
    } else {
      MappedCopy(maps_, context.Input(0).raw_data(), &fill_, size_, out);
    }
  }

 private:
  uint64_t fill_ = 0;
  size_t size_ = 0;  // element size
  bool none_ = false;
  DDim out_dims_;
  AxisMaps maps_;
  bool short_ = false;
  ShortRows short_rows_;
};

// X only provides the shape.
template <typename T>
class IndexMapGradKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    x_dims_ = query.inputs[0];
    empty_ = query.inputs[1].numel() == 0;
    if (x_dims_.numel() == 0 || empty_) return;
    maps_ = IndexMapsOf(query, x_dims_, query.inputs[1]);
    copied_ = Invert(maps_, &maps_);
    if (!copied_) {
      preparation.scratch_bytes =
          static_cast<size_t>(x_dims_.numel()) * sizeof(double);
    }
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& x_grad = context.AllocateOutput(0, x_dims_);
    if (x_grad.numel() == 0) return;
    T* const to = x_grad.data<T>();
    if (empty_) return FillZero(to, x_grad.bytes());
    const T* from = context.Input(1).template data<T>();
    if (copied_) {
      const T zero{};
      return MappedCopy(maps_, from, &zero, sizeof(T), to);
    }
    auto* const sums = static_cast<double*>(context.scratch());
    MappedSum(maps_, from, sums);
    ParallelFor(x_grad.numel(), kGrain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        to[i] = Narrow<T>(static_cast<Computed<T>>(sums[i]));
      }
    });
  }

 private:
  DDim x_dims_;
  AxisMaps maps_;
  bool empty_ = false;   // Out@GRAD is empty
  bool copied_ = false;  // maps_ map Out@GRAD to X@GRAD
};

void AddIndexMapKernels(Registry& registry) {
  const CPUPlace cpu;
  for (const std::string name :
       {"slice", "pad", "expand", "expand_as", "tile", "roll"}) {
    AddPlainKernels<IndexMapKernel>(registry, name, cpu);
    AddPlainKernels<IndexMapGradKernel<FloatAndHalfTypes>>(registry,
                                                           name + "_grad", cpu);
  }
}

}  // namespace

REGISTER_TABLE(index_map_kernels, AddIndexMapKernels);

}  // namespace sluice
