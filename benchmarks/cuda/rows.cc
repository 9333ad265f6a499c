#include "benchmarks/cuda/rows.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <nlohmann/json.hpp>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/laboratory/tuning/corpus_layers.h"
#include "sluice/platform/error.h"

namespace sluice {

std::string_view CudaBenchmarkRows();  // rows.json

namespace bench {

namespace {

using Json = nlohmann::ordered_json;

const Json& Described() {
  static const Json kDescribed = Json::parse(CudaBenchmarkRows());
  return kDescribed;
}

bool HasKernel(const std::string& op) {
  const auto kernels = Registry::Global().Kernels(op);
  return std::any_of(kernels.begin(), kernels.end(), [](const auto* kernel) {
    return kernel->key.place == PlaceKind::kCUDA &&
           kernel->key.dtype == DType::kFloat32;
  });
}

// Puts the members of a size in place of their names.
Json Resolved(Json json, const Json& size) {
  if (json.is_string() && size.contains(json.get<std::string>())) {
    return size.at(json.get<std::string>());
  }
  if (json.is_structured()) {
    for (Json& each : json) {
      each = Resolved(std::move(each), size);
    }
  }
  return json;
}

OpExample ExampleAt(const std::string& op, const Json& one, const Json& size) {
  const Json attributes = one.value("attributes", Json::object());
  const Json example = {{"op", op},
                        {"inputs", Resolved(one.at("inputs"), size)},
                        {"attributes", Resolved(attributes, size)}};
  return ExampleFromJson(example.dump(), "benchmarks/cuda/rows.json");
}

Json ConvolutionSize(const ConvLayer& layer, int64_t batch) {
  return {
      {"name", Format("{}x{}_{}x{}x{}_s{}", layer.in_c, layer.in_h, layer.out_c,
                      layer.kernel_h, layer.kernel_w, layer.stride)},
      {"image", {batch, layer.in_c, layer.in_h, layer.in_w}},
      {"filter", {layer.out_c, layer.in_c, layer.kernel_h, layer.kernel_w}},
      {"strides", {layer.stride, layer.stride}},
      {"paddings", {layer.pad_h, layer.pad_w}}};
}

// Those of ResNet-50, each with a smaller one.
Json ConvolutionSizes() {
  constexpr int64_t kBatch = 32;
  Json sizes = Json::array();
  for (const ConvLayer& layer : ResNet50Convolutions()) {
    ConvLayer small = layer;
    small.in_c = std::min<int64_t>(layer.in_c, 5);
    small.in_h = small.in_w = std::min<int64_t>(layer.in_h, 9);
    small.out_c = std::min<int64_t>(layer.out_c, 6);
    Json size = ConvolutionSize(layer, kBatch);
    size["small"] = ConvolutionSize(small, 2);
    sizes.push_back(std::move(size));
  }
  return sizes;
}

// What an op needs that the file does not describe: Param and Grad, the state
// between steps, and the learning rate of an optimizer; else tensors of one
// shape.
Json UndescribedCase(const std::string& op) {
  const OpSchema& schema = Registry::Global().Schema(op);
  const bool updates = schema.FindInput("LearningRate") != nullptr;
  Json inputs = Json::array();
  for (const auto& input : schema.inputs()) {
    if (input.traits.optional) continue;
    // Second moments are not negative, and powers of beta are below 1.
    const bool state = updates && input.name != "Grad" && input.name != "Param";
    const bool scalar =
        updates && (input.traits.host || input.name.ends_with("Pow"));
    inputs.push_back({input.name, "T",
                      scalar ? Json::array({1}) : Json("matrix"),
                      state ? 0.1 : -1, state ? 0.9 : 1});
  }
  const auto& attributes = schema.attributes();
  const bool complete =
      std::all_of(attributes.begin(), attributes.end(),
                  [](const auto& each) { return each.default_value; });
  if (!updates && (inputs.empty() || !complete)) {
    Raise(ErrorCode::kUnimplemented, "bench.no_case",
          "{} needs a description in benchmarks/cuda/rows.json", op);
  }
  Json one;
  one["inputs"] = std::move(inputs);
  return one;
}

// Multiply-adds, or pairs: as many as each filter, or row of Y, has elements,
// for each element of the output. Matrices are square.
double PairsOf(const OneOp& op) {
  const DDim& second = op.feeds.at(1).second.dims();
  const DDim& out = op.program.FindVar(op.fetches.at(0).name()).dims;
  return static_cast<double>(out.numel()) *
         static_cast<double>(second.numel() / second[0]);
}

// Adds a row for the op, and one for each of its gradients with a kernel.
// `row.id` is the suffix of the op's name: "/1MB", ".dim0/1MB".
void AddWithGradients(OpRow row, std::vector<OpRow>* rows) {
  const std::string rest = row.id;
  const std::string& op = row.forward.op;
  const OneOp forward = DescribeForward(row.forward);
  const bool moves = row.unit == "GB/s";
  row.id = Format("cuda/{}{}", op, rest);
  if (!moves) {
    row.work = PairsOf(forward) * (row.unit == "TFLOP/s" ? 2 : 1);
  } else if (row.work == 0) {
    row.work = BytesOf(forward);
  }
  rows->push_back(row);
  row.note.clear();
  for (const std::string& gradient : GradientOps(forward)) {
    // Skips gradients by the op itself (transpose) or another one (squeeze).
    if (!HasKernel(gradient) || !gradient.starts_with(op + "_grad")) continue;
    row.gradient = gradient;
    row.id = Format("cuda/{}{}", gradient, rest);
    if (moves) row.work = BytesOf(DescribeGradient(forward, gradient));
    rows->push_back(row);
  }
}

void AddCase(const std::string& op, const Json& one, std::vector<OpRow>* rows) {
  Json sizes = one.value("sizes", Described().at("sizes"));
  if (sizes.is_string()) sizes = ConvolutionSizes();
  const std::string variant = one.value("variant", "");
  for (size_t i = 0; i < sizes.size(); ++i) {
    const Json& size = sizes[i];
    const Json small = size.value("small", one.value("small", sizes[0]));
    AddWithGradients(
        {.id = (variant.empty() ? "" : "." + variant) + "/" +
               size.at("name").get<std::string>(),
         .forward = ExampleAt(op, one, size),
         .unit = one.value("unit", "GB/s"),
         .work = Resolved(one.value("bytes", Json(0)), size).get<double>(),
         .size = size.value("bytes", int64_t{0}),
         .small = ExampleAt(op, one, small),
         .check_small = i == 0 || size.contains("small"),
         .note = size.value("note", "")},
        rows);
  }
}

void AddOp(const std::string& op, Rows* all) {
  const Json& cases = Described().at("cases");
  try {
    if (!cases.contains(op)) {
      AddCase(op, UndescribedCase(op), &all->rows);
    } else if (cases.at(op).is_string()) {
      all->left_out[op] = cases.at(op).get<std::string>();
    } else {
      for (const Json& one : cases.at(op)) {
        AddCase(op, one, &all->rows);
      }
    }
  } catch (const Error& error) {
    all->left_out[op] = error.what();
  }
}

}  // namespace

const std::vector<NamedSize>& Sizes() {
  static const std::vector<NamedSize> kSizes = [] {
    std::vector<NamedSize> sizes;
    for (const Json& size : Described().at("sizes")) {
      sizes.push_back({size.at("name"), size.at("bytes")});
    }
    return sizes;
  }();
  return kSizes;
}

Rows AllRows() {
  Rows all;
  const Registry& registry = Registry::Global();
  std::vector<std::string> gradients;
  for (const std::string& op : registry.OpNames()) {
    if (!HasKernel(op)) continue;
    // Gradients are added with their forward ops.
    const auto& outputs = registry.Schema(op).outputs();
    if (!outputs.empty() && outputs[0].name.ends_with("@GRAD")) {
      gradients.push_back(op);
    } else if (registry.Schema(op).internal()) {
      all.left_out[op] = "only passes make this op";
    } else {
      AddOp(op, &all);
    }
  }
  std::set<std::string> measured;
  for (const OpRow& row : all.rows) {
    measured.insert(row.gradient);
  }
  for (const std::string& op : gradients) {
    if (measured.contains(op)) continue;
    all.left_out[op] = "no op that is measured has this gradient";
  }
  return all;
}

OneOp DescribeMeasured(const OpRow& row, const OneOp& forward) {
  return row.gradient.empty() ? forward
                              : DescribeGradient(forward, row.gradient);
}

}  // namespace bench

}  // namespace sluice
