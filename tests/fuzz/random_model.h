#pragma once

#include <cstdint>
#include <string>

#include "tests/fuzz/choices.h"

#include "sluice/onnx/onnx.pb.h"

namespace sluice::fuzz {

// The file of external data, in the folder that TryModel names.
inline constexpr const char* kDataFile = "data";

// A model of `nodes` nodes of any ONNX operators, with random inputs,
// attributes, dtypes and shapes. Most models are inconsistent.
::onnx::ModelProto RandomModel(Choices* choices, int nodes);

// Changes a model in one place: a number, a name, a dtype, an operator, or one
// of the two below.
void ChangeModel(Choices* choices, ::onnx::ModelProto* model);

// Moves the nodes into a function with several calls, perhaps from another one.
void CallNodes(Choices* choices, ::onnx::ModelProto* model);

// Moves the nodes into the branches of an If, or the body of a Loop or a Scan.
void NestNodes(Choices* choices, ::onnx::ModelProto* model);

// Changes some bytes: bits, numbers, omitted or repeated pieces.
void ChangeBytes(Choices* choices, std::string* bytes);

}  // namespace sluice::fuzz
