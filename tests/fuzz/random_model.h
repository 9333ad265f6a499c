#pragma once

#include <cstdint>
#include <string>

#include "tests/fuzz/choices.h"

#include "sluice/onnx/onnx.pb.h"

namespace sluice::fuzz {

// A model of `nodes` nodes of any operators of ONNX, whose inputs, attributes,
// dtypes and shapes are chosen. Most models contradict themselves.
::onnx::ModelProto RandomModel(Choices* choices, int nodes);

// Changes a model in one place: a number, a name, a dtype, an operator, or the
// nodes become a function that is called several times.
void ChangeModel(Choices* choices, ::onnx::ModelProto* model);

// Changes some bytes: bits, numbers, pieces that are left out or stand twice.
void ChangeBytes(Choices* choices, std::string* bytes);

}  // namespace sluice::fuzz
