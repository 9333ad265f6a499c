#include <cmath>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/op/registry.h"
#include "sluice/framework/run/run_op.h"
#include "sluice/platform/parallel_for.h"

// gather_elements and scatter_elements.
namespace sluice {
namespace {

using ::sluice::testing::ExpectError;
using ::sluice::testing::InferOpShapes;
using Floats = std::vector<float>;

Tensor Index(const DDim& dims, const std::vector<int64_t>& values) {
  return Tensor::FromVector<int64_t>(dims, values);
}

Tensor Of(const DDim& dims, const Floats& values) {
  return Tensor::FromVector<float>(dims, values);
}

Tensor Gather(const Tensor& x, const Tensor& index, int64_t axis = 0) {
  return RunOp("gather_elements", {{"X", x}, {"Index", index}},
               {{"axis", axis}})["Out"];
}

Tensor Scatter(const Tensor& x,
               const Tensor& index,
               const Tensor& updates,
               const std::string& reduction = "none",
               int64_t axis = 0,
               bool include_self = true) {
  return RunOp("scatter_elements",
               {{"X", x}, {"Index", index}, {"Updates", updates}},
               {{"axis", axis},
                {"reduction", reduction},
                {"include_self", include_self}})["Out"];
}

// Every thread may find one; the error must name the first.
TEST(GatherElements, NamesTheFirstIndexOutOfRange) {
  const ThreadCountGuard threads(4);
  std::vector<int64_t> values(300000, 0);
  values[70001] = values[140002] = values[299999] = 9;
  ExpectError(ErrorCode::kOutOfRange, "indexing.range_at_run",
              {"Index[70001] = 9"}, [&] {
                Gather(Of({2}, {1, 2}), Index({300000}, values));
              });
}

TEST(Elements, MayBeThoseOfANumber) {
  const Tensor x = Tensor::FromVector<float>({}, {3});
  const Tensor index = Tensor::FromVector<int64_t>({}, {-1});
  const Tensor picked =
      RunOp("gather_elements", {{"X", x}, {"Index", index}})["Out"];
  EXPECT_EQ(picked.dims(), DDim());
  EXPECT_EQ(picked.ToVector<float>(), (std::vector<float>{3}));
  const Tensor update = Tensor::FromVector<float>({}, {5});
  const AttributeMap add = {{"axis", int64_t{-1}}, {"reduction", "add"}};
  const Tensor changed =
      RunOp("scatter_elements",
            {{"X", x}, {"Index", index}, {"Updates", update}}, add)["Out"];
  EXPECT_EQ(changed.ToVector<float>(), (std::vector<float>{8}));
  ExpectError(ErrorCode::kOutOfRange, "indexing.range_at_run", {"Index"}, [&] {
    RunOp("gather_elements",
          {{"X", x}, {"Index", Tensor::FromVector<int64_t>({}, {1})}});
  });
}

TEST(Elements, InferWhatIsKnown) {
  EXPECT_EQ(InferOpShapes("gather_elements",
                          {{"X", {-1, 2}}, {"Index", {5, -1}}})["Out"],
            DDim({5, -1}));
  EXPECT_EQ(InferOpShapes("scatter_elements", {{"X", {-1, 2}},
                                               {"Index", {5, -1}},
                                               {"Updates", {5, 1}}})["Out"],
            DDim({-1, 2}));
}

TEST(ScatterElements, CombinesUpdatesAlone) {
  const float nan = std::nanf("");
  const Tensor x = Of({4}, {nan, 2, 3, 4});
  const Tensor index = Index({4}, {1, 1, 3, 0});
  const Tensor updates = Of({4}, {5, -6, 7, -8});
  const auto run = [&](const char* reduction) {
    return Scatter(x, index, updates, reduction, 0, false).ToVector<float>();
  };
  EXPECT_EQ(run("none"), (Floats{-8, -6, 3, 7}));
  EXPECT_EQ(run("add"), (Floats{-8, -1, 3, 7}));
  EXPECT_EQ(run("mul"), (Floats{-8, -30, 3, 7}));
  EXPECT_EQ(run("max"), (Floats{-8, 5, 3, 7}));
  EXPECT_EQ(run("min"), (Floats{-8, -6, 3, 7}));
  const Tensor least = Tensor::FromVector<int8_t>({1}, {-128});
  EXPECT_EQ(Scatter(Tensor::FromVector<int8_t>({1}, {5}), Index({1}, {0}),
                    least, "max", 0, false)
                .ToVector<int8_t>(),
            std::vector<int8_t>{-128});
}

TEST(ScatterElements, NanIsBothTheLargestAndTheSmallestNumber) {
  const float nan = std::nanf("");
  for (const char* reduction : {"max", "min"}) {
    const Floats out = Scatter(Of({2}, {nan, 1}), Index({3}, {0, 1, 1}),
                               Of({3}, {5, nan, 7}), reduction)
                           .ToVector<float>();
    EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[1])) << reduction;
  }
}

TEST(ScatterElements, IntegersWrapAround) {
  const Tensor x = Tensor::FromVector<int8_t>({2}, {100, 100});
  const Tensor index = Index({2}, {0, 1});
  const Tensor updates = Tensor::FromVector<int8_t>({2}, {100, 3});
  EXPECT_EQ(Scatter(x, index, updates, "add").ToVector<int8_t>(),
            (std::vector<int8_t>{-56, 103}));
  EXPECT_EQ(Scatter(x, index, updates, "mul").ToVector<int8_t>(),
            (std::vector<int8_t>{16, 44}));
}

// 2,048 has no neighbour at a distance of 1 in float16.
TEST(ScatterElements, HalvesAreSummedInFloat) {
  const std::vector<double> ones(100, 1);
  const auto half = [](const DDim& dims, const std::vector<double>& values) {
    return RunOp("cast", {{"X", Tensor::FromVector<double>(dims, values)}},
                 {{"dtype", DType::kFloat16}})["Out"];
  };
  const Tensor out =
      Scatter(half({1}, {2048}), Index({100}, std::vector<int64_t>(100, 0)),
              half({100}, ones), "add");
  EXPECT_EQ(RunOp("cast", {{"X", out}}, {{"dtype", DType::kFloat32}})["Out"]
                .ToVector<float>(),
            (Floats{2148}));
}

TEST(ScatterElements, RefusesToCombineBools) {
  const Tensor x = Tensor::FromVector<bool>({2}, {true, false});
  const Tensor index = Index({1}, {0});
  const Tensor updates = Tensor::FromVector<bool>({1}, {false});
  EXPECT_EQ(Scatter(x, index, updates).ToVector<bool>(),
            (std::vector<bool>{false, false}));
  ExpectError(ErrorCode::kInvalidArgument, "scatter.reduction",
              {"scatter_elements", "reduction is max", "X of bool"},
              [&] { Scatter(x, index, updates, "max"); });
}

}  // namespace
}  // namespace sluice
