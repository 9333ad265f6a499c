// Launches that every GPU rejects, and that have no later effect.
#include "tests/platform/cuda/cuda_test.h"
#include "tests/testing/expect_error.h"

#include "sluice/platform/cuda/launch.h"

namespace sluice {
namespace {

using ::sluice::testing::ExpectError;
class CUDALaunches : public ::sluice::testing::CUDATest {};

__global__ void Nothing() {}

TEST_F(CUDALaunches, ThatNoGPUTakesAreRefusedAtOnce) {
  const auto refused = [&](dim3 grid, dim3 block, size_t shared,
                           std::string_view config) {
    ExpectError(ErrorCode::kInvalidArgument, "cuda.call",
                {"Nothing: no GPU takes a grid of", config,
                 "CUDA says \"invalid configuration argument\" (9)"},
                [&] {
                  Launch<Nothing>({context(), grid, block, shared});
                });
  };
  refused(dim3(0), dim3(1), 0, "(0, 1, 1) blocks of (1, 1, 1) threads");
  refused(dim3(1), dim3(0), 0, "blocks of (0, 1, 1) threads");
  refused(dim3(1), dim3(1025), 0, "blocks of (1025, 1, 1) threads");
  refused(dim3(1), dim3(32, 33), 0, "blocks of (32, 33, 1) threads");
  refused(dim3(1), dim3(1, 1, 65), 0, "blocks of (1, 1, 65) threads");
  refused(dim3(1, 65536), dim3(1), 0, "(1, 65536, 1) blocks");
  refused(dim3(1), dim3(1), 49153, "49153 bytes of dynamic shared memory");
  // The device still works.
  Launch<Nothing>({context(), dim3(1), dim3(1024), 49152});
  context().Wait();
}

TEST_F(CUDALaunches, LeaveNoErrorToWhoeverAsksNext) {
  EXPECT_THROW(Launch<Nothing>({context(), dim3(0), dim3(1)}), Error);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

}  // namespace
}  // namespace sluice
