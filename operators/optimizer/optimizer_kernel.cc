#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "sluice/framework/op/commit_kernel.h"
#include "sluice/operators/math/movement/merged_rows.h"
#include "sluice/operators/optimizer/optimizer_row.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

// The kernels of the ops that are rows of the table of optimizers. The op's
// name says which row.
namespace sluice {
namespace {

constexpr int64_t kOptimizerGrain = 1 << 13;

template <typename T>
class OptimizerKernel final : public CommitKernel {
 public:
  explicit OptimizerKernel(const OpKernelConstruction& construction)
      : row_(*FindOptimizerRow(construction.op())),
        settings_(ReadOptimizerSettings(row_.info, construction)),
        states_(row_.info.state_count()),
        powers_(row_.info.power_count()) {}

  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    has_rows_ = !query.op.Input("Rows").empty();
    has_skip_ = !query.op.Input("SkipUpdate").empty();
    if (row_.scaled != nullptr) {
      preparation.scratch_bytes =
          static_cast<size_t>(BlocksOf(query.inputs[0].numel())) *
          sizeof(OptimizerSquares);
    }
  }

  // Few rows are checked and merged; all are only computed with.
  bool CannotFail() const override { return !has_rows_; }

  // Arguments are found by their places in OptimizerSchema: names would take
  // longer than the step of a small parameter.
  void Compute(OpKernelContext& context) const override {
    if (has_rows_) return ComputeRows(context);
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
    const bool skips = Skips(context);
    OptimizerNumbers numbers = NumbersOf(context, skips);
    if (skips) return Keep(arrays, param.numel());
    if (row_.scaled != nullptr) {
      numbers = Scaled(arrays, numbers, param.numel(), context.scratch());
    }
    arrays.stream = Streams(arrays, param.numel());
    ParallelFor(param.numel(), kOptimizerGrain,
                [&](int64_t begin, int64_t end) {
                  row_.loop<T>()(arrays, numbers, begin, end);
                });
  }

 private:
  static int64_t BlocksOf(int64_t count) {
    return (count + kOptimizerGrain - 1) / kOptimizerGrain;
  }

  bool Skips(OpKernelContext& context) const {
    const auto input = static_cast<int>(2 + states_ + powers_ + 1);
    return has_skip_ && context.Input(input).data<bool>()[0];
  }

  // Returns the numbers of this step, and raises the powers for the next.
  OptimizerNumbers NumbersOf(OpKernelContext& context, bool skips) const {
    OptimizerPowers powers = {};
    for (size_t i = 0; i < powers_; ++i) {
      const Tensor& power = context.Input(static_cast<int>(2 + states_ + i));
      const auto setting = static_cast<size_t>(row_.info.powers[i].setting);
      const double factor = skips ? 1 : settings_[setting];
      Tensor& raised =
          context.AllocateOutput(static_cast<int>(1 + states_ + i), DDim({1}));
      if (power.dtype() == DType::kFloat64) {
        powers[i] = power.data<double>()[0];
        raised.data<double>()[0] = powers[i] * factor;
      } else {
        powers[i] = power.data<float>()[0];
        raised.data<float>()[0] = static_cast<float>(powers[i] * factor);
      }
    }
    const double rate = Values(context, 2 + states_ + powers_)[0];
    return row_.numbers({settings_, rate, powers});
  }

  // The step of those rows that the gradient has.
  void ComputeRows(OpKernelContext& context) const {
    const bool skips = Skips(context);
    const OptimizerNumbers numbers = NumbersOf(context, skips);
    const Tensor& param = context.Input(0);
    const Tensor& rows = context.Input("Rows");
    const std::span named(rows.data<int64_t>(),
                          skips ? 0 : static_cast<size_t>(rows.numel()));
    const int64_t height = param.dims()[0];
    const int64_t outside = FindOutsideRow(named, height);
    SLUICE_ENFORCE(outside < 0, ErrorCode::kOutOfRange, "optimizer.row_range",
                   "{}: input Rows {} has {} as element {}; expected a row of "
                   "input Param, 0 to {}, or -1",
                   context.op(), rows.dims(),
                   named[static_cast<size_t>(outside)], outside, height - 1);
    const int64_t width = height == 0 ? 0 : param.numel() / height;
    const T* const grad = context.Input(1).data<T>();
    if (FillsTable(named.size(), height, width)) {
      const RowSums<T> sums(named, grad, height, width);
      return StepTable(sums, RowArrays(context, sums.rows()), numbers, width);
    }
    const MergedRows merged = MergeRows(named, height);
    const OptimizerArrays<T> arrays = RowArrays(context, merged.rows);
    ParallelFor(static_cast<int64_t>(merged.rows.size()),
                kOptimizerGrain / std::max<int64_t>(1, width) + 1,
                [&](int64_t begin, int64_t end) {
                  StepRows(merged, arrays, grad, numbers, width, begin, end);
                });
  }

  // Whether adding up gradients in a table as large as the parameter is faster
  // than sorting rows: if there are as many rows as in the parameter, or a
  // quarter as many and they are short.
  static bool FillsTable(size_t rows, int64_t height, int64_t width) {
    const auto count = static_cast<int64_t>(rows);
    constexpr int64_t kShortRow = 64 / sizeof(T);
    return count > 0 && width > 0 &&
           (count >= height || (width <= kShortRow && count >= height / 4));
  }

  // The arrays of the parameter and its states, of which `rows` will change.
  OptimizerArrays<T> RowArrays(OpKernelContext& context,
                               std::span<const int64_t> rows) const {
    OptimizerArrays<T> arrays;
    arrays.param_out = context.UpdateRows(0, 0, rows).template data<T>();
    arrays.param = arrays.param_out;
    for (size_t i = 0; i < states_; ++i) {
      const auto output = static_cast<int>(1 + i);
      arrays.states_out[i] =
          context.UpdateRows(output, output + 1, rows).template data<T>();
      arrays.states[i] = arrays.states_out[i];
    }
    return arrays;
  }

  // Steps the rows that have a sum. Where others lie between them, all are
  // stepped in memory of their own, and those that have a sum copied.
  void StepTable(const RowSums<T>& sums,
                 const OptimizerArrays<T>& arrays,
                 const OptimizerNumbers& numbers,
                 int64_t width) const {
    constexpr int64_t kElements = 512;  // of a block
    const std::span<const int64_t> rows = sums.rows();
    const int64_t most = std::max<int64_t>(1, kElements / width);
    ParallelFor(
        static_cast<int64_t>(rows.size()), kOptimizerGrain / width + 1,
        [&](int64_t begin, int64_t end) {
          std::vector<T> memory(
              static_cast<size_t>((1 + states_) * most * width));
          while (begin < end) {
            const int64_t first = rows[static_cast<size_t>(begin)];
            int64_t count = 1;  // of those that have a sum
            while (begin + count < end &&
                   rows[static_cast<size_t>(begin + count)] < first + most) {
              ++count;
            }
            StepBlock(sums,
                      rows.subspan(static_cast<size_t>(begin),
                                   static_cast<size_t>(count)),
                      arrays, numbers, width, memory.data());
            begin += count;
          }
        });
  }

  // Steps `rows`, which are ascending and near each other.
  void StepBlock(const RowSums<T>& sums,
                 std::span<const int64_t> rows,
                 OptimizerArrays<T> arrays,
                 const OptimizerNumbers& numbers,
                 int64_t width,
                 T* memory) const {
    const int64_t offset = rows.front() * width;
    const int64_t count = (rows.back() - rows.front() + 1) * width;
    const bool all = count == static_cast<int64_t>(rows.size()) * width;
    std::array<T*, 1 + kOptimizerStates> outputs = {};
    const auto move = [&](size_t index, const T*& from, T*& to) {
      from += offset;
      to += offset;
      outputs[index] = to;
      if (!all) to = memory + static_cast<int64_t>(index) * count;
    };
    arrays.grad = sums.data() + offset;
    move(0, arrays.param, arrays.param_out);
    for (size_t i = 0; i < states_; ++i) {
      move(1 + i, arrays.states[i], arrays.states_out[i]);
    }
    row_.loop<T>()(arrays, numbers, 0, count);
    for (size_t i = 0; i <= states_ && !all; ++i) {
      for (const int64_t row : rows) {
        const int64_t at = row * width - offset;
        std::copy_n(memory + static_cast<int64_t>(i) * count + at, width,
                    outputs[i] + at);
      }
    }
  }

  // Steps rows [begin, end) of `merged`.
  void StepRows(const MergedRows& merged,
                const OptimizerArrays<T>& arrays,
                const T* grad,
                const OptimizerNumbers& numbers,
                int64_t width,
                int64_t begin,
                int64_t end) const {
    std::vector<T> sum(static_cast<size_t>(width));
    for (auto k = static_cast<size_t>(begin); k < static_cast<size_t>(end);
         ++k) {
      const auto positions = merged.PositionsOf(k);
      const int64_t offset = merged.rows[k] * width;
      OptimizerArrays<T> row = arrays;
      row.grad = grad + positions[0] * width;
      if (positions.size() > 1) {
        SumRows(grad, positions, width, sum.data());
        row.grad = sum.data();
      }
      row.param += offset;
      row.param_out += offset;
      for (size_t i = 0; i < states_; ++i) {
        row.states[i] += offset;
        row.states_out[i] += offset;
      }
      row_.loop<T>()(row, numbers, 0, width);
    }
  }

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
                          int64_t count,
                          void* scratch) const {
    const int64_t blocks = BlocksOf(count);
    const std::span squares(static_cast<OptimizerSquares*>(scratch),
                            static_cast<size_t>(blocks));
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
  bool has_rows_ = false;
  bool has_skip_ = false;
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
