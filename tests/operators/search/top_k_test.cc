#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/operators/harness/op_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;

AttributeMap TopK(int64_t k) {
  return {{"k", k}};
}

TEST(TopKTest, TakesTheSmallestByLowerIndex) {
  const Tensor x = Tensor::FromVector<float>({4}, {2, 1, 1, 3});
  auto out = RunOp("top_k", {{"X", x}}, {{"largest", false}});
  EXPECT_EQ(out["Out"].ToVector<float>(), std::vector<float>({1}));
  EXPECT_EQ(out["Indices"].ToVector<int64_t>(), std::vector<int64_t>({1}));
}

TEST(TopKTest, InfersWhatIsKnown) {
  EXPECT_EQ(InferOpShapes("top_k", {{"X", {-1, -1}}}, TopK(3))["Indices"],
            DDim({-1, 3}));
  EXPECT_FALSE(
      InferOpShapes("top_k", {{"X", DDim::UnknownRank()}}, TopK(3))["Out"]
          .rank_known());
}

TEST(TopKTest, MayBeOfNoElementsOrOfANumber) {
  auto none = RunOp("top_k", {{"X", Tensor::FromVector<float>({2, 1}, {1, 2})}},
                    TopK(0));
  EXPECT_EQ(none["Out"].dims(), DDim({2, 0}));
  EXPECT_EQ(none["Indices"].dims(), DDim({2, 0}));
  auto one =
      RunOp("top_k", {{"X", Tensor::FromVector<float>({}, {3})}}, TopK(1));
  EXPECT_EQ(one["Out"].dims(), DDim());
  EXPECT_EQ(one["Out"].ToVector<float>(), (std::vector<float>{3}));
  EXPECT_EQ(one["Indices"].ToVector<int64_t>(), (std::vector<int64_t>{0}));
}

}  // namespace
}  // namespace sluice

// The case with which the harness tests every kernel of the op.
namespace sluice::testing {
namespace {

std::vector<OpExample> TopKExamples(ExampleMaker& make) {
  const auto example = [&](const DDim& dims, int64_t k, bool largest) {
    return OpExample{{{"X", make.Values(dims)}},
                     {{"k", k}, {"largest", largest}}};
  };
  return {example({7}, 3, true),         example({5, 9}, 1, false),
          example({2, 3, 11}, 4, true),  example({1, 1}, 1, false),
          example({0, 5}, 2, true),      example({2, 0, 3}, 1, false),
          example({3, 33}, 33, true),    example({3, 40}, 40, false),
          example({401, 203}, 1, false), example({401, 203}, 5, true)};
}

Arrays TopKReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  const auto k = GetAttr<int64_t>(op, "k");
  const bool largest = GetAttr<bool>(op, "largest");
  DDim dims = x.dims;
  const int64_t n = dims[dims.rank() - 1];
  dims[dims.rank() - 1] = k;
  Array out(dims);
  Array indices(dims);
  for (int64_t row = 0; row < out.dims.numel() / k; ++row) {
    std::vector<int64_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    const double* values = x.values.data() + row * n;
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return largest ? values[a] > values[b] : values[a] < values[b];
    });
    for (int64_t i = 0; i < k; ++i) {
      out.values[row * k + i] = values[order[i]];
      indices.values[row * k + i] = static_cast<double>(order[i]);
    }
  }
  return {{"Out", out}, {"Indices", indices}};
}

REGISTER_OP_CASE(top_k, TopKExamples, TopKReference);

}  // namespace
}  // namespace sluice::testing
