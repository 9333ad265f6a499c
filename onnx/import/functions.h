#pragma once

#include "sluice/onnx/import/import_cost.h"
#include "sluice/onnx/import/messages.h"

namespace sluice::onnx {

// Puts the body of each function that the model brings (ModelProto.functions)
// in the place of the nodes that call it, also inside of functions and
// subgraphs. A function comes before an operator of the same domain and type.
// A node of a body is named after the call ("call/node"), and so are its
// values. Raises
//  - InvalidArgument for functions that stand twice, and where one is called
//    whose names do not fit (CheckNames), that calls itself, or that does not
//    have the inputs, outputs or attributes of the call;
//  - Unimplemented where a function is of another opset than the model, and an
//    operator that it uses differs between them;
//  - InvalidArgument past kMostGraphs graphs in one another;
//  - ResourceExhausted past kMostCalls functions in one another, and for more
//    memory than `cost` has.
void InlineFunctions(::onnx::ModelProto* model, ImportCost* cost);

}  // namespace sluice::onnx
