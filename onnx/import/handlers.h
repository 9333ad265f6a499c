#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sluice/onnx/import/node.h"

namespace sluice::onnx {

// Adds the ops that compute a node, and reads its attributes. Attributes that
// remain unread are errors.
using Handler = void (*)(Node& node);

// Handles an ONNX operator from one opset on, up to the next row of that type.
struct HandlerRow {
  std::string_view type;
  int64_t since_version;
  Handler handler;
};

// The tables, one for each file in onnx/handlers/.
std::span<const HandlerRow> AttentionHandlers();
std::span<const HandlerRow> ContractionHandlers();
std::span<const HandlerRow> ConstantHandlers();
std::span<const HandlerRow> ControlFlowHandlers();
std::span<const HandlerRow> ConversionHandlers();
std::span<const HandlerRow> ConvHandlers();
std::span<const HandlerRow> EinsumHandlers();
std::span<const HandlerRow> ElementwiseHandlers();
std::span<const HandlerRow> GradientHandlers();
std::span<const HandlerRow> ImageHandlers();
std::span<const HandlerRow> IndexingHandlers();
std::span<const HandlerRow> LossHandlers();
std::span<const HandlerRow> MovementHandlers();
std::span<const HandlerRow> NormHandlers();
std::span<const HandlerRow> PoolHandlers();
std::span<const HandlerRow> QuantizationHandlers();
std::span<const HandlerRow> RecurrentHandlers();
std::span<const HandlerRow> ReductionHandlers();
std::span<const HandlerRow> ResizeHandlers();
std::span<const HandlerRow> RotaryEmbeddingHandlers();
std::span<const HandlerRow> SearchHandlers();
std::span<const HandlerRow> SequenceHandlers();
std::span<const HandlerRow> SignalHandlers();

// The handler for `type` in opset `version`, or nullptr.
Handler FindHandler(std::string_view type, int64_t version);
// The oldest opset that has a handler for it, or 0.
int64_t OldestHandled(std::string_view type);

}  // namespace sluice::onnx
