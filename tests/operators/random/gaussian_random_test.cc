#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using Ints = std::vector<int64_t>;

TEST(GaussianRandom, WithoutDeviationAllAreTheMean) {
  EXPECT_EQ(RunOp("gaussian_random", {},
                  {{"shape", Ints{3}}, {"mean", 2.5}, {"std", 0.0}})["Out"]
                .ToVector<float>(),
            (std::vector<float>{2.5, 2.5, 2.5}));
}

}  // namespace
}  // namespace sluice
