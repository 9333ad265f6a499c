#include <algorithm>
#include <limits>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/operators/harness/op_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;
using Ints = std::vector<int64_t>;

Ints Sizes(const Tensor& x, int64_t start, int64_t end) {
  return RunOp("shape", {{"X", x}}, {{"start", start}, {"end", end}})["Out"]
      .ToVector<int64_t>();
}

TEST(Shape, GivesTheSizesOfARange) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const Tensor x =
      Tensor::FromVector<float>({2, 1, 3}, std::vector<float>(6, 0));
  EXPECT_EQ(Sizes(x, 0, kMax), (Ints{2, 1, 3}));
  EXPECT_EQ(Sizes(x, -1, 3), (Ints{3}));
  EXPECT_EQ(Sizes(x, kMin, -1), (Ints{2, 1}));
  EXPECT_EQ(Sizes(x, 2, 1), Ints());
  EXPECT_EQ(Sizes(x, kMax, kMin), Ints());
}

TEST(Shape, OfAnUnknownRankIsAVector) {
  EXPECT_EQ(InferOpShapes("shape", {{"X", DDim::UnknownRank()}}).at("Out"),
            DDim({-1}));
}

}  // namespace
}  // namespace sluice

namespace sluice::testing {
namespace {

std::vector<OpExample> ShapeExamples(ExampleMaker& make) {
  return {{{{"X", make.Values({3, 1, 5})}}, {}},
          {{{"X", make.Values({3, 1, 5})}},
           {{"start", int64_t{1}}, {"end", int64_t{-1}}}},
          {{{"X", make.Values({})}}, {}},
          {{{"X", make.Values({0, 7})}}, {{"start", int64_t{-9}}}}};
}

Arrays ShapeReference(const Arrays& in, const OpDesc& op) {
  const DDim& x = in.at("X").dims;
  auto start = GetAttr<int64_t>(op, "start");
  auto end = GetAttr<int64_t>(op, "end");
  Array out;
  out.dims = {0};
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    if (axis < (start < 0 ? start + x.rank() : start)) continue;
    if (axis >= (end < 0 ? end + x.rank() : end)) continue;
    out.values.push_back(static_cast<double>(x[static_cast<int>(axis)]));
    ++out.dims[0];
  }
  return {{"Out", out}};
}

REGISTER_OP_CASE(shape, ShapeExamples, ShapeReference);

}  // namespace
}  // namespace sluice::testing
