#include <cmath>
#include <string>

#include "sluice/onnx/import/handlers.h"
#include "sluice/onnx/import/tensor_values.h"
#include "sluice/onnx/onnx.pb.h"

namespace sluice::onnx {

namespace {

constexpr double kPi = 3.14159265358979323846;

// a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N) for n from 0 to before the size,
// input 0; N is the size, or one less for a window that is not periodic.
void CosineWindow(Node& node, double a0, double a1, double a2) {
  const bool periodic = node.attributes().Int("periodic", 1) != 0;
  const DType dtype =
      ToDType(static_cast<int>(node.attributes().Int(
                  "output_datatype", ::onnx::TensorProto::FLOAT)),
              "attribute output_datatype");
  const auto as = [&node](const std::string& x, DType to) {
    return node.Append("cast", {{"X", {x}}}, {{"dtype", to}});
  };
  const auto scaled = [&node](const std::string& x, double scale, double bias) {
    return node.Append("scale", {{"X", {x}}},
                       {{"scale", scale}, {"bias", bias}});
  };
  const std::string size = as(node.In(0), DType::kFloat64);
  const std::string count = periodic ? size : scaled(size, 1, -1);
  const std::string places =
      node.Append("range", {{"End", {size}}}, {{"dtype", DType::kFloat64}});
  const std::string part =
      node.Append("elementwise_div", {{"X", {places}}, {"Y", {count}}});
  const auto cosine = [&](double turns, double scale, double bias) {
    const std::string angle = scaled(part, 2 * kPi * turns, 0);
    return scaled(node.Append("cos", {{"X", {angle}}}), scale, bias);
  };
  const std::string first = cosine(1, -a1, a0);
  const std::string sum = node.Append(
      "elementwise_add", {{"X", {first}}, {"Y", {cosine(2, a2, 0)}}});
  node.Finish("cast", {{"X", {sum}}}, {{"dtype", dtype}});
}

void HannWindow(Node& node) {
  CosineWindow(node, 0.5, 0.5, 0);
}

// ONNX's coefficient, which is not the 0.54 of others.
void HammingWindow(Node& node) {
  constexpr double kFirst = 25.0 / 46.0;
  CosineWindow(node, kFirst, 1 - kFirst, 0);
}

void BlackmanWindow(Node& node) {
  CosineWindow(node, 0.42, 0.5, 0.08);
}

constexpr HandlerRow kRows[] = {{"BlackmanWindow", 17, BlackmanWindow},
                                {"HammingWindow", 17, HammingWindow},
                                {"HannWindow", 17, HannWindow}};

}  // namespace

std::span<const HandlerRow> SignalHandlers() {
  return kRows;
}

}  // namespace sluice::onnx
