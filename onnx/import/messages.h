#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/program/program.h"
#include "sluice/framework/values/tensor.h"
#include "sluice/platform/error.h"
#include "sluice/platform/text.h"

// Forward declarations of the messages of onnx.proto.
namespace onnx {
class AttributeProto;
class FunctionProto;
class GraphProto;
class ModelProto;
class NodeProto;
class SparseTensorProto;
class TensorProto;
class TypeProto;
class ValueInfoProto;
}  // namespace onnx

// The names that most sources of this room use.
namespace sluice::onnx {

using ::onnx::AttributeProto;
using ::onnx::FunctionProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

using Ints = std::vector<int64_t>;
using Doubles = std::vector<double>;
using Names = std::vector<std::string>;

}  // namespace sluice::onnx
