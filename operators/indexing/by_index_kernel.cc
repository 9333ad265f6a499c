#include <algorithm>
#include <cstring>
#include <numeric>

#include "sluice/operators/indexing/indexed_slices.h"
#include "sluice/operators/math/cast.h"
#include "sluice/operators/math/indexing/index_text.h"
#include "sluice/operators/math/movement/gather.h"
#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/movement/copy_kernel.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

// gather_elements, gather_nd, scatter_elements and scatter_nd.
namespace sluice {
namespace {

// The base of the kernels: finds the slices that Index names and keeps them in
// scratch during Compute.
class IndexKernel : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    x_dims_ = query.inputs[0];
    out_dims_ = query.outputs[0];
    plan_ = IndexPlanOf(query, x_dims_, query.inputs[1]);
    if (query.schema.FindAttr("axis") != nullptr) {
      const auto axis = query.Attr<int64_t>("axis");
      first_dim_ = static_cast<int>(axis < 0 ? axis + x_dims_.rank() : axis);
    } else if (query.schema.FindAttr("batch_dims") != nullptr) {
      first_dim_ = static_cast<int>(query.Attr<int64_t>("batch_dims"));
    }
    preparation.scratch_bytes =
        static_cast<size_t>(plan_.count) * sizeof(int64_t);
  }

 protected:
  // Input 0 is X or provides its shape; input 1 is Index. Raises OutOfRange for
  // an index that X does not have.
  const int64_t* Places(const OpKernelContext& context) const {
    const Tensor& index = context.Input(1);
    auto* places = static_cast<int64_t*>(context.scratch());
    if (index.dtype() == DType::kInt32) {
      const auto* values = index.data<int32_t>();
      const int64_t outside = FindPlaces(plan_, values, places);
      if (outside >= 0) RaiseOutside(context, outside, values[outside]);
    } else {
      const auto* values = index.data<int64_t>();
      const int64_t outside = FindPlaces(plan_, values, places);
      if (outside >= 0) RaiseOutside(context, outside, values[outside]);
    }
    return places;
  }

  // Returns the scratch after the places, aligned to 8 bytes.
  void* MoreScratch(const OpKernelContext& context) const {
    return static_cast<int64_t*>(context.scratch()) + plan_.count;
  }

  IndexPlan plan_;
  DDim x_dims_;
  DDim out_dims_;

 private:
  void RaiseOutside(const OpKernelContext& context,
                    int64_t position,
                    int64_t value) const {
    const auto k = static_cast<int>(position % plan_.named);
    Raise(ErrorCode::kOutOfRange, "indexing.range_at_run",
          "{}: input Index[{}] = {} is outside of {}, dim {} of input "
          "X {}",
          context.op(), Coordinates(position, context.Input(1).dims()), value,
          IndexRange(plan_.dims[k]), first_dim_ + k, x_dims_);
  }

  int first_dim_ = 0;  // the dim of X that the first index selects from
};

// Moves elements of any dtype.
class GatherByIndexKernel final : public IndexKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const int64_t* places = Places(context);
    Tensor& out = context.AllocateOutput(0, out_dims_);
    if (out.numel() == 0) return;
    const size_t size = SizeOf(out.dtype());
    Gather(context.Input(0).raw_data(), places, /*outer=*/1, plan_.slices,
           plan_.count, static_cast<size_t>(plan_.inner) * size,
           out.raw_data());
  }
};

// float16 and bfloat16 are summed in float32, in scratch.
template <typename T>
class GatherByIndexGradKernel final : public IndexKernel {
 public:
  using Sum = Computed<T>;

  explicit GatherByIndexGradKernel(const OpKernelConstruction& /*unused*/) {}

  void Prepare(KernelPreparation& preparation) override {
    IndexKernel::Prepare(preparation);
    if (kIsHalf<T>) {
      preparation.scratch_bytes +=
          static_cast<size_t>(x_dims_.numel()) * sizeof(Sum);
    }
  }

  void Compute(OpKernelContext& context) const override {
    const int64_t* places = Places(context);
    Tensor& x_grad = context.AllocateOutput(0, x_dims_);
    if (x_grad.numel() == 0) return;
    T* out = x_grad.data<T>();
    Sum* sums = nullptr;
    if constexpr (kIsHalf<T>) {
      sums = static_cast<Sum*>(MoreScratch(context));
    } else {
      sums = out;
    }
    FillZero(sums, static_cast<size_t>(x_grad.numel()) * sizeof(Sum));
    ScatterReduce(ScatterReduction::kAdd, /*include_self=*/true,
                  context.Input(2).data<T>(), places, plan_.count, plan_.slices,
                  plan_.inner, sums);
    if constexpr (kIsHalf<T>) {
      Cast(sums, x_grad.numel(), kDTypeOf<T>, out);
    }
  }
};

void AddGatherKernels(Registry& registry) {
  const CPUPlace cpu;
  for (const std::string name : {"gather_elements", "gather_nd"}) {
    AddPlainKernels<EstimatedBy<&PickingWork>, GatherByIndexKernel>(registry,
                                                                    name, cpu);
    AddPlainKernels<GatherByIndexGradKernel<FloatAndHalfTypes>>(
        registry, name + "_grad", cpu);
  }
}

bool IsHalf(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

// float16 and bfloat16 are combined in float32, in scratch.
class ScatterKernel final : public IndexKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    IndexKernel::Prepare(preparation);
    reduction_ = ScatterReductionOf(preparation.query);
    include_self_ = !ScatterReplaces(preparation.query);
    if (IsHalf(preparation.query.input_dtypes[0]) &&
        reduction_ != ScatterReduction::kNone) {
      preparation.scratch_bytes +=
          static_cast<size_t>(x_dims_.numel()) * sizeof(float);
    }
  }

  void Compute(OpKernelContext& context) const override {
    const int64_t* places = Places(context);
    Tensor& out = context.AllocateOutput(0, x_dims_);
    if (out.numel() == 0) return;
    const Tensor& x = context.Input(0);
    const Tensor& updates = context.Input(2);
    if (reduction_ != ScatterReduction::kNone && IsHalf(x.dtype())) {
      auto* sums = static_cast<float*>(MoreScratch(context));
      Cast(x.dtype(), x.raw_data(), out.numel(), DType::kFloat32, sums);
      Reduce(updates, places, sums);
      Cast(sums, out.numel(), out.dtype(), out.raw_data());
      return;
    }
    CopyBytes(x.raw_data(), out.raw_data(), out.bytes());
    if (reduction_ == ScatterReduction::kNone) {
      ScatterSlices(updates.raw_data(), places, plan_.count, plan_.slices,
                    static_cast<size_t>(plan_.inner) * SizeOf(x.dtype()),
                    out.raw_data());
    } else {
      Reduce(updates, places, out.raw_data());
    }
  }

 private:
  // The shape function accepts only the dtypes that reductions are defined for.
  void Reduce(const Tensor& updates, const int64_t* places, void* out) const {
    VisitDType(updates.dtype(), [&]<typename T>() {
      if constexpr (kDTypeOf<T> < DType::kBool) {
        ScatterReduce(reduction_, include_self_, updates.data<T>(), places,
                      plan_.count, plan_.slices, plan_.inner,
                      static_cast<Computed<T>*>(out));
      }
    });
  }

  ScatterReduction reduction_ = ScatterReduction::kNone;
  bool include_self_ = true;
};

// Moves elements of `size` bytes and any dtype.
class ScatterGradSizedKernel : public IndexKernel {
 public:
  explicit ScatterGradSizedKernel(size_t size) : size_(size) {}

  void Prepare(KernelPreparation& preparation) override {
    IndexKernel::Prepare(preparation);
    update_dims_ = preparation.query.inputs[2];
    replaces_ = ScatterReplaces(preparation.query);
    last_counts_ =
        ScatterReductionOf(preparation.query) == ScatterReduction::kNone;
    // Holds the last update of each slice and the number of each update.
    if (last_counts_) {
      preparation.scratch_bytes +=
          static_cast<size_t>(plan_.slices + plan_.count) * sizeof(int64_t);
    }
  }

  void Compute(OpKernelContext& context) const override {
    const int64_t* places = Places(context);
    const Tensor& grad = context.Input(3);
    const size_t slice_bytes = static_cast<size_t>(plan_.inner) * size_;
    if (context.HasOutput("X@GRAD")) {
      Tensor& x_grad = context.AllocateOutput("X@GRAD", x_dims_);
      if (x_grad.numel() > 0) {
        CopyBytes(grad.raw_data(), x_grad.raw_data(), x_grad.bytes());
        if (replaces_) {
          ScatterSlices(nullptr, places, plan_.count, plan_.slices, slice_bytes,
                        x_grad.raw_data());
        }
      }
    }
    if (!context.HasOutput("Updates@GRAD")) return;
    Tensor& update_grad = context.AllocateOutput("Updates@GRAD", update_dims_);
    if (update_grad.numel() == 0) return;
    Gather(grad.raw_data(), places, /*outer=*/1, plan_.slices, plan_.count,
           slice_bytes, update_grad.raw_data());
    if (last_counts_) {
      ClearReplaced(context, places, slice_bytes,
                    static_cast<char*>(update_grad.raw_data()));
    }
  }

 private:
  // Fills the slices of `grad` with 0 whose update was replaced by a later one.
  void ClearReplaced(const OpKernelContext& context,
                     const int64_t* places,
                     size_t slice_bytes,
                     char* grad) const {
    constexpr int64_t kGrain = 4096;
    auto* last = static_cast<int64_t*>(MoreScratch(context));
    int64_t* numbers = last + plan_.slices;
    std::iota(numbers, numbers + plan_.count, int64_t{0});
    ScatterSlices(numbers, places, plan_.count, plan_.slices, sizeof(int64_t),
                  last);
    ParallelFor(plan_.count, kGrain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (last[places[i]] == i) continue;
        std::memset(grad + static_cast<size_t>(i) * slice_bytes, 0,
                    slice_bytes);
      }
    });
  }

  size_t size_;
  bool replaces_ = true;
  bool last_counts_ = true;
  DDim update_dims_;
};

template <typename T>
class ScatterGradKernel final : public ScatterGradSizedKernel {
 public:
  explicit ScatterGradKernel(const OpKernelConstruction& /*construction*/)
      : ScatterGradSizedKernel(sizeof(T)) {}
};

template <typename T>
class ScatterReduceGradKernel final : public IndexKernel {
 public:
  explicit ScatterReduceGradKernel(const OpKernelConstruction& /*unused*/) {}

  void Prepare(KernelPreparation& preparation) override {
    IndexKernel::Prepare(preparation);
    update_dims_ = preparation.query.inputs[2];
    reduction_ = ScatterReductionOf(preparation.query);
    include_self_ = !ScatterReplaces(preparation.query);
    const int64_t slices = plan_.slices + std::max(plan_.slices, plan_.count);
    preparation.scratch_bytes +=
        static_cast<size_t>(slices * plan_.inner) * sizeof(Computed<T>);
  }

  void Compute(OpKernelContext& context) const override {
    const int64_t* places = Places(context);
    const auto output = [&](const char* name, const DDim& dims) {
      return context.HasOutput(name)
                 ? context.AllocateOutput(name, dims).template data<T>()
                 : nullptr;
    };
    T* const x_grad = output("X@GRAD", x_dims_);
    T* const updates_grad = output("Updates@GRAD", update_dims_);
    if (plan_.slices * plan_.inner == 0) return;
    ScatterReduceGrad(reduction_, include_self_, context.Input(0).data<T>(),
                      context.Input(2).data<T>(), places, plan_.count,
                      plan_.slices, plan_.inner, context.Input(3).data<T>(),
                      static_cast<Computed<T>*>(MoreScratch(context)), x_grad,
                      updates_grad);
  }

 private:
  ScatterReduction reduction_ = ScatterReduction::kMul;
  bool include_self_ = true;
  DDim update_dims_;
};

void AddScatterKernels(Registry& registry) {
  const CPUPlace cpu;
  for (const std::string name : {"scatter_elements", "scatter_nd"}) {
    AddPlainKernels<ScatterKernel>(registry, name, cpu);
    AddPlainKernels<ScatterGradKernel<FloatAndHalfTypes>>(registry,
                                                          name + "_grad", cpu);
    AddPlainKernels<ScatterReduceGradKernel<FloatAndHalfTypes>>(
        registry, name + "_reduce_grad", cpu);
  }
}

}  // namespace

REGISTER_TABLE(gather_by_index, AddGatherKernels);
REGISTER_TABLE(scatter_by_index, AddScatterKernels);

}  // namespace sluice
