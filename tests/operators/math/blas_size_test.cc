#include "sluice/operators/math/blas_size.h"

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(BlasSize, TakesWhatAnIntHolds) {
  EXPECT_EQ(BlasSize(0), 0);
  EXPECT_EQ(BlasSize(2147483647), 2147483647);
  testing::ExpectError(
      ErrorCode::kUnimplemented, "blas.size",
      {"a row of 2147483648 elements; the library takes up to 2147483647"},
      [] { BlasSize(int64_t{1} << 31); });
}

}  // namespace
}  // namespace sluice
