#include <vector>

#include "tests/operators/harness/harness.h"
#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice::operators {
namespace {

using framework::AttributeMap;
using framework::DDim;
using framework::RunOp;
using framework::Tensor;
using platform::ErrorCode;
using testing::ExpectError;
using testing::InferOpShapes;
using Ints = std::vector<int64_t>;

Tensor ReduceSum(const Tensor& x, const AttributeMap& attributes = {}) {
  return RunOp("reduce_sum", {{"X", x}}, attributes).at("Out");
}

template <typename T>
class ReduceSumTest : public ::testing::Test {};
using Numbers = ::testing::Types<float, double, int32_t, int64_t>;
TYPED_TEST_SUITE(ReduceSumTest, Numbers);

TYPED_TEST(ReduceSumTest, SumsOverTheDimensionsNamed) {
  using T = TypeParam;
  const auto x = Tensor::FromVector<T>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor columns = ReduceSum(x, {{"dim", Ints{0}}});
  EXPECT_EQ(columns.dims(), DDim({3}));
  EXPECT_EQ(columns.ToVector<T>(), (std::vector<T>{5, 7, 9}));
  const Tensor rows = ReduceSum(x, {{"dim", Ints{-1}}, {"keep_dim", true}});
  EXPECT_EQ(rows.dims(), DDim({2, 1}));
  EXPECT_EQ(rows.ToVector<T>(), (std::vector<T>{6, 15}));
}

TYPED_TEST(ReduceSumTest, SumsOverAllByDefault) {
  using T = TypeParam;
  const auto x = Tensor::FromVector<T>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor sum = ReduceSum(x);
  EXPECT_EQ(sum.dims(), DDim());
  EXPECT_EQ(sum.ToVector<T>(), std::vector<T>{21});
  EXPECT_EQ(ReduceSum(x, {{"dim", Ints{0}}, {"reduce_all", true}}).dims(),
            DDim());
  EXPECT_EQ(ReduceSum(x, {{"keep_dim", true}}).dims(), DDim({1, 1}));
}

TEST(ReduceSum, Halves) {
  const platform::float16 one{0x3C00};
  const auto x = Tensor::FromVector<platform::float16>(
      {4096}, std::vector<platform::float16>(4096, one));
  EXPECT_EQ(ReduceSum(x).ToVector<platform::float16>()[0],
            platform::float16{0x6C00});
  const platform::bfloat16 other{0x3F80};
  const auto y = Tensor::FromVector<platform::bfloat16>(
      {4096}, std::vector<platform::bfloat16>(4096, other));
  EXPECT_EQ(ReduceSum(y).ToVector<platform::bfloat16>()[0],
            platform::bfloat16{0x4580});
}

TEST(ReduceSum, LongRowsUseScratchMemory) {
  const auto x =
      Tensor::FromVector<float>({2, 200000}, std::vector<float>(400000, 0.5F));
  EXPECT_EQ(ReduceSum(x, {{"dim", Ints{1}}}).ToVector<float>(),
            (std::vector<float>{100000, 100000}));
  EXPECT_EQ(ReduceSum(x).ToVector<float>()[0], 200000);
}

TEST(ReduceSum, NothingToSumIsZero) {
  const auto x = Tensor::FromVector<float>({2, 0}, {});
  EXPECT_EQ(ReduceSum(x, {{"dim", Ints{1}}}).ToVector<float>(),
            (std::vector<float>{0, 0}));
  EXPECT_EQ(ReduceSum(x, {{"dim", Ints{0}}}).dims(), DDim({0}));
  EXPECT_EQ(ReduceSum(x).ToVector<float>(), std::vector<float>{0});
}

TEST(ReduceSum, ScalarsStay) {
  const auto x = Tensor::FromVector<double>({}, {3});
  EXPECT_EQ(ReduceSum(x).ToVector<double>(), std::vector<double>{3});
}

TEST(ReduceSum, InfersUnknownShapes) {
  EXPECT_EQ(InferOpShapes("reduce_sum", {{"X", {-1, 3}}}, {{"dim", Ints{1}}})
                .at("Out"),
            DDim({-1}));
  EXPECT_EQ(InferOpShapes("reduce_sum", {{"X", DDim::UnknownRank()}}).at("Out"),
            DDim());
  EXPECT_FALSE(InferOpShapes("reduce_sum", {{"X", DDim::UnknownRank()}},
                             {{"dim", Ints{1}}})
                   .at("Out")
                   .rank_known());
}

TEST(ReduceSum, RefusesDimensionsThatAreNotThere) {
  const auto x = Tensor::FromVector<float>({1, 2}, {1, 2});
  for (const int64_t axis : {2, -3}) {
    ExpectError(ErrorCode::kInvalidArgument, "reduce_sum.dim_range",
                {"reduce_sum: dim[0] = ", "[1, 2]", "-2 to 1"}, [&] {
                  ReduceSum(x, {{"dim", Ints{axis}}});
                });
  }
  ExpectError(ErrorCode::kInvalidArgument, "reduce_sum.dim_twice",
              {"reduce_sum: dim[1] = -1", "[1, 2]"}, [&] {
                ReduceSum(x, {{"dim", Ints{1, -1}}});
              });
}

TEST(ReduceSumGrad, RepeatsTheGradient) {
  const auto x = Tensor::FromVector<float>({2, 2}, {0, 0, 0, 0});
  const auto grad = Tensor::FromVector<float>({2}, {5, 6});
  EXPECT_EQ(RunOp("reduce_sum_grad", {{"X", x}, {"Out@GRAD", grad}},
                  {{"dim", Ints{1}}})["X@GRAD"]
                .ToVector<float>(),
            (std::vector<float>{5, 5, 6, 6}));
  ExpectError(
      ErrorCode::kInvalidArgument, "infer_shape.merge_rank",
      {"reduce_sum_grad", "Out@GRAD"}, [] {
        InferOpShapes("reduce_sum_grad", {{"X", {2, 2}}, {"Out@GRAD", {2}}});
      });
}

}  // namespace
}  // namespace sluice::operators

// What the harness tests every kernel of the op with.
namespace sluice::testing {
namespace {

using framework::DDim;
using framework::OpDesc;
using Ints = std::vector<int64_t>;

std::vector<OpExample> ReduceSumExamples(ExampleMaker& make) {
  const auto sum = [&](const DDim& dims, const Ints& dim, bool keep = false,
                       bool all = false) {
    return OpExample{{{"X", make.Values(dims)}},
                     {{"dim", dim}, {"keep_dim", keep}, {"reduce_all", all}}};
  };
  return {sum({3, 5}, {0}),
          sum({3, 5}, {-1}),
          sum({3, 5, 7}, {1}),
          sum({3, 5, 7}, {0, 2}, true),
          sum({3, 5, 7}, {}),
          sum({3, 5}, {0}, true, true),
          sum({1}, {0}),
          sum({}, {}),
          sum({0, 3}, {0}),
          sum({0, 3}, {1}),
          sum({2, 0}, {1}, true),
          sum({70001}, {0}),
          sum({3, 40009}, {1}),
          sum({30011, 5}, {0}),
          sum({41, 43, 47}, {0, 2})};
}

Arrays ReduceSumReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  const Ints& dim = GetAttr<Ints>(op, "dim");
  const int rank = x.dims.rank();
  std::vector<bool> summed(rank,
                           dim.empty() || GetAttr<bool>(op, "reduce_all"));
  for (int64_t axis : dim)
    summed[axis < 0 ? axis + rank : axis] = true;

  DDim ones = x.dims;
  Ints kept;
  for (int axis = 0; axis < rank; ++axis) {
    if (summed[axis]) ones[axis] = 1;
    if (!summed[axis]) kept.push_back(x.dims[axis]);
  }
  Array out(ones);
  for (size_t i = 0; i < x.values.size(); ++i) {
    Ints index = x.IndexOf(static_cast<int64_t>(i));
    for (int axis = 0; axis < rank; ++axis) {
      if (summed[axis]) index[axis] = 0;
    }
    out.values[out.Offset(index)] += x.values[i];
  }
  if (!GetAttr<bool>(op, "keep_dim")) out.dims = DDim(kept);
  return {{"Out", out}};
}

// The reference itself loses digits where it adds 70,000 numbers.
REGISTER_OP_CASE(reduce_sum, ReduceSumExamples, ReduceSumReference, 4);

// For each element of X the offset of its sum.
std::vector<size_t> SumOf(const DDim& x, const OpDesc& op) {
  const Ints& dim = GetAttr<Ints>(op, "dim");
  const bool all = dim.empty() || GetAttr<bool>(op, "reduce_all");
  const Array numbers(x);
  std::vector<size_t> offsets;
  for (size_t i = 0; i < numbers.values.size(); ++i) {
    const Ints index = numbers.IndexOf(static_cast<int64_t>(i));
    size_t offset = 0;
    for (int axis = 0; axis < x.rank(); ++axis) {
      bool summed = all;
      for (const int64_t given : dim) {
        summed = summed || (given < 0 ? given + x.rank() : given) == axis;
      }
      if (!summed) offset = offset * x[axis] + index[axis];
    }
    offsets.push_back(offset);
  }
  return offsets;
}

std::vector<OpExample> ReduceSumGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = ReduceSumExamples(make);
  for (OpExample& example : examples) {
    const Arrays in = InputArrays(example);
    const OpDesc op = DescribeExample("reduce_sum", example);
    example.inputs.emplace_back(
        "Out@GRAD", make.Values(ReduceSumReference(in, op).at("Out").dims));
  }
  return examples;
}

Arrays ReduceSumGradReference(const Arrays& in, const OpDesc& op) {
  Array x_grad(in.at("X").dims);
  const std::vector<size_t> offsets = SumOf(x_grad.dims, op);
  for (size_t i = 0; i < offsets.size(); ++i) {
    x_grad.values[i] = in.at("Out@GRAD").values[offsets[i]];
  }
  return {{"X@GRAD", x_grad}};
}

REGISTER_OP_CASE(reduce_sum_grad,
                 ReduceSumGradExamples,
                 ReduceSumGradReference);

}  // namespace
}  // namespace sluice::testing
