#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
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
        settings_(ReadOptimizerSettings(row_.info, construction)),
        states_(row_.info.state_count()),
        powers_(row_.info.power_count()) {}

  // Arguments are found by their places in OptimizerSchema: names would take
  // longer than the step of a small parameter.
  void Compute(OpKernelContext& context) const override {
    const Tensor& param = context.Input(0);
    const auto output = [&](size_t index, const DDim& dims) {
      return context.AllocateOutput(static_cast<int>(index), dims)
          .template data<T>();
    };
    OptimizerArrays<T> arrays = {.param = param.data<T>(),
                                 .grad = context.Input(1).data<T>(),
                                 .param_out = output(0, param.dims())};
    for (size_t i = 0; i < states_; ++i) {
      arrays.states[i] = Values(context, 2 + i);
      arrays.states_out[i] = output(1 + i, param.dims());
    }
    const size_t rate = 2 + states_ + powers_;
    OptimizerPowers powers = {};
    std::array<T*, 2> raised = {};
    for (size_t i = 0; i < powers_; ++i) {
      powers[i] = Values(context, 2 + states_ + i)[0];
      raised[i] = output(1 + states_ + i, DDim({1}));
    }
    if (context.HasInput("SkipUpdate") &&
        context.Input("SkipUpdate").data<bool>()[0]) {
      for (size_t i = 0; i < powers_; ++i) {
        *raised[i] = static_cast<T>(powers[i]);
      }
      Keep(arrays, param.numel());
      return;
    }
    OptimizerNumbers numbers =
        row_.numbers(settings_, Values(context, rate)[0], powers);
    for (size_t i = 0; i < powers_; ++i) {
      const auto factor = static_cast<size_t>(row_.info.powers[i].setting);
      *raised[i] = static_cast<T>(powers[i] * settings_[factor]);
    }
    if (row_.scaled != nullptr) {
      numbers = Scaled(arrays, numbers, param.numel());
    }
    arrays.stream = Streams(arrays, param.numel());
    ParallelFor(param.numel(), kOptimizerGrain,
                [&](int64_t begin, int64_t end) {
                  row_.loop<T>()(arrays, numbers, begin, end);
                });
  }

 private:
  static const T* Values(OpKernelContext& context, size_t input) {
    return context.Input(static_cast<int>(input)).template data<T>();
  }

  // Leaves the parameter and the states as they are.
  void Keep(const OptimizerArrays<T>& a, int64_t count) const {
    const auto copy = [count](const T* from, T* to) {
      if (from != to) std::copy_n(from, count, to);
    };
    copy(a.param, a.param_out);
    for (size_t i = 0; i < states_; ++i) {
      copy(a.states[i], a.states_out[i]);
    }
  }

  // Whether the arrays are beyond most caches, and outputs are new memory.
  bool Streams(const OptimizerArrays<T>& a, int64_t count) const {
    constexpr int64_t kManyBytes = 1 << 22;
    const auto fits = [](const T* from, const T* to) {
      return from != to && reinterpret_cast<uintptr_t>(to) % 64 == 0;
    };
    bool all = count * static_cast<int64_t>(sizeof(T)) >= kManyBytes &&
               fits(a.param, a.param_out);
    for (size_t i = 0; i < states_; ++i) {
      all = all && fits(a.states[i], a.states_out[i]);
    }
    return all;
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

  const OptimizerRow& row_;
  OptimizerSettings settings_;
  size_t states_;
  size_t powers_;
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
