#include <limits>
#include <string>
#include <vector>

#include "tests/operators/harness/harness.h"
#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using ::sluice::testing::ExpectError;
using ::sluice::testing::InferOpShapes;
using Ints = std::vector<int64_t>;
using Inputs = std::vector<std::pair<std::string, Tensor>>;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

template <typename T = float>
Tensor Numbers(const DDim& dims) {
  std::vector<T> values(dims.numel());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<T>(i);
  }
  return Tensor::FromVector(dims, values);
}

Tensor Crop(const Inputs& inputs, const AttributeMap& attributes) {
  return RunOp("crop", inputs, attributes)["Out"];
}

void ExpectRefused(std::string_view check,
                   std::initializer_list<std::string_view> fragments,
                   const Inputs& inputs,
                   const AttributeMap& attributes,
                   ErrorCode code = ErrorCode::kInvalidArgument) {
  ExpectError(code, check, fragments, [&] { Crop(inputs, attributes); });
}

TEST(CropTest, RefusesABoxPastTheEnd) {
  ExpectRefused("crop.offset_range",
                {"crop: offsets[1] + shape[1] = 11 is past the end of input X "
                 "(dim 1 of [4, 10])"},
                {{"X", Numbers({4, 10})}},
                {{"offsets", Ints{0, 5}}, {"shape", Ints{4, 6}}});
  ExpectRefused("crop.offset_past_end", {"offsets[0] = 5", "dim 0 of [4, 10]"},
                {{"X", Numbers({4, 10})}},
                {{"offsets", Ints{5, 0}}, {"shape", Ints{-1, 1}}});
}

TEST(CropTest, RefusesANegativeOffset) {
  ExpectRefused(
      "crop.offset_negative", {"offsets[0] = -1", "expected 0 or more"},
      {{"X", Numbers({4})}}, {{"offsets", Ints{-1}}, {"shape", Ints{2}}});
}

TEST(CropTest, RefusesASumThatOverflows) {
  ExpectRefused("crop.offset_overflow", {"9223372036854775807 + 2"},
                {{"X", Numbers({4})}},
                {{"offsets", Ints{kMax}}, {"shape", Ints{2}}});
}

TEST(CropTest, RefusesListsOfAnotherRank) {
  const Inputs x = {{"X", Numbers({4, 2})}};
  ExpectRefused("crop.offsets_rank", {"offsets has 1 entries", "[4, 2]"}, x,
                {{"offsets", Ints{0}}, {"shape", Ints{1, 1}}});
  ExpectRefused("crop.shape_rank", {"shape has 3 entries", "[4, 2]"}, x,
                {{"shape", Ints{1, 1, 1}}});
  ExpectError(ErrorCode::kInvalidArgument, "crop.shape_rank",
              {"shape has 9 entries"}, [] {
                InferOpShapes("crop", {{"X", DDim::UnknownRank()}},
                              {{"shape", Ints(9, 1)}});
              });
}

TEST(CropTest, RefusesSizesBelowMinus1) {
  ExpectRefused("crop.shape_negative", {"shape[0] = -2"}, {{"X", Numbers({4})}},
                {{"shape", Ints{-2}}});
}

TEST(CropTest, RefusesNoShapeAndTwo) {
  ExpectRefused("crop.shape_missing", {"attribute shape or input Y"},
                {{"X", Numbers({4})}}, {});
  ExpectRefused("crop.shape_twice", {"input Y", "attribute shape", "got both"},
                {{"X", Numbers({4})}, {"Y", Numbers({2})}},
                {{"shape", Ints{2}}});
}

TEST(CropTest, RefusesAYOfAnotherRank) {
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.rank", {"crop", "Y"},
              [] {
                Crop({{"X", Numbers({4})}, {"Y", Numbers({2, 1})}}, {});
              });
}

Inputs WithOffsets(const DDim& x, const Ints& offsets) {
  const auto count = static_cast<int64_t>(offsets.size());
  return {{"X", Numbers(x)},
          {"Offsets", Tensor::FromVector<int64_t>({count}, offsets)}};
}

TEST(CropTest, RefusesOffsetsGivenTwice) {
  ExpectRefused("crop.offsets_twice", {"input Offsets", "got both"},
                WithOffsets({4}, {1}),
                {{"offsets", Ints{1}}, {"shape", Ints{2}}});
}

TEST(CropTest, RefusesBadOffsetsWhenItRuns) {
  const AttributeMap shape = {{"shape", Ints{2, 6}}};
  ExpectRefused("crop.offset_range_at_run",
                {"Offsets[1] = 5", "box of 6", "dim 1 of [4, 10]"},
                WithOffsets({4, 10}, {0, 5}), shape, ErrorCode::kOutOfRange);
  ExpectRefused("crop.offset_range_at_run",
                {"Offsets[0] = 9223372036854775807"},
                WithOffsets({4, 10}, {kMax, 0}), shape, ErrorCode::kOutOfRange);
  ExpectRefused("crop.offset_negative_at_run", {"Offsets[0] = -1"},
                WithOffsets({4, 10}, {-1, 0}), shape, ErrorCode::kOutOfRange);
}

TEST(CropTest, RefusesABoxThatNoOffsetsFit) {
  ExpectRefused("crop.shape_range", {"shape[0] = 5", "dim 0 of [4]"},
                WithOffsets({4}, {0}), {{"shape", Ints{5}}});
  ExpectRefused("crop.shape_to_end", {"shape[0] = -1", "input Offsets"},
                WithOffsets({4}, {0}), {{"shape", Ints{-1}}});
}

TEST(CropTest, InfersWhatIsKnown) {
  const AttributeMap columns = {{"offsets", Ints{0, 0, 1}},
                                {"shape", Ints{-1, 8, 6}}};
  EXPECT_EQ(InferOpShapes("crop", {{"X", {-1, 8, 8}}}, columns)["Out"],
            DDim({-1, 8, 6}));
  EXPECT_EQ(InferOpShapes("crop", {{"X", DDim::UnknownRank()}}, columns)["Out"],
            DDim({-1, 8, 6}));
  EXPECT_EQ(InferOpShapes("crop", {{"X", {4, 4}}, {"Y", {2, -1}}})["Out"],
            DDim({2, -1}));
}

TEST(CropGradTest, RefusesAGradientOfAnotherShape) {
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.merge_dim",
              {"crop_grad", "Out@GRAD"}, [] {
                RunOp("crop_grad",
                      {{"X", Numbers({4})}, {"Out@GRAD", Numbers({2})}},
                      {{"shape", Ints{3}}});
              });
}

}  // namespace
}  // namespace sluice

// The case with which the harness tests every kernel of the op.
namespace sluice::testing {
namespace {

using Ints = std::vector<int64_t>;

std::vector<OpExample> CropExamples(ExampleMaker& make) {
  const Ints offsets = {1, 0, 2};
  std::vector<OpExample> examples = {
      {{{"X", make.Values({3, 4, 5})}},
       {{"offsets", offsets}, {"shape", Ints{2, 3, 3}}}},
      {{{"X", make.Values({7})}}, {{"offsets", Ints{2}}, {"shape", Ints{-1}}}},
      {{{"X", make.Values({1, 3})}}, {{"shape", Ints{1, 1}}}},
      {{{"X", make.Values({3, 4})}, {"Y", make.Values({2, 1})}},
       {{"offsets", Ints{1, 3}}}},
      {{{"X", make.Values({3, 4})}}, {{"shape", Ints{0, 4}}}},
      {{{"X", make.Values({3, 4})}}, {{"shape", Ints{2, 0}}}},
      {{{"X", make.Values({0, 5})}}, {{"shape", Ints{0, 2}}}},
      {{{"X", make.Values({})}}, {{"shape", Ints{}}}}};
  for (DType index : {DType::kInt32, DType::kInt64}) {
    examples.push_back({{{"X", make.Values({4, 6, 3})},
                         {"Offsets", make.Integers(index, {3}, 1, 2)}},
                        {{"shape", Ints{2, 3, 1}}}});
  }
  examples.push_back({{{"X", make.Values({301, 117})}},
                      {{"offsets", Ints{3, 1}}, {"shape", Ints{295, 113}}}});
  return examples;
}

// The index in X of element `index` of the box.
Ints InX(const Arrays& in, const OpDesc& op, Ints index) {
  for (size_t axis = 0; axis < index.size(); ++axis) {
    const Ints& offsets = GetAttr<Ints>(op, "offsets");
    if (in.count("Offsets") > 0) {
      index[axis] += static_cast<int64_t>(in.at("Offsets").values[axis]);
    } else if (!offsets.empty()) {
      index[axis] += offsets[axis];
    }
  }
  return index;
}

DDim BoxDims(const Arrays& in, const OpDesc& op) {
  if (in.count("Y") > 0) return in.at("Y").dims;
  DDim box(GetAttr<Ints>(op, "shape"));
  for (int axis = 0; axis < box.rank(); ++axis) {
    if (box[axis] >= 0) continue;
    box[axis] = in.at("X").dims[axis] - InX(in, op, Ints(box.rank()))[axis];
  }
  return box;
}

Arrays CropReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  Array out(BoxDims(in, op));
  for (size_t i = 0; i < out.values.size(); ++i) {
    const Ints index = out.IndexOf(static_cast<int64_t>(i));
    out.values[i] = x.values[x.Offset(InX(in, op, index))];
  }
  return {{"Out", out}};
}

std::vector<OpExample> CropGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = CropExamples(make);
  for (OpExample& example : examples) {
    const OpDesc op = DescribeExample("crop", example);
    const DDim box = BoxDims(InputArrays(example), op);
    example.inputs.emplace_back("Out@GRAD", make.Values(box));
  }
  return examples;
}

Arrays CropGradReference(const Arrays& in, const OpDesc& op) {
  const Array& grad = in.at("Out@GRAD");
  Array out(in.at("X").dims);
  for (size_t i = 0; i < grad.values.size(); ++i) {
    const Ints index = grad.IndexOf(static_cast<int64_t>(i));
    out.values[out.Offset(InX(in, op, index))] = grad.values[i];
  }
  return {{"X@GRAD", out}};
}

REGISTER_OP_CASE(crop, CropExamples, CropReference);
REGISTER_OP_CASE(crop_grad, CropGradExamples, CropGradReference);

}  // namespace
}  // namespace sluice::testing
