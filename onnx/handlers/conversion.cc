#include "sluice/onnx/import/handlers.h"
#include "sluice/onnx/import/tensor_values.h"

namespace sluice::onnx {

namespace {

void Cast(Node& node) {
  node.attributes().Ignore("saturate");    // of 8-bit floats
  node.attributes().Ignore("round_mode");  // the same
  const auto to = static_cast<int>(node.attributes().NeededInt("to"));
  node.Finish("cast", {{"X", {node.In(0)}}},
              {{"dtype", ToDType(to, "attribute to")}});
}

void CastLike(Node& node) {
  node.attributes().Ignore("saturate");
  node.attributes().Ignore("round_mode");
  node.Finish("cast", {{"X", {node.In(0)}}}, {{"dtype", node.TypeOf(1)}});
}

constexpr HandlerRow kRows[] = {{"Cast", 6, Cast}, {"CastLike", 15, CastLike}};

}  // namespace

std::span<const HandlerRow> ConversionHandlers() {
  return kRows;
}

}  // namespace sluice::onnx
