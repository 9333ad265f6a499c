#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/operators/harness/op_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;
using Ints = std::vector<int64_t>;

DDim Inferred(const DDim& x, const Ints& shape) {
  return InferOpShapes("reshape", {{"X", x}}, {{"shape", shape}})["Out"];
}

TEST(ReshapeTest, ZeroCopiesAndMinus1Infers) {
  EXPECT_EQ(Inferred({4, 6}, {0, 2, -1}), DDim({4, 2, 3}));
  EXPECT_EQ(Inferred({4, 6}, {-1}), DDim({24}));
  EXPECT_EQ(Inferred({}, {1, 1}), DDim({1, 1}));
  EXPECT_EQ(Inferred({1}, {}), DDim({}));
}

TEST(ReshapeTest, SizesOf0StayEmpty) {
  EXPECT_EQ(Inferred({0, 6}, {-1, 3}), DDim({0, 3}));
  EXPECT_EQ(Inferred({0, 6}, {0, -1}), DDim({0, 6}));
  EXPECT_EQ(Inferred({6, 0}, {-1, 4}), DDim({0, 4}));
  const Tensor x = Tensor::FromVector<float>({0, 6}, {});
  EXPECT_EQ(
      RunOp("reshape", {{"X", x}}, {{"shape", Ints{-1, 3}}})["Out"].dims(),
      DDim({0, 3}));
}

TEST(ReshapeTest, InfersWhatIsKnown) {
  EXPECT_EQ(Inferred({-1, 8, 6}, {-1, 48}), DDim({-1, 48}));
  EXPECT_EQ(Inferred({-1, 8, 6}, {0, -1}), DDim({-1, 48}));
  EXPECT_EQ(Inferred(DDim::UnknownRank(), {0, -1, 3}), DDim({-1, -1, 3}));
  EXPECT_EQ(InferOpShapes("reshape_grad", {{"X", {-1, 3}}, {"Out@GRAD", {7}}})
                .at("X@GRAD"),
            DDim({-1, 3}));
}

}  // namespace
}  // namespace sluice

// The case with which the harness tests every kernel of the op.
namespace sluice::testing {
namespace {

using Ints = std::vector<int64_t>;

std::vector<OpExample> ReshapeExamples(ExampleMaker& make) {
  const auto example = [&](const DDim& dims, const Ints& shape) {
    return OpExample{{{"X", make.Values(dims)}}, {{"shape", shape}}};
  };
  return {example({3, 4}, {2, 6}),     example({3, 4}, {-1}),
          example({3, 5, 2}, {0, -1}), example({1}, {}),
          example({}, {1, 1}),         example({0, 3}, {0, -1}),
          example({0, 3}, {-1, 3}),    example({301, 150}, {150, 301})};
}

Arrays ReshapeReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  Ints shape = GetAttr<Ints>(op, "shape");
  int64_t rest = 1;  // elements of X beside the copied sizes
  for (int axis = 0; axis < x.dims.rank(); ++axis) {
    if (axis >= static_cast<int>(shape.size()) || shape[axis] != 0) {
      rest *= x.dims[axis];
    }
  }
  for (int64_t size : shape) {
    if (size > 0) rest /= size;
  }
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] < 0)
      shape[axis] = rest;
    else if (shape[axis] == 0)
      shape[axis] = x.dims[static_cast<int>(axis)];
  }
  Array out{DDim(shape)};
  out.values = x.values;
  return {{"Out", out}};
}

std::vector<OpExample> ReshapeGradExamples(ExampleMaker& make) {
  const auto example = [&](const DDim& x, const DDim& out) {
    return OpExample{{{"X", make.Values(x)}, {"Out@GRAD", make.Values(out)}},
                     {}};
  };
  return {example({3, 4}, {2, 6}), example({}, {1, 1}), example({1}, {}),
          example({0, 3}, {5, 0}), example({301, 150}, {150, 301})};
}

Arrays ReshapeGradReference(const Arrays& in, const OpDesc& /*op*/) {
  Array x_grad(in.at("X").dims);
  x_grad.values = in.at("Out@GRAD").values;
  return {{"X@GRAD", x_grad}};
}

REGISTER_OP_CASE(reshape, ReshapeExamples, ReshapeReference);
REGISTER_OP_CASE(reshape_grad, ReshapeGradExamples, ReshapeGradReference);

}  // namespace
}  // namespace sluice::testing
