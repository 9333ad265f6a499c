#include <cmath>
#include <numbers>
#include <vector>

#include "tests/operators/harness/op_case.h"
#include "tests/operators/random/random_reference.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using Ints = std::vector<int64_t>;

TEST(GaussianRandom, WithoutDeviationAllAreTheMean) {
  EXPECT_EQ(RunOp("gaussian_random", {},
                  {{"shape", Ints{3}}, {"mean", 2.5}, {"std", 0.0}})["Out"]
                .ToVector<float>(),
            (std::vector<float>{2.5, 2.5, 2.5}));
}

}  // namespace
}  // namespace sluice

// The case with which the harness tests every kernel of the op.
namespace sluice::testing {
namespace {

using Ints = std::vector<int64_t>;

std::vector<OpExample> GaussianExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const Ints& shape :
       {Ints{3, 5}, Ints{}, Ints{1}, Ints{4, 0}, Ints{91, 301}}) {
    examples.push_back({{},
                        {{"shape", shape},
                         {"dtype", make.dtype()},
                         {"mean", 0.25},
                         {"std", 0.5},
                         {"seed", int64_t{11}}}});
  }
  return examples;
}

Arrays GaussianReference(const Arrays& /*in*/, const OpDesc& op) {
  Array out(DDim(GetAttr<Ints>(op, "shape")));
  for (size_t i = 0; i < out.values.size(); ++i) {
    const auto pair = static_cast<int64_t>(i / 2 * 2);
    const long double u = (RandomWord(11, pair) + 0.5L) / 4294967296.0L;
    const long double angle = 2 * std::numbers::pi_v<long double> *
                              RandomWord(11, pair + 1) / 4294967296.0L;
    const long double part = i % 2 == 0 ? std::cos(angle) : std::sin(angle);
    out.values[i] =
        static_cast<double>(0.25L + 0.5L * std::sqrt(-2 * std::log(u)) * part);
  }
  return {{"Out", out}};
}

// The quantile by bisection.
Arrays TruncatedReference(const Arrays& /*in*/, const OpDesc& op) {
  Array out(DDim(GetAttr<Ints>(op, "shape")));
  const auto probability = [](long double z) {
    return std::erfc(-z / std::numbers::sqrt2_v<long double>) / 2;
  };
  const long double least = probability(-2);
  for (size_t i = 0; i < out.values.size(); ++i) {
    const long double u =
        (RandomWord(11, static_cast<int64_t>(i)) + 0.5L) / 4294967296.0L;
    const long double p = least + u * (1 - 2 * least);
    long double low = -2, high = 2;
    for (int step = 0; step < 64; ++step) {
      const long double middle = (low + high) / 2;
      (probability(middle) < p ? low : high) = middle;
    }
    out.values[i] = static_cast<double>(0.25L + 0.5L * low);
  }
  return {{"Out", out}};
}

REGISTER_OP_CASE(gaussian_random, GaussianExamples, GaussianReference, 4);
REGISTER_OP_CASE(truncated_gaussian_random,
                 GaussianExamples,
                 TruncatedReference,
                 4);

}  // namespace
}  // namespace sluice::testing
