#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using ::sluice::testing::ExpectError;
using ::sluice::testing::InferOpShapes;
using Doubles = std::vector<double>;
using Ints = std::vector<int64_t>;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Doubles Resized(const Doubles& x, const AttributeMap& attributes) {
  const Tensor row =
      Tensor::FromVector<double>({static_cast<int64_t>(x.size())}, x);
  return RunOp("resize", {{"X", row}}, attributes)["Out"].ToVector<double>();
}

// Element j of Out by whole numbers, which are never rounded.
int64_t NearestOf(int64_t j, int64_t in, int64_t out, const char* coordinates) {
  if (std::string(coordinates) == "asymmetric") return j * in / out;
  return (2 * j + 1) * in / (2 * out);
}

TEST(Resize, BySizesNoElementIsOffByRounding) {
  for (const auto& [coordinates, rounding] :
       {std::pair{"asymmetric", "floor"},
        std::pair{"half_pixel", "round_prefer_ceil"}}) {
    for (int64_t in = 1; in <= 64; ++in) {
      Doubles x(static_cast<size_t>(in));
      std::iota(x.begin(), x.end(), 0);
      for (int64_t out = 1; out <= 64; ++out) {
        Doubles want;
        for (int64_t j = 0; j < out; ++j) {
          want.push_back(
              static_cast<double>(NearestOf(j, in, out, coordinates)));
        }
        EXPECT_EQ(Resized(x, {{"sizes", Ints{out}},
                              {"coordinate_transformation_mode",
                               std::string(coordinates)},
                              {"nearest_mode", std::string(rounding)}}),
                  want)
            << coordinates << " " << in << " to " << out;
      }
    }
  }
}

// Only elements with a weight count.
TEST(Resize, KeepsNaNAndInfinityWhereTheyAre) {
  const Doubles x = {1, kInfinity, 3, kNaN};
  for (const char* mode : {"linear", "cubic"}) {
    const Doubles out =
        Resized(x, {{"sizes", Ints{7}},
                    {"mode", mode},
                    {"coordinate_transformation_mode", "align_corners"}});
    EXPECT_EQ(out[0], 1) << mode;
    EXPECT_EQ(out[2], kInfinity) << mode;
    EXPECT_EQ(out[4], 3) << mode;
    EXPECT_TRUE(std::isnan(out[5]) && std::isnan(out[6])) << mode;
  }
}

TEST(Resize, RefusesDimsWhoseTablesWouldFillTheMemory) {
  const Tensor x = Tensor::FromVector<float>({1}, {1});
  ExpectError(ErrorCode::kNotFound, "resolver.no_kernel",
              {"resize", "dim 0 of X [1] becomes 16777217", "up to 16777216"},
              [&] {
                RunOp("resize", {{"X", x}}, {{"sizes", Ints{(1 << 24) + 1}}},
                      {.hint = "require place=cpu, library=PLAIN"});
              });
}

DDim Out(const DDim& x, const AttributeMap& attributes) {
  return InferOpShapes("resize", {{"X", x}}, attributes).at("Out");
}

TEST(ResizeShape, RoundsDown) {
  EXPECT_EQ(Out({4, 5}, {{"scales", Doubles{0.5, 1.5}}}), DDim({2, 7}));
  // Sizes are multiplied like float32 numbers.
  EXPECT_EQ(Out({10}, {{"scales", Doubles{static_cast<double>(2.3F)}}}),
            DDim({23}));
  EXPECT_EQ(Out({1 << 24}, {{"scales", Doubles{1 - 1e-9}}}),
            DDim({(1 << 24) - 1}));
  EXPECT_EQ(Out({-1, 5}, {{"sizes", Ints{3, 4}}}), DDim({3, 4}));
  EXPECT_EQ(Out({-1, 5}, {{"scales", Doubles{3, 2}}}), DDim({-1, 10}));
  EXPECT_EQ(Out({0, 5}, {{"scales", Doubles{3, 2}}}), DDim({0, 10}));
  EXPECT_FALSE(Out(DDim::UnknownRank(), {{"sizes", Ints{3}}}).rank_known());
}

void Refuses(const char* check,
             std::initializer_list<std::string_view> words,
             const DDim& x,
             const AttributeMap& attributes) {
  ExpectError(ErrorCode::kInvalidArgument, check, words,
              [&] { Out(x, attributes); });
}

TEST(ResizeShape, RefusesSizesThatCannotBe) {
  Refuses("resize.negative", {"resize", "sizes[1] = -1"}, {3, 4},
          {{"sizes", Ints{3, -1}}});
  for (const double scale : {0.0, -1.0, kInfinity, kNaN}) {
    Refuses("resize.scale", {"scales[0]", "above 0"}, {3},
            {{"scales", Doubles{scale}}});
  }
  Refuses("resize.overflow", {"scales[0] = 1e+300", "dim 0", "[3]"}, {3},
          {{"scales", Doubles{1e300}}});
  Refuses("resize.overflow", {"dim 0"}, {kMax}, {{"scales", Doubles{1.5}}});
  Refuses("resize.nothing", {"dim 1", "[2, 3]"}, {2, 3},
          {{"scales", Doubles{1, 0.3}}});
  Refuses("resize.nothing", {"dim 0"}, {2}, {{"sizes", Ints{0}}});
  Refuses("resize.from_nothing", {"dim 0", "[0]", "make 2"}, {0},
          {{"sizes", Ints{2}}});
  Refuses("resize.none", {"sizes and scales are empty"}, {2}, {});
  Refuses("resize.entries", {"sizes has 1", "scales 0", "[2, 3]"}, {2, 3},
          {{"sizes", Ints{3}}});
  Refuses("resize.entries", {"scales 3"}, {2, 3},
          {{"sizes", Ints{3, 4}}, {"scales", Doubles{1, 2, 3}}});
}

TEST(ResizeShape, RefusesPartsThatCannotBe) {
  const AttributeMap cropped = {
      {"sizes", Ints{3, 3}},
      {"coordinate_transformation_mode", "tf_crop_and_resize"}};
  const auto with = [](AttributeMap attributes, const Doubles& roi) {
    attributes["roi"] = roi;
    return attributes;
  };
  Refuses("resize.roi_entries", {"roi has 2 entries", "[2, 2]"}, {2, 2},
          with(cropped, {0, 1}));
  Refuses("resize.roi_entries", {"else none"}, {2, 2},
          with({{"sizes", Ints{3, 3}}}, {0, 0, 1, 1}));
  Refuses("resize.roi", {"roi has inf"}, {2, 2},
          with(cropped, {0, 0, 1, kInfinity}));
}

TEST(ResizeShape, RefusesNumbersThatCannotBe) {
  Refuses("resize.cubic_coeff_a", {"cubic_coeff_a"}, {2},
          {{"sizes", Ints{3}}, {"cubic_coeff_a", kNaN}});
  const Tensor x = Tensor::FromVector<int32_t>({2}, {1, 2});
  ExpectError(
      ErrorCode::kInvalidArgument, "resize.integers",
      {"resize", "mode linear", "int32"}, [&] {
        RunOp("resize", {{"X", x}}, {{"sizes", Ints{3}}, {"mode", "linear"}});
      });
}

TEST(ResizeShape, RefusesAGradientOfAnotherShape) {
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.merge_dim",
              {"resize_grad", "Out@GRAD"}, [&] {
                InferOpShapes("resize_grad", {{"X", {2}}, {"Out@GRAD", {4}}},
                              {{"sizes", Ints{3}}});
              });
}

}  // namespace
}  // namespace sluice
