// The program has its own communicator, because it contains this source.
#include "sluice/operators/nccl/communicator.h"

#include "tests/testing/cuda_device.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/platform/ranks/world.h"

namespace sluice::nccl {
namespace {

using ::sluice::testing::ExpectError;

TEST(NCCLCommunicator, FailedCallsSayWhatNCCLSays) {
  const ncclResult_t refused = ncclAllReduce(nullptr, nullptr, 1, ncclFloat32,
                                             ncclSum, nullptr, nullptr);
  EXPECT_NO_THROW(CheckNccl(ncclSuccess, "c_allreduce_sum"));
  ExpectError(
      ErrorCode::kInvalidArgument, "nccl.call",
      {"c_allreduce_sum: NCCL says \"invalid argument\" (4): all-reduce"},
      [&] { CheckNccl(refused, "c_allreduce_sum"); });
  ExpectError(ErrorCode::kFailedPrecondition, "nccl.call",
              {"barrier: NCCL says \"remote"},
              [] { CheckNccl(ncclRemoteError, "barrier"); });
  ExpectError(ErrorCode::kInternal, "nccl.call", {"(2)"},
              [] { CheckNccl(ncclSystemError, "barrier"); });
}

TEST(NCCLCommunicator, IsThatOfOneDeviceUntilItIsGivenUp) {
  ASSERT_EQ(sluice::testing::WhyNoCUDA(), "");
  const ncclComm_t communicator = Communicator(CUDAPlace{0});
  EXPECT_NE(communicator, nullptr);
  EXPECT_EQ(Communicator(CUDAPlace{0}), communicator);
  ExpectError(ErrorCode::kFailedPrecondition, "nccl.device",
              {"those of cuda:0, the first device that took part in one; "
               "cuda:1 cannot"},
              [] { Communicator(CUDAPlace{1}); });
  AbortDeviceCollectives();
  ExpectError(ErrorCode::kFailedPrecondition, "nccl.given_up", {},
              [] { Communicator(CUDAPlace{0}); });
}

}  // namespace
}  // namespace sluice::nccl
