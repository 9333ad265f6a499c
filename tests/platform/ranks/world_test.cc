#include "sluice/platform/ranks/world.h"

#include <array>
#include <cstdlib>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/platform/error.h"
#include "sluice/platform/ranks/collective_context.h"

namespace sluice::platform {
namespace {

using sluice::testing::ExpectError;

TEST(World, IsOfOneRankWhereNoneWereStarted) {
  World& world = World::Join();
  EXPECT_EQ(&world, &World::Get());
  EXPECT_EQ(world.rank(), 0);
  EXPECT_EQ(world.size(), 1);
  EXPECT_EQ(world.library(), "");
}

TEST(World, OfOneRankCopiesWhatIsGiven) {
  const std::array<float, 2> from = {1, 2};
  std::array<float, 2> to = {};
  Collective collective;
  collective.kind = CollectiveKind::kAllReduce;
  collective.from = from.data();
  collective.to = to.data();
  collective.count = 2;
  CollectiveContext queue;
  queue.Start(collective);
  queue.Wait();
  EXPECT_EQ(to, from);
}

TEST(World, FirstDifferenceSaysWhoHasWhich) {
  EXPECT_EQ(FirstDifference({"a\nb\n", "a\nb\n"}), "");
  EXPECT_EQ(FirstDifference({"a\nb\n", "a\nc\n", "a\nb\n", "a\nb\nd\n"}),
            "  rank 0, 2 and 3: b\n  rank 1: c");
  EXPECT_EQ(FirstDifference({"a\n", "a\nb\n"}),
            "  rank 0: nothing more\n  rank 1: b");
  EXPECT_EQ(FirstDifference({"", ""}), "");
}

TEST(World, AQueueOfCollectivesCopiesNothing) {
  CollectiveContext queue;
  char byte = 0;
  const auto refuses = [&](auto&& copy) {
    ExpectError(ErrorCode::kInternal, "collective_context.copy",
                {"cannot copy"}, copy);
  };
  refuses([&] { queue.CopyFromHost(&byte, &byte, 1); });
  refuses([&] { queue.CopyToHost(&byte, &byte, 1); });
  refuses([&] { queue.CopyOnDevice(&byte, &byte, 1); });
}

}  // namespace
}  // namespace sluice::platform
