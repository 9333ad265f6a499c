#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "tests/operators/harness/harness.h"
#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/operators/harness/op_case.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

// Ops whose output sizes depend on data.
namespace sluice {
namespace {

using ::sluice::testing::ExpectError;
using ::sluice::testing::InferOpShapes;
using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Tensor F(const DDim& dims, const Floats& values) {
  return Tensor::FromVector<float>(dims, values);
}

Tensor Flags(const std::vector<int>& values) {
  Tensor flags;
  bool* out = flags.mutable_data<bool>({static_cast<int64_t>(values.size())},
                                       CPUPlace());
  for (const int value : values) {
    *out++ = value != 0;
  }
  return flags;
}

TEST(Nonzero, GivesIndicesInRowMajorOrder) {
  const Tensor out =
      RunOp("nonzero", {{"X", F({2, 3}, {0, 1, kNaN, -0.0F, 0, -2})}})["Out"];
  EXPECT_EQ(out.dims(), DDim({2, 3}));
  EXPECT_EQ(out.ToVector<int64_t>(), (Ints{0, 0, 1, 1, 2, 2}));
  const Tensor scalar = RunOp("nonzero", {{"X", F({}, {3})}})["Out"];
  EXPECT_EQ(scalar.dims(), DDim({0, 1}));
}

TEST(Compress, TakesSlices) {
  const Tensor x = F({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto take = [&](const std::vector<int>& flags,
                        const AttributeMap& attributes) {
    return RunOp("compress", {{"X", x}, {"Condition", Flags(flags)}},
                 attributes)["Out"];
  };
  EXPECT_EQ(take({0, 1, 1}, {}).ToVector<float>(), (Floats{3, 4, 5, 6}));
  EXPECT_EQ(take({0, 1}, {{"axis", int64_t{-1}}}).ToVector<float>(),
            (Floats{2, 4, 6}));
  EXPECT_EQ(take({0, 1, 0, 0, 1}, {{"flatten", true}}).ToVector<float>(),
            (Floats{2, 5}));
  EXPECT_EQ(take({}, {}).dims(), DDim({0, 2}));
  EXPECT_EQ(take({1, 0, 0, 0}, {}).dims(), DDim({1, 2}));
  ExpectError(ErrorCode::kOutOfRange, "compress.condition",
              {"true at 3", "3 slices"}, [&] {
                take({1, 0, 0, 1}, {});
              });
  for (const int64_t axis : {2, -3}) {
    ExpectError(ErrorCode::kInvalidArgument, "compress.axis",
                {"compress", "[3, 2]", "-2 to 1"}, [&] {
                  InferOpShapes("compress", {{"X", {3, 2}}, {"Condition", {3}}},
                                {{"axis", axis}});
                });
  }
}

TEST(Unique, TellsElementsApart) {
  const Tensor x = F({6}, {2, kNaN, 1, 2, kNaN, 1});
  auto out = RunOp("unique", {{"X", x}}, {},
                   {.outputs = {"Out", "Index", "Inverse", "Counts"}});
  const auto values = out["Out"].ToVector<float>();
  ASSERT_EQ(values.size(), 3u);
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[1], 2);
  EXPECT_TRUE(std::isnan(values[2]));
  EXPECT_EQ(out["Index"].ToVector<int64_t>(), (Ints{2, 0, 1}));
  EXPECT_EQ(out["Inverse"].ToVector<int64_t>(), (Ints{1, 2, 0, 1, 2, 0}));
  EXPECT_EQ(out["Counts"].ToVector<int64_t>(), (Ints{2, 2, 2}));
  out = RunOp("unique", {{"X", F({4}, {3, 1, 3, 2})}}, {{"sorted", false}},
              {.outputs = {"Out", "Index", "Inverse", "Counts"}});
  EXPECT_EQ(out["Out"].ToVector<float>(), (Floats{3, 1, 2}));
  EXPECT_EQ(out["Inverse"].ToVector<int64_t>(), (Ints{0, 1, 0, 2}));
  EXPECT_EQ(out["Counts"].ToVector<int64_t>(), (Ints{2, 1, 1}));
}

TEST(Unique, TellsSlicesApart) {
  const auto along = [](int64_t axis) {
    return RunOp("unique", {{"X", F({2, 3}, {2, 1, 2, 4, 3, 4})}},
                 {{"flatten", false}, {"axis", axis}})["Out"];
  };
  EXPECT_EQ(along(1).dims(), DDim({2, 2}));
  EXPECT_EQ(along(-1).ToVector<float>(), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(along(0).dims(), DDim({2, 3}));
  ExpectError(ErrorCode::kInvalidArgument, "unique.axis",
              {"unique", "axis = 2", "-2 to 1"}, [&] { along(2); });
}

TEST(NonMaxSuppression, LeavesOutWhatOverlaps) {
  const Tensor boxes = F({1, 4, 4}, {0, 0, 1, 1, 0, 0.1F, 1, 1.1F,  //
                                     1, 1, 0, 0, 0, 10, 1, 11});
  const auto choose = [&](const Floats& scores, AttributeMap attributes) {
    attributes.emplace("max_output_boxes_per_class", int64_t{9});
    attributes.emplace("iou_threshold", 0.5);
    return RunOp("non_max_suppression",
                 {{"Boxes", boxes}, {"Scores", F({1, 1, 4}, scores)}},
                 std::move(attributes))["Out"]
        .ToVector<int64_t>();
  };
  EXPECT_EQ(choose({0.9F, 0.8F, 0.7F, 0.6F}, {}), (Ints{0, 0, 0, 0, 0, 3}));
  EXPECT_EQ(choose({0.5F, 0.8F, 0.8F, kNaN}, {}), (Ints{0, 0, 1}));
  EXPECT_EQ(choose({0.9F, 0.8F, 0.7F, 0.6F}, {{"score_threshold", 0.65}}),
            (Ints{0, 0, 0}));
  EXPECT_EQ(choose({0.9F, 0.8F, 0.7F, 0.6F},
                   {{"max_output_boxes_per_class", int64_t{0}}}),
            Ints());
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.value",
              {"non_max_suppression", "Boxes"}, [] {
                InferOpShapes("non_max_suppression",
                              {{"Boxes", {1, 2, 3}}, {"Scores", {1, 1, 2}}});
              });
}

}  // namespace
}  // namespace sluice

// The cases with which the harness tests every kernel of the ops.
namespace sluice::testing {
namespace {

std::vector<OpExample> NonzeroExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const DDim& dims : {DDim({7}), DDim({3, 5}), DDim(), DDim({1, 1}),
                           DDim({0, 3}), DDim({4, 3, 5})}) {
    examples.push_back({{{"X", make.Values(dims)}}, {}});
  }
  return examples;
}

Arrays NonzeroReference(const Arrays& in, const OpDesc& /*op*/) {
  const Array& x = in.at("X");
  std::vector<std::vector<int64_t>> found;
  for (size_t i = 0; i < x.values.size(); ++i) {
    if (x.values[i] != 0) found.push_back(x.IndexOf(static_cast<int64_t>(i)));
  }
  Array out(DDim({x.dims.rank(), static_cast<int64_t>(found.size())}));
  for (size_t i = 0; i < found.size(); ++i) {
    for (size_t axis = 0; axis < found[i].size(); ++axis) {
      out.values[axis * found.size() + i] = static_cast<double>(found[i][axis]);
    }
  }
  return {{"Out", out}};
}

std::vector<OpExample> CompressExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  const auto add = [&](const DDim& x, int64_t flags, int64_t axis,
                       bool flatten) {
    examples.push_back(
        {{{"X", make.Values(x)},
          {"Condition", make.Integers(DType::kBool, {flags}, 0, 1)}},
         {{"axis", axis}, {"flatten", flatten}}});
  };
  add({7}, 7, 0, false);
  add({3, 5}, 5, -1, false);
  add({3, 5, 2}, 4, 1, false);
  add({3, 5}, 11, 0, true);
  add({1}, 1, 0, false);
  add({0, 3}, 0, 0, false);
  add({2, 0}, 2, 0, false);
  return examples;
}

Arrays CompressReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  const Array& flags = in.at("Condition");
  const bool flatten = GetAttr<bool>(op, "flatten");
  auto axis = GetAttr<int64_t>(op, "axis");
  if (axis < 0) axis += x.dims.rank();
  int64_t count = 0;
  std::vector<int64_t> place(flags.values.size());
  for (size_t i = 0; i < place.size(); ++i) {
    place[i] = count;
    count += flags.values[i] != 0 ? 1 : 0;
  }
  DDim dims = flatten ? DDim({0}) : x.dims;
  dims[flatten ? 0 : static_cast<int>(axis)] = count;
  Array out(dims);
  for (size_t i = 0; i < x.values.size(); ++i) {
    std::vector<int64_t> index = x.IndexOf(static_cast<int64_t>(i));
    if (flatten) index = {static_cast<int64_t>(i)};
    int64_t& at = index[flatten ? 0 : static_cast<size_t>(axis)];
    const auto from = static_cast<size_t>(at);
    if (from >= place.size() || flags.values[from] == 0) continue;
    at = place[from];
    out.values[out.Offset(index)] = x.values[i];
  }
  return {{"Out", out}};
}

// Which element of X each one of Out is, by compressing their numbers.
std::vector<double> Taken(const Arrays& in, const OpDesc& op) {
  Arrays numbers = in;
  std::iota(numbers.at("X").values.begin(), numbers.at("X").values.end(), 0.0);
  return CompressReference(numbers, op).at("Out").values;
}

std::vector<OpExample> CompressGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = CompressExamples(make);
  for (OpExample& example : examples) {
    const OpDesc op = DescribeExample("compress", example);
    const Arrays out = CompressReference(InputArrays(example), op);
    example.inputs.emplace_back("Out@GRAD", make.Values(out.at("Out").dims));
  }
  return examples;
}

Arrays CompressGradReference(const Arrays& in, const OpDesc& op) {
  Array x_grad(in.at("X").dims);
  const std::vector<double> taken = Taken(in, op);
  for (size_t i = 0; i < taken.size(); ++i) {
    x_grad.values[static_cast<size_t>(taken[i])] = in.at("Out@GRAD").values[i];
  }
  return {{"X@GRAD", x_grad}};
}

std::vector<OpExample> UniqueExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const DDim& dims :
       {DDim({17}), DDim({3, 5}), DDim(), DDim({1, 1}), DDim({0, 3})}) {
    examples.push_back(
        {{{"X", make.Values(dims)}}, {{"sorted", examples.size() % 2 == 0}}});
  }
  return examples;
}

// The unique elements only; other tests cover slices.
Arrays UniqueReference(const Arrays& in, const OpDesc& op) {
  const std::vector<double>& values = in.at("X").values;
  std::vector<double> all;
  for (const double value : values) {
    if (std::find(all.begin(), all.end(), value) == all.end()) {
      all.push_back(value);
    }
  }
  if (GetAttr<bool>(op, "sorted")) std::sort(all.begin(), all.end());
  const auto count = static_cast<int64_t>(all.size());
  Array out(DDim({count})), index(DDim({count})), counts(DDim({count}));
  Array inverse(DDim({static_cast<int64_t>(values.size())}));
  out.values = all;
  for (size_t i = values.size(); i-- > 0;) {
    const auto at = std::find(all.begin(), all.end(), values[i]) - all.begin();
    index.values[static_cast<size_t>(at)] = static_cast<double>(i);
    counts.values[static_cast<size_t>(at)] += 1;
    inverse.values[i] = static_cast<double>(at);
  }
  return {
      {"Out", out}, {"Index", index}, {"Inverse", inverse}, {"Counts", counts}};
}

std::vector<OpExample> NonMaxSuppressionExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  const auto add = [&](int64_t images, int64_t classes, int64_t boxes,
                       int64_t most) {
    examples.push_back(
        {{{"Boxes", make.Values({images, boxes, 4})},
          {"Scores", make.Values({images, classes, boxes})}},
         {{"max_output_boxes_per_class", most}, {"iou_threshold", 0.25}}});
  };
  add(1, 1, 7, 3);
  add(2, 3, 5, 9);
  add(1, 1, 1, 1);
  add(1, 2, 0, 3);
  return examples;
}

// Compares each box with each chosen one, by the definition.
Arrays NonMaxSuppressionReference(const Arrays& in, const OpDesc& op) {
  const Array& boxes = in.at("Boxes");
  const Array& scores = in.at("Scores");
  const auto most = GetAttr<int64_t>(op, "max_output_boxes_per_class");
  const auto threshold = GetAttr<double>(op, "iou_threshold");
  std::vector<double> rows;
  for (int64_t n = 0; n < scores.dims[0]; ++n) {
    for (int64_t c = 0; c < scores.dims[1]; ++c) {
      std::vector<int64_t> chosen;
      std::vector<bool> gone(static_cast<size_t>(scores.dims[2]));
      while (static_cast<int64_t>(chosen.size()) < most) {
        int64_t best = -1;
        for (int64_t i = 0; i < scores.dims[2]; ++i) {
          if (gone[static_cast<size_t>(i)]) continue;
          if (best < 0 || scores(n, c, i) > scores(n, c, best)) best = i;
        }
        if (best < 0) break;
        chosen.push_back(best);
        rows.insert(rows.end(), {static_cast<double>(n), static_cast<double>(c),
                                 static_cast<double>(best)});
        const auto span = [&](int64_t box, int64_t axis) {
          return std::minmax(boxes(n, box, axis), boxes(n, box, axis + 2));
        };
        for (int64_t i = 0; i < scores.dims[2]; ++i) {
          double common = 1;
          double a = 1;
          double b = 1;
          for (int64_t axis = 0; axis < 2; ++axis) {
            const auto [low, high] = span(best, axis);
            const auto [from, to] = span(i, axis);
            common *= std::max(0.0, std::min(high, to) - std::max(low, from));
            a *= high - low;
            b *= to - from;
          }
          const double iou = common > 0 ? common / (a + b - common) : 0;
          if (i == best || iou > threshold) gone[static_cast<size_t>(i)] = true;
        }
      }
    }
  }
  Array out(DDim({static_cast<int64_t>(rows.size()) / 3, 3}));
  out.values = rows;
  return {{"Out", out}};
}

REGISTER_OP_CASE(nonzero, NonzeroExamples, NonzeroReference);
REGISTER_OP_CASE(compress, CompressExamples, CompressReference);
REGISTER_OP_CASE(compress_grad, CompressGradExamples, CompressGradReference);
REGISTER_OP_CASE(unique, UniqueExamples, UniqueReference);
REGISTER_OP_CASE(non_max_suppression,
                 NonMaxSuppressionExamples,
                 NonMaxSuppressionReference);

}  // namespace
}  // namespace sluice::testing
