// Callers from which a program cannot run: their own OpenMP region, and a
// process forked after a run with threads. Needs a build with OpenMP.
#ifdef _OPENMP
#include <atomic>
#include <string>

#include "tests/framework/test_ops.h"
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sluice/framework/run/executor.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

using sluice::testing::Append;
using sluice::testing::Iota;

class CallerThreadsTest : public ::testing::Test {
 protected:
  CallerThreadsTest() {
    sluice::testing::UseTestOps();
    program_.Data("x", DType::kFloat32, {2});
    const std::string out = Append(&program_, "test_divide", {{"X", {"x"}}});
    plan_ = executor_.Prepare(program_, feeds_, {out});
  }
  // The id of the check that prevents a run, or "".
  std::string Stopped() const {
    try {
      plan_->Run(feeds_);
      return "";
    } catch (const Error& error) {
      return std::string(error.check_id());
    }
  }

  Program program_;
  Executor executor_;
  const Feeds feeds_ = {{"x", Iota({2})}};
  std::shared_ptr<const Plan> plan_;
};

TEST_F(CallerThreadsTest, AnOpenMpRegionOfTheCallerIsRefused) {
  std::atomic<int> refused{0};
#pragma omp parallel num_threads(2)
  {
    if (Stopped() == "run.parallel_region") ++refused;
  }
  EXPECT_EQ(refused, 2);
  EXPECT_EQ(Stopped(), "");
}

TEST_F(CallerThreadsTest, AChildForkedAfterARunWithThreadsIsRefused) {
  const ThreadCountGuard threads(2);
  ParallelFor(2, 1, [](int64_t, int64_t) {});
  const pid_t child = fork();
  if (child == 0) _exit(Stopped() == "run.forked" ? 7 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(Stopped(), "");
}

}  // namespace
}  // namespace sluice
#endif
