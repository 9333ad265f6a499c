#include <algorithm>
#include <string>

#include "sluice/onnx/import/handlers.h"

namespace sluice::onnx {

namespace {

// The numbers of a constant of floats.
Doubles FloatsOf(const Tensor& constant) {
  SLUICE_ENFORCE(
      constant.dims().rank() <= 1 && (constant.dtype() == DType::kFloat32 ||
                                      constant.dtype() == DType::kFloat64),
      ErrorCode::kInvalidArgument, "onnx.resize_scales",
      "its scales are {} {}; expected a list of float32", constant.dtype(),
      constant.dims());
  if (constant.dtype() == DType::kFloat64) return constant.ToVector<double>();
  const std::vector<float> values = constant.ToVector<float>();
  return {values.begin(), values.end()};
}

// Returns whether input `index` exists and is not an empty list.
bool HasNumbers(const Node& node, int index) {
  if (!node.HasInput(index)) return false;
  const Tensor* constant = node.Constant(index);
  return constant == nullptr || constant->numel() > 0;
}

// The dims to resize: all dims if attribute axes is omitted.
Ints AxesOf(Node& node) {
  Ints axes = node.attributes().Ints("axes");
  if (axes.empty()) return axes;
  const int rank = RankOf(node, 0);
  for (int64_t& axis : axes) {
    axis = AxisOf(axis, rank);
  }
  Ints sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  SLUICE_ENFORCE(
      std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(),
      ErrorCode::kInvalidArgument, "onnx.resize_axes",
      "attribute axes has a dim twice");
  return axes;
}

// Places `values` at the dims in `axes`, and `rest` at the others.
template <typename T>
std::vector<T> ForAllDims(const Ints& axes,
                          const std::vector<T>& values,
                          const std::vector<T>& rest) {
  if (axes.empty()) return values;
  SLUICE_ENFORCE(values.size() == axes.size(), ErrorCode::kInvalidArgument,
                 "onnx.resize_entries",
                 "there are {} scales or sizes for the {} dims of attribute "
                 "axes",
                 values.size(), axes.size());
  std::vector<T> all = rest;
  for (size_t i = 0; i < axes.size(); ++i) {
    all[axes[i]] = values[i];
  }
  return all;
}

// Combines `given`, with a number for each of `axes`, and `rest` for the other
// dims into a vector that is computed at run time.
std::string ComputedForAllDims(Node& node,
                               const Ints& axes,
                               const std::string& given,
                               const std::string& rest) {
  if (axes.empty()) return given;
  ArgVars parts;
  for (int64_t dim = 0; dim < RankOf(node, 0); ++dim) {
    const auto found = std::find(axes.begin(), axes.end(), dim);
    const bool is_given = found != axes.end();
    const int64_t at = is_given ? found - axes.begin() : dim;
    parts.push_back(node.Slice(is_given ? given : rest, at, at + 1));
  }
  return node.Concat(parts);
}

std::string ShapeOfX(Node& node) {
  return node.Unary("shape", node.In(0));
}

std::string ComputedSizes(Node& node, const Ints& axes) {
  if (axes.empty()) return node.In(3);
  return ComputedForAllDims(node, axes, node.In(3), ShapeOfX(node));
}

// A vector with the same number for each dim.
std::string Repeated(Node& node, double value, DType dtype) {
  return node.Append(
      "fill_constant", {},
      {{"shape", Ints{RankOf(node, 0)}}, {"value", value}, {"dtype", dtype}});
}

std::string ComputedScales(Node& node, const Ints& axes) {
  if (axes.empty()) return node.In(2);
  return ComputedForAllDims(node, axes, node.In(2),
                            Repeated(node, 1, node.TypeOf(2)));
}

// KeepAspectRatio for sizes or a shape that are unknown at import.
void KeepComputedRatio(Node& node,
                       const Ints& axes,
                       bool not_larger,
                       Inputs* inputs) {
  const auto as = [&node](const std::string& x, DType dtype) {
    return node.Unary("cast", x, {{"dtype", dtype}});
  };
  const std::string shape = ShapeOfX(node);
  std::string old = shape;
  if (!axes.empty()) {
    old = node.Gather({shape, node.Vector(axes)});
  }
  const std::string from = as(old, DType::kFloat64);
  const std::string ratios =
      node.Binary("elementwise_div", {as(node.In(3), DType::kFloat64), from});
  const std::string ratio =
      node.Unary(not_larger ? "reduce_min" : "reduce_max", ratios,
                 {{"dim", Ints{0}}, {"keep_dim", true}});
  const std::string exact = node.Binary("elementwise_mul", {from, ratio});
  const std::string rounded =
      node.Unary("floor", node.Unary("scale", exact, {{"bias", 0.5}}));
  const std::string zeros = node.Unary("scale", from, {{"scale", 0.0}});
  const std::string scales = node.Binary("elementwise_add", {zeros, ratio});
  inputs->emplace_back(
      "Sizes", ArgVars{ComputedForAllDims(node, axes,
                                          as(rounded, DType::kInt64), shape)});
  inputs->emplace_back(
      "Scales", ArgVars{ComputedForAllDims(
                    node, axes, scales, Repeated(node, 1, DType::kFloat64))});
}

// Computes sizes that keep the ratio of the dims in `axes`: one scale for all,
// and sizes rounded half up (ONNX, Resize of opset 18).
void KeepAspectRatio(const Node& node,
                     const Ints& axes,
                     bool not_larger,
                     AttributeMap* attributes) {
  const DDim x = node.Dims(0);
  auto& sizes = std::get<Ints>((*attributes)["sizes"]);
  const auto resized = [&](int i) {
    return x[i] != 0 &&
           (axes.empty() || std::count(axes.begin(), axes.end(), i) > 0);
  };
  if (!x.known() || sizes.size() != static_cast<size_t>(x.rank())) {
    Node::Unsupported(
        "keep_aspect_ratio_policy for an input whose shape is not known: {}",
        Printable(x));
  }
  double scale = -1;
  for (int i = 0; i < x.rank(); ++i) {
    if (!resized(i)) continue;
    const double here =
        static_cast<double>(sizes[i]) / static_cast<double>(x[i]);
    const bool better = not_larger ? here < scale : here > scale;
    if (scale < 0 || better) scale = here;
  }
  Doubles scales(sizes.size(), 1);
  for (int i = 0; i < x.rank(); ++i) {
    if (!resized(i)) continue;
    const double size = scale * static_cast<double>(x[i]) + 0.5;
    scales[i] = scale;
    sizes[i] = static_cast<int64_t>(std::min(size, 9e18));
  }
  (*attributes)["scales"] = scales;
}

// Adds sizes or scales to the inputs or attributes of the op.
void AddSizes(Node& node,
              const Ints& axes,
              Inputs* inputs,
              AttributeMap* attributes) {
  const std::string policy =
      node.attributes().String("keep_aspect_ratio_policy", "stretch");
  const bool stretch = policy == "stretch";
  SLUICE_ENFORCE(stretch || policy == "not_larger" || policy == "not_smaller",
                 ErrorCode::kInvalidArgument, "onnx.resize_policy",
                 "attribute keep_aspect_ratio_policy is {}; expected stretch, "
                 "not_larger or not_smaller",
                 Shown(policy));
  if (!HasNumbers(node, 3)) {  // the policy applies to sizes only
    const Tensor* constant = node.Constant(2);
    if (constant != nullptr) {
      const Doubles ones(
          axes.empty() ? 0 : static_cast<size_t>(RankOf(node, 0)), 1);
      (*attributes)["scales"] = ForAllDims(axes, FloatsOf(*constant), ones);
    } else {
      inputs->emplace_back("Scales", ArgVars{ComputedScales(node, axes)});
    }
    return;
  }
  const DDim x = node.Dims(0);
  const bool all_known = axes.empty() || (x.rank_known() && x.known());
  if (node.Constant(3) != nullptr && all_known) {
    const Ints here = axes.empty() ? Ints() : Ints(x.begin(), x.end());
    (*attributes)["sizes"] =
        ForAllDims(axes, node.ConstantInts(3, "sizes"), here);
    if (!stretch) {
      KeepAspectRatio(node, axes, policy == "not_larger", attributes);
    }
    return;
  }
  if (!stretch) {
    return KeepComputedRatio(node, axes, policy == "not_larger", inputs);
  }
  inputs->emplace_back("Sizes", ArgVars{ComputedSizes(node, axes)});
}

// Adds the region of X that tf_crop_and_resize samples. Input roi has the
// starts of `axes`, followed by the ends.
void AddRoi(Node& node, const Ints& axes, Inputs* inputs) {
  SLUICE_ENFORCE(HasNumbers(node, 1), ErrorCode::kInvalidArgument,
                 "onnx.resize_roi",
                 "roi (input 1) is not given; coordinate_transformation_mode "
                 "tf_crop_and_resize needs it");
  std::string roi = node.Cast(node.In(1), DType::kFloat64);
  if (!axes.empty()) {
    const auto count = static_cast<int64_t>(axes.size());
    ArgVars bounds;
    for (const int64_t first : {int64_t{0}, count}) {
      const std::string given = node.Slice(roi, first, first + count);
      bounds.push_back(ComputedForAllDims(
          node, axes, given,
          Repeated(node, first == 0 ? 0 : 1, DType::kFloat64)));
    }
    roi = node.Concat(bounds);
  }
  inputs->emplace_back("Roi", ArgVars{roi});
}

// Coordinates of tf_half_pixel_for_nn, of opset 11, are those of half_pixel
// plus a half. Returns the rounding of half_pixel that selects the same
// elements.
std::string RoundingOfHalfPixel(const std::string& mode,
                                const std::string& rounding) {
  if (mode == "nearest" && rounding == "floor") return "round_prefer_ceil";
  if (mode == "nearest" && rounding == "round_prefer_floor") return "ceil";
  Node::Unsupported(
      "coordinate_transformation_mode = tf_half_pixel_for_nn with mode {} and "
      "nearest_mode {}; expected nearest, with floor or round_prefer_floor",
      Shown(mode), Shown(rounding));
}

// Imports Resize from opset 11 on.
void Resize(Node& node) {
  auto& given = node.attributes();
  std::string coordinates =
      given.String("coordinate_transformation_mode", "half_pixel");
  const std::string mode = given.String("mode", "nearest");
  std::string rounding = given.String("nearest_mode", "round_prefer_floor");
  if (coordinates == "tf_half_pixel_for_nn") {
    coordinates = "half_pixel";
    rounding = RoundingOfHalfPixel(mode, rounding);
  }
  AttributeMap attributes = {
      {"mode", mode},
      {"coordinate_transformation_mode", coordinates},
      {"nearest_mode", rounding},
      {"cubic_coeff_a", given.Float("cubic_coeff_a", -0.75)},
      {"exclude_outside", given.Flag("exclude_outside")},
      {"antialias", given.Flag("antialias")},
      {"extrapolation_value", given.Float("extrapolation_value", 0)}};
  Inputs inputs = {{"X", {node.In(0)}}};
  SLUICE_ENFORCE(HasNumbers(node, 2) || HasNumbers(node, 3),
                 ErrorCode::kInvalidArgument, "onnx.resize_sizes",
                 "neither scales (input 2) nor sizes (input 3) are given");
  const Ints axes = AxesOf(node);
  AddSizes(node, axes, &inputs, &attributes);
  if (coordinates == "tf_crop_and_resize") AddRoi(node, axes, &inputs);
  node.Finish("resize", std::move(inputs), std::move(attributes));
}

AttributeMap EarlyAttributes(Node& node) {
  return {{"mode", node.attributes().String("mode", "nearest")},
          {"coordinate_transformation_mode", std::string("asymmetric")},
          {"nearest_mode", std::string("floor")}};
}

// Resize of opset 10 or Upsample, which makes no dim shorter. The scales are
// input 1. Element j is read at j / scale: for mode nearest rounded down along
// dims that become longer, and up along those that become shorter (like
// onnxruntime; ONNX left it open), which are resized after the others.
void Scaled(Node& node) {
  AttributeMap attributes = EarlyAttributes(node);
  const Tensor* constant = node.Constant(1);
  const Doubles scales = constant == nullptr ? Doubles() : FloatsOf(*constant);
  const bool is_open = constant == nullptr && node.type() == "Resize";
  const auto any = [&](const auto& is_so) {
    return is_open || std::any_of(scales.begin(), scales.end(), is_so);
  };
  const bool longer = any([](double scale) { return scale > 1; });
  const bool shorter = any([](double scale) { return scale < 1; });
  std::string x = node.In(0), by = node.In(1);
  if (shorter && std::get<std::string>(attributes["mode"]) == "nearest") {
    const std::string one = node.Number(1, node.TypeOf(1));
    if (longer) {
      const std::string least = node.Binary("elementwise_max", {by, one});
      x = node.Append("resize", {{"X", {x}}, {"Scales", {least}}}, attributes);
    }
    by = node.Binary("elementwise_min", {by, one});
    attributes["nearest_mode"] = std::string("ceil");
  }
  node.Finish("resize", {{"X", {x}}, {"Scales", {by}}}, std::move(attributes));
}

void Upsample7(Node& node) {
  AttributeMap attributes = EarlyAttributes(node);
  attributes["scales"] = node.attributes().Floats("scales");
  node.FinishUnary("resize", node.In(0), std::move(attributes));
}

}  // namespace

const HandlerTable kResizeHandlers = {
    {"Resize", 10, Scaled},
    {"Resize", 11, Resize},
    {"Upsample", 7, Upsample7},
    {"Upsample", 9, Scaled},
};

}  // namespace sluice::onnx
