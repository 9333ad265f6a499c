#include "sluice/onnx/handlers/affine.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace sluice::onnx {

namespace {

using Floats = std::vector<float>;

// The constant as one number for each of `channels` in dim 1 of an image of
// this rank; empty if it has no such form.
Floats PerChannel(const Tensor& constant, int rank, int64_t channels) {
  if (constant.dtype() != DType::kFloat32 || constant.dims().rank() > rank) {
    return {};
  }
  const DDim& dims = constant.dims();
  for (int axis = 0; axis < dims.rank(); ++axis) {
    const bool of_channels = axis + rank - dims.rank() == 1;
    if (dims[axis] != 1 && !(of_channels && dims[axis] == channels)) return {};
  }
  Floats values = constant.ToVector<float>();
  if (!std::all_of(values.begin(), values.end(),
                   [](float value) { return std::isfinite(value); })) {
    return {};
  }
  if (values.size() == 1) {
    values.resize(static_cast<size_t>(channels), values[0]);
  }
  return values;
}

}  // namespace

bool FoldIntoBatchNorm(Node& node, AffineKind kind) {
  const int norm_input = node.Constant(0) == nullptr ? 0 : 1;
  const Tensor* constant = node.Constant(1 - norm_input);
  const OpDesc* norm = node.OnlyReadHere(norm_input);
  if (constant == nullptr || norm == nullptr || norm->type != "batch_norm") {
    return false;
  }
  const Tensor* scale = node.ConstantOf(norm->Input("Scale")[0]);
  const Tensor* bias = node.ConstantOf(norm->Input("Bias")[0]);
  const int rank = node.Dims(norm_input).rank();
  if (scale == nullptr || bias == nullptr || rank < 2 ||
      scale->dtype() != DType::kFloat32 || bias->dtype() != DType::kFloat32) {
    return false;
  }
  const Floats values = PerChannel(*constant, rank, scale->numel());
  if (values.empty()) return false;
  Floats new_scale = scale->ToVector<float>();
  Floats new_bias = bias->ToVector<float>();
  for (size_t c = 0; c < values.size(); ++c) {
    if (kind == AffineKind::kMultiply) {
      new_scale[c] *= values[c];
      new_bias[c] *= values[c];
    } else {
      new_bias[c] += values[c];
    }
  }
  const OpDesc before = *norm;  // a copy: Finish adds an op
  const std::string scale_name =
      node.NewConstant(Tensor::FromVector(scale->dims(), new_scale));
  const std::string bias_name =
      node.NewConstant(Tensor::FromVector(bias->dims(), new_bias));
  node.Finish("batch_norm",
              {{"X", before.Input("X")},
               {"Scale", {scale_name}},
               {"Bias", {bias_name}},
               {"Mean", before.Input("Mean")},
               {"Variance", before.Input("Variance")}},
              before.attributes, "Y",
              {"MeanOut", "VarianceOut", "SavedMean", "SavedVariance"});
  return true;
}

std::optional<double> NumberFor(const Node& node, int constant, int input) {
  const Tensor* value = node.Constant(constant);
  if (value == nullptr || value->numel() != 1 ||
      value->dtype() != DType::kFloat32 || node.Constant(input) != nullptr ||
      value->dims().rank() > std::max(node.Dims(input).rank(), 0)) {
    return std::nullopt;
  }
  const double number = value->data<float>()[0];
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

bool ImportScale(Node& node, AffineKind kind) {
  const int input = node.Constant(0) == nullptr ? 0 : 1;
  const std::optional<double> number = NumberFor(node, 1 - input, input);
  if (!number) return false;
  if (kind == AffineKind::kMultiply) {
    node.FinishUnary("scale", node.In(input), {{"scale", *number}});
    return true;
  }
  const OpDesc* before = node.OnlyReadHere(input);
  std::string x = node.In(input);
  double scale = 1;
  if (before != nullptr && before->type == "scale" &&
      std::get<double>(before->attributes.at("bias")) == 0) {
    x = before->Input("X")[0];
    scale = std::get<double>(before->attributes.at("scale"));
  }
  node.FinishUnary("scale", x, {{"scale", scale}, {"bias", *number}});
  return true;
}

}  // namespace sluice::onnx
