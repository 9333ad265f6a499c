#include <algorithm>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/program/backward.h"
#include "sluice/framework/run/executor.h"
#include "sluice/framework/run/run_op.h"
#include "sluice/operators/math/movement/merged_rows.h"
#include "sluice/operators/optimizer/optimizer_row.h"
#include "sluice/ops.h"
#include "sluice/platform/parallel_for.h"

// Sparse gradients: how they are made, and updates of few rows.
namespace sluice::testing {
namespace {

constexpr int64_t kHeight = 5;
constexpr int64_t kWidth = 3;
using Values = std::vector<float>;

Tensor Matrix(const Values& values) {
  const auto rows = static_cast<int64_t>(values.size()) / kWidth;
  return Tensor::FromVector<float>({rows, kWidth}, values);
}

Values Counted(int64_t rows, float step) {
  Values values;
  for (int64_t i = 0; i < rows * kWidth; ++i) {
    values.push_back(step * static_cast<float>(i % 7 - 3) + 0.5F);
  }
  return values;
}

std::map<std::string, Tensor> Step(const OptimizerInfo& info,
                                   std::map<std::string, Tensor> inputs,
                                   int64_t height = kHeight) {
  const auto count = static_cast<size_t>(height * kWidth);
  inputs["Param"] = Matrix(Counted(height, 0.25F));
  for (const OptimizerState& state : info.states) {
    if (state.name == nullptr) continue;
    inputs[state.name] = Matrix(Values(count, 0.75F));
  }
  for (const OptimizerPower& power : info.powers) {
    if (power.name == nullptr) continue;
    inputs[power.name] = Tensor::FromVector<float>({1}, {0.5F});
  }
  inputs["LearningRate"] = Tensor::FromVector<float>({1}, {0.125F});
  AttributeMap attributes;
  for (const OptimizerSetting& setting : info.settings) {
    const bool number = setting.name != nullptr && !setting.is_bool &&
                        setting.choice == nullptr;
    if (number && !setting.default_value) attributes[setting.name] = 0.5;
  }
  auto out = RunOp(info.name, {inputs.begin(), inputs.end()}, attributes);
  std::map<std::string, Tensor> all(out.begin(), out.end());
  for (const auto& [name, tensor] : inputs) {
    all["before " + name] = tensor;
  }
  return all;
}

// Each row is as after the dense step if the gradient has it, and as before
// otherwise.
void CheckRows(int64_t height) {
  int tried = 0;
  for (const OptimizerRow& row : OptimizerRows()) {
    if (row.scaled != nullptr) continue;
    SCOPED_TRACE(row.info.name);
    const Values grads = Counted(4, 0.5F);
    Values dense(static_cast<size_t>(height * kWidth));
    for (int64_t j = 0; j < kWidth; ++j) {  // rows 4, 1, none, 4
      dense[static_cast<size_t>(4 * kWidth + j)] =
          grads[static_cast<size_t>(j)] +
          grads[static_cast<size_t>(3 * kWidth + j)];
      dense[static_cast<size_t>(kWidth + j)] =
          grads[static_cast<size_t>(kWidth + j)];
    }
    auto expected = Step(row.info, {{"Grad", Matrix(dense)}}, height);
    auto got = Step(row.info,
                    {{"Grad", Matrix(grads)},
                     {"Rows", Tensor::FromVector<int64_t>({4}, {4, 1, -1, 4})}},
                    height);
    const auto check = [&](const std::string& name) {
      const Values before = got["before " + name].ToVector<float>();
      const Values after = got[name + "Out"].ToVector<float>();
      const Values all = expected[name + "Out"].ToVector<float>();
      for (size_t i = 0; i < after.size(); ++i) {
        const bool touched = i / kWidth == 1 || i / kWidth == 4;
        EXPECT_EQ(after[i], touched ? all[i] : before[i]) << name << " " << i;
      }
      ++tried;
    };
    check("Param");
    for (const OptimizerState& state : row.info.states) {
      if (state.name != nullptr) check(state.name);
    }
  }
  EXPECT_GT(tried, 15);
}

TEST(SparseUpdate, ChangesTheRowsOfTheGradientAsADenseOneDoes) {
  CheckRows(kHeight);  // gradients are added up in a table
  CheckRows(100);      // rows are sorted
}

TEST(SparseUpdate, SumsInATableAreThoseOfSortedRows) {
  std::mt19937 random(5);
  for (int i = 0; i < 200; ++i) {
    const ThreadCountGuard threads(1 + i % 3);
    const auto height = static_cast<int64_t>(1 + random() % 40);
    const auto width = static_cast<int64_t>(random() % 5);
    std::vector<int64_t> rows(random() % 60);
    for (int64_t& row : rows) {
      row = static_cast<int64_t>(random() % static_cast<uint64_t>(height + 1)) -
            1;
    }
    Values x(rows.size() * static_cast<size_t>(width));
    for (float& each : x) {
      each = static_cast<float>(random() % 1000) / 7;
    }
    const RowSums<float> sums(rows, x.data(), height, width);
    const MergedRows merged = MergeRows(rows, height);
    ASSERT_TRUE(std::ranges::equal(sums.rows(), merged.rows));
    Values sum(static_cast<size_t>(width));
    for (size_t k = 0; k < merged.rows.size(); ++k) {
      const auto first = static_cast<size_t>(merged.begins[k]);
      const auto last = static_cast<size_t>(merged.begins[k + 1]);
      SumRows(x.data(), std::span(merged.order).subspan(first, last - first),
              width, sum.data());
      const float* const got = sums.data() + merged.rows[k] * width;
      EXPECT_TRUE(std::equal(sum.begin(), sum.end(), got));
    }
  }
}

TEST(SparseUpdate, RefusesRowsOutside) {
  ExpectError(ErrorCode::kOutOfRange, "optimizer.row_range",
              {"sgd: input Rows [2] has 5 as element 1", "0 to 4"}, [] {
                Step(FindOptimizerRow("sgd")->info,
                     {{"Grad", Matrix(Counted(2, 1))},
                      {"Rows", Tensor::FromVector<int64_t>({2}, {0, 5})}});
              });
}

TEST(SparseUpdate, RefusesAGradientOfAnotherShape) {
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.merge_dim",
              {"sgd", "Rows"}, [] {
                Step(FindOptimizerRow("sgd")->info,
                     {{"Grad", Matrix(Counted(2, 1))},
                      {"Rows", Tensor::FromVector<int64_t>({1}, {0})}});
              });
}

// A table whose rows are picked, and the step by the gradient.
class SparseGradientTest : public ::testing::Test {
 protected:
  SparseGradientTest()
      : table_(program_.Persistable("w", DType::kFloat32, {kHeight, kWidth})),
        ids_(program_.Data("ids", DType::kInt64, {-1})) {
    Table() = Matrix(Counted(kHeight, 0.25F));
  }

  Tensor& Table() { return *scope_.Var("w").GetMutable<Tensor>(); }
  Var Picked() { return ops::LookupTable(table_, ids_, {.is_sparse = true}); }
  static Var Loss(const Var& x) { return ops::ReduceSum(ops::Square(x)); }
  void AppendStep(const ParamGrad& pair) {
    const Var rate = ops::FillConstant(program_, {1}, {.value = 0.125});
    Program::ArgList inputs = {{"Param", {pair.param}},
                               {"Grad", {pair.grad}},
                               {"LearningRate", {rate.name()}}};
    const Var rows = program_.Find(pair.grad).rows();
    if (rows.valid()) inputs.push_back({"Rows", {rows.name()}});
    program_.SetPurpose(OpPurpose::kOptimize);
    program_.AppendOp("sgd", inputs);
    program_.SetPurpose(OpPurpose::kForward);
  }
  std::vector<Tensor> Run(const std::vector<int64_t>& ids,
                          const Fetches& fetches = {}) {
    const auto count = static_cast<int64_t>(ids.size());
    return executor_.Run(program_,
                         {{"ids", Tensor::FromVector<int64_t>({count}, ids)}},
                         fetches, &scope_);
  }

  Program program_;
  Scope scope_;
  Executor executor_{CPUPlace()};
  Var table_;
  Var ids_;
};

TEST_F(SparseGradientTest, HasARowForEachId) {
  const ParamGrad pair = AppendBackward(Loss(Picked()))[0];
  const Var grad = program_.Find(pair.grad);
  EXPECT_EQ(grad.dims(), DDim({-1, kWidth}));
  ASSERT_TRUE(grad.rows().valid());
  EXPECT_EQ(grad.rows().name(), "w@GRAD@ROWS");
  const auto out = Run({3, 0, 3}, {pair.grad, grad.rows().name()});
  EXPECT_EQ(out[0].dims(), DDim({3, kWidth}));
  EXPECT_EQ(out[1].ToVector<int64_t>(), (std::vector<int64_t>{3, 0, 3}));
}

TEST_F(SparseGradientTest, OfTwoUsesIsOneAfterTheOther) {
  const Var both = ops::ElementwiseAdd(Loss(Picked()), Loss(Picked()));
  const ParamGrad pair = AppendBackward(both)[0];
  ASSERT_TRUE(program_.Find(pair.grad).rows().valid());
  const auto out =
      Run({3, 0}, {pair.grad, program_.Find(pair.grad).rows().name()});
  EXPECT_EQ(out[1].ToVector<int64_t>(), (std::vector<int64_t>{3, 0, 3, 0}));
}

TEST_F(SparseGradientTest, IsDenseWhereOneUseIs) {
  const Var both = ops::ElementwiseAdd(Loss(Picked()), Loss(table_));
  const ParamGrad pair = AppendBackward(both)[0];
  EXPECT_FALSE(program_.Find(pair.grad).rows().valid());
  const Values table = Table().ToVector<float>();
  const Values grad = Run({3, 3}, {pair.grad})[0].ToVector<float>();
  for (size_t i = 0; i < grad.size(); ++i) {
    EXPECT_FLOAT_EQ(grad[i], table[i] * (i / kWidth == 3 ? 6 : 2)) << i;
  }
}

TEST_F(SparseGradientTest, IsDenseOnRequest) {
  const Var loss = Loss(Picked());
  const ParamGrad pair = AppendBackward(loss, {.sparse = false})[0];
  EXPECT_FALSE(program_.Find(pair.grad).rows().valid());
  EXPECT_EQ(program_.Find(pair.grad).dims(), DDim({kHeight, kWidth}));
}

TEST_F(SparseGradientTest, UpdatesTheScopesOwnMemory) {
  AppendStep(AppendBackward(Loss(Picked()))[0]);
  const Values before = Table().ToVector<float>();
  const void* const memory = std::as_const(Table()).raw_data();
  Run({3, 0, 3});
  EXPECT_EQ(std::as_const(Table()).raw_data(), memory);
  const Values after = Table().ToVector<float>();
  for (size_t i = 0; i < after.size(); ++i) {
    const float factor = i / kWidth == 3 ? 0.5F : i / kWidth == 0 ? 0.75F : 1;
    EXPECT_FLOAT_EQ(after[i], before[i] * factor) << i;
  }
}

TEST_F(SparseGradientTest, LeavesTheVariableAloneThatItOnlyReads) {
  const ParamGrad pair = AppendBackward(Loss(Picked()))[0];
  program_.Persistable("next", DType::kFloat32, {kHeight, kWidth});
  const Var rate = ops::FillConstant(program_, {1}, {.value = 0.125});
  program_.AppendOp("sgd",
                    {{"Param", {pair.param}},
                     {"Grad", {pair.grad}},
                     {"LearningRate", {rate.name()}},
                     {"Rows", {program_.Find(pair.grad).rows().name()}}},
                    {}, {}, {{"ParamOut", {"next"}}});
  const Values before = Table().ToVector<float>();
  Run({3});
  EXPECT_EQ(Table().ToVector<float>(), before);
  EXPECT_NE(scope_.FindVar("next")->Get<Tensor>()->ToVector<float>(), before);
}

TEST_F(SparseGradientTest, LeavesATensorAloneThatSomebodyHolds) {
  AppendStep(AppendBackward(Loss(Picked()))[0]);
  const Tensor held = Table();
  const Values before = held.ToVector<float>();
  Run({3});
  EXPECT_EQ(held.ToVector<float>(), before);
  EXPECT_NE(Table().ToVector<float>(), before);
}

TEST_F(SparseGradientTest, LeavesBorrowedMemoryAlone) {
  AppendStep(AppendBackward(Loss(Picked()))[0]);
  Values values = Counted(kHeight, 0.25F);
  Table() = Tensor::Borrow(CPUPlace(), DType::kFloat32, {kHeight, kWidth},
                           values.data());
  Run({3});
  EXPECT_EQ(values, Counted(kHeight, 0.25F));
}

// A later op reads the table as it was before the step.
TEST_F(SparseGradientTest, IsNotInPlaceWhileTheOldValueIsRead) {
  const Var doubled = ops::Scale(table_, {.scale = 2});
  AppendStep(AppendBackward(Loss(Picked()))[0]);
  const Values before = Table().ToVector<float>();
  const Values twice = Run({3}, {doubled.name()})[0].ToVector<float>();
  for (size_t i = 0; i < twice.size(); ++i) {
    EXPECT_EQ(twice[i], 2 * before[i]);
  }
}

TEST_F(SparseGradientTest, AFailedRunTakesTheStepBack) {
  AppendStep(AppendBackward(Loss(Picked()))[0]);
  // Fails after the step, for the ids that are fed.
  const Var few = program_.Persistable("few", DType::kFloat32, {2, 1});
  *scope_.Var("few").GetMutable<Tensor>() =
      Tensor::FromVector<float>({2, 1}, {0, 0});
  const Var late = ops::LookupTable(few, ids_);
  const Values before = Table().ToVector<float>();
  const void* const memory = std::as_const(Table()).raw_data();
  ExpectError(ErrorCode::kOutOfRange, "lookup_table.id_range", {"3"}, [&] {
    Run({3, 0}, {late.name()});
  });
  EXPECT_EQ(Table().ToVector<float>(), before);
  EXPECT_EQ(std::as_const(Table()).raw_data(), memory);
  Run({1, 0}, {late.name()});
  EXPECT_NE(Table().ToVector<float>(), before);
}

}  // namespace
}  // namespace sluice::testing
