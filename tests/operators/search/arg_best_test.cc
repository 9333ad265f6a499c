#include <cmath>
#include <limits>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/operators/harness/op_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

// arg_max and arg_min.
namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;
using Indices = std::vector<int64_t>;

Indices Best(const char* op,
             const Tensor& x,
             const AttributeMap& attributes = {}) {
  return RunOp(op, {{"X", x}}, attributes)["Out"].ToVector<int64_t>();
}

// Rows are searched in blocks, adjacent columns together.
TEST(ArgBest, TheFirstOfEqualElementsCountsOrTheLast) {
  for (const auto& [dims, axis] :
       std::vector<std::pair<DDim, int64_t>>{{{1, 100}, 1}, {{100, 3}, 0}}) {
    Tensor x = Tensor::FromVector<double>(
        dims, std::vector<double>(static_cast<size_t>(dims.numel()), 5));
    const int64_t step = dims[1] == 3 ? 3 : 1;
    for (const int64_t i : {40, 41, 77}) {
      x.data<double>()[i * step] = 8;
    }
    AttributeMap attributes = {{"axis", axis}};
    EXPECT_EQ(Best("arg_max", x, attributes)[0], 40);
    EXPECT_EQ(Best("arg_min", x, attributes)[0], 0);
    attributes["select_last_index"] = true;
    EXPECT_EQ(Best("arg_max", x, attributes)[0], 77);
    EXPECT_EQ(Best("arg_min", x, attributes)[0], 99);
  }
}

TEST(ArgBest, NanComesBeforeEveryNumber) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float nan = std::nanf("");
  const Tensor x =
      Tensor::FromVector<float>({6}, {1, nan, kInfinity, -kInfinity, nan, 2});
  for (const char* op : {"arg_max", "arg_min"}) {
    EXPECT_EQ(Best(op, x), (Indices{1})) << op;
    EXPECT_EQ(Best(op, x, {{"select_last_index", true}}), (Indices{4})) << op;
  }
  const Tensor numbers =
      Tensor::FromVector<float>({4}, {-0.0F, 0, kInfinity, -kInfinity});
  EXPECT_EQ(Best("arg_max", numbers), (Indices{2}));
  EXPECT_EQ(Best("arg_min", numbers), (Indices{3}));
  const Tensor zeros = Tensor::FromVector<float>({2}, {-0.0F, 0});
  EXPECT_EQ(Best("arg_max", zeros), (Indices{0}));
  EXPECT_EQ(Best("arg_min", zeros), (Indices{0}));
}

TEST(ArgBest, TheLimitsOfIntegersAreNumbersLikeOthers) {
  using Limits = std::numeric_limits<int64_t>;
  const Tensor x =
      Tensor::FromVector<int64_t>({3}, {0, Limits::max(), Limits::min()});
  EXPECT_EQ(Best("arg_max", x), (Indices{1}));
  EXPECT_EQ(Best("arg_min", x), (Indices{2}));
  const Tensor bytes = Tensor::FromVector<uint8_t>({3}, {7, 255, 0});
  EXPECT_EQ(Best("arg_max", bytes), (Indices{1}));
  EXPECT_EQ(Best("arg_min", bytes), (Indices{2}));
}

TEST(ArgBest, InfersWhatIsKnown) {
  const auto infer = [](const DDim& x, const AttributeMap& attributes) {
    return InferOpShapes("arg_max", {{"X", x}}, attributes)["Out"];
  };
  EXPECT_EQ(infer({-1, -1, 3}, {{"axis", int64_t{1}}}), DDim({-1, 3}));
  EXPECT_EQ(infer({-1, 3}, {{"keepdims", true}}), DDim({1, 3}));
  EXPECT_EQ(infer({-1, 3}, {{"flatten", true}}), DDim());
  EXPECT_EQ(infer({-1, 3}, {{"flatten", true}, {"keepdims", true}}),
            DDim({1, 1}));
  EXPECT_EQ(infer(DDim::UnknownRank(), {{"flatten", true}}), DDim());
  EXPECT_FALSE(infer(DDim::UnknownRank(), {}).rank_known());
}

}  // namespace
}  // namespace sluice

// The cases with which the harness tests every kernel of the ops.
namespace sluice::testing {
namespace {

std::vector<OpExample> Examples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const auto& [dims, axis] :
       std::vector<std::pair<DDim, int64_t>>{{{7}, 0},
                                             {{5, 9}, 1},
                                             {{2, 3, 11}, 1},
                                             {{1, 1}, -1},
                                             {{0, 5}, 1},
                                             {{5, 0, 3}, 0},
                                             {{3, 200}, -1},
                                             {{131, 67}, 0},
                                             {{401, 203}, 1}}) {
    examples.push_back({{{"X", make.Values(dims)}},
                        {{"axis", axis},
                         {"keepdims", examples.size() % 2 == 1},
                         {"select_last_index", examples.size() % 3 == 2}}});
  }
  examples.push_back({{{"X", make.Values({3, 5})}}, {{"flatten", true}}});
  return examples;
}

template <bool kLargest>
Arrays Reference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  const bool keep = GetAttr<bool>(op, "keepdims");
  const bool last = GetAttr<bool>(op, "select_last_index");
  DDim dims = x.dims, out_dims;
  auto axis = GetAttr<int64_t>(op, "axis");
  if (GetAttr<bool>(op, "flatten")) {
    dims = DDim{x.dims.numel()};
    axis = 0;
  }
  const auto at = static_cast<int>(axis < 0 ? axis + dims.rank() : axis);
  for (int i = 0; i < dims.rank(); ++i) {
    if (i != at || keep)
      out_dims.InsertDim(out_dims.rank(), i == at ? 1 : dims[i]);
  }
  Array out(out_dims);
  const int64_t inner = dims.Product(at + 1, dims.rank());
  for (int64_t line = 0; line < out_dims.numel(); ++line) {
    const int64_t first = line / inner * dims[at] * inner + line % inner;
    int64_t best = 0;
    for (int64_t i = 1; i < dims[at]; ++i) {
      const double a = x.values[static_cast<size_t>(first + i * inner)];
      const double b = x.values[static_cast<size_t>(first + best * inner)];
      if (kLargest ? a > b : a < b) best = i;
      if (a == b && last) best = i;
    }
    out.values[static_cast<size_t>(line)] = static_cast<double>(best);
  }
  return {{"Out", out}};
}

REGISTER_OP_CASE(arg_max, Examples, Reference<true>);
REGISTER_OP_CASE(arg_min, Examples, Reference<false>);

}  // namespace
}  // namespace sluice::testing
