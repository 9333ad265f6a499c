#include <cmath>

#include "sluice/operators/math/device_formulas.cuh"
#include "sluice/operators/optimizer/optimizer_row.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice {
namespace {
#include "sluice/operators/optimizer/optimizer_rows.inc"
}  // namespace
namespace {

constexpr size_t kNumbers = std::tuple_size_v<OptimizerNumbers>;

template <typename T, typename Row>
class OptimizerCUDAKernel final : public OpKernel {
 public:
  explicit OptimizerCUDAKernel(const OpKernelConstruction& construction)
      : settings_(ReadOptimizerSettings(Row::kInfo, construction)) {}

  void Prepare(KernelPreparation& preparation) override {
    if (!preparation.query.op.Input("Rows").empty()) {
      Raise(ErrorCode::kUnimplemented, "optimizer.rows_on_cuda",
            "sparse gradients have a kernel of the CPU only");
    }
    if (kHasPowers) preparation.scratch_bytes = kNumbers * sizeof(T);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& param = context.Input("Param");
    const auto output = [&](const std::string& name) {
      return context.AllocateOutput(name, param.dims()).template data<T>();
    };
    OptimizerArrays<T> a = {.param = param.data<T>(),
                            .grad = context.Input("Grad").data<T>(),
                            .param_out = output("ParamOut")};
    for (size_t i = 0; i < kStates; ++i) {
      const std::string name = Row::kInfo.states[i].name;
      a.states[i] = context.Input(name).data<T>();
      a.states_out[i] = output(name + "Out");
    }
    auto& device = context.device_context<CUDADeviceContext>();
    if (context.HasInput("SkipUpdate") &&
        context.Input("SkipUpdate").data<bool>()[0]) {
      Keep(context, a, param.numel());
      return;
    }
    const double rate = context.Input("LearningRate").data<T>()[0];
    if constexpr (kHasPowers) {
      const T* numbers = NumbersOnDevice(context, rate);
      ForEach(device, param.numel(),
              [=] __device__(int64_t i) { Step(a, numbers, i); });
    } else {
      const OptimizerNumbers numbers = Row::Numbers({settings_, rate, {}});
      std::array<T, kNumbers> rounded;
      for (size_t k = 0; k < kNumbers; ++k) {
        rounded[k] = static_cast<T>(numbers[k]);
      }
      ForEach(device, param.numel(),
              [=] __device__(int64_t i) { Step(a, rounded.data(), i); });
    }
  }

  // Leaves the parameter and all states as they are.
  void Keep(OpKernelContext& context,
            const OptimizerArrays<T>& a,
            int64_t count) const {
    auto& device = context.device_context<CUDADeviceContext>();
    ForEach(device, count, [=] __device__(int64_t i) {
      for (size_t s = 0; s < kStates; ++s) {
        a.states_out[s][i] = a.states[s][i];
      }
      a.param_out[i] = a.param[i];
    });
    const Powers powers = PowersOf(context);
    ForEach(device, 1, [=] __device__(int64_t /*i*/) {
      for (size_t i = 0; i < kPowers; ++i) {
        powers[i].Raise(1);
      }
    });
  }

  __device__ static void Step(const OptimizerArrays<T>& a,
                              const T* numbers,
                              int64_t i) {
    T param = a.param[i];
    T states[] = {0, 0, 0};
    for (size_t s = 0; s < kStates; ++s) {
      states[s] = a.states[s][i];
    }
    Row::Step(numbers, a.grad[i], param, states);
    for (size_t s = 0; s < kStates; ++s) {
      a.states_out[s][i] = states[s];
    }
    a.param_out[i] = param;
  }

  // The powers of a step are on the device; writes those of the next.
  const T* NumbersOnDevice(OpKernelContext& context, double rate) const {
    const Powers powers = PowersOf(context);
    T* const rounded = static_cast<T*>(context.scratch());
    const OptimizerSettings settings = settings_;
    ForEach(
        context.device_context<CUDADeviceContext>(), 1,
        [=] __device__(int64_t /*i*/) {
          OptimizerPowers now = {};
          for (size_t i = 0; i < kPowers; ++i) {
            now[i] = powers[i].Raise(settings[powers[i].setting]);
          }
          const OptimizerNumbers numbers = Row::Numbers({settings, rate, now});
          for (size_t k = 0; k < kNumbers; ++k) {
            rounded[k] = static_cast<T>(numbers[k]);
          }
        });
    return rounded;
  }

  static constexpr size_t kStates = Row::kInfo.state_count();
  static constexpr size_t kPowers = Row::kInfo.power_count();
  static constexpr bool kHasPowers = kPowers > 0;

  // A power on the device, of float32 or float64. Public for device lambdas.
  struct Power {
    // Writes the power times `factor`, and returns it as it was.
    __device__ double Raise(double factor) const {
      const double now = is_double ? *static_cast<const double*>(from)
                                   : *static_cast<const float*>(from);
      if (is_double) {
        *static_cast<double*>(to) = now * factor;
      } else {
        *static_cast<float*>(to) = static_cast<float>(now * factor);
      }
      return now;
    }

    const void* from = nullptr;
    void* to = nullptr;
    bool is_double = false;
    int setting = 0;
  };
  using Powers = std::array<Power, 2>;

  static Powers PowersOf(OpKernelContext& context) {
    Powers powers;
    for (size_t i = 0; i < kPowers; ++i) {
      const std::string name = Row::kInfo.powers[i].name;
      const Tensor& power = context.Input(name);
      powers[i] = {power.raw_data(),
                   context.AllocateOutput(name + "Out", {1}).raw_data(),
                   power.dtype() == DType::kFloat64,
                   Row::kInfo.powers[i].setting};
    }
    return powers;
  }

 private:
  OptimizerSettings settings_;
};

// Rows that need norms run on the CPU.
template <typename Row>
void AddRow(Registry& registry) {
  if constexpr (!requires { &Row::Scaled; }) {
    AddPlainKernels<OptimizerCUDAKernel<FloatTypes, Row>>(
        registry, Row::kInfo.name, CUDAPlace());
  }
}

template <typename... Row>
void AddRows(Rows<Row...> /*table*/, Registry& registry) {
  (AddRow<Row>(registry), ...);
}

void AddOptimizerCUDAKernels(Registry& registry) {
  AddRows(Table(), registry);
}

}  // namespace

REGISTER_TABLE(cuda_optimizers, AddOptimizerCUDAKernels);

}  // namespace sluice
