#include <type_traits>

#include "sluice/operators/indexing/device_indices.cuh"
#include "sluice/operators/indexing/indexed_slices.h"
#include "sluice/operators/registration.h"

// scatter_elements and scatter_nd.
namespace sluice {
namespace {

// The type that elements of T are computed in. Halves and bools are only moved.
template <typename T>
struct UnitOf {
  using Type = T;
};
template <>
struct UnitOf<float16> {
  using Type = uint16_t;
};
template <>
struct UnitOf<bfloat16> {
  using Type = uint16_t;
};
template <>
struct UnitOf<bool> {
  using Type = uint8_t;
};

template <typename T>
class ScatterCUDAKernel final : public OpKernel {
 public:
  using Unit = typename UnitOf<T>::Type;
  static constexpr bool kComputes = std::is_same_v<Unit, T>;

  explicit ScatterCUDAKernel(const OpKernelConstruction& construction)
      : raise_(RaiseOutsideOf(construction.op())) {}

  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    x_dims_ = query.inputs[0];
    plan_ = IndexPlanOf(query, x_dims_, query.inputs[1]);
    reduction_ = ScatterReductionOf(query);
    replaces_ = ScatterReplaces(query);
    SLUICE_ENFORCE(kComputes || reduction_ == ScatterReduction::kNone,
                   ErrorCode::kUnimplemented, "scatter.cuda_halves",
                   "it replaces elements of {} only; attribute reduction is {}",
                   query.input_dtypes[0], query.Attr<std::string>("reduction"));
  }

  void Compute(OpKernelContext& context) const override {
    const auto& device = context.device_context<CUDADeviceContext>();
    const Tensor& x = context.Input(0);
    const DevicePlaces places(context, plan_, raise_);
    Tensor& out = context.AllocateOutput(0, x_dims_);
    if (out.numel() == 0) return places.CheckOnly(device);
    context.device_context().CopyOnDevice(out.raw_data(), x.raw_data(),
                                          out.bytes());
    auto* elements = static_cast<Unit*>(out.raw_data());
    if (replaces_ && reduction_ != ScatterReduction::kNone) {
      const DeviceScatter<Unit> start{places, ScatterReduction::kNone, nullptr,
                                      elements,
                                      ScatterNeutral<Unit>(reduction_)};
      start.Run(device);
    }
    const DeviceScatter<Unit> scatter{
        places, reduction_,
        static_cast<const Unit*>(context.Input(2).raw_data()), elements};
    scatter.Run(device);
  }

 private:
  RaiseOutside raise_;
  IndexPlan plan_;
  ScatterReduction reduction_ = ScatterReduction::kNone;
  bool replaces_ = true;
  DDim x_dims_;
};

// Computes Updates@GRAD. `last` names the update of each slice that counted; it
// is null if all did.
template <typename T>
struct DeviceUpdateGrad {
  DevicePlaces places;
  const T* grad;
  const int64_t* last;
  T* out;

  __device__ void Copy(int64_t at) const {
    const int64_t inner = places.plan.inner;
    const int64_t i = at / inner;
    const int64_t place = places.At(i);
    if (place < 0) return;
    const bool counted = last == nullptr || last[place] == i;
    out[at] = counted ? grad[place * inner + at % inner] : T{0};
  }
};

template <typename T>
class ScatterGradCUDAKernel final : public OpKernel {
 public:
  explicit ScatterGradCUDAKernel(const OpKernelConstruction& construction)
      : raise_(RaiseOutsideOf(construction.op())) {}

  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    x_dims_ = query.inputs[0];
    update_dims_ = query.inputs[2];
    plan_ = IndexPlanOf(query, x_dims_, query.inputs[1]);
    replaces_ = ScatterReplaces(query);
    last_counts_ = ScatterReductionOf(query) == ScatterReduction::kNone;
    // Holds the last update of each slice and the number of each update.
    if (last_counts_) {
      preparation.scratch_bytes =
          static_cast<size_t>(plan_.slices + plan_.count) * sizeof(int64_t);
    }
  }

  void Compute(OpKernelContext& context) const override {
    const auto& device = context.device_context<CUDADeviceContext>();
    const DevicePlaces places(context, plan_, raise_);
    places.CheckOnly(device);
    const T* grad = context.Input(3).template data<T>();
    if (context.HasOutput("X@GRAD")) {
      Tensor& x_grad = context.AllocateOutput("X@GRAD", x_dims_);
      if (x_grad.numel() > 0) {
        T* out = x_grad.data<T>();
        context.device_context().CopyOnDevice(out, grad, x_grad.bytes());
        if (replaces_) {
          const DeviceScatter<T> clear{places, ScatterReduction::kNone, nullptr,
                                       out};
          clear.Run(device);
        }
      }
    }
    if (!context.HasOutput("Updates@GRAD")) return;
    Tensor& output = context.AllocateOutput("Updates@GRAD", update_dims_);
    if (output.numel() == 0) return;
    const DeviceUpdateGrad<T> update{
        places, grad, last_counts_ ? LastUpdates(context, places) : nullptr,
        output.data<T>()};
    ForEach(device, output.numel(),
            [=] __device__(int64_t at) { update.Copy(at); });
  }

  // Returns the number of the last update for each slice of X that has one.
  const int64_t* LastUpdates(const OpKernelContext& context,
                             const DevicePlaces& places) const {
    const auto& device = context.device_context<CUDADeviceContext>();
    auto* last = static_cast<int64_t*>(context.scratch());
    int64_t* numbers = last + plan_.slices;
    ForEach(device, plan_.count, [=] __device__(int64_t i) { numbers[i] = i; });
    DevicePlaces whole = places;
    whole.plan.inner = 1;
    const DeviceScatter<int64_t> mark{whole, ScatterReduction::kNone, numbers,
                                      last};
    mark.Run(device);
    return last;
  }

 private:
  RaiseOutside raise_;
  IndexPlan plan_;
  bool replaces_ = true;
  bool last_counts_ = true;
  DDim x_dims_;
  DDim update_dims_;
};

void AddScatterKernels(Registry& registry) {
  const CUDAPlace cuda;
  for (const std::string name : {"scatter_elements", "scatter_nd"}) {
    AddPlainKernels<ScatterCUDAKernel<NumberAndBoolTypes>>(registry, name,
                                                           cuda);
    AddPlainKernels<ScatterGradCUDAKernel<FloatTypes>>(registry, name + "_grad",
                                                       cuda);
  }
}

}  // namespace

REGISTER_TABLE(cuda_scatter_by_index, AddScatterKernels);

}  // namespace sluice
