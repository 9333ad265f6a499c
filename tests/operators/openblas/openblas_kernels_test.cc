#include <limits>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"
#include "sluice/platform/plugin/kernel_module.h"

// The harness compares the kernels of the library OPENBLAS with their ops'
// references. Where OpenBLAS is not installed there are none.
namespace sluice {
namespace {

using testing::ExpectError;

class OpenBlasKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string& missing = LoadModule("openblas");
    if (!missing.empty()) GTEST_SKIP() << missing;
  }

  // Multiplies two matrices of one element by OpenBLAS.
  static float Product(float x, float y, double alpha) {
    const DDim one{1, 1};
    OneOp op = MakeOneOp("matmul",
                         {{"X", Tensor::FromVector<float>(one, {x})},
                          {"Y", Tensor::FromVector<float>(one, {y})}},
                         {{"alpha", alpha}});
    op.program.SetHints("require library=OPENBLAS");
    return Executor(CPUPlace())
        .Run(op.program, op.feeds, op.fetches)[0]
        .ToVector<float>()[0];
  }
};

// OpenBLAS would return 0 for NaN.
TEST_F(OpenBlasKernels, RefuseAnAlphaOfZero) {
  EXPECT_EQ(Product(2, 3, 0.5), 3);
  ExpectError(ErrorCode::kNotFound, "resolver.no_kernel",
              {"takes no alpha of 0"}, [] { Product(2, 3, 0); });
  ExpectError(ErrorCode::kNotFound, "resolver.no_kernel",
              {"takes no alpha of 0"}, [] { Product(2, 3, 1e-60); });
}

}  // namespace
}  // namespace sluice
