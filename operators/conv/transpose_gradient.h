#pragma once

#include <utility>

#include "sluice/operators/registration.h"

namespace sluice {

// The gradient of a transposed convolution by its input is convolution `conv`.
// Its gradient by the filter is that of `conv`, with the input as the gradient
// of conv's output. The bias gradient is the sum over `bias_dims`.
inline std::vector<OpDesc> ConvTransposeGradient(
    const OpDesc& forward,
    const std::string& conv,
    const std::vector<int64_t>& bias_dims) {
  const std::string out_grad = GradName(forward.Output("Output").at(0));
  const auto make = [&](const std::string& type,
                        std::vector<std::pair<std::string, ArgVars>> inputs,
                        const std::string& output, const std::string& of) {
    OpDesc grad;
    grad.type = type;
    grad.inputs = std::move(inputs);
    grad.outputs = {{output, {GradName(forward.Input(of).at(0))}}};
    grad.attributes = forward.attributes;
    grad.attributes.erase("output_padding");
    grad.hint = forward.hint;
    grad.location = forward.location;
    return grad;
  };
  const ArgVars& filter = forward.Input("Filter");
  std::vector<OpDesc> grads = {
      make(conv, {{"Input", {out_grad}}, {"Filter", filter}}, "Output",
           "Input"),
      make(conv + "_grad_filter",
           {{"Input", {out_grad}},
            {"Filter", filter},
            {"Output@GRAD", forward.Input("Input")}},
           "Filter@GRAD", "Filter")};
  if (!forward.Input("Bias").empty()) {
    grads.push_back(make("reduce_sum", {{"X", {out_grad}}}, "Out", "Bias"));
    grads.back().attributes = {{"dim", bias_dims}};
  }
  return grads;
}

}  // namespace sluice
