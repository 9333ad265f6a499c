#include "sluice/framework/algorithms/memory_planner.h"

#include <algorithm>
#include <random>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using sluice::testing::ExpectError;

bool LiveTogether(const MemoryRequest& a, const MemoryRequest& b) {
  return a.first <= b.last && b.first <= a.last;
}
bool Overlap(const MemoryRequest& a, const MemoryRequest& b) {
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

// The maximum of live bytes at one instruction: no plan can use less.
size_t LowerBound(const std::vector<MemoryRequest>& requests, int end) {
  size_t most = 0;
  for (int now = 0; now < end; ++now) {
    size_t sum = 0;
    for (const MemoryRequest& request : requests) {
      if (request.first <= now && now <= request.last) sum += request.bytes;
    }
    most = std::max(most, sum);
  }
  return most;
}

std::vector<MemoryRequest> Drawn(int count, int end, std::mt19937* random) {
  std::vector<MemoryRequest> requests;
  for (int i = 0; i < count; ++i) {
    MemoryRequest& request = requests.emplace_back();
    request.bytes = (*random)() % 4 == 0 ? (*random)() % 3 : (*random)() % 1000;
    request.first = static_cast<int>((*random)() % end);
    request.last =
        request.first + static_cast<int>((*random)() % (end - request.first));
  }
  return requests;
}

TEST(MemoryPlannerTest, ManyRequestsArePlacedLikeFew) {
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    auto few = Drawn(200, 60, &random);
    auto many = few;
    for (const MemoryRequest& later : Drawn(200, 60, &random)) {
      many.push_back({later.bytes, later.first + 60, later.last + 60});
    }
    PlanMemory(&few);
    PlanMemory(&many);
    for (size_t i = 0; i < few.size(); ++i) {
      ASSERT_EQ(few[i].offset, many[i].offset) << round << ": " << i;
    }
  }
}

TEST(MemoryPlannerTest, NoTwoLiveRequestsOverlap) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const int count = static_cast<int>(random() % (round < 10 ? 400 : 40));
    const int end = 1 + static_cast<int>(random() % 30);
    std::vector<MemoryRequest> requests = Drawn(count, end, &random);
    const size_t total = PlanMemory(&requests);
    for (size_t a = 0; a < requests.size(); ++a) {
      ASSERT_EQ(requests[a].offset % 64, 0u);
      ASSERT_LE(requests[a].offset + requests[a].bytes, total);
      for (size_t b = 0; b < a; ++b) {
        ASSERT_FALSE(LiveTogether(requests[a], requests[b]) &&
                     Overlap(requests[a], requests[b]))
            << "round " << round << ": " << a << " and " << b;
      }
    }
    ASSERT_GE(total, LowerBound(requests, end));
  }
}

TEST(MemoryPlannerTest, EmptyRequestsThatLiveTogetherDiffer) {
  std::vector<MemoryRequest> requests = {{0, 0, 1}, {0, 1, 2}};
  EXPECT_EQ(PlanMemory(&requests), 128u);
  EXPECT_NE(requests[0].offset, requests[1].offset);
}

TEST(MemoryPlannerTest, AChainNeedsTwoBuffers) {
  std::vector<MemoryRequest> requests;
  for (int i = 0; i < 1000; ++i)
    requests.push_back({64, i, i + 1});
  EXPECT_EQ(PlanMemory(&requests), 128u);
}

TEST(MemoryPlannerTest, TakesTheSmallestGapThatFits) {
  // Two gaps remain for a small late request: of 128 and of 64 bytes.
  std::vector<MemoryRequest> requests = {
      {512, 0, 9}, {256, 0, 9}, {192, 0, 4}, {128, 5, 9}, {60, 5, 9}};
  const size_t total = PlanMemory(&requests);
  EXPECT_EQ(total, 512u + 256 + 192);
  EXPECT_EQ(requests[4].offset, 512u + 256 + 128);
}

TEST(MemoryPlannerTest, RefusesSumsThatWouldOverflow) {
  for (const int shift : {61, 63}) {
    std::vector<MemoryRequest> requests(8, {size_t{1} << shift, 0, 1});
    ExpectError(ErrorCode::kResourceExhausted, "memory_planner.too_large", {},
                [&] { PlanMemory(&requests); });
  }
}

// Every value of a forward pass is needed until its gradient, so there are too
// many overlapping pairs to compare each.
TEST(MemoryPlannerTest, ALongTrainingStepIsPlannedInItsOrder) {
  constexpr int kOps = 20000;
  std::mt19937 random(7);
  std::vector<MemoryRequest> requests;
  for (int i = 0; i < kOps; ++i)
    requests.push_back({64 * (1 + random() % 4), i, 2 * kOps - i});
  const size_t total = PlanMemory(&requests);
  size_t sum = 0;
  for (const MemoryRequest& request : requests) {
    sum += request.bytes;
  }
  EXPECT_EQ(total, sum);  // all are in use at the turn
  // With shorter lifetimes, so that freed memory is reused.
  for (MemoryRequest& request : requests) {
    request.last = std::min(request.last, request.first + kOps / 4);
  }
  EXPECT_LT(PlanMemory(&requests), sum / 2);
  std::sort(requests.begin(), requests.end(), [](auto& a, auto& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.first < b.first;
  });
  for (size_t i = 0; i < requests.size(); ++i) {
    for (size_t other = i + 1;
         other < requests.size() &&
         requests[other].offset < requests[i].offset + requests[i].bytes;
         ++other) {
      ASSERT_FALSE(LiveTogether(requests[i], requests[other]))
          << requests[i].offset << " and " << requests[other].offset;
    }
  }
}

TEST(MemoryPlannerTest, PlansNothing) {
  std::vector<MemoryRequest> requests;
  EXPECT_EQ(PlanMemory(&requests), 0u);
}

}  // namespace
}  // namespace sluice
