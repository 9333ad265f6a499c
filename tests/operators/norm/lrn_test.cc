#include <cmath>
#include <vector>

#include "tests/operators/harness/op_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

// k = 0, alpha = n and beta = 1: each element by the squares around it.
TEST(Lrn, SumsTheSquaresOfTheWindow) {
  const Tensor x = Tensor::FromVector<double>({1, 4, 1, 1}, {1, 2, 4, 8});
  const auto run = [&](int64_t n) {
    const AttributeMap attributes = {
        {"n", n}, {"k", 0.0}, {"alpha", static_cast<double>(n)}, {"beta", 1.0}};
    return RunOp("lrn", {{"X", x}}, attributes)["Out"].ToVector<double>();
  };
  EXPECT_EQ(run(1), (std::vector<double>{1, 1.0 / 2, 1.0 / 4, 1.0 / 8}));
  EXPECT_EQ(run(3), (std::vector<double>{1.0 / 5, 2.0 / 21, 4.0 / 84,  //
                                         8.0 / 80}));
  // Two channels: this one and the next.
  EXPECT_EQ(run(2), (std::vector<double>{1.0 / 5, 2.0 / 20, 4.0 / 80,  //
                                         8.0 / 64}));
  EXPECT_EQ(run(int64_t{1} << 62), run(1000));
}

}  // namespace
}  // namespace sluice

namespace sluice::testing {
namespace {

std::vector<OpExample> Examples(ExampleMaker& make, bool gradient) {
  std::vector<OpExample> examples;
  const auto add = [&](const DDim& dims, const AttributeMap& attributes) {
    OpExample example{{{"X", make.Values(dims)}}, attributes};
    if (gradient) example.inputs.emplace_back("Out@GRAD", make.Values(dims));
    examples.push_back(std::move(example));
  };
  for (const char* layout : {"NCHW", "NHWC"}) {
    const auto with = [&](int64_t n, double k, double alpha, double beta) {
      return AttributeMap{{"n", n},
                          {"k", k},
                          {"alpha", alpha},
                          {"beta", beta},
                          {"data_format", layout}};
    };
    add({2, 7, 3, 1}, with(5, 1, 0.5, 0.75));
    add({1, 5, 1, 3}, with(4, 2, 1, 0.75));
    add({2, 3, 2, 3}, with(3, 1.5, 0.25, 0.5));
    add({1, 3, 5}, with(99, 1, 1, 1.25));
    add({2, 3}, with(1, 1, 1, 1));
    add({1, 0, 3, 3}, with(5, 1, 1, 0.75));
    add({3, 9, 31, 29}, with(5, 1, 0.5, 0.75));
  }
  return examples;
}

// Calls visit(element, element of its window) for all of them.
template <typename Visit>
void ForEachPair(const DDim& dims, const OpDesc& op, const Visit& visit) {
  const auto n = GetAttr<int64_t>(op, "n");
  const int axis =
      GetAttr<std::string>(op, "data_format") == "NCHW" ? 1 : dims.rank() - 1;
  const Array array(dims);
  for (int64_t i = 0; i < dims.numel(); ++i) {
    const std::vector<int64_t> index = array.IndexOf(i);
    for (int64_t c = 0; c < dims[axis]; ++c) {
      if (c < index[axis] - (n - 1) / 2 || c > index[axis] + n / 2) continue;
      std::vector<int64_t> other = index;
      other[axis] = c;
      visit(static_cast<size_t>(i), array.Offset(other));
    }
  }
}

std::vector<double> Bases(const Array& x, const OpDesc& op) {
  std::vector<double> bases(x.values.size(), GetAttr<double>(op, "k"));
  const double scale = GetAttr<double>(op, "alpha") /
                       static_cast<double>(GetAttr<int64_t>(op, "n"));
  ForEachPair(x.dims, op, [&](size_t i, size_t j) {
    bases[i] += scale * x.values[j] * x.values[j];
  });
  return bases;
}

Arrays LrnReference(const Arrays& in, const OpDesc& op) {
  Array out = in.at("X");
  const std::vector<double> bases = Bases(out, op);
  for (size_t i = 0; i < bases.size(); ++i) {
    out.values[i] *= std::pow(bases[i], -GetAttr<double>(op, "beta"));
  }
  return {{"Out", out}};
}

Arrays LrnGradReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  const Array& grad = in.at("Out@GRAD");
  const std::vector<double> bases = Bases(x, op);
  const auto beta = GetAttr<double>(op, "beta");
  const double scale = GetAttr<double>(op, "alpha") /
                       static_cast<double>(GetAttr<int64_t>(op, "n"));
  Array x_grad(x.dims);
  for (size_t i = 0; i < bases.size(); ++i) {
    x_grad.values[i] = grad.values[i] * std::pow(bases[i], -beta);
  }
  ForEachPair(x.dims, op, [&](size_t i, size_t j) {
    x_grad.values[j] -= 2 * scale * beta * x.values[j] * grad.values[i] *
                        x.values[i] * std::pow(bases[i], -beta - 1);
  });
  return {{"X@GRAD", x_grad}};
}

std::vector<OpExample> LrnExamples(ExampleMaker& make) {
  return Examples(make, /*gradient=*/false);
}
std::vector<OpExample> LrnGradExamples(ExampleMaker& make) {
  return Examples(make, /*gradient=*/true);
}

REGISTER_OP_CASE(lrn, LrnExamples, LrnReference, 2);
REGISTER_OP_CASE(lrn_grad, LrnGradExamples, LrnGradReference, 8);

}  // namespace
}  // namespace sluice::testing
