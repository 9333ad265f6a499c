#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using Ints = std::vector<int64_t>;

Tensor Tree(const Ints& values) {
  return Tensor::FromVector<int64_t>({2, 1, 2}, values);
}

TEST(GatherTree, FollowsParentsBackwards) {
  const Tensor ids = Tree({1, 2, 3, 4});
  EXPECT_EQ(RunOp("gather_tree",
                  {{"Ids", ids}, {"Parents", Tree({-7, 99, 1, 0})}})["Out"]
                .ToVector<int64_t>(),
            (Ints{2, 1, 3, 4}));
}

}  // namespace
}  // namespace sluice
