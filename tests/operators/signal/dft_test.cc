#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "tests/operators/harness/harness.h"
#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/operators/harness/op_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using testing::InferOpShapes;

// The last of 10,007 roots of unity, a prime: each sum has one term of it.
TEST(Dft, LongPrimeLengthsKeepTheirDigits) {
  constexpr int64_t kLength = 10007;
  std::vector<double> values(kLength);
  values[kLength - 1] = 1;
  const Tensor x = Tensor::FromVector<double>({1, kLength, 1}, values);
  const auto out = RunOp("dft", {{"X", x}})["Out"].ToVector<double>();
  double worst = 0;
  for (int64_t k = 0; k < kLength; ++k) {
    const double angle = 2 * M_PI * static_cast<double>(k) / kLength;
    worst = std::max({worst, std::fabs(out[2 * k] - std::cos(angle)),
                      std::fabs(out[2 * k + 1] - std::sin(angle))});
  }
  EXPECT_LT(worst, 1e-13);
}

TEST(Dft, InfersShapes) {
  const auto shape = [](const DDim& x, const AttributeMap& attributes) {
    return InferOpShapes("dft", {{"X", x}}, attributes).at("Out");
  };
  EXPECT_EQ(shape({-1, 8, 1}, {{"onesided", true}}), DDim({-1, 5, 2}));
  EXPECT_EQ(shape({-1, 8, -1}, {{"axis", int64_t{0}}}), DDim({-1, 8, 2}));
  EXPECT_EQ(shape({2, 5, 2}, {{"onesided", true}, {"inverse", true}}),
            DDim({2, 8, 1}));
}

}  // namespace
}  // namespace sluice

namespace sluice::testing {
namespace {

using Complex = std::complex<double>;
using Ints = std::vector<int64_t>;

std::vector<OpExample> DftExamples(ExampleMaker& make) {
  const std::vector<std::pair<DDim, AttributeMap>> sizes = {
      {{2, 8, 2}, {}},
      {{2, 7, 1}, {}},
      {{3, 5, 2, 2}, {{"axis", int64_t{1}}}},
      {{2, 6, 1}, {{"dft_length", int64_t{9}}}},
      {{2, 6, 2}, {{"dft_length", int64_t{3}}, {"axis", int64_t{-2}}}},
      {{1, 1, 1}, {{"dft_length", int64_t{1}}}},
      {{0, 4, 2}, {{"dft_length", int64_t{4}}}},
      {{3, 2, 0, 2}, {{"axis", int64_t{0}}, {"dft_length", int64_t{2}}}},
      {{70, 15, 13, 2}, {{"axis", int64_t{1}}}}};
  std::vector<OpExample> examples;
  for (const auto& [x, attributes] : sizes) {
    for (const bool inverse : {false, true}) {
      for (const bool onesided : {false, true}) {
        OpExample example = {{{"X", make.Values(x)}}, attributes};
        if (onesided && inverse && x.numel() == 1) {
          example.attributes["dft_length"] = int64_t{1};
        }
        example.attributes["inverse"] = inverse;
        example.attributes["onesided"] = onesided;
        examples.push_back(std::move(example));
      }
    }
  }
  return examples;
}

// Sums, term by term.
Arrays DftReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  const int last = x.dims.rank() - 1;
  const bool inverse = GetAttr<bool>(op, "inverse");
  const bool half = GetAttr<bool>(op, "onesided");
  auto axis = GetAttr<int64_t>(op, "axis");
  if (axis < 0) axis += last + 1;
  const int64_t size = x.dims[static_cast<int>(axis)];
  int64_t length = GetAttr<int64_t>(op, "dft_length");
  if (length == 0) length = inverse && half ? 2 * size - 2 : size;
  DDim dims = x.dims;
  dims[last] = inverse && half ? 1 : 2;
  dims[static_cast<int>(axis)] = half && !inverse ? length / 2 + 1 : length;
  Array out(dims);
  for (int64_t i = 0; i < dims.numel(); ++i) {
    const Ints at = out.IndexOf(i);
    Complex sum = 0;
    bool finite = true;
    const int64_t given =
        std::min(size, inverse && half ? length / 2 + 1 : length);
    for (int64_t j = 0; j < given; ++j) {
      Ints from = at;
      from[axis] = j;
      from[last] = 0;
      Complex value = x.values[x.Offset(from)];
      if (x.dims[last] == 2) {
        from[last] = 1;
        value.imag(x.values[x.Offset(from)]);
      }
      finite = finite && std::isfinite(value.real() + value.imag());
      const double turn = 2 * M_PI *
                          static_cast<double>(j * at[axis] % length) /
                          static_cast<double>(length);
      const Complex term = value * std::polar(1.0, inverse ? turn : -turn);
      // Adds the conjugate term of the other half.
      const bool twin = inverse && half && j > 0 && 2 * j != length;
      if (inverse && half && !twin) {
        sum += value.real() * std::cos(turn);
      } else {
        sum += twin ? 2 * term.real() : term;
      }
    }
    if (inverse) sum /= static_cast<double>(length);
    out.values[i] = at[last] == 0 ? sum.real() : sum.imag();
    if (!finite) out.values[i] = std::nan("");
  }
  return {{"Out", out}};
}

std::vector<OpExample> DftGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = DftExamples(make);
  for (OpExample& example : examples) {
    const OpDesc op = DescribeExample("dft", example);
    const Arrays out = DftReference(InputArrays(example), op);
    example.inputs.emplace_back("Out@GRAD", make.Values(out.at("Out").dims));
  }
  return examples;
}

// The real and the imaginary part of each number of Out, by those of each
// number of X, times their gradients.
Arrays DftGradReference(const Arrays& in, const OpDesc& op) {
  const Array &x = in.at("X"), &grad = in.at("Out@GRAD");
  const int last = x.dims.rank() - 1;
  const bool inverse = GetAttr<bool>(op, "inverse");
  const bool half = inverse && GetAttr<bool>(op, "onesided");
  auto axis = GetAttr<int64_t>(op, "axis");
  if (axis < 0) axis += last + 1;
  const int64_t size = x.dims[static_cast<int>(axis)];
  int64_t length = GetAttr<int64_t>(op, "dft_length");
  if (length == 0) length = half ? 2 * size - 2 : size;
  Array x_grad(x.dims);
  for (int64_t i = 0; i < x.dims.numel(); ++i) {
    const Ints at = x.IndexOf(i);
    const int64_t j = at[axis];
    const bool twin = half && j > 0 && 2 * j != length;
    const int64_t used = half ? length / 2 + 1 : length;
    if (j >= used || (half && !twin && at[last] == 1)) continue;
    double sum = 0;
    for (int64_t k = 0; k < grad.dims[static_cast<int>(axis)]; ++k) {
      Ints from = at;
      from[axis] = k;
      from[last] = 0;
      const double turn = 2 * M_PI * static_cast<double>(j * k % length) /
                          static_cast<double>(length);
      const Complex part = at[last] == 0 ? Complex(1, 0) : Complex(0, 1);
      const Complex term = part * std::polar(1.0, inverse ? turn : -turn);
      sum += grad.values[grad.Offset(from)] * term.real();
      if (grad.dims[last] == 1) continue;
      from[last] = 1;
      sum += grad.values[grad.Offset(from)] * term.imag();
    }
    if (inverse) sum /= static_cast<double>(length);
    x_grad.values[i] = twin ? 2 * sum : sum;
  }
  return {{"X@GRAD", x_grad}};
}

}  // namespace

REGISTER_OP_CASE(dft, DftExamples, DftReference, 32);
REGISTER_OP_CASE(dft_grad, DftGradExamples, DftGradReference, 32);

}  // namespace sluice::testing
