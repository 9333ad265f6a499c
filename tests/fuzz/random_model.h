#pragma once

#include <cstdint>
#include <string>

#include "tests/fuzz/choices.h"

#include "sluice/onnx/onnx.pb.h"

namespace sluice::fuzz {

// The file of external data, in the folder that TryModel names.
inline constexpr const char* kDataFile = "data";

// A model of `nodes` nodes of any operators of ONNX, whose inputs, attributes,
// dtypes and shapes are chosen. Most models contradict themselves.
::onnx::ModelProto RandomModel(Choices* choices, int nodes);

// Changes a model in one place: a number, a name, a dtype, an operator, or one
// of the two below.
void ChangeModel(Choices* choices, ::onnx::ModelProto* model);

// The nodes become a function, which is called several times, perhaps by
// another one.
void CallNodes(Choices* choices, ::onnx::ModelProto* model);

// The nodes become the branches of an If, or the body of a Loop or a Scan.
void NestNodes(Choices* choices, ::onnx::ModelProto* model);

// Changes some bytes: bits, numbers, pieces that are left out or stand twice.
void ChangeBytes(Choices* choices, std::string* bytes);

}  // namespace sluice::fuzz
