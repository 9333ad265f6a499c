#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/operators/harness/op_case.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;

AttributeMap Groups(int64_t groups) {
  return {{"groups", groups}};
}

TEST(MaxOutTest, InfersWhatIsKnown) {
  const auto infer = [](const DDim& x) {
    return InferOpShapes("maxout", {{"X", x}}, Groups(2))["Out"];
  };
  EXPECT_EQ(infer({-1, 4, -1, 3}), DDim({-1, 2, -1, 3}));
  EXPECT_EQ(infer({1, -1, 2, 2}), DDim({1, -1, 2, 2}));
  EXPECT_EQ(infer(DDim::UnknownRank()), DDim({-1, -1, -1, -1}));
}

}  // namespace
}  // namespace sluice

// The case with which the harness tests every kernel of the op.
namespace sluice::testing {
namespace {

std::vector<OpExample> MaxOutExamples(ExampleMaker& make) {
  const auto example = [&](const DDim& dims, int64_t groups) {
    return OpExample{{{"X", make.Values(dims)}}, {{"groups", groups}}};
  };
  return {example({2, 6, 3, 5}, 3),   example({1, 4, 1, 1}, 4),
          example({3, 5, 2, 2}, 1),   example({1, 1, 1, 1}, 1),
          example({0, 4, 3, 3}, 2),   example({2, 0, 3, 3}, 2),
          example({2, 4, 0, 3}, 2),   example({2, 4, 3, 0}, 2),
          example({5, 14, 31, 33}, 2)};
}

// Calls visit(offset in X, offset in Out) for each element of X.
template <typename Visit>
void ForEachPair(const Array& x,
                 const Array& out,
                 int64_t groups,
                 Visit visit) {
  for (size_t i = 0; i < x.values.size(); ++i) {
    std::vector<int64_t> index = x.IndexOf(static_cast<int64_t>(i));
    index[1] /= groups;
    visit(i, out.Offset(index));
  }
}

Array MaxOf(const Array& x, int64_t groups) {
  DDim dims = x.dims;
  dims[1] /= groups;
  Array out(dims);
  out.values.assign(out.values.size(), -INFINITY);
  ForEachPair(x, out, groups, [&](size_t from, size_t to) {
    out.values[to] = std::max(out.values[to], x.values[from]);
  });
  return out;
}

Arrays MaxOutReference(const Arrays& in, const OpDesc& op) {
  return {{"Out", MaxOf(in.at("X"), GetAttr<int64_t>(op, "groups"))}};
}

std::vector<OpExample> MaxOutGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = MaxOutExamples(make);
  for (OpExample& example : examples) {
    DDim dims = example.inputs[0].second.dims();
    dims[1] /= std::get<int64_t>(example.attributes["groups"]);
    example.inputs.emplace_back("Out@GRAD", make.Values(dims));
  }
  return examples;
}

Arrays MaxOutGradReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  const auto groups = GetAttr<int64_t>(op, "groups");
  const Array out = MaxOf(x, groups);
  Array left = in.at("Out@GRAD");  // gradients not yet assigned to a channel
  Array x_grad(x.dims);
  ForEachPair(x, out, groups, [&](size_t from, size_t to) {
    if (x.values[from] != out.values[to]) return;
    x_grad.values[from] = left.values[to];
    left.values[to] = 0;
  });
  return {{"X@GRAD", x_grad}};
}

REGISTER_OP_CASE(maxout, MaxOutExamples, MaxOutReference);
REGISTER_OP_CASE(maxout_grad, MaxOutGradExamples, MaxOutGradReference);

}  // namespace
}  // namespace sluice::testing
