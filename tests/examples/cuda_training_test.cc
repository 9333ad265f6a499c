// A small LeNet, trained on CUDA as on the CPU.
#include <string>
#include <vector>

#include "tests/examples/lenet.h"
#include "tests/testing/cuda_device.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

std::vector<float> Train(const std::string& hint) {
  return testing::LeNetTraining(hint).Steps(12);
}

TEST(CUDATraining, LearnsAsTheCPUDoes) {
  const std::string missing = ::sluice::testing::WhyNoCUDA();
  if (!missing.empty()) GTEST_SKIP() << missing;
  const std::vector<float> want = Train("*: require place=cpu");
  const std::vector<float> got = Train("*: require place=cuda:0");
  EXPECT_LT(want.back(), 0.7 * want.front());
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_NEAR(got[i], want[i], 1e-4) << "step " << i;
  }
  EXPECT_EQ(Train("*: require place=cuda:0"), got);
}

}  // namespace
}  // namespace sluice
