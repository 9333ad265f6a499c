#include "sluice/operators/contraction/einsum.h"

#include <string>
#include <utility>
#include <vector>

#include "sluice/onnx/import/handlers.h"

namespace sluice::onnx {

namespace {

// Appends the ops of a node.
class NodeEinsum : public EinsumWriter {
 public:
  explicit NodeEinsum(Node* node) : node_(*node) {}

  std::string Append(const std::string& type,
                     Inputs inputs,
                     AttributeMap attributes) override {
    return node_.Append(type, std::move(inputs), std::move(attributes));
  }
  std::string AppendLast(const std::string& type,
                         const std::string& x,
                         AttributeMap attributes) override {
    node_.FinishUnary(type, x, std::move(attributes));
    return node_.Out(0);
  }
  DDim DimsOf(const std::string& variable) const override {
    return node_.DimsOf(variable);
  }
  DType DTypeOf(const std::string& variable) const override {
    return node_.DTypeOf(variable);
  }

 private:
  Node& node_;
};

void Einsum(Node& node) {
  std::vector<std::string> inputs;
  for (int i = 0; i < node.input_count(); ++i) {
    RankOf(node, i);  // raises if the rank is unknown
    inputs.push_back(node.In(i));
  }
  NodeEinsum writer(&node);
  WriteEinsum(node.attributes().String("equation", ""), inputs, &writer);
}

constexpr HandlerRow kEinsumRows[] = {{"Einsum", 12, Einsum}};

}  // namespace

std::span<const HandlerRow> EinsumHandlers() {
  return kEinsumRows;
}

}  // namespace sluice::onnx
