#include <cmath>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;

template <typename T>
std::vector<T> Det(const DDim& dims, const std::vector<T>& x) {
  return RunOp("determinant", {{"X", Tensor::FromVector<T>(dims, x)}})["Out"]
      .template ToVector<T>();
}

std::vector<double> DetGradient(int64_t n, const std::vector<double>& x) {
  const Tensor one = Tensor::FromVector<double>({}, {1});
  return RunOp("determinant_grad",
               {{"X", Tensor::FromVector<double>({n, n}, x)},
                {"Out@GRAD", one}})["X@GRAD"]
      .ToVector<double>();
}

TEST(Determinant, TheProductOfPivotsStaysInTheRange) {
  std::vector<double> x(16);
  x[0] = x[5] = 1e300;
  x[10] = x[15] = 1e-300;
  EXPECT_NEAR(Det<double>({4, 4}, x)[0], 1, 1e-14);
  std::vector<float> small(16);
  small[0] = small[5] = small[10] = 1e-30F;
  small[15] = 1e30F;
  EXPECT_EQ(Det<float>({4, 4}, small)[0], 0);
  small[0] = small[5] = 1e30F;
  small[15] = 1e-30F;
  EXPECT_FLOAT_EQ(Det<float>({4, 4}, small)[0], 1);
}

TEST(Determinant, NanIsKeptWhereverItIs) {
  const double nan = std::nan("");
  for (size_t at = 0; at < 9; ++at) {
    for (const double others : {0.0, 1.0}) {
      std::vector<double> x(9, others);
      x[at] = nan;
      EXPECT_TRUE(std::isnan(Det<double>({3, 3}, x)[0])) << at;
    }
  }
}

TEST(Determinant, SingularMatricesHaveGradients) {
  EXPECT_EQ(DetGradient(2, {1, 2, 2, 4}), (std::vector<double>{4, -2, -2, 1}));
  EXPECT_EQ(DetGradient(2, {0, 0, 0, 3}), (std::vector<double>{3, 0, 0, 0}));
  EXPECT_EQ(DetGradient(3, {1, 1, 0, 1, 1, 0, 0, 0, 1}),
            (std::vector<double>{1, -1, 0, -1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(DetGradient(3, {0, 0, 0, 0, 5, 0, 0, 0, 0}),
            std::vector<double>(9, 0));
  EXPECT_EQ(DetGradient(1, {0}), std::vector<double>{1});
}

TEST(Determinant, InfersWhatIsKnown) {
  const auto shape = [](const DDim& x) {
    return InferOpShapes("determinant", {{"X", x}}).at("Out");
  };
  EXPECT_EQ(shape({-1, 2, -1, 3}), DDim({-1, 2}));
  EXPECT_EQ(shape({3, 3}), DDim());
  EXPECT_FALSE(shape(DDim::UnknownRank()).rank_known());
}

}  // namespace
}  // namespace sluice
