#include "sluice/onnx/import/handlers.h"
#include "sluice/onnx/import/tensor_values.h"

namespace sluice::onnx {

namespace {

void CastTo(Node& node, DType dtype) {
  Attributes& attributes = node.attributes();
  node.FinishUnary("cast", node.In(0),
                   {{"dtype", dtype},
                    {"saturate", attributes.Int("saturate", 1) != 0},
                    {"round_mode", attributes.String("round_mode", "up")}});
}

void Cast(Node& node) {
  const auto to = static_cast<int>(node.attributes().NeededInt("to"));
  CastTo(node, ToDType(to, "attribute to"));
}

void CastLike(Node& node) {
  CastTo(node, node.TypeOf(1));
}

void BitCast(Node& node) {
  const auto to = static_cast<int>(node.attributes().NeededInt("to"));
  node.FinishUnary("bitcast", node.In(0),
                   {{"dtype", ToDType(to, "attribute to")}});
}

constexpr HandlerRow kConversionRows[] = {
    {"BitCast", 26, BitCast}, {"Cast", 6, Cast}, {"CastLike", 15, CastLike}};

}  // namespace

std::span<const HandlerRow> ConversionHandlers() {
  return kConversionRows;
}

}  // namespace sluice::onnx
