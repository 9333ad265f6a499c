#include <string>
#include <utility>

#include "sluice/onnx/import/counterpart.h"
#include "sluice/onnx/import/handlers.h"
#include "sluice/platform/error.h"

namespace sluice::onnx {

namespace {

// The same op by another name, where bools are reduced.
const char* OfBools(const std::string& op) {
  if (op == "reduce_max") return "reduce_any";
  if (op == "reduce_min") return "reduce_all";
  Node::Unsupported("its input is of bools");
}

// `inputs` and `attributes` say which axes.
void Reduce(Node& node, Inputs inputs, AttributeMap attributes) {
  std::string op = FindCounterpart(node.type())->name();
  if (node.TypeOf(0) == DType::kBool) op = OfBools(op);
  inputs.insert(inputs.begin(), {"X", {node.In(0)}});
  attributes["keep_dim"] = node.attributes().Int("keepdims", 1) != 0;
  node.Finish(op, std::move(inputs), std::move(attributes));
}

// The axes as an attribute.
void ReduceOld(Node& node) {
  Reduce(node, {}, {{"dim", node.attributes().Ints("axes")}});
}

// The axes as an input.
void ReduceNew(Node& node) {
  const bool nothing = node.attributes().Int("noop_with_empty_axes", 0) != 0;
  const bool given = node.HasInput(1) && node.Dims(1) != DDim{0};
  const bool late = given && node.Constant(1) == nullptr;
  if (late && !nothing) return Reduce(node, {{"Dim", {node.In(1)}}}, {});
  const Ints axes = given ? node.ConstantInts(1, "axes") : Ints();
  if (axes.empty() && nothing) {
    node.attributes().Ignore("keepdims");
    return node.Finish("assign", {{"X", {node.In(0)}}});
  }
  Reduce(node, {}, {{"dim", axes}});
}

constexpr HandlerRow kReductionRows[] = {
    {"ReduceL1", 1, ReduceOld},        {"ReduceL1", 18, ReduceNew},
    {"ReduceL2", 1, ReduceOld},        {"ReduceL2", 18, ReduceNew},
    {"ReduceLogSum", 1, ReduceOld},    {"ReduceLogSum", 18, ReduceNew},
    {"ReduceLogSumExp", 1, ReduceOld}, {"ReduceLogSumExp", 18, ReduceNew},
    {"ReduceMax", 1, ReduceOld},       {"ReduceMax", 18, ReduceNew},
    {"ReduceMean", 1, ReduceOld},      {"ReduceMean", 18, ReduceNew},
    {"ReduceMin", 1, ReduceOld},       {"ReduceMin", 18, ReduceNew},
    {"ReduceProd", 1, ReduceOld},      {"ReduceProd", 18, ReduceNew},
    {"ReduceSum", 1, ReduceOld},       {"ReduceSum", 13, ReduceNew},
    {"ReduceSumSquare", 1, ReduceOld}, {"ReduceSumSquare", 18, ReduceNew},
};

}  // namespace

std::span<const HandlerRow> ReductionHandlers() {
  return kReductionRows;
}

}  // namespace sluice::onnx
