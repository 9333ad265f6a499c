// Eigen's device expressions on a context's stream, on a GPU and emulated.
#include <numeric>

#include "tests/platform/cuda/cuda_test.h"
#include "tests/testing/expect_error.h"
#include <eigen_gpu.cuh>

#include "sluice/platform/error.h"

namespace sluice {
namespace {

using ::sluice::testing::DeviceArray;
using ::sluice::testing::ExpectError;
using Floats = std::vector<float>;
using Row = Eigen::TensorMap<Eigen::Tensor<float, 1, Eigen::RowMajor, int64_t>>;
using Matrix =
    Eigen::TensorMap<Eigen::Tensor<float, 2, Eigen::RowMajor, int64_t>>;
using Shape1 = Eigen::array<int64_t, 1>;
using Shape2 = Eigen::array<int64_t, 2>;

class EigenGPUTest : public ::sluice::testing::CUDATest {
 protected:
  static Floats Count(int64_t count) {
    Floats numbers(static_cast<size_t>(count));
    std::iota(numbers.begin(), numbers.end(), 0.0F);
    return numbers;
  }
};

TEST_F(EigenGPUTest, EvaluatesElementByElement) {
  for (const int64_t size : {0, 1, 255, 256, 257, 100001}) {
    const DeviceArray<float> in(context(), Count(size));
    const DeviceArray<float> out(context(), Floats(in.Fetch().size(), -1));
    const Row x(in.get(), size);
    Row y(out.get(), size);
    y.device(context().eigen_device()) = x * 2.0F + 1.0F;
    Floats expected = Count(size);
    for (float& number : expected) {
      number = number * 2 + 1;
    }
    EXPECT_EQ(out.Fetch(), expected) << size;
  }
}

TEST_F(EigenGPUTest, ReducesAndBroadcastsByWayOfTemporaries) {
  const DeviceArray<float> in(context(), Count(15));
  const DeviceArray<float> out(context(), Floats(15));
  const Matrix x(in.get(), 3, 5);
  Matrix y(out.get(), 3, 5);
  // x minus the sum of its row; eval() makes a temporary.
  const auto sums = x.sum(Shape1{1}).eval();
  y.device(context().eigen_device()) =
      x - sums.reshape(Shape2{3, 1}).broadcast(Shape2{1, 5});
  Floats expected = Count(15);
  for (int row = 0; row < 3; ++row) {
    const float sum = 10 + 25 * static_cast<float>(row);
    for (int column = 0; column < 5; ++column) {
      expected[row * 5 + column] -= sum;
    }
  }
  EXPECT_EQ(out.Fetch(), expected);
}

TEST_F(EigenGPUTest, TemporariesThatDoNotFitAreAnError) {
  const Eigen::GpuDevice& device = context().eigen_device();
  ExpectError(ErrorCode::kResourceExhausted, "cuda.eigen_memory",
              {"cuda:0", "bytes"}, [&] { device.allocate(size_t{1} << 50); });
  device.deallocate(device.allocate(1000));
  device.deallocate(nullptr);
  EXPECT_EQ(device.allocate(0), nullptr);
  context().Wait();
  EXPECT_EQ(device.scratchpad(), device.scratchpad());
}

TEST_F(EigenGPUTest, KeepsTheOrderOfTheStream) {
  const DeviceArray<float> values(context(), Count(1000));
  Row x(values.get(), 1000);
  const Eigen::GpuDevice& device = context().eigen_device();
  EXPECT_EQ(&device, &context().eigen_device());
  EXPECT_EQ(device.stream(), context().stream());
  x.device(device) = x + 1.0F;
  x.device(device) = x * x;
  Floats expected = Count(1000);
  for (float& number : expected) {
    number = (number + 1) * (number + 1);
  }
  EXPECT_EQ(values.Fetch(), expected);
}

}  // namespace
}  // namespace sluice
