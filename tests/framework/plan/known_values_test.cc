#include "sluice/framework/plan/known_values.h"

#include <string>
#include <vector>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/executor.h"

// Shapes and attributes that are computed by the program itself.
namespace sluice {
namespace {

using testing::ExpectError;

// y = reshape(x, s), s = a + b: a is fed, b a constant.
class KnownValuesTest : public ::testing::Test {
 protected:
  KnownValuesTest() {
    program_.Data("x", DType::kFloat32, {-1});
    program_.Data("a", DType::kInt64, {-1});
    b_ = Append("assign_value", {},
                {{"shape", std::vector<int64_t>{2}},
                 {"dtype", DType::kInt64},
                 {"values", std::vector<double>()},
                 {"int_values", std::vector<int64_t>{1, 0}}});
    s_ = Append("elementwise_add", {{"X", {"a"}}, {"Y", {b_}}});
    y_ = Append("reshape", {{"X", {"x"}}, {"Shape", {s_}}});
  }

  std::string Append(const std::string& type,
                     std::vector<std::pair<std::string, ArgVars>> inputs,
                     AttributeMap attributes = {}) {
    OpDesc op;
    op.type = type;
    op.inputs = std::move(inputs);
    op.attributes = std::move(attributes);
    return program_.AppendOp(std::move(op)).outputs[0].second[0];
  }

  static Feeds Feed(int64_t rows, int64_t columns) {
    const auto count = static_cast<size_t>(rows * columns);
    return {{"x", Tensor::FromVector<float>({rows * columns},
                                            std::vector<float>(count, 1))},
            {"a", Tensor::FromVector<int64_t>({2}, {rows - 1, columns})}};
  }

  Program program_;
  Executor executor_;
  std::string b_, s_, y_;
};

TEST_F(KnownValuesTest, AnOperandGivesTheAttribute) {
  EXPECT_EQ(program_.FindVar(y_).dims, DDim({-1, -1}));  // by that of b
  EXPECT_EQ(executor_.Run(program_, Feed(2, 3), {y_})[0].dims(), DDim({2, 3}));
}

TEST_F(KnownValuesTest, OtherValuesAreAnotherPlan) {
  const auto plan = executor_.Prepare(program_, Feed(2, 3), {y_});
  EXPECT_EQ(executor_.Prepare(program_, Feed(2, 3), {y_}), plan);
  EXPECT_EQ(executor_.Run(program_, Feed(3, 2), {y_})[0].dims(), DDim({3, 2}));
  EXPECT_EQ(executor_.cached_plans(), 2);
  EXPECT_EQ(executor_.Run(program_, Feed(2, 3), {y_})[0].dims(), DDim({2, 3}));
  EXPECT_EQ(executor_.cached_plans(), 2);
  ExpectError(ErrorCode::kInvalidArgument, "run.feed_value", {"values", "a"},
              [&] { plan->Run(Feed(3, 2)); });
}

TEST_F(KnownValuesTest, ThePlanKeepsTheValuesAsTheyWere) {
  Feeds feeds = Feed(2, 3);
  executor_.Run(program_, feeds, {y_});
  feeds[1].second.data<int64_t>()[0] = 2;
  feeds[1].second.data<int64_t>()[1] = 2;
  EXPECT_EQ(executor_.Run(program_, feeds, {y_})[0].dims(), DDim({3, 2}));
}

TEST_F(KnownValuesTest, WhatIsOnlyUsedForAShapeDoesNotRun) {
  const auto plan = executor_.Prepare(program_, Feed(2, 3), {y_});
  EXPECT_EQ(plan->ops().size(), 1);
  const std::string text =
      executor_.Explain(program_, {.all = true, .width = 1000});
  EXPECT_NE(text.find("op 2 (reshape): shape = [2, 3], from " + s_),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("op 1 (elementwise_add) does not run: what is read "
                      "of it, values or only shapes, was known when the plan "
                      "was prepared"),
            std::string::npos)
      << text;
  // A fetched value is computed.
  EXPECT_EQ(executor_.Prepare(program_, Feed(2, 3), {y_, s_})->ops().size(), 3);
}

TEST_F(KnownValuesTest, AnOpOfWhichOnlyTheShapeIsReadDoesNotRun) {
  const std::string like = Append("relu", {{"X", {"x"}}});
  const std::string box = Append("crop", {{"X", {"x"}}, {"Y", {like}}});
  const auto feeds = Feed(2, 3);
  const auto plan = executor_.Prepare(program_, feeds, {box});
  EXPECT_EQ(plan->ops().size(), 1);
  EXPECT_EQ(executor_.Run(program_, feeds, {box})[0].ToVector<float>(),
            feeds[0].second.ToVector<float>());
  EXPECT_EQ(executor_.Prepare(program_, feeds, {box, like})->ops().size(), 2);
}

TEST_F(KnownValuesTest, ValuesOfDataAreRefused) {
  const std::string cast =
      Append("cast", {{"X", {"x"}}}, {{"dtype", DType::kInt64}});
  const std::string z = Append("reshape", {{"X", {"x"}}, {"Shape", {cast}}});
  const Feeds feeds = {
      {"x", Tensor::FromVector<float>({70000}, std::vector<float>(70000, 1))},
      {"a", Tensor::FromVector<int64_t>({2}, {0, 70000})}};
  ExpectError(ErrorCode::kUnimplemented, "plan.operand_of_data",
              {"reshape", "Shape", "shape", "op 3 (cast)", "4096"},
              [&] { executor_.Run(program_, feeds, {z}); });
}

TEST_F(KnownValuesTest, ParametersAreData) {
  program_.Persistable("p", DType::kInt64, {1});
  const std::string z = Append("reshape", {{"X", {"x"}}, {"Shape", {"p"}}});
  ExpectError(ErrorCode::kUnimplemented, "plan.operand_of_data",
              {"reshape", "p is a parameter"},
              [&] { executor_.Run(program_, Feed(2, 3), {z}); });
}

// An op reads what was written before it, not what is written last.
TEST_F(KnownValuesTest, AVariableThatIsWrittenAgainHasTwoValues) {
  program_.Persistable("p", DType::kInt64, {2});
  const std::string old = Append("assign", {{"X", {"p"}}});
  OpDesc update;
  update.type = "assign";
  update.inputs = {{"X", {s_}}};
  update.outputs = {{"Out", {"p"}}};
  program_.AppendOp(update);
  const std::string by_new =
      Append("reshape", {{"X", {"x"}}, {"Shape", {"p"}}});
  EXPECT_EQ(executor_.Run(program_, Feed(2, 3), {by_new})[0].dims(),
            DDim({2, 3}));
  const std::string by_old =
      Append("reshape", {{"X", {"x"}}, {"Shape", {old}}});
  ExpectError(ErrorCode::kUnimplemented, "plan.writes_in_stretches",
              {"reshape", "p is a parameter"},
              [&] { executor_.Run(program_, Feed(2, 3), {by_old}); });
}

TEST_F(KnownValuesTest, AnUpdateByTheVariableItselfIsData) {
  program_.Persistable("p", DType::kInt64, {2});
  OpDesc update;
  update.type = "assign";
  update.inputs = {
      {"X", {Append("elementwise_add", {{"X", {"p"}}, {"Y", {b_}}})}}};
  update.outputs = {{"Out", {"p"}}};
  program_.AppendOp(update);
  const std::string z = Append("reshape", {{"X", {"x"}}, {"Shape", {"p"}}});
  ExpectError(ErrorCode::kUnimplemented, "plan.writes_in_stretches",
              {"reshape", "p is a parameter"},
              [&] { executor_.Run(program_, Feed(2, 3), {z}); });
}

TEST_F(KnownValuesTest, AnOperandHasOneDimension) {
  const std::string matrix =
      Append("assign_value", {},
             {{"shape", std::vector<int64_t>{1, 2}},
              {"dtype", DType::kInt64},
              {"values", std::vector<double>()},
              {"int_values", std::vector<int64_t>{3, 2}}});
  ExpectError(ErrorCode::kInvalidArgument, "op.operand_shape",
              {"reshape", "Shape", "[1, 2]", "one dimension"}, [&] {
                Append("reshape", {{"X", {"x"}}, {"Shape", {matrix}}});
              });
}

TEST_F(KnownValuesTest, AnOperandBesideItsAttributeIsRefused) {
  ExpectError(ErrorCode::kInvalidArgument, "op.operand_and_attribute",
              {"reshape", "shape", "Shape"}, [&] {
                Append("reshape", {{"X", {"x"}}, {"Shape", {s_}}},
                       {{"shape", std::vector<int64_t>{2, 3}}});
              });
}

TEST_F(KnownValuesTest, BadValuesAreRefusedAsBadAttributesAre) {
  ExpectError(ErrorCode::kInvalidArgument, "reshape.size",
              {"reshape", "shape[0] = -4"}, [&] {
                Feeds feeds = Feed(2, 3);
                feeds[1].second.data<int64_t>()[0] = -5;
                executor_.Run(program_, feeds, {y_});
              });
}

TEST_F(KnownValuesTest, ManyValuesKeepTheCacheBounded) {
  for (int64_t rows = 1; rows < 3000; ++rows) {
    executor_.Run(program_, Feed(rows, 1), {y_});
  }
  EXPECT_LE(executor_.cached_plans(), 1024);
}

}  // namespace
}  // namespace sluice
