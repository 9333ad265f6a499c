#include "sluice/onnx/import/handlers.h"

namespace sluice::onnx {

namespace {

template <bool kLargest>
void ArgBest(Node& node) {
  Attributes& attributes = node.attributes();
  node.Finish(
      kLargest ? "arg_max" : "arg_min", {{"X", {node.In(0)}}},
      {{"axis", attributes.Int("axis", 0)},
       {"keepdims", attributes.Int("keepdims", 1) != 0},
       {"select_last_index", attributes.Int("select_last_index", 0) != 0}});
}

constexpr HandlerRow kRows[] = {
    {"ArgMax", 1, ArgBest<true>},
    {"ArgMin", 1, ArgBest<false>},
};

}  // namespace

std::span<const HandlerRow> SearchHandlers() {
  return kRows;
}

}  // namespace sluice::onnx
