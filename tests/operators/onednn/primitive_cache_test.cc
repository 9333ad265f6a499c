#include "tests/operators/onednn/onednn_fixture.h"

#include "sluice/framework/run/run_op.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

class PrimitiveCacheTest : public testing::OneDnnTest {
 protected:
  static void Transpose(const DDim& dims) {
    RunOp("transpose", {{"X", Ramp(dims)}},
          {{"axis", std::vector<int64_t>{1, 0}}},
          {.hint = testing::kOneDnnOnly});
  }
};

TEST_F(PrimitiveCacheTest, CountsHitsAndMisses) {
  const int64_t misses = Count("onednn.cache_misses");
  Transpose({3, 1001});
  EXPECT_EQ(Count("onednn.cache_misses"), misses + 1);
  const int64_t hits = Count("onednn.cache_hits");
  Transpose({3, 1001});
  EXPECT_EQ(Count("onednn.cache_misses"), misses + 1);
  EXPECT_EQ(Count("onednn.cache_hits"), hits + 1);
}

// oneDNN divides its work among threads when it compiles.
TEST_F(PrimitiveCacheTest, TheNumberOfThreadsIsPartOfTheKey) {
  const int64_t misses = Count("onednn.cache_misses");
  for (const int threads : {1, 2, 1, 2}) {
    const ThreadCountGuard guard(threads);
    Transpose({500, 1003});  // a small one gets one thread
  }
  EXPECT_EQ(Count("onednn.cache_misses"), misses + 2);
}

TEST_F(PrimitiveCacheTest, ARunLooksForNothing) {
  Data("x", Ramp({32, 20}));
  Data("y", Ramp({20, 8}));
  const auto out = Append("matmul", {{"X", {"x"}}, {"Y", {"y"}}}, "Out");
  const auto plan = executor_.Prepare(program_, feeds_, {out});
  plan->Run(feeds_);
  const int64_t misses = Count("onednn.cache_misses");
  const int64_t hits = Count("onednn.cache_hits");
  for (int run = 0; run < 10; ++run)
    plan->Run(feeds_);
  EXPECT_EQ(Count("onednn.cache_misses"), misses);
  EXPECT_EQ(Count("onednn.cache_hits"), hits);
}

TEST_F(PrimitiveCacheTest, SlowLetsTheOldestGoWhenThereAreMany) {
  const int64_t evictions = Count("onednn.cache_evictions");
  const int64_t misses = Count("onednn.cache_misses");
  for (int64_t size = 2; size < 1100; ++size)
    Transpose({7, size});
  EXPECT_EQ(Count("onednn.cache_misses"), misses + 1098);
  EXPECT_GE(Count("onednn.cache_evictions"), evictions + 1098 - 1024);
  Transpose({7, 2});
  EXPECT_EQ(Count("onednn.cache_misses"), misses + 1099);
}

}  // namespace
}  // namespace sluice
