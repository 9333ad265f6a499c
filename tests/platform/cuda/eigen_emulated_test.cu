// Faults in the emulation's own kernel for Eigen, and sums to one number: on a
// GPU they need an Eigen kernel that spills registers, which the build rejects
// (tools/check_device_code.py).
#include <numeric>
#include <string>

#include "tests/platform/cuda/device_array.h"
#include "tests/platform/cuda/emulated_cuda_test.h"
#include <eigen_gpu.cuh>

#include "sluice/platform/error.h"

namespace sluice {
namespace {

using ::sluice::testing::DeviceArray;
using Floats = std::vector<float>;
using Number =
    Eigen::TensorMap<Eigen::Tensor<float, 0, Eigen::RowMajor, int64_t>>;
using Row = Eigen::TensorMap<Eigen::Tensor<float, 1, Eigen::RowMajor, int64_t>>;
class EigenEmulatedTest : public ::sluice::testing::EmulatedCUDATest {};

TEST_F(EigenEmulatedTest, SumsToOneNumber) {
  for (const int size : {1, 2, 1000}) {
    Floats numbers(size);
    std::iota(numbers.begin(), numbers.end(), 0.0F);
    const DeviceArray<float> in(context(), numbers);
    const DeviceArray<float> out(context(), {-1});
    const Row x(in.get(), size);
    Number sum(out.get());
    sum.device(context().eigen_device()) = x.sum();
    EXPECT_EQ(out.Fetch()[0], static_cast<float>(size * (size - 1) / 2));
  }
}

TEST_F(EigenEmulatedTest, AFaultIsAnErrorAndNamesTheKernel) {
  const DeviceArray<float> values(context(), Floats(8));
  Row x(values.get(), 1 << 20);
  x.device(context().eigen_device()) = x + 1.0F;
  try {
    context().Wait();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDeviceLost);
    EXPECT_NE(std::string(error.what()).find("EigenKernel"), std::string::npos)
        << error.what();
  }
  EXPECT_THROW(x.device(context().eigen_device()) = x + 1.0F, Error);
}

}  // namespace
}  // namespace sluice
