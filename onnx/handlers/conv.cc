#include "sluice/onnx/handlers/window.h"
#include "sluice/onnx/import/handlers.h"
#include "sluice/platform/error.h"

namespace sluice::onnx {

namespace {

void Conv(Node& node) {
  const DDim filter = node.Dims(1);
  if (!filter.known()) {
    Node::Unsupported("the shape of its filter, {}, is not known",
                      platform::Printable(filter));
  }
  Ints kernel(filter.begin() + std::min(filter.rank(), 2), filter.end());
  const Ints stated = node.attributes().Ints("kernel_shape");
  SLUICE_ENFORCE(stated.empty() || stated == kernel,
                 ErrorCode::kInvalidArgument, "onnx.conv_kernel_shape",
                 "attribute kernel_shape is not the size of the filter, {}",
                 filter);
  const Windows windows = ReadWindows(node, kernel);
  Inputs inputs = {{"Input", {node.In(0)}}, {"Filter", {node.In(1)}}};
  if (node.HasInput(2)) inputs.push_back({"Bias", {node.In(2)}});
  node.Finish("conv2d", std::move(inputs),
              {{"strides", windows.strides},
               {"paddings", windows.paddings},
               {"dilations", windows.dilations},
               {"groups", node.attributes().Int("group", 1)}},
              "Output");
}

constexpr HandlerRow kRows[] = {{"Conv", 1, Conv}};

}  // namespace

std::span<const HandlerRow> ConvHandlers() {
  return kRows;
}

}  // namespace sluice::onnx
