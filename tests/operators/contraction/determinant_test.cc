#include <cmath>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/operators/harness/op_case.h"
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

namespace sluice::testing {
namespace {

std::vector<OpExample> DeterminantExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const DDim& x : {DDim{3, 3}, DDim{2, 1, 4, 4}, DDim{1, 1}, DDim{5, 2, 2},
                        DDim{0, 3, 3}, DDim{2, 0, 0}, DDim{301, 6, 6}}) {
    examples.push_back({{{"X", make.Values(x)}}, {}});
  }
  return examples;
}

std::vector<OpExample> DeterminantGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = DeterminantExamples(make);
  for (OpExample& example : examples) {
    const DDim x = example.inputs[0].second.dims();
    example.inputs.emplace_back("Out@GRAD",
                                make.Values(x.Subshape(0, x.rank() - 2)));
  }
  return examples;
}

// Laplace's expansion along the first of these rows.
double Laplace(const double* x,
               int64_t n,
               const std::vector<int64_t>& rows,
               const std::vector<int64_t>& columns) {
  if (rows.empty()) return 1;
  const std::vector<int64_t> others(rows.begin() + 1, rows.end());
  double sum = 0;
  for (size_t j = 0; j < columns.size(); ++j) {
    std::vector<int64_t> left = columns;
    left.erase(left.begin() + static_cast<int64_t>(j));
    const double minor =
        x[rows[0] * n + columns[j]] * Laplace(x, n, others, left);
    sum += j % 2 == 0 ? minor : -minor;
  }
  return sum;
}

// The numbers 0 to n - 1 except `but`.
std::vector<int64_t> Others(int64_t n, int64_t but) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < n; ++i) {
    if (i != but) all.push_back(i);
  }
  return all;
}

Arrays DeterminantReference(const Arrays& in, const OpDesc& /*op*/) {
  const Array& x = in.at("X");
  const int64_t n = x.dims[x.dims.rank() - 1];
  Array out(x.dims.Subshape(0, x.dims.rank() - 2));
  for (size_t i = 0; i < out.values.size(); ++i) {
    out.values[i] =
        Laplace(x.values.data() + i * n * n, n, Others(n, -1), Others(n, -1));
  }
  return {{"Out", out}};
}

Arrays DeterminantGradReference(const Arrays& in, const OpDesc& /*op*/) {
  const Array& x = in.at("X");
  const int64_t n = x.dims[x.dims.rank() - 1];
  Array x_grad(x.dims);
  for (size_t i = 0; i < x_grad.values.size(); ++i) {
    const size_t matrix = i / (n * n);
    const auto row = static_cast<int64_t>(i) / n % n;
    const auto column = static_cast<int64_t>(i) % n;
    const double minor = Laplace(x.values.data() + matrix * n * n, n,
                                 Others(n, row), Others(n, column));
    x_grad.values[i] = in.at("Out@GRAD").values[matrix] *
                       ((row + column) % 2 == 0 ? minor : -minor);
  }
  return {{"X@GRAD", x_grad}};
}

// Sums cancel, so the tolerance is larger.
REGISTER_OP_CASE(determinant, DeterminantExamples, DeterminantReference, 100);
REGISTER_OP_CASE(determinant_grad,
                 DeterminantGradExamples,
                 DeterminantGradReference,
                 100);

}  // namespace
}  // namespace sluice::testing
