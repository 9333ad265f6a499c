#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

TEST(Assign, GivesACopyOfItsOwn) {
  Tensor x = Tensor::FromVector<float>({3}, {1, -2, 3});
  const Tensor out = RunOp("assign", {{"X", x}})["Out"];
  x.data<float>()[0] = 7;
  EXPECT_EQ(out.ToVector<float>(), (std::vector<float>{1, -2, 3}));
}

}  // namespace
}  // namespace sluice
