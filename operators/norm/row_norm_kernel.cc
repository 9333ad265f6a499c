#include "sluice/operators/conversion/widened_kernel.h"
#include "sluice/operators/norm/row_norm.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

template <typename T, typename Norm>
class RowNormKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    geometry_ = Norm::Of(preparation.query);
    moment_dims_ = Norm::MomentDims(preparation.query);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& y = context.AllocateOutput(0, x.dims());
    const auto given = [&](const char* name) -> const T* {
      return context.HasInput(name) ? context.Input(name).data<T>() : nullptr;
    };
    const auto wanted = [&](const char* name) -> T* {
      return context.HasOutput(name)
                 ? context.AllocateOutput(name, moment_dims_).data<T>()
                 : nullptr;
    };
    RowNorm<T>(geometry_, {.x = x.data<T>(),
                           .scale = given("Scale"),
                           .bias = given("Bias"),
                           .y = y.data<T>(),
                           .mean = wanted("Mean"),
                           .variance = wanted("Variance")});
  }

 private:
  RowNormGeometry geometry_;
  DDim moment_dims_;
};

template <typename T, typename Norm>
class RowNormGradKernel final : public OpKernel {
 public:
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
    RowNormGrad<T>(geometry_,
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
  RowNormGeometry geometry_;
};

template <typename Norm>
void AddKernels(Registry& registry, const std::string& op) {
  const CPUPlace cpu;
  AddPlainKernels<RowNormKernel<FloatsAndWidenedHalves, Norm>>(registry, op,
                                                               cpu);
  AddPlainKernels<RowNormGradKernel<FloatsAndWidenedHalves, Norm>>(
      registry, op + "_grad", cpu);
}

void AddRowNormKernels(Registry& registry) {
  AddKernels<LayerNorm>(registry, "layer_norm");
  AddKernels<RmsNorm>(registry, "rms_norm");
  AddKernels<InstanceNorm>(registry, "instance_norm");
  AddKernels<GroupNorm>(registry, "group_norm");
}

}  // namespace

REGISTER_TABLE(row_norm_kernels, AddRowNormKernels);

}  // namespace sluice
