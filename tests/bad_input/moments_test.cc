#include "tests/bad_input/bad_input.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sluice/framework/run/executor.h"
#include "sluice/framework/run/run_op.h"
#include "sluice/platform/parallel_for.h"

// Valid calls in an invalid state.
namespace sluice::testing {
namespace {

TEST(BadMoments, DataBeforeAllocation) {
  Tensor tensor;
  tensor.Resize({2, 3});
  ExpectRefusedInput(
      ErrorCode::kFailedPrecondition, "tensor.unallocated",
      {"data<float32>()", "[2, 3]", "mutable_data<float32>(place)"},
      [&] { tensor.data<float>(); });
  ExpectRefusedInput(ErrorCode::kFailedPrecondition, "tensor.place",
                     {"[2, 3]", "mutable_data"}, [&] { tensor.place(); });
  // Access works after the allocation.
  const float* memory = tensor.mutable_data<float>(CPUPlace());
  EXPECT_EQ(tensor.data<float>(), memory);
}

TEST(BadMoments, DataOfAnotherType) {
  const Tensor tensor = Floats({2, 3});
  ExpectRefusedInput(ErrorCode::kInvalidArgument, "tensor.wrong_dtype",
                     {"data<float64>()", "float32", "[2, 3]"},
                     [&] { tensor.data<double>(); });
  ExpectRefusedInput(ErrorCode::kInvalidArgument, "tensor.to_vector_dtype",
                     {"int32", "float32"}, [&] { tensor.ToVector<int32_t>(); });
}

// Returns 0 if the child's run is refused with the right error.
int RunInForkedChild() {
  const pid_t child = fork();
  if (child == 0) {
    int status = 1;
    try {
      RunOp("top_k", {{"X", Floats({2, 3})}});
    } catch (const Error& error) {
      const bool right =
          error.check_id() == "run.forked" &&
          error.code() == ErrorCode::kFailedPrecondition &&
          std::string(error.what()).find("forked") != std::string::npos;
      status = right ? 0 : 2;
    }
    _exit(status);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

TEST(BadMoments, ARunInAForkedChild) {
  // Starts a thread that outlives the loop.
  const ThreadCountGuard threads(2);
  ParallelFor(2, 1, [](int64_t, int64_t) {});
  EXPECT_EQ(RunInForkedChild(), 0);
  ExpectNextRunWorks();
}

}  // namespace
}  // namespace sluice::testing
