#include <string>

#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/math/cast.h"
#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/norm/row_norm.h"

// float16 and bfloat16 are computed in float32, in scratch, and rounded once.
namespace sluice::operators {
namespace {

using framework::DDim;
using framework::KernelPreparation;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;

// Provides the elements of a call's tensors in the type for computation. If
// that is not T, they are stored one after the other in scratch.
template <typename T>
class WideValues {
 public:
  using Value = math::Computed<T>;

  explicit WideValues(void* scratch) : next_(static_cast<Value*>(scratch)) {}

  // Returns a converted copy, or the tensor's own data.
  const Value* Of(const Tensor& from) {
    if constexpr (math::kIsHalf<T>) {
      Value* const to = Take(from.numel());
      math::Cast(from.data<T>(), from.numel(), platform::DType::kFloat32, to);
      return to;
    } else {
      return from.data<T>();
    }
  }
  // Returns null for an optional input that is missing.
  const Value* Of(const OpKernelContext& context, const char* name) {
    return context.HasInput(name) ? Of(context.Input(name)) : nullptr;
  }

  // Returns space for the elements that Store writes to the tensor.
  Value* For(Tensor& to) {
    if constexpr (math::kIsHalf<T>) {
      return Take(to.numel());
    } else {
      return to.data<T>();
    }
  }

  static void Store(const Value* from, Tensor& to) {
    if constexpr (math::kIsHalf<T>) {
      math::Cast(from, to.numel(), platform::kDTypeOf<T>, to.data<T>());
    }
  }

 private:
  Value* Take(int64_t count) {
    Value* const taken = next_;
    next_ += count;
    return taken;
  }

  Value* next_;
};

template <typename T, typename Norm>
class RowNormKernel final : public OpKernel {
 public:
  explicit RowNormKernel(const OpKernelConstruction& construction)
      : OpKernel(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    geometry_ = Norm::Of(preparation.query);
    moment_dims_ = Norm::MomentDims(preparation.query);
    if (!math::kIsHalf<T>) return;
    const int64_t values = preparation.query.inputs[0].numel() +
                           2 * geometry_.parameters() + 2 * geometry_.rows;
    preparation.scratch_bytes = static_cast<size_t>(values) * sizeof(float);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& y = context.AllocateOutput(0, x.dims());
    const auto wanted = [&](const char* name) {
      return context.HasOutput(name)
                 ? &context.AllocateOutput(name, moment_dims_)
                 : nullptr;
    };
    Tensor* const mean = wanted("Mean");
    Tensor* const variance = wanted("Variance");
    WideValues<T> values(context.scratch());
    math::RowNormArgs<typename WideValues<T>::Value> args;
    args.x = values.Of(x);
    args.scale = values.Of(context, "Scale");
    args.bias = values.Of(context, "Bias");
    if (mean != nullptr) args.mean = values.For(*mean);
    if (variance != nullptr) args.variance = values.For(*variance);
    if constexpr (math::kIsHalf<T>) {
      args.y = const_cast<float*>(args.x);  // also in scratch
    } else {
      args.y = y.data<T>();
    }
    math::RowNorm(geometry_, args);
    values.Store(args.y, y);
    if (mean != nullptr) values.Store(args.mean, *mean);
    if (variance != nullptr) values.Store(args.variance, *variance);
  }

 private:
  math::RowNormGeometry geometry_;
  DDim moment_dims_;
};

template <typename T, typename Norm>
class RowNormGradKernel final : public OpKernel {
 public:
  explicit RowNormGradKernel(const OpKernelConstruction& construction)
      : OpKernel(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    geometry_ = Norm::Of(preparation.query);
    preparation.scratch_bytes =
        sizeof(double) * static_cast<size_t>(geometry_.moment_count());
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const auto given = [&](const char* name) -> const T* {
      return context.HasInput(name) ? context.Input(name).data<T>() : nullptr;
    };
    const auto wanted = [&](const char* name, const char* of) -> T* {
      if (!context.HasOutput(name)) return nullptr;
      const DDim dims = context.HasInput(of) ? context.Input(of).dims()
                                             : DDim{geometry_.parameters()};
      return context.AllocateOutput(name, dims).data<T>();
    };
    math::RowNormGrad<T>(geometry_,
                         {.x = x.data<T>(),
                          .scale = given("Scale"),
                          .y_grad = given("Y@GRAD"),
                          .mean_grad = given("Mean@GRAD"),
                          .variance_grad = given("Variance@GRAD"),
                          .x_grad = wanted("X@GRAD", "X"),
                          .scale_grad = wanted("Scale@GRAD", "Scale"),
                          .bias_grad = wanted("Bias@GRAD", "Bias")},
                         static_cast<double*>(context.scratch()));
  }

 private:
  math::RowNormGeometry geometry_;
};

template <typename Norm>
void AddKernels(framework::Registry& registry, const std::string& op) {
  const platform::CPUPlace cpu;
  framework::AddPlainKernels<RowNormKernel<float, Norm>,
                             RowNormKernel<double, Norm>,
                             RowNormKernel<platform::float16, Norm>,
                             RowNormKernel<platform::bfloat16, Norm>>(registry,
                                                                      op, cpu);
  framework::AddPlainKernels<RowNormGradKernel<float, Norm>,
                             RowNormGradKernel<double, Norm>>(
      registry, op + "_grad", cpu);
}

void AddRowNormKernels(framework::Registry& registry) {
  AddKernels<LayerNorm>(registry, "layer_norm");
  AddKernels<RmsNorm>(registry, "rms_norm");
  AddKernels<InstanceNorm>(registry, "instance_norm");
  AddKernels<GroupNorm>(registry, "group_norm");
}

}  // namespace

REGISTER_TABLE(row_norm_kernels, AddRowNormKernels);

}  // namespace sluice::operators
