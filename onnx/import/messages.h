#pragma once

// Forward declarations of the messages of onnx.proto.
namespace onnx {
class AttributeProto;
class GraphProto;
class ModelProto;
class NodeProto;
class SparseTensorProto;
class TensorProto;
class TypeProto;
class ValueInfoProto;
}  // namespace onnx
