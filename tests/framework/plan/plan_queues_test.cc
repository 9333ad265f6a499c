#include <algorithm>
#include <random>

#include "tests/framework/test_ops.h"
#include "tests/testing/cuda_device.h"
#include "tests/testing/expect_error.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/framework/inspect/explain.h"
#include "sluice/framework/run/executor.h"

// Plans whose kernels run on several queues of one device.
namespace sluice {
namespace {

using sluice::testing::Append;
using sluice::testing::ExpectError;
using sluice::testing::Floats;
using ::testing::HasSubstr;

// An access of an instruction to memory of a device.
struct Access {
  int instruction, queue;
  bool writes;
  int slot;  // what it aliases, if anything
};

bool Overlap(const Plan& plan, int a, int b) {
  if (a == b) return true;
  const Slot &x = plan.slots()[a], &y = plan.slots()[b];
  const auto planned = [](const Slot& slot) {
    return slot.kind == SlotKind::kArena || slot.kind == SlotKind::kScratch;
  };
  return planned(x) && planned(y) && x.place == y.place &&
         x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes;
}

// The accesses of an instruction to memory of devices.
std::vector<Access> AccessesOf(const Plan& plan, int index) {
  const Instruction& step = plan.instructions()[index];
  std::vector<Access> accesses;
  const auto add = [&](int slot, bool writes) {
    if (slot < 0 || plan.slots()[slot].kind == SlotKind::kShape) return;
    const int root = plan.slots()[slot].alias_of;
    if (plan.slots()[slot].place.kind == PlaceKind::kCPU) return;
    accesses.push_back({index, step.device, writes, root < 0 ? slot : root});
  };
  if (step.kind == InstructionKind::kDeviceCompute) {
    const PlannedOp& op = plan.ops()[step.context];
    for (const int slot : op.inputs)
      add(slot, false);
    for (const int slot : op.outputs)
      add(slot, true);
    add(op.scratch, true);
  } else if (step.kind != InstructionKind::kCompute && step.from >= 0 &&
             step.to >= 0) {
    add(step.from, false);
    add(step.to, true);
  }
  return accesses;
}

// Counts pairs of unordered accesses to the same memory, one of which writes.
int Races(const Plan& plan) {
  const size_t count = plan.queues().size();
  // For each queue: the finished instructions of every queue that it knows of.
  std::vector<std::vector<int>> known(count, std::vector<int>(count, 0));
  std::vector<int> host(count, 0);
  const auto learn = [](std::vector<int>& from, const std::vector<int>& to) {
    for (size_t i = 0; i < to.size(); ++i)
      from[i] = std::max(from[i], to[i]);
  };
  std::vector<Access> before;
  int races = 0;
  for (int i = 0; i < static_cast<int>(plan.instructions().size()); ++i) {
    const Instruction& step = plan.instructions()[i];
    if (step.device < 0) continue;
    auto& own = known[step.device];
    if (step.kind == InstructionKind::kWait) {
      learn(host, own);
      continue;
    }
    learn(own, host);
    if (step.kind == InstructionKind::kQueueWait) {
      learn(own, known[step.from]);
      continue;
    }
    for (const Access& access : AccessesOf(plan, i)) {
      for (const Access& other : before) {
        races += access.queue != other.queue &&
                 (access.writes || other.writes) &&
                 own[other.queue] <= other.instruction &&
                 Overlap(plan, access.slot, other.slot);
      }
      before.push_back(access);
    }
    own[step.device] = i + 1;
  }
  return races;
}

class PlanQueuesTest : public ::testing::TestWithParam<PlaceKey> {
 protected:
  void SetUp() override {
    if (place_.kind == PlaceKind::kCUDA) {
      const std::string missing = sluice::testing::WhyNoCUDA();
      if (!missing.empty()) GTEST_SKIP() << missing;
    }
    sluice::testing::UseTestOps();
    program_.Data("x", DType::kFloat32, {2, 2});
    program_.Data("y", DType::kFloat32, {2, 2});
  }
  // Square, so that distances can be inputs of distances.
  std::string Distance(const std::string& x, const std::string& y) {
    return Append(&program_, "manhattan_distance", {{"X", {x}}, {"Y", {y}}});
  }
  std::shared_ptr<const Plan> PlanOf(const Fetches& fetches,
                                     int queues,
                                     int dropped = -1) {
    Executor executor(place_,
                      {.queues = queues, .drop_wait_for_testing = dropped});
    return executor.Prepare(program_, feeds_, fetches);
  }
  static int Count(const Plan& plan, InstructionKind kind) {
    return static_cast<int>(
        std::count_if(plan.instructions().begin(), plan.instructions().end(),
                      [&](auto& step) { return step.kind == kind; }));
  }
  // A graph of `count` ops that each read two of the last ten values.
  Fetches Random(int count, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::string> values = {"x", "y"};
    const auto pick = [&] {
      const size_t last = std::min<size_t>(values.size(), 10);
      return values[values.size() - 1 - random() % last];
    };
    for (int i = 0; i < count; ++i) {
      const std::string x = pick();
      values.push_back(Distance(x, pick()));
    }
    return {values.back(), values[values.size() - 2],
            values[values.size() - 5]};
  }

  const PlaceKey place_ = GetParam();
  Program program_;
  const Feeds feeds_ = {{"x", Floats({2, 2}, {1, 2, 4, 8})},
                        {"y", Floats({2, 2}, {16, 30, 64, 125})}};
};

TEST_P(PlanQueuesTest, IndependentBranchesGetQueuesOfTheirOwn) {
  const std::string first = Distance("x", "y");
  const std::string left = Distance(Distance(first, "x"), "x");
  const std::string right = Distance(Distance(first, "y"), "y");
  const std::string end = Distance(left, right);
  const auto plan = PlanOf({end}, 2);
  std::vector<int> queue;
  for (const PlannedOp& op : plan->ops())
    queue.push_back(op.device);
  // In program order: first, the left ops, the right ops, end.
  EXPECT_EQ(queue[1], queue[0]);
  EXPECT_EQ(queue[2], queue[0]);
  EXPECT_NE(queue[3], queue[0]);
  EXPECT_EQ(queue[4], queue[3]);
  EXPECT_THAT(ToString(plan->queues()[queue[3]]), HasSubstr(", queue 2"));
  EXPECT_THAT(ExplainText(*plan), HasSubstr("run on 2 queues"));
  EXPECT_EQ(Races(*plan), 0);

  // The right branch waits for the first op and not for the left branch.
  const auto& steps = plan->instructions();
  const auto wait = std::find_if(steps.begin(), steps.end(), [&](auto& step) {
    return step.kind == InstructionKind::kQueueWait &&
           step.device == queue[3] && step.from == queue[0];
  });
  ASSERT_NE(wait, steps.end());
  EXPECT_EQ((wait - 1)->op_index, 0);

  const auto one = PlanOf({end}, 1);
  for (const PlannedOp& op : one->ops())
    EXPECT_EQ(op.device, one->ops()[0].device);
  EXPECT_EQ(plan->Run(feeds_)[0].ToVector<float>(),
            one->Run(feeds_)[0].ToVector<float>());
}

TEST_P(PlanQueuesTest, ResultsAreThoseOfOneQueue) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    const Fetches fetches = Random(50, seed);
    const auto want = PlanOf(fetches, 1)->Run(feeds_);
    for (const int queues : {2, 3, 5}) {
      const auto plan = PlanOf(fetches, queues);
      EXPECT_EQ(Races(*plan), 0) << seed << " " << queues;
      for (int run = 0; run < 2; ++run) {
        const auto got = plan->Run(feeds_);
        for (size_t i = 0; i < want.size(); ++i) {
          EXPECT_EQ(got[i].ToVector<float>(), want[i].ToVector<float>());
        }
      }
    }
  }
}

TEST_P(PlanQueuesTest, MemoryIsReusedWhenAllQueuesAreBehind) {
  // Blocks of two branches, one after the other.
  std::string value = "x";
  for (int block = 0; block < 20; ++block) {
    const std::string left = Distance(value, "x");
    const std::string right = Distance(value, "y");
    value = Distance(left, right);
  }
  const auto bytes = [](const Plan& plan) {
    size_t most = 0;
    for (const auto& [place, size] : plan.arenas())
      most = std::max(most, size);
    return most;
  };
  const size_t one = bytes(*PlanOf({value}, 1));
  const size_t two = bytes(*PlanOf({value}, 2));
  EXPECT_EQ(Races(*PlanOf({value}, 2)), 0);
  EXPECT_GE(two, one);
  EXPECT_LE(two, 3 * one);
}

TEST_P(PlanQueuesTest, AMissingWaitIsNoticed) {
  const std::string first = Distance("x", "y");
  const std::string left = Distance(Distance(first, "x"), "x");
  const std::string right = Distance(Distance(first, "y"), "y");
  const Fetches fetches = {Distance(left, right)};
  const auto whole = PlanOf(fetches, 2);
  const auto right_result = whole->Run(feeds_)[0].ToVector<float>();
  const int waits = Count(*whole, InstructionKind::kQueueWait) +
                    Count(*whole, InstructionKind::kWait);
  ASSERT_GE(waits, 2);
  int between_kernels = 0;
  for (int dropped = 0; dropped < waits; ++dropped) {
    const auto plan = PlanOf(fetches, 2, dropped);
    if (Count(*plan, InstructionKind::kWait) ==
        Count(*whole, InstructionKind::kWait)) {
      ++between_kernels;
      EXPECT_GT(Races(*plan), 0) << "wait " << dropped;
    }
    // A GPU queue may finish before a missing wait is noticed; queues of the
    // FPGA stub wait for each other on the host.
    if (place_.kind != PlaceKind::kCUDA || !sluice::testing::CUDAIsEmulated()) {
      continue;
    }
    bool noticed = false;
    try {
      noticed = plan->Run(feeds_)[0].ToVector<float>() != right_result;
    } catch (const Error&) {
      noticed = true;
    }
    EXPECT_TRUE(noticed) << "wait " << dropped << " of " << waits;
  }
  EXPECT_GE(between_kernels, 2);
}

INSTANTIATE_TEST_SUITE_P(Places,
                         PlanQueuesTest,
                         ::testing::Values(CUDAPlace{0}, FPGAPlace{0}),
                         [](const auto& info) {
                           return info.param == PlaceKey(FPGAPlace{0}) ? "Fpga"
                                                                       : "Cuda";
                         });

TEST(PlanQueues, ThereIsALimit) {
  for (const int queues : {0, -1, 17}) {
    ExpectError(ErrorCode::kInvalidArgument, "executor.queues",
                {std::to_string(queues), "1 to 16"},
                [&] { Executor({}, {.queues = queues}); });
  }
}

}  // namespace
}  // namespace sluice
