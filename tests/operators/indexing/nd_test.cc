#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

// gather_nd and scatter_nd.
namespace sluice {
namespace {

using ::sluice::testing::ExpectError;
using ::sluice::testing::InferOpShapes;
using Floats = std::vector<float>;

Tensor NdIndex(const DDim& dims, const std::vector<int64_t>& values) {
  return Tensor::FromVector<int64_t>(dims, values);
}

Tensor NdOf(const DDim& dims, const Floats& values) {
  return Tensor::FromVector<float>(dims, values);
}

Tensor NdGather(const Tensor& x, const Tensor& index, int64_t batch_dims = 0) {
  return RunOp("gather_nd", {{"X", x}, {"Index", index}},
               {{"batch_dims", batch_dims}})["Out"];
}

Tensor NdScatter(const Tensor& x,
                 const Tensor& index,
                 const Tensor& updates,
                 const std::string& reduction = "none") {
  return RunOp("scatter_nd", {{"X", x}, {"Index", index}, {"Updates", updates}},
               {{"reduction", reduction}})["Out"];
}

TEST(GatherNd, RefusesAnIndexOutOfRange) {
  const Tensor x = NdOf({2, 3}, {0, 1, 2, 10, 11, 12});
  ExpectError(ErrorCode::kOutOfRange, "indexing.range_at_run",
              {"gather_nd: input Index[1, 1] = 3", "[-3, 3)", "dim 1 of input",
               "[2, 3]"},
              [&] {
                NdGather(x, NdIndex({2, 2}, {0, 0, 0, 3}));
              });
  ExpectError(ErrorCode::kOutOfRange, "indexing.range_at_run",
              {"Index[1, 0] = -4", "dim 1 of input"}, [&] {
                NdGather(x, NdIndex({2, 1}, {0, -4}), 1);
              });
}

TEST(Nd, RefuseShapesThatDoNotFit) {
  const auto refuse = [](const DDim& x, const DDim& index, int64_t batch_dims,
                         const char* id, const std::string& part) {
    ExpectError(ErrorCode::kInvalidArgument, id, {"gather_nd", part}, [&] {
      InferOpShapes("gather_nd", {{"X", x}, {"Index", index}},
                    {{"batch_dims", batch_dims}});
    });
  };
  refuse({2, 3}, {2, 3}, 0, "nd.coordinates", "has 3 coordinates");
  refuse({2, 3}, {2, 0}, 0, "nd.coordinates", "has 0 coordinates");
  refuse({2, 3}, {2, 2}, 1, "nd.coordinates", "expected 1 to 1");
  refuse({2, 3}, {2, 1}, 2, "nd.batch_dims", "batch_dims = 2");
  refuse({2, 3}, {2, 1}, -1, "nd.batch_dims", "batch_dims = -1");
  refuse({2, 3}, {4, 1}, 1, "infer_shape.merge_dim", "Index");
  refuse({2, 3}, {}, 0, "infer_shape.rank_at_least", "Index");
  refuse({1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1}, 0, "nd.rank", "has rank 9");
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.merge_dim",
              {"scatter_nd", "Updates"}, [] {
                InferOpShapes(
                    "scatter_nd",
                    {{"X", {2, 3}}, {"Index", {4, 1}}, {"Updates", {4, 2}}});
              });
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.merge_dim",
              {"scatter_nd_grad", "Out@GRAD"}, [] {
                InferOpShapes("scatter_nd_grad", {{"X", {2, 3}},
                                                  {"Index", {4, 1}},
                                                  {"Updates", {4, 3}},
                                                  {"Out@GRAD", {4, 3}}});
              });
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.merge_dim",
              {"gather_nd_grad", "Out@GRAD"}, [] {
                InferOpShapes(
                    "gather_nd_grad",
                    {{"X", {2, 3}}, {"Index", {4, 1}}, {"Out@GRAD", {2, 3}}});
              });
}

TEST(Nd, InferWhatIsKnown) {
  const auto infer = [](const DDim& x, const DDim& index) {
    return InferOpShapes("gather_nd", {{"X", x}, {"Index", index}})["Out"];
  };
  EXPECT_EQ(infer({-1, 3}, {-1, 1}), DDim({-1, 3}));
  EXPECT_FALSE(infer({-1, 3}, {4, -1}).rank_known());
  EXPECT_FALSE(infer(DDim::UnknownRank(), {4, 1}).rank_known());
  EXPECT_EQ(InferOpShapes("scatter_nd", {{"X", {-1, 3}},
                                         {"Index", {4, -1}},
                                         {"Updates", {4, 3}}})["Out"],
            DDim({-1, 3}));
}

TEST(ScatterNd, RefusesAnIndexOutOfRange) {
  ExpectError(ErrorCode::kOutOfRange, "indexing.range_at_run",
              {"scatter_nd: input Index[0, 1] = 2", "[-2, 2)", "dim 1"}, [&] {
                NdScatter(NdOf({2, 2}, {1, 2, 3, 4}), NdIndex({1, 2}, {0, 2}),
                          NdOf({1}, {0}));
              });
}

}  // namespace
}  // namespace sluice
