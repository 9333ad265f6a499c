#include <algorithm>
#include <csignal>
#include <random>
#include <stdexcept>

#include "tests/framework/checkpoint/checkpoint_fixture.h"
#include "tests/testing/allocation_sweep.h"
#include <gtest/gtest.h>
#include <sys/wait.h>

namespace sluice::testing {
namespace {

TEST_F(CheckpointTest, RunningOutOfMemoryChangesNothing) {
  const std::string saved = Values(scope_);
  Save();
  const auto saving = SweepAllocationFailures([&] { Save(); });
  EXPECT_GT(saving.refused, 20);
  EXPECT_EQ(Names(), std::vector<std::string>{"model.safetensors"});
  const Tensor b = *scope_.FindVar("b")->Get<Tensor>();
  const Tensor w = *scope_.FindVar("w")->Get<Tensor>();
  const auto loading = SweepAllocationFailures([&] {
    Scope fresh;
    Set(&scope_, "b", b);
    Set(&scope_, "w", w);
    try {
      Load();
    } catch (const Error&) {
      for (const auto& [name, value] : {std::pair("b", b), {"w", w}}) {
        if (scope_.FindVar(name)->Get<Tensor>()->raw_data() !=
            value.raw_data()) {
          throw std::logic_error("changed");
        }
      }
      throw;
    }
    try {
      LoadParameters(path_, program_, fresh);
    } catch (const Error&) {
      for (const char* name : {"b", "w", "count", "flag", "none"}) {
        if (fresh.FindVar(name) != nullptr) throw std::logic_error("changed");
      }
      throw;
    }
  });
  EXPECT_EQ(Values(scope_), saved);
  EXPECT_GT(loading.refused, 20);
}

// --- kill -9 while a child saves checkpoints
class CheckpointKillTest : public CheckpointTest {
 protected:
  // Sets all values to one number, as a run would write them together.
  static void SetAll(Scope* scope, int64_t number) {
    Set(scope, "count", Tensor::FromVector<int64_t>({}, {number}));
    Set(scope, "large",
        Tensor::FromVector<int64_t>({1 << 15},
                                    std::vector<int64_t>(1 << 15, number)));
    scope->set_step(static_cast<uint64_t>(number));
  }

  void Kill(int times) {
    Program program;
    program.Persistable("count", DType::kInt64, {});
    program.Persistable("large", DType::kInt64, {1 << 15});
    Scope scope;
    SetAll(&scope, 0);
    SaveParameters(path_, program, scope);
    std::mt19937 random(9);
    int64_t last = 0;
    int64_t checkpoints = 0;
    unsigned longest = 15000;  // microseconds
    for (int round = 0; round < times; ++round) {
      const pid_t child = fork();
      if (child == 0) {
        for (int64_t number = last + 1;; ++number) {
          SetAll(&scope, number);
          SaveParameters(path_, program, scope);
        }
      }
      usleep(random() % longest);
      kill(child, SIGKILL);
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      ASSERT_TRUE(WIFSIGNALED(status)) << "the child could not save";
      LoadParameters(path_, program, scope);
      const auto number = static_cast<int64_t>(scope.step());
      ASSERT_GE(number, last);
      const Tensor& large = *scope.FindVar("large")->Get<Tensor>();
      ASSERT_EQ(large.data<int64_t>()[0], number);
      ASSERT_EQ(large.data<int64_t>()[(1 << 15) - 1], number);
      ASSERT_EQ(scope.FindVar("count")->Get<Tensor>()->data<int64_t>()[0],
                number);
      ASSERT_LE(Names().size(), 2u);  // and what was being written
      // On a busy machine children need more time to save.
      if (number == last) longest = std::min(longest * 2, 500000U);
      checkpoints += number - last;
      last = number;
    }
    EXPECT_GT(checkpoints, 0) << "every child was killed before it had saved";
    // The next writer removes unfinished files.
    SaveParameters(path_, program, scope);
    EXPECT_EQ(Names().size(), 1u);
  }
};

TEST_F(CheckpointKillTest, TenKillsLoseNoCheckpoint) {
  Kill(10);
}
TEST_F(CheckpointKillTest, SlowTwoHundredKillsLoseNoCheckpoint) {
  Kill(200);
}

}  // namespace
}  // namespace sluice::testing
