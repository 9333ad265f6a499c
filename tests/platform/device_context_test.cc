#include "sluice/platform/device_context.h"

#include "tests/testing/expect_error.h"
#include "tests/testing/missing_device.h"
#include <gtest/gtest.h>
#include <unsupported/Eigen/CXX11/Tensor>

#include "sluice/platform/cpu_device_context.h"
#include "sluice/platform/cuda_device_context.h"
#include "sluice/platform/error.h"
#include "sluice/platform/place.h"

namespace sluice {
namespace {

TEST(CPUDeviceContextTest, CopiesAtOnce) {
  CPUDeviceContext context;
  EXPECT_EQ(PlaceKey(context.GetPlace()), PlaceKey(CPUPlace{}));
  const int source[3] = {1, 2, 3};
  int a[3] = {}, b[3] = {}, c[3] = {};
  context.CopyFromHost(a, source, sizeof(a));
  context.CopyOnDevice(b, a, sizeof(b));
  context.CopyToHost(c, b, sizeof(c));
  EXPECT_EQ(c[0] + 10 * c[1] + 100 * c[2], 321);
  context.Wait();
}

TEST(CPUDeviceContextTest, CopyingNothingNeedsNoPointers) {
  CPUDeviceContext context;
  context.CopyFromHost(nullptr, nullptr, 0);
  context.CopyToHost(nullptr, nullptr, 0);
  context.CopyOnDevice(nullptr, nullptr, 0);
}

TEST(CPUDeviceContextTest, RunsEigenExpressions) {
  const CPUDeviceContext context(CPUPlace{});
  Eigen::Tensor<float, 1> in(3), out(3);
  in.setValues({1.0f, 2.0f, 3.0f});
  out.device(context.eigen_device()) = in * 2.0f;
  EXPECT_EQ(out(2), 6.0f);
}

TEST(CPUDeviceContextTest, ComputeCallsTheKernel) {
  CPUDeviceContext context;
  int calls = 0;
  context.Compute([&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST(CUDADeviceContextTest, NeedsADevice) {
  const auto refusal = sluice::testing::RefusalOfMissingDevice();
  sluice::testing::ExpectError(refusal.code, refusal.check_id, {"cuda:40"}, [] {
    CUDADeviceContext context(sluice::testing::kMissingDevice);
  });
}

}  // namespace
}  // namespace sluice
