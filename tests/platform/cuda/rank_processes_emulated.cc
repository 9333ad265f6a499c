#include "tests/platform/cuda/rank_processes_emulated.h"

#include <cstdlib>
#include <cstring>
#include <list>

#include "tests/testing/child_process.h"
#include <gtest/gtest.h>

#include "sluice/platform/error.h"

namespace sluice::testing {

using cuda_emulation::RankGroup;

namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string RunRanks(int ranks, const std::string& body) {
  const std::string name = RankGroup::NewName();
  std::list<ChildProcess> children;
  for (int rank = 0; rank < ranks; ++rank) {
    children.emplace_back(
        std::vector<std::string>{"--child=" + body},
        std::vector<std::string>{"TEST_RANKS_NAME=" + name,
                                 "TEST_RANKS=" + std::to_string(ranks),
                                 "TEST_RANK=" + std::to_string(rank)});
  }
  std::string output;
  for (ChildProcess& child : children) {
    EXPECT_EQ(child.Finish(), "exit 0") << child.output();
    output += child.output();
  }
  return output;
}

int ChildRank() {
  return std::stoi(Variable("TEST_RANK"));
}
int ChildRanks() {
  return std::stoi(Variable("TEST_RANKS"));
}
std::string CommonName(const std::string& purpose) {
  return Variable("TEST_RANKS_NAME") + "-" + purpose;
}
int ChildStatus() {
  return ::testing::Test::HasFailure() ? 1 : 0;
}

RankWorld::RankWorld()
    : group_(CommonName("world"), ChildRanks(), ChildRank()) {}

void RankWorld::Meet() {
  if (group_.Meet() == RankGroup::Outcome::kMet) return;
  throw Error(ErrorCode::kFailedPrecondition, "test.world_failed",
              "another rank has failed");
}

int64_t RankWorld::Start(Collective collective) {
  const size_t bytes =
      static_cast<size_t>(collective.count) * SizeOf(collective.dtype);
  std::byte* shared = group_.chunk(collective.root);
  if (rank() == collective.root && bytes > 0) {
    std::memcpy(shared, collective.from, bytes);
  }
  Meet();
  if (bytes > 0) std::memcpy(collective.to, shared, bytes);
  Meet();
  return 0;
}

}  // namespace sluice::testing
