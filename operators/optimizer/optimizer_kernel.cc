#include <algorithm>
#include <cmath>
#include <vector>

#include "sluice/operators/math/optimizer/optimizer_row.h"
#include "sluice/operators/optimizer/optimizer_settings.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

// The kernels of the ops that are rows of math/optimizer's table. The op's name
// says which row.
namespace sluice {
namespace {

constexpr int64_t kOptimizerGrain = 1 << 13;

template <typename T>
class OptimizerKernel final : public OpKernel {
 public:
  explicit OptimizerKernel(const OpKernelConstruction& construction)
      : row_(*FindOptimizerRow(construction.op())),
        settings_(ReadOptimizerSettings(row_.info, construction)) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& param = context.Input("Param");
    const auto output = [&](const std::string& name) {
      return context.AllocateOutput(name, param.dims()).template data<T>();
    };
    OptimizerArrays<T> arrays = {.param = param.data<T>(),
                                 .grad = context.Input("Grad").data<T>(),
                                 .param_out = output("ParamOut")};
    for (size_t i = 0; i < row_.info.state_count(); ++i) {
      const std::string name = row_.info.states[i].name;
      arrays.states[i] = context.Input(name).data<T>();
      arrays.states_out[i] = output(name + "Out");
    }
    if (context.HasInput("SkipUpdate") &&
        context.Input("SkipUpdate").data<bool>()[0]) {
      Keep(context, arrays, param.numel());
      return;
    }
    OptimizerNumbers numbers = row_.numbers(
        settings_, context.Input("LearningRate").data<T>()[0], Raise(context));
    if (row_.scaled != nullptr) {
      numbers = Scaled(arrays, numbers, param.numel());
    }
    ParallelFor(param.numel(), kOptimizerGrain,
                [&](int64_t begin, int64_t end) {
                  row_.loop<T>()(arrays, numbers, begin, end);
                });
  }

 private:
  // Leaves the parameter and all states as they are.
  void Keep(OpKernelContext& context,
            const OptimizerArrays<T>& a,
            int64_t count) const {
    const auto copy = [](const T* from, T* to, int64_t size) {
      if (from != to) std::copy_n(from, size, to);
    };
    copy(a.param, a.param_out, count);
    for (size_t i = 0; i < row_.info.state_count(); ++i) {
      copy(a.states[i], a.states_out[i], count);
    }
    for (const OptimizerPower& power : row_.info.powers) {
      if (power.name == nullptr) continue;
      const std::string name = power.name;
      copy(context.Input(name).data<T>(),
           context.AllocateOutput(name + "Out", {1}).template data<T>(), 1);
    }
  }

  // The numbers of a row that needs norms. The blocks and the order in which
  // they are added do not depend on the number of threads.
  OptimizerNumbers Scaled(const OptimizerArrays<T>& arrays,
                          const OptimizerNumbers& numbers,
                          int64_t count) const {
    const int64_t blocks = (count + kOptimizerGrain - 1) / kOptimizerGrain;
    std::vector<OptimizerSquares> squares(static_cast<size_t>(blocks));
    ParallelFor(blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        squares[static_cast<size_t>(i)] =
            row_.measure<T>()(arrays, numbers, i * kOptimizerGrain,
                              std::min(count, (i + 1) * kOptimizerGrain));
      }
    });
    OptimizerSquares sum = {};
    for (const OptimizerSquares& each : squares) {
      sum[0] += each[0];
      sum[1] += each[1];
    }
    return row_.scaled(numbers, std::sqrt(sum[0]), std::sqrt(sum[1]));
  }

  // The powers of this step; writes those of the next.
  OptimizerPowers Raise(OpKernelContext& context) const {
    OptimizerPowers powers = {};
    for (size_t i = 0; i < powers.size(); ++i) {
      const OptimizerPower& power = row_.info.powers[i];
      if (power.name == nullptr) continue;
      const std::string name = power.name;
      powers[i] = context.Input(name).data<T>()[0];
      context.AllocateOutput(name + "Out", {1}).template data<T>()[0] =
          static_cast<T>(powers[i] * settings_[power.setting]);
    }
    return powers;
  }

  const OptimizerRow& row_;
  OptimizerSettings settings_;
};

void AddOptimizerKernels(Registry& registry) {
  for (const OptimizerRow& row : OptimizerRows()) {
    AddPlainKernels<OptimizerKernel<FloatTypes>>(registry, row.info.name,
                                                 CPUPlace());
  }
}

}  // namespace

REGISTER_TABLE(optimizer_kernels, AddOptimizerKernels);

}  // namespace sluice
