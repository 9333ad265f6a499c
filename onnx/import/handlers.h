#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "sluice/onnx/import/node.h"

namespace sluice::onnx {

// Adds the ops that compute a node, and reads its attributes. Attributes that
// remain unread are errors.
using Handler = void (*)(Node& node);

// Handles operators, whose types spaces separate, from one opset on, up to the
// next row of a type. The type of one of another domain than ONNX's begins with
// it, and its opset is 1.
struct HandlerRow {
  std::string_view types;
  int64_t since_version;
  Handler handler;  // nullptr: as its schema says (OpSchema::Onnx)
};

using HandlerTable = std::initializer_list<HandlerRow>;

// The tables, one for each file in onnx/handlers/.
extern const HandlerTable kAttentionHandlers, kContractionHandlers,
    kControlFlowHandlers, kConvHandlers, kCropHandlers, kElementwiseHandlers,
    kFeatureHandlers, kFusedAttentionHandlers, kFusedHandlers,
    kGroupedAttentionHandlers, kImageHandlers, kIndexingHandlers,
    kLinearHandlers, kLossHandlers, kMovementHandlers, kNormHandlers,
    kOldHandlers, kPackedWeightHandlers, kQuantizationHandlers, kRandomHandlers,
    kRecurrentHandlers, kResizeHandlers, kRotaryHandlers, kSequenceHandlers,
    kSignalHandlers, kStringHandlers, kTrainingHandlers, kTreeHandlers;

// Splits a text at spaces.
std::vector<std::string_view> WordsOf(std::string_view text);

// The handler for `type` in opset `version`, or nullptr if there is none or its
// schema says enough.
Handler FindHandler(std::string_view type, int64_t version);
// The oldest opset that has a handler for it, or 0.
int64_t OldestHandled(std::string_view type);

// The op whose schema is equivalent to this ONNX operator (OpSchema::Onnx), or
// nullptr.
const OpSchema* FindCounterpart(std::string_view type);

// Imports a node as that op: inputs in order, attributes by name. Omitted
// attributes get the op's defaults.
void ImportCounterpart(const OpSchema& schema, Node& node);

}  // namespace sluice::onnx
