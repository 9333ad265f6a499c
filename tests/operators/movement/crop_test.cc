#include <vector>

#include "tests/operators/harness/harness.h"
#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;
using Ints = std::vector<int64_t>;

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
