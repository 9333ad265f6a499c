#include "sluice/onnx/handlers/attention.h"

namespace sluice::onnx {

namespace {

void Attention(Node& node) {
  AttentionImport(&node).Run();
}

}  // namespace

const HandlerTable kAttentionHandlers = {{"Attention", 23, Attention}};

}  // namespace sluice::onnx
