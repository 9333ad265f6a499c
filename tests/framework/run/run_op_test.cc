#include "sluice/framework/run/run_op.h"

#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using sluice::testing::ExpectError;
using sluice::testing::Floats;
using sluice::testing::Iota;

using Values = std::vector<float>;

class RunOpTest : public ::testing::Test {
 protected:
  RunOpTest() { sluice::testing::UseTestOps(); }
  const Tensor x_ = Floats({2}, {1, 2});
};

TEST_F(RunOpTest, RunsOneOp) {
  auto outputs = RunOp("test_add", {{"X", x_}, {"Y", x_}}, {{"bias", 0.5}});
  EXPECT_EQ(outputs["Out"].ToVector<float>(), (Values{2.5f, 4.5f}));
}

TEST_F(RunOpTest, TakesAHint) {
  auto outputs = RunOp("test_add", {{"X", x_}, {"Y", x_}}, {},
                       {.hint = "require variant=wrong"});
  EXPECT_EQ(outputs["Out"].ToVector<float>(), (Values{2, 5}));
}

TEST_F(RunOpTest, GivesOptionalOutputsOnDemand) {
  const Tensor index = Tensor::FromVector<int64_t>({1}, {0});
  const AttributeMap number = {{"number", int64_t{1}}};
  auto few =
      RunOp("test_many", {{"Xs", x_}, {"Index", index}, {"Xs", x_}}, number);
  EXPECT_EQ(few.size(), 2u);
  EXPECT_EQ(few["Count"].ToVector<int64_t>(), std::vector<int64_t>{2});
  auto all = RunOp("test_many", {{"Xs", x_}, {"Index", index}}, number,
                   {.outputs = {"Extra"}});
  EXPECT_EQ(all["Extra"].ToVector<float>(), Values{7});
}

TEST_F(RunOpTest, RunsAtAPlace) {
  auto outputs =
      RunOp("manhattan_distance", {{"X", Iota({2, 3})}, {"Y", Iota({1, 3})}},
            {}, {.place = FPGAPlace{1}});
  EXPECT_EQ(outputs["Out"].ToVector<float>(), (Values{0, 9}));
}

TEST_F(RunOpTest, NamesMistakes) {
  ExpectError(ErrorCode::kNotFound, "registry.unknown_op", {"test_ad"}, [&] {
    RunOp("test_ad", {{"X", x_}});
  });
  ExpectError(ErrorCode::kNotFound, "op.unknown_argument", {"Z"}, [&] {
    RunOp("test_divide", {{"X", x_}, {"Z", x_}});
  });
}

}  // namespace
}  // namespace sluice
