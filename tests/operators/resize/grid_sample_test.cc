#include <string>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::ExpectError;
using testing::InferOpShapes;
using Ints = std::vector<int64_t>;

TEST(GridSample, RefusesShapesThatDoNotFit) {
  const auto refused = [](const std::string& id, const DDim& x,
                          std::initializer_list<std::string_view> words) {
    ExpectError(ErrorCode::kInvalidArgument, id, words, [&] {
      InferOpShapes("grid_sample", {{"X", x}, {"Grid", {1, 2, 2, 2}}});
    });
  };
  refused("grid_sample.rank", {1, 2, 3}, {"grid_sample", "rank 3"});
  refused("grid_sample.empty", {1, 2, 3, 0}, {"[1, 2, 3, 0]"});
  refused("infer_shape.rank", {1, 2, 3, 3, 3}, {"Grid", "rank 5"});
  EXPECT_EQ(InferOpShapes("grid_sample",
                          {{"X", {-1, 3, 4, 5}}, {"Grid", {2, 6, -1, 2}}})
                .at("Out"),
            DDim({2, 3, 6, -1}));
}

TEST(AffineGrid, RefusesSizesThatDoNotFit) {
  const auto refused = [](const std::string& id, const Ints& size,
                          std::initializer_list<std::string_view> words) {
    ExpectError(ErrorCode::kInvalidArgument, id, words, [&] {
      InferOpShapes("affine_grid", {{"Theta", {1, 2, 3}}}, {{"size", size}});
    });
  };
  refused("affine_grid.size", {1, 2, 3}, {"affine_grid", "3 entries"});
  refused("affine_grid.negative", {1, 2, -3, 4}, {"size[2] = -3"});
  refused("infer_shape.value", {1, 2, 3, 4, 5}, {"Theta"});
  ExpectError(ErrorCode::kInvalidArgument, "affine_grid.theta", {"4 rows"}, [] {
    InferOpShapes("affine_grid", {{"Theta", {1, 4, 5}}, {"Size", {4}}});
  });
}

}  // namespace
}  // namespace sluice
