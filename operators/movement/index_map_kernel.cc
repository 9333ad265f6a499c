#include <algorithm>

#include "sluice/operators/math/cast.h"
#include "sluice/operators/math/fill.h"
#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/math/movement/mapped_copy.h"
#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/movement/index_map.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {

AxisMap SliceAxis(int64_t size, int64_t start, int64_t end, int64_t step) {
  const int64_t least = step > 0 ? 0 : -1;
  const int64_t most = step > 0 ? size : size - 1;
  if (start < 0) start += size;
  if (end < 0) end += size;
  start = std::clamp(start, least, most);
  end = std::clamp(end, least, most);
  step = std::clamp(step, -size - 1, size + 1);
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
    if (map.size != map.out) {
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

class IndexMapKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    fill_ = FillValue(query);
    size_ = SizeOf(query.input_dtypes[0]);
    out_dims_ = query.outputs[0];
    if (out_dims_.numel() == 0) return;
    none_ = query.inputs[0].numel() == 0;
    if (!none_) maps_ = IndexMapsOf(query, query.inputs[0], out_dims_);
  }

  void Compute(OpKernelContext& context) const override {
    void* const out = context.AllocateOutput(0, out_dims_).raw_data();
    if (out_dims_.numel() == 0) return;
    if (none_) {
      FillBytes(&fill_, size_, out_dims_.numel(), out);
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
