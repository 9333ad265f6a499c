#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "sluice/onnx/import/handlers.h"
#include "sluice/onnx/import/tensor_values.h"
#include "sluice/onnx/import/term.h"
#include "sluice/onnx/onnx.pb.h"

namespace sluice::onnx {

namespace {

constexpr double kPi = 3.14159265358979323846;

// Attribute output_datatype.
DType OutputType(Node& node) {
  return ToDType(static_cast<int>(node.attributes().Int("output_datatype",
                                                        TensorProto::FLOAT)),
                 "attribute output_datatype");
}

// a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N) for 0 <= n < size. The size is
// input 0; N is the size, or size - 1 if the window is not periodic.
void CosineWindow(Node& node, double a0, double a1, double a2) {
  const bool periodic = node.attributes().Flag("periodic", true);
  const DType dtype = OutputType(node);
  const auto as = [&node](const std::string& x, DType to) {
    return node.Unary("cast", x, {{"dtype", to}});
  };
  const auto scaled = [&node](const std::string& x, double scale, double bias) {
    return node.Unary("scale", x, {{"scale", scale}, {"bias", bias}});
  };
  const std::string size = as(node.In(0), DType::kFloat64);
  const std::string count = periodic ? size : scaled(size, 1, -1);
  const std::string places =
      node.Append("range", {{"End", {size}}}, {{"dtype", DType::kFloat64}});
  const std::string part = node.Binary("elementwise_div", {places, count});
  const auto cosine = [&](double turns, double scale, double bias) {
    const std::string angle = scaled(part, 2 * kPi * turns, 0);
    return scaled(node.Unary("cos", angle), scale, bias);
  };
  const std::string first = cosine(1, -a1, a0);
  const std::string sum =
      node.Binary("elementwise_add", {first, cosine(2, a2, 0)});
  node.FinishUnary("cast", sum, {{"dtype", dtype}});
}

void Window(Node& node) {
  // ONNX's coefficient of Hamming's differs from the usual 0.54.
  constexpr double kHamming = 25.0 / 46.0;
  if (node.type() == "BlackmanWindow") {
    return CosineWindow(node, 0.42, 0.5, 0.08);
  }
  const double first = node.type() == "HannWindow" ? 0.5 : kHamming;
  CosineWindow(node, first, 1 - first, 0);
}

// Triangles of frequencies, equally wide in mels, f -> 2595 log10(1 + f / 700):
// a matrix [places of a one-sided DFT, triangles]. Their corners are places,
// rounded down; where two of them are equal, so is that side of the triangle.
void MelWeightMatrix(Node& node) {
  const DType dtype = OutputType(node);
  constexpr const char* kNames[] = {"num_mel_bins", "dft_length", "sample_rate",
                                    "lower_edge_hertz", "upper_edge_hertz"};
  std::vector<Term> given;
  double least = 1;
  for (int i = 0; i < 5; ++i) {
    given.push_back(
        {&node, node.Reshape(node.Cast(node.In(i), DType::kFloat64), {})});
    const Tensor* known = node.ConstantOf(given.back().name);
    const double number = known == nullptr ? least : known->data<double>()[0];
    SLUICE_ENFORCE(number >= least, ErrorCode::kInvalidArgument,
                   "onnx.mel_input",
                   "its {} (input {}) is {}; expected {} or more", kNames[i], i,
                   number, least);
    if (i == 2) least = 0;
    if (i == 3) least = number;
  }
  const auto mel = [](const Term& hertz) {
    return (1.0 / 700 * hertz + 1).Of("log");
  };
  const auto count = [&node](const Term& end) -> Term {
    return {&node, node.Append("range", {{"End", {end.name}}},
                               {{"dtype", DType::kFloat64}})};
  };
  const Term low = mel(given[3]), corners = given[0] + 2;
  const Term mels = low + count(corners) * ((mel(given[4]) - low) / corners);
  const Term hertz = 700.0 * mels.Of("exp") - 700;
  const Term places =
      (hertz * (given[1] + 1)).With("elementwise_floordiv", given[2]);
  const Term left = places.Part(0, -2), centre = places.Part(1, -1),
             right = places.Part(2, INT64_MAX), one = places.Number(1);
  const Term rows = count((0.5 * given[1]).Of("floor") + 1);
  const Term after = rows.Unsqueeze({1}) - centre;
  // The distance from the centre, relative to that side's width.
  const Term distance = Larger(-1.0 * after / Larger(centre - left, one),
                               after / Larger(right - centre, one));
  node.FinishUnary("cast", (-1.0 * distance + 1).Of("relu").name,
                   {{"dtype", dtype}});
}

AttributeMap DftAttributes(Node& node) {
  return {{"inverse", node.attributes().Flag("inverse")},
          {"onesided", node.attributes().Flag("onesided")}};
}

void Dft17(Node& node) {
  AttributeMap attributes = DftAttributes(node);
  attributes["axis"] = node.attributes().Int("axis", 1);
  Inputs inputs = {{"X", {node.In(0)}}};
  if (node.HasInput(1)) inputs.push_back({"DftLength", {node.In(1)}});
  node.Finish("dft", std::move(inputs), std::move(attributes));
}

// In opset 20 the axis became an input, with another default.
void Dft20(Node& node) {
  node.FinishAs("dft", DftAttributes(node));
}

// A number that STFT takes: its value, or, where that is known only at run
// time, an int64 variable [1].
struct StftNumber {
  int64_t value = kUnknownDim;
  std::string late = {};

  std::string Variable(Node& node) const {
    return late.empty() ? node.Vector({value}) : late;
  }
};

// Input `index`, one element.
StftNumber StftInput(Node& node, int index, const char* what) {
  if (node.Constant(index) == nullptr) {
    return {.late =
                node.Reshape(node.Cast(node.In(index), DType::kInt64), {1})};
  }
  const Ints values = node.ConstantInts(index, what);
  SLUICE_ENFORCE(values.size() == 1 && values[0] >= 1,
                 ErrorCode::kInvalidArgument, "onnx.stft_number",
                 "input {} (its {}) is no number of 1 or more", index, what);
  return {.value = values[0]};
}

StftNumber StftSize(Node& node, const std::string& x, int axis) {
  const int64_t size = node.SizeOf(x, axis);
  if (size >= 0) return {.value = size};
  return {
      .late = node.Unary(
          "shape", x, {{"start", int64_t{axis}}, {"end", int64_t{axis + 1}}})};
}

// The place in the signal of each element of each frame.
std::string FramePlaces(Node& node,
                        const StftNumber& signal,
                        const StftNumber& step,
                        const StftNumber& length) {
  if (!signal.late.empty() || !step.late.empty() || !length.late.empty()) {
    const std::string rest = node.Binary(
        "elementwise_sub", {signal.Variable(node), length.Variable(node)});
    const std::string steps =
        node.Binary("elementwise_floordiv", {rest, step.Variable(node)});
    const std::string frames =
        node.Binary("elementwise_add", {steps, node.Vector({1})});
    const std::string first = node.Binary(
        "elementwise_mul", {node.Count(frames), step.Variable(node)});
    return node.Binary("elementwise_add", {node.Unsqueeze(first, {1}),
                                           node.Count(length.Variable(node))});
  }
  SLUICE_ENFORCE(length.value >= 1 && length.value <= signal.value,
                 ErrorCode::kInvalidArgument, "onnx.stft_length",
                 "its frames have {} elements, and its signal has {}; expected "
                 "1 to {}",
                 length.value, signal.value, signal.value);
  const int64_t frames = (signal.value - length.value) / step.value + 1;
  Tensor places = node.NewTable({frames, length.value});
  auto* place = places.data<int64_t>();
  for (int64_t frame = 0; frame < frames; ++frame) {
    for (int64_t i = 0; i < length.value; ++i) {
      *place++ = frame * step.value + i;
    }
  }
  return node.NewConstant(std::move(places));
}

// Transforms frames of a signal, `length` long and `step` apart, each
// multiplied by a window. A signal [batch, length], as onnxruntime takes it,
// has real numbers.
void Stft(Node& node) {
  const int rank = RankOf(node, 0);
  SLUICE_ENFORCE(rank == 2 || rank == 3, ErrorCode::kInvalidArgument,
                 "onnx.stft_rank",
                 "its signal has shape {}; expected [batch, length] or [batch, "
                 "length, 1 or 2]",
                 Printable(node.Dims(0)));
  const StftNumber signal = StftSize(node, node.In(0), 1);
  const StftNumber step = StftInput(node, 1, "frame_step");
  StftNumber length = signal;
  if (node.HasInput(3)) {
    length = StftInput(node, 3, "frame_length");
  } else if (node.HasInput(2)) {
    length = StftSize(node, node.In(2), 0);
  }
  const std::string places = FramePlaces(node, signal, step, length);
  std::string x = node.In(0);
  if (rank == 2) x = node.Unsqueeze(x, {2});
  std::string pieces = node.Gather({x, places}, 1);
  if (node.HasInput(2)) {
    pieces = node.Binary("elementwise_mul",
                         {pieces, node.Unsqueeze(node.In(2), {1})});
  }
  node.FinishUnary("dft", pieces,
                   {{"axis", int64_t{2}},
                    {"onesided", node.attributes().Flag("onesided", true)}});
}

}  // namespace

const HandlerTable kSignalHandlers = {
    {"BlackmanWindow HammingWindow HannWindow", 17, Window},
    {"DFT", 17, Dft17},
    {"DFT", 20, Dft20},
    {"MelWeightMatrix", 17, MelWeightMatrix},
    {"STFT", 17, Stft},
};

}  // namespace sluice::onnx
