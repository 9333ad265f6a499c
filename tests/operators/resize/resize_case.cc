#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/operators/harness/op_case.h"

// The cases of the harness for every kernel of resize and resize_grad.
namespace sluice::testing {
namespace {

using Doubles = std::vector<double>;
using Ints = std::vector<int64_t>;
using Matrix = std::vector<Doubles>;  // [out][in]

constexpr const char* kCoordinates[] = {"half_pixel", "half_pixel_symmetric",
                                        "pytorch_half_pixel", "align_corners",
                                        "asymmetric"};
constexpr const char* kRoundings[] = {"round_prefer_floor", "round_prefer_ceil",
                                      "floor", "ceil"};

struct Resizing {
  DDim x;
  AttributeMap attributes;
};

std::vector<Resizing> Resizings(const std::string& mode) {
  std::vector<Resizing> all;
  for (size_t i = 0; i < 5; ++i) {
    const AttributeMap common = {
        {"mode", mode},
        {"coordinate_transformation_mode", std::string(kCoordinates[i])},
        {"nearest_mode", std::string(kRoundings[i % 4])},
        {"exclude_outside", i % 2 == 1}};
    const auto add = [&](const DDim& x, const Ints& sizes,
                         const Doubles& scales) {
      all.push_back({x, common});
      if (!sizes.empty()) all.back().attributes["sizes"] = sizes;
      if (!scales.empty()) all.back().attributes["scales"] = scales;
    };
    add({2, 3, 4}, {2, 5, 3}, {});
    add({1, 5, 4}, {}, {1, 0.625, 2.375});
    add({4, 3}, {6, 5}, {1.75, 1.5});
    add({3, 1, 1}, {1, 7, 1}, {});
    add({}, {}, {});
    add({2, 0, 3}, {}, {1, 2, 2});
    if (mode == "nearest") continue;
    const size_t first = all.size();
    add({2, 9, 4}, {2, 4, 7}, {});
    add({3, 23}, {}, {0.7, 0.125});
    add({7, 1}, {1, 1}, {});
    for (size_t at = first; at < all.size(); ++at) {
      all[at].attributes["antialias"] = true;
    }
  }
  for (const bool reversed : {false, true}) {
    if (mode == "nearest") continue;
    all.push_back(
        {{2, 5, 6},
         {{"mode", mode},
          {"coordinate_transformation_mode", std::string("tf_crop_and_resize")},
          {"sizes", Ints{2, 7, 4}},
          {"roi", reversed ? Doubles{0, 0.9, 1.5, 1, 0.2, -0.25}
                           : Doubles{0, -0.25, 0.25, 1, 0.75, 1.25}},
          {"extrapolation_value", 7.0}}});
  }
  const auto add = [&](const DDim& x, const Doubles& scales) {
    all.push_back(
        {x,
         {{"mode", mode},
          {"coordinate_transformation_mode", std::string("asymmetric")},
          {"nearest_mode", std::string("floor")},
          {"cubic_coeff_a", -0.5},
          {"scales", scales}}});
  };
  add({1, 2, 3, 5}, {1, 1, 2, 2});
  add({2, 3, 3}, {1, 3, 3});
  add({2, 17}, {1, 4});
  add({2, 1, 2, 3}, {3, 2, 1, 1});
  add({3, 5, 7}, {1, 2, 1});
  add({3, 37, 41}, {1, 2, 2});
  add({2, 61, 53, 3}, {1, 0.5, 1.75, 1});
  add({301}, {3.25});
  return all;
}

std::vector<OpExample> ResizeExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    const bool nearest = std::string(mode) == "nearest";
    if (!nearest && !IsFloating(make.dtype())) continue;
    for (const Resizing& resizing : Resizings(mode)) {
      examples.push_back({{{"X", make.Values(resizing.x)}},  //
                          resizing.attributes});
    }
  }
  return examples;
}

// The position of element j of Out in X, as ONNX defines it.
double Position(const OpDesc& op,
                size_t axis,
                double j,
                double in,
                double out,
                double scale,
                double length) {
  const auto& mode = GetAttr<std::string>(op, "coordinate_transformation_mode");
  if (mode == "align_corners") {
    return length == 1 ? 0 : j * (in - 1) / (length - 1);
  }
  if (mode == "asymmetric") return j / scale;
  if (mode == "tf_crop_and_resize") {
    const Doubles& roi = GetAttr<Doubles>(op, "roi");
    const double start = roi[axis], end = roi[roi.size() / 2 + axis];
    const double part = length == 1 ? 0.5 : j / (length - 1);
    return (start + part * (end - start)) * (in - 1);
  }
  if (mode == "pytorch_half_pixel" && out == 1) return 0;
  const double half = (j + 0.5) / scale - 0.5;
  if (mode != "half_pixel_symmetric") return half;
  return in / 2 * (1 - out / length) + half;
}

double Nearest(const OpDesc& op, double x) {
  const auto& mode = GetAttr<std::string>(op, "nearest_mode");
  if (mode == "floor") return std::floor(x);
  if (mode == "ceil") return std::ceil(x);
  return mode == "round_prefer_floor" ? std::ceil(x - 0.5)
                                      : std::floor(x + 0.5);
}

// The weight of an element `distance` away.
double Weight(const OpDesc& op, double distance) {
  const double x = std::abs(distance);
  if (GetAttr<std::string>(op, "mode") == "linear") return std::max(0.0, 1 - x);
  const auto a = GetAttr<double>(op, "cubic_coeff_a");
  if (x >= 2) return 0;
  return x <= 1 ? (a + 2) * x * x * x - (a + 3) * x * x + 1
                : a * (x * x * x - 5 * x * x + 8 * x - 4);
}

// The weights of X's elements for each element of Out, along one axis.
Matrix Weights(const OpDesc& op, int axis, int64_t in) {
  const Ints& sizes = GetAttr<Ints>(op, "sizes");
  const Doubles& scales = GetAttr<Doubles>(op, "scales");
  const auto size = static_cast<double>(in);
  const double length =
      scales.empty() ? static_cast<double>(sizes[axis]) : size * scales[axis];
  const int64_t out =
      sizes.empty() ? static_cast<int64_t>(length) : sizes[axis];
  Matrix matrix;
  for (int64_t j = 0; j < out; ++j) {
    Doubles& row = matrix.emplace_back(static_cast<size_t>(in), 0.0);
    const double x =
        Position(op, static_cast<size_t>(axis), static_cast<double>(j), size,
                 static_cast<double>(out), length / size, length);
    if (GetAttr<std::string>(op, "coordinate_transformation_mode") ==
            "tf_crop_and_resize" &&
        (x < 0 || x > size - 1)) {
      continue;
    }
    const auto add = [&](int64_t i, double weight) {
      row[std::clamp<int64_t>(i, 0, in - 1)] += weight;
    };
    if (GetAttr<std::string>(op, "mode") == "nearest") {
      add(static_cast<int64_t>(Nearest(op, x)), 1);
      continue;
    }
    const bool exclude = GetAttr<bool>(op, "exclude_outside");
    const bool antialias = GetAttr<bool>(op, "antialias");
    const double near = antialias ? std::min(1.0, length / size) : 1;
    const int64_t most = antialias ? 99 : 9;
    for (int64_t i = exclude ? 0 : -most; i < (exclude ? in : in + most); ++i) {
      add(i, Weight(op, (x - static_cast<double>(i)) * near));
    }
    if (!exclude && near == 1) continue;
    double sum = 0;
    for (const double weight : row) {
      sum += weight;
    }
    for (double& weight : row) {
      weight /= sum;
    }
  }
  return matrix;
}

Matrix Transposed(const Matrix& matrix, int64_t columns) {
  Matrix result(static_cast<size_t>(columns), Doubles(matrix.size()));
  for (size_t row = 0; row < matrix.size(); ++row) {
    for (size_t i = 0; i < result.size(); ++i) {
      result[i][row] = matrix[row][i];
    }
  }
  return result;
}

// Multiplies each line along `axis` by the matrix; rows of zeros get `outside`.
Array Applied(const Matrix& matrix,
              int axis,
              const Array& x,
              double outside = 0) {
  DDim dims = x.dims;
  dims[axis] = static_cast<int64_t>(matrix.size());
  Array out(dims);
  for (size_t at = 0; at < out.values.size(); ++at) {
    std::vector<int64_t> index = out.IndexOf(static_cast<int64_t>(at));
    const Doubles& row = matrix[index[axis]];
    if (row == Doubles(row.size(), 0.0)) out.values[at] = outside;
    for (size_t i = 0; i < row.size(); ++i) {
      index[axis] = static_cast<int64_t>(i);
      if (row[i] != 0) out.values[at] += row[i] * x.values[x.Offset(index)];
    }
  }
  return out;
}

Arrays ResizeReference(const Arrays& in, const OpDesc& op) {
  Array out = in.at("X");
  for (int axis = 0; axis < out.dims.rank(); ++axis) {
    const int64_t size = in.at("X").dims[axis];
    out = Applied(Weights(op, axis, size), axis, out,
                  GetAttr<double>(op, "extrapolation_value"));
  }
  return {{"Out", out}};
}

Arrays ResizeGradReference(const Arrays& in, const OpDesc& op) {
  Array grad = in.at("Out@GRAD");
  for (int axis = 0; axis < grad.dims.rank(); ++axis) {
    const int64_t size = in.at("X").dims[axis];
    grad = Applied(Transposed(Weights(op, axis, size), size), axis, grad);
  }
  return {{"X@GRAD", grad}};
}

std::vector<OpExample> ResizeGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = ResizeExamples(make);
  for (OpExample& example : examples) {
    DDim out = example.inputs[0].second.dims();
    const auto sizes = example.attributes.find("sizes");
    const auto scales = example.attributes.find("scales");
    for (int i = 0; i < out.rank(); ++i) {
      out[i] = sizes != example.attributes.end()
                   ? std::get<Ints>(sizes->second)[i]
                   : static_cast<int64_t>(static_cast<double>(out[i]) *
                                          std::get<Doubles>(scales->second)[i]);
    }
    example.inputs.emplace_back("Out@GRAD", make.Values(out));
  }
  return examples;
}

REGISTER_OP_CASE(resize, ResizeExamples, ResizeReference, 8);
REGISTER_OP_CASE(resize_grad, ResizeGradExamples, ResizeGradReference, 8);

}  // namespace
}  // namespace sluice::testing
