#include <string>
#include <vector>

#include "tests/testing/cuda_device.h"
#include <gtest/gtest.h>

#include "sluice/framework/hints/kernel_hints.h"
#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

Tensor Numbers(const DDim& dims) {
  std::vector<float> values(dims.numel());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i);
  }
  return Tensor::FromVector(dims, values);
}

// Partial tiles, a batch, and strides of both transposed matrices.
TEST(Matmul, AHintChoosesTheProductOnCUDA) {
  const std::string why = ::sluice::testing::WhyNoCUDA();
  if (!why.empty()) GTEST_SKIP() << why;
  const std::vector<std::pair<std::string, Tensor>> inputs = {
      {"X", Numbers({3, 2, 17, 35})}, {"Y", Numbers({2, 33, 17})}};
  OneOp one =
      MakeOneOp("matmul", inputs,
                {{"transpose_X", true}, {"transpose_Y", true}, {"alpha", 0.5}});
  Executor executor{CUDAPlace{0}};
  const auto run = [&](const std::string& hint, const std::string& library) {
    const KernelHintGuard guard(hint);
    const auto plan = executor.Prepare(one.program, one.feeds, one.fetches);
    EXPECT_EQ(plan->decisions()[0].kernel->key.library, library);
    return executor.Run(one.program, one.feeds, one.fetches)[0]
        .ToVector<float>();
  };
  const auto own = run("require library=PLAIN, place=cuda:0", "PLAIN");
  EXPECT_EQ(own, run("require library=CUBLAS", "CUBLAS"));
  EXPECT_EQ(own, run("", "CUBLAS"));
}

}  // namespace
}  // namespace sluice
