#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "sluice/onnx/import/import_cost.h"
#include "sluice/onnx/import/messages.h"

namespace sluice::onnx {

// The name of tensor `index` of a sequence that is an input or output of the
// model: "x[0]".
std::string NameOfPart(const std::string& sequence, int64_t index);

// Replaces inputs that are sequences of tensors by their tensors, of which the
// caller says how many there are, and a node that makes the sequence of them.
// Raises InvalidArgument for a number of another input, or a negative one, and
// ResourceExhausted.
void TakeSequencesApart(const std::map<std::string, int64_t>& lengths,
                        ImportCost* cost,
                        GraphProto* graph);

// Replaces inputs that are optional values by nodes that make one without a
// value. Raises InvalidArgument for another input.
void LeaveOut(const std::set<std::string>& absent, GraphProto* graph);

}  // namespace sluice::onnx
