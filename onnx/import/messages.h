#pragma once

// The messages of onnx.proto, as headers name them.
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
