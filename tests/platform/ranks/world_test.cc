#include "sluice/platform/ranks/world.h"

#include <array>
#include <cstdlib>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/platform/error.h"
#include "sluice/platform/ranks/collective_context.h"

namespace sluice {
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

TEST(World, RanksThatWereStartedMustBeJoined) {
  World::RequireJoined("training");  // none were
  setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
  ExpectError(ErrorCode::kFailedPrecondition, "world.not_joined",
              {"training: ", "one of 4 ranks", "init()"},
              [] { World::RequireJoined("training"); });
  setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
  World::RequireJoined("training");
  unsetenv("OMPI_COMM_WORLD_SIZE");
}

TEST(World, PartsAreEqualWhereTheirLinesAre) {
  Part one;
  one.Add("a", "created at x.py:1");
  one.Add("b");
  Part other;
  other.Add("a", "created at y.py:7");
  EXPECT_NE(one.Digest(), other.Digest());
  EXPECT_EQ(one.Digest(1), other.Digest());
  EXPECT_EQ(one.Digest(0), Part().Digest());
  other.Add("b");
  EXPECT_EQ(one.Digest(), other.Digest());
  EXPECT_EQ(one.Digest(2), one.Digest());
  EXPECT_EQ(one.Digest(9), one.Digest());
  Part joined;
  joined.Add("ab");
  EXPECT_NE(joined.Digest(), one.Digest());
}

TEST(World, RanksAreNamedAsRanges) {
  EXPECT_EQ(NameRanks({1}), "rank 1");
  EXPECT_EQ(NameRanks({0, 1}), "ranks 0 and 1");
  EXPECT_EQ(NameRanks({0, 2, 3}), "ranks 0, 2 and 3");
  EXPECT_EQ(NameRanks({0, 1, 2}), "ranks 0 to 2");
  EXPECT_EQ(NameRanks({0, 1, 2, 5, 7, 8, 9}), "ranks 0 to 2, 5 and 7 to 9");
}

TEST(World, LinesAreSaidWithWhoHasThem) {
  EXPECT_EQ(DescribeLines({{"b", "here"}, {"c", ""}, {"b", "here"}, {"", ""}}),
            "  ranks 0 and 2: b, here\n  rank 1: c\n  rank 3: nothing more");
  const std::string same(1000, 'x');
  const std::string text = DescribeLines({{same + "1", ""}, {same + "2", ""}});
  EXPECT_LT(text.size(), 300u);
  EXPECT_NE(text.find("x1\n"), std::string::npos);
  EXPECT_NE(text.find("rank 1: ..."), std::string::npos);
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
}  // namespace sluice
