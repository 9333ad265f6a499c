#pragma once

#include "sluice/onnx/import/messages.h"

namespace sluice::onnx {

// Puts the body of each function that the model brings (ModelProto.functions)
// in the place of the nodes that call it, also inside of functions and
// subgraphs. A function comes before an operator of the same domain and type.
// A node of a body is named after the call ("call/node"), and so are its
// values. Raises
//  - InvalidArgument for bodies whose names do not fit (CheckNames), functions
//    that stand twice or call themselves, and calls with inputs, outputs or
//    attributes that the function does not have;
//  - Unimplemented where a function is of another opset than the model, and an
//    operator that it uses differs between them;
//  - ResourceExhausted past 2^18 nodes, 2 GiB or 64 functions in one another.
void InlineFunctions(::onnx::ModelProto* model);

}  // namespace sluice::onnx
