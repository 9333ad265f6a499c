#include <string>

#include "sluice/onnx/import/handlers.h"
#include "sluice/platform/error.h"

namespace sluice::onnx {

namespace {

void MatMul(Node& node) {
  node.Finish("matmul", {{"X", {node.In(0)}}, {"Y", {node.In(1)}}});
}

// alpha * A * B + beta * C, with A and B of rank 2, transposed or not.
void Gemm(Node& node) {
  const double alpha = node.attributes().Float("alpha", 1.0);
  const double beta = node.attributes().Float("beta", 1.0);
  const AttributeMap attributes = {
      {"transpose_X", node.attributes().Int("transA", 0) != 0},
      {"transpose_Y", node.attributes().Int("transB", 0) != 0},
      {"alpha", alpha}};
  for (int i = 0; i < 2; ++i) {
    const int rank = RankOf(node, i);
    SLUICE_ENFORCE(rank == 2, ErrorCode::kInvalidArgument, "onnx.gemm_rank",
                   "input {} has {} dims; expected a matrix", i, rank);
  }
  const Inputs factors = {{"X", {node.In(0)}}, {"Y", {node.In(1)}}};
  if (!node.HasInput(2)) return node.Finish("matmul", factors, attributes);
  const std::string product = node.Append("matmul", factors, attributes);
  std::string summand = node.In(2);
  if (beta != 1) {
    summand = node.Append("scale", {{"X", {summand}}}, {{"scale", beta}});
  }
  node.Finish("elementwise_add", {{"X", {product}}, {"Y", {summand}}});
}

constexpr HandlerRow kContractionRows[] = {{"Gemm", 7, Gemm},
                                           {"MatMul", 1, MatMul}};

}  // namespace

std::span<const HandlerRow> ContractionHandlers() {
  return kContractionRows;
}

}  // namespace sluice::onnx
