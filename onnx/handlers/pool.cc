#include <string>

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
  const DDim x = node.Dims(0);
  for (size_t i = 0; i < 2; ++i) {
    const int64_t size = x[static_cast<int>(i) + 2];
    if (size < 0 || windows.strides[i] < 1) return true;
    const int64_t padded =
        size + windows.paddings[2 * i] + windows.paddings[2 * i + 1];
    if ((padded - kernel[i]) % windows.strides[i] != 0) return true;
  }
  return false;
}

void Pool(Node& node, const char* type, bool exclusive) {
  const Ints kernel = node.attributes().Ints("kernel_shape");
  const Windows windows = ReadWindows(node, kernel);
  if (windows.dilations != Ints{1, 1}) {
    Node::Unsupported("windows with dilations");
  }
  const bool ceil = node.attributes().Int("ceil_mode", 0) != 0;
  if (ceil && !exclusive && ReachesPastPadding(node, kernel, windows)) {
    Node::Unsupported("ceil_mode together with count_include_pad");
  }
  node.Finish("pool2d", {{"X", {node.In(0)}}},
              {{"pooling_type", std::string(type)},
               {"ksize", kernel},
               {"strides", windows.strides},
               {"paddings", windows.paddings},
               {"exclusive", exclusive},
               {"ceil_mode", ceil}});
}

void MaxPool(Node& node) {
  node.AllowOutputs(1);
  node.attributes().Ignore("storage_order");  // of the indices
  Pool(node, "max", true);
}

void AveragePool(Node& node) {
  Pool(node, "avg", node.attributes().Int("count_include_pad", 0) == 0);
}

void GlobalPool(Node& node, const char* type) {
  const int rank = RankOf(node, 0);
  if (rank != 4) {
    Node::Unsupported("its input has {} dims; there are kernels for 4", rank);
  }
  node.Finish("pool2d", {{"X", {node.In(0)}}},
              {{"pooling_type", std::string(type)}, {"global_pooling", true}});
}

void GlobalAveragePool(Node& node) {
  GlobalPool(node, "avg");
}

void GlobalMaxPool(Node& node) {
  GlobalPool(node, "max");
}

constexpr HandlerRow kRows[] = {
    {"AveragePool", 1, AveragePool},
    {"GlobalAveragePool", 1, GlobalAveragePool},
    {"GlobalMaxPool", 1, GlobalMaxPool},
    {"MaxPool", 1, MaxPool},
};

}  // namespace

std::span<const HandlerRow> PoolHandlers() {
  return kRows;
}

}  // namespace sluice::onnx
