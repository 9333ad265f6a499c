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

// JSON, and so a row of refusals.txt, has no lists with these numbers.
TEST(ResizeShape, RefusesScalesAndPartsThatAreNotFinite) {
  const auto refuses = [](const char* check, const char* words,
                          const AttributeMap& attributes) {
    ExpectError(ErrorCode::kInvalidArgument, check, {words}, [&] {
      InferOpShapes("resize", {{"X", {3}}}, attributes);
    });
  };
  for (const double scale : {kInfinity, kNaN}) {
    refuses("resize.scale", "scales[0]", {{"scales", Doubles{scale}}});
  }
  refuses("resize.roi", "roi has inf",
          {{"sizes", Ints{3}},
           {"coordinate_transformation_mode", "tf_crop_and_resize"},
           {"roi", Doubles{0, kInfinity}}});
}

}  // namespace
}  // namespace sluice
