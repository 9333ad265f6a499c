#include <string>
#include <variant>

#include "sluice/onnx/handlers/window.h"
#include "sluice/onnx/import/handlers.h"
#include "sluice/platform/error.h"

namespace sluice::onnx {

namespace {

// With ceil_mode the last window may reach past the padding. Of an average
// that counts the padding ONNX leaves out what is past it, pool2d does not.
bool ReachesPastPadding(const Node& node,
                        const Ints& kernel,
                        const Windows& windows) {
  for (size_t i = 0; i < 2; ++i) {
    const int64_t size = ImageSize(node, i);
    if (size < 0 || windows.strides[i] < 1) return true;
    const int64_t padded =
        size + windows.paddings[2 * i] + windows.paddings[2 * i + 1];
    if ((padded - kernel[i]) % windows.strides[i] != 0) return true;
  }
  return false;
}

AttributeMap PoolAttributes(Node& node, const char* type, bool exclusive) {
  Ints kernel = node.attributes().Ints("kernel_shape");
  const Windows windows = ReadWindows(node, &kernel);
  if (windows.dilations != Ints{1, 1}) {
    Node::Unsupported("windows with dilations");
  }
  const bool ceil = node.attributes().Int("ceil_mode", 0) != 0;
  if (ceil && !exclusive && ReachesPastPadding(node, kernel, windows)) {
    Node::Unsupported("ceil_mode together with count_include_pad");
  }
  return {{"pooling_type", std::string(type)},
          {"ksize", kernel},
          {"strides", windows.strides},
          {"paddings", windows.paddings},
          {"exclusive", exclusive},
          {"ceil_mode", ceil}};
}

// Small integers are compared as float32, which has them all.
void MaxPool(Node& node) {
  node.AllowOutputs(1);
  node.attributes().Ignore("storage_order");  // of the indices
  const AttributeMap attributes = PoolAttributes(node, "max", true);
  const DType dtype = node.TypeOf(0);
  if (dtype != DType::kInt8 && dtype != DType::kUInt8) {
    return FinishImage(node, "pool2d", {{"X", {AsImage(node, 0)}}}, attributes);
  }
  const std::string x = node.Append("cast", {{"X", {AsImage(node, 0)}}},
                                    {{"dtype", DType::kFloat32}});
  const std::string largest = node.Append("pool2d", {{"X", {x}}}, attributes);
  FinishImage(node, "cast", {{"X", {largest}}}, {{"dtype", dtype}});
}

void AveragePool(Node& node) {
  const bool exclusive = node.attributes().Int("count_include_pad", 0) == 0;
  FinishImage(node, "pool2d", {{"X", {AsImage(node, 0)}}},
              PoolAttributes(node, "avg", exclusive));
}

// The root of order p of the sum of |x|^p over a window, whose padding is 0:
// of the mean, times the number of elements.
void LpPool(Node& node) {
  const AttributeMap attributes = PoolAttributes(node, "avg", false);
  const auto p = static_cast<double>(node.attributes().Int("p", 2));
  double count = 1;
  for (const int64_t size : std::get<Ints>(attributes.at("ksize"))) {
    count *= static_cast<double>(size);
  }
  const auto power = [&node](const std::string& x, double exponent) {
    const std::string number = node.Append(
        "cast",
        {{"X", {node.NewConstant(Tensor::FromVector<double>({}, {exponent}))}}},
        {{"dtype", node.TypeOf(0)}});
    return node.Append("elementwise_pow", {{"X", {x}}, {"Y", {number}}});
  };
  const std::string x = node.Append("abs", {{"X", {AsImage(node, 0)}}});
  const std::string mean =
      node.Append("pool2d", {{"X", {power(x, p)}}}, attributes);
  const std::string sum =
      node.Append("scale", {{"X", {mean}}}, {{"scale", count}});
  FinishImage(node, "assign", {{"X", {power(sum, 1 / p)}}}, {});
}

// All dims but the first two become 1.
void GlobalPool(Node& node, const char* type, const char* reduction) {
  const int rank = RankOf(node, 0);
  if (rank == 4) {
    return node.Finish(
        "pool2d", {{"X", {node.In(0)}}},
        {{"pooling_type", std::string(type)}, {"global_pooling", true}});
  }
  Ints dims;
  for (int64_t i = 2; i < rank; ++i) {
    dims.push_back(i);
  }
  if (dims.empty()) return node.Finish("assign", {{"X", {node.In(0)}}});
  node.Finish(reduction, {{"X", {node.In(0)}}},
              {{"dim", dims}, {"keep_dim", true}});
}

void GlobalAveragePool(Node& node) {
  GlobalPool(node, "avg", "reduce_mean");
}

void GlobalMaxPool(Node& node) {
  GlobalPool(node, "max", "reduce_max");
}

constexpr HandlerRow kRows[] = {
    {"AveragePool", 1, AveragePool},
    {"GlobalAveragePool", 1, GlobalAveragePool},
    {"GlobalMaxPool", 1, GlobalMaxPool},
    {"LpPool", 2, LpPool},
    {"MaxPool", 1, MaxPool},
};

}  // namespace

std::span<const HandlerRow> PoolHandlers() {
  return kRows;
}

}  // namespace sluice::onnx
