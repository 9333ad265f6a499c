#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/operators/harness/op_case.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using testing::ExpectError;
using testing::InferOpShapes;
using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;

// Samples 10, 20, 40, 80 at `positions`.
Floats Sample(const Floats& positions,
              const char* mode,
              const char* padding,
              bool align_corners) {
  Floats grid;
  for (const float x : positions) {
    grid.insert(grid.end(), {x, 0});
  }
  const auto count = static_cast<int64_t>(positions.size());
  return RunOp(
             "grid_sample",
             {{"X", Tensor::FromVector<float>({1, 1, 1, 4}, {10, 20, 40, 80})},
              {"Grid", Tensor::FromVector({1, 1, count, 2}, grid)}},
             {{"mode", std::string(mode)},
              {"padding_mode", std::string(padding)},
              {"align_corners", align_corners}})["Out"]
      .ToVector<float>();
}

TEST(GridSample, PositionsMayBeAnything) {
  const float infinity = HUGE_VALF;
  const Floats positions = {std::nanf(""), infinity, -infinity, 3e38F};
  for (const char* mode : {"linear", "nearest", "cubic"}) {
    const Floats zeros = Sample(positions, mode, "zeros", false);
    EXPECT_TRUE(std::isnan(zeros[0]));
    EXPECT_EQ(Floats(zeros.begin() + 1, zeros.end()), (Floats{0, 0, 0}));
    const Floats border = Sample(positions, mode, "border", false);
    EXPECT_TRUE(std::isnan(border[0]));
    EXPECT_EQ(Floats(border.begin() + 1, border.end()), (Floats{80, 10, 80}));
    EXPECT_TRUE(std::isnan(Sample(positions, mode, "reflection", false)[1]));
  }
}

TEST(GridSample, RefusesShapesThatDoNotFit) {
  const auto refused = [](const std::string& id, const DDim& x,
                          std::initializer_list<std::string_view> words) {
    ExpectError(ErrorCode::kInvalidArgument, id, words, [&] {
      InferOpShapes("grid_sample", {{"X", x}, {"Grid", {1, 2, 2, 2}}});
    });
  };
  refused("grid_sample.rank", {1, 2, 3}, {"grid_sample", "rank 3"});
  refused("grid_sample.empty", {1, 2, 3, 0}, {"[1, 2, 3, 0]"});
  refused("infer_shape.rank", {1, 2, 3, 3, 3}, {"Grid", "rank 5"});
  EXPECT_EQ(InferOpShapes("grid_sample",
                          {{"X", {-1, 3, 4, 5}}, {"Grid", {2, 6, -1, 2}}})
                .at("Out"),
            DDim({2, 3, 6, -1}));
}

TEST(AffineGrid, RefusesSizesThatDoNotFit) {
  const auto refused = [](const std::string& id, const Ints& size,
                          std::initializer_list<std::string_view> words) {
    ExpectError(ErrorCode::kInvalidArgument, id, words, [&] {
      InferOpShapes("affine_grid", {{"Theta", {1, 2, 3}}}, {{"size", size}});
    });
  };
  refused("affine_grid.size", {1, 2, 3}, {"affine_grid", "3 entries"});
  refused("affine_grid.negative", {1, 2, -3, 4}, {"size[2] = -3"});
  refused("infer_shape.value", {1, 2, 3, 4, 5}, {"Theta"});
  ExpectError(ErrorCode::kInvalidArgument, "affine_grid.theta", {"4 rows"}, [] {
    InferOpShapes("affine_grid", {{"Theta", {1, 4, 5}}, {"Size", {4}}});
  });
}

}  // namespace
}  // namespace sluice

namespace sluice::testing {
namespace {

using Ints = std::vector<int64_t>;

std::vector<OpExample> GridSampleExamples(ExampleMaker& make) {
  const std::vector<std::pair<DDim, DDim>> shapes = {
      {{2, 3, 4, 5}, {2, 3, 2, 2}}, {{1, 2, 3, 2, 4}, {1, 2, 3, 2, 3}},
      {{1, 1, 1, 1}, {1, 1, 1, 2}}, {{2, 0, 3, 3}, {2, 2, 2, 2}},
      {{1, 1, 3, 3}, {1, 0, 2, 2}}, {{2, 2, 9, 7}, {2, 31, 17, 2}}};
  std::vector<OpExample> examples;
  int which = 0;
  for (const auto& [x, grid] : shapes) {
    for (const char* mode : {"linear", "nearest", "cubic"}) {
      for (const char* padding : {"zeros", "border", "reflection"}) {
        // Positions in eighths, some of them outside.
        Array positions = ToArray(make.Integers(make.dtype(), grid, -13, 13));
        for (double& value : positions.values) {
          value = value / 8 + 1.0 / 64;
        }
        // Small ones for cubic, so that differences are exact to 1e-7.
        Array elements = ToArray(make.Values(x));
        for (double& value : elements.values) {
          if (*mode == 'c') value /= 32;
        }
        examples.push_back({{{"X", ToTensor(elements, make.dtype())},
                             {"Grid", ToTensor(positions, make.dtype())}},
                            {{"mode", std::string(mode)},
                             {"padding_mode", std::string(padding)},
                             {"align_corners", which++ % 2 == 0}}});
      }
    }
  }
  return examples;
}

// Mirrored step by step, as is `slope`.
double Mirrored(double x, double low, double high, double* slope) {
  if (std::isinf(x)) return std::nan("");
  if (high == low) {
    *slope = 0;
    return low;
  }
  while (x < low || x > high) {
    x = x < low ? 2 * low - x : 2 * high - x;
    *slope = -*slope;
  }
  return x;
}

// Along one axis: element `at` of a line, or its padding value.
double ElementOf(const OpDesc& op,
                 int64_t size,
                 double at,
                 const std::function<double(int64_t)>& line) {
  const auto& padding = GetAttr<std::string>(op, "padding_mode");
  const double edge = GetAttr<bool>(op, "align_corners") ? 0 : -0.5;
  const auto last = static_cast<double>(size - 1);
  if (at < 0 || at > last) {
    if (padding == "zeros") return 0;
    double unused = 0;
    if (padding == "reflection") at = Mirrored(at, edge, last - edge, &unused);
    at = std::min(std::max(at, 0.0), last);
  }
  return line(static_cast<int64_t>(at));
}

double Weighted(double weight, const std::function<double()>& value) {
  return weight == 0 ? 0 : weight * value();
}

// Or, if `derivative` is true, its derivative by the position.
double Interpolated(const OpDesc& op,
                    int64_t size,
                    double position,
                    const std::function<double(int64_t)>& line,
                    bool derivative = false) {
  const auto& mode = GetAttr<std::string>(op, "mode");
  const auto& padding = GetAttr<std::string>(op, "padding_mode");
  const bool corners = GetAttr<bool>(op, "align_corners");
  const auto length = static_cast<double>(size);
  const double low = corners ? 0 : -0.5, high = length - 1 - low;
  double x = corners ? (position + 1) * (length - 1) / 2
                     : (position + 1) * length / 2 - 0.5;
  double slope = corners ? (length - 1) / 2 : length / 2;
  if (mode == "nearest") x = std::rint(x);
  if (x < low || x > high) {
    if (padding == "border") slope = 0;
    if (padding == "border") x = std::min(std::max(x, 0.0), length - 1);
    if (padding == "reflection") x = Mirrored(x, low, high, &slope);
  }
  if (std::isnan(x)) return x;
  if (padding == "zeros" && (x < -9 || x > length + 9)) return 0;
  const double floor = std::floor(x), t = x - floor;
  const auto element = [&](double at) {
    return ElementOf(op, size, floor + at, line);
  };
  if (mode == "nearest") return derivative ? 0 : element(0);
  if (mode == "linear") {
    if (derivative) return slope * (element(1) - element(0));
    return Weighted(1 - t, [&] { return element(0); }) +
           Weighted(t, [&] { return element(1); });
  }
  // The four polynomials of a cubic convolution with a = -3/4.
  const double t2 = t * t, t3 = t2 * t;
  const double weights[] = {
      -0.75 * t + 1.5 * t2 - 0.75 * t3, 1 - 2.25 * t2 + 1.25 * t3,
      0.75 * t + 1.5 * t2 - 1.25 * t3, -0.75 * t2 + 0.75 * t3};
  const double slopes[] = {-0.75 + 3 * t - 2.25 * t2, -4.5 * t + 3.75 * t2,
                           0.75 + 3 * t - 3.75 * t2, -1.5 * t + 2.25 * t2};
  double sum = 0;
  for (int i = 0; i < 4; ++i) {
    sum += Weighted(derivative ? slope * slopes[i] : weights[i],
                    [&] { return element(i - 1); });
  }
  return sum;
}

Arrays GridSampleReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  const Array& grid = in.at("Grid");
  const int rank = x.dims.rank();
  DDim dims = x.dims;
  for (int i = 2; i < rank; ++i)
    dims[i] = grid.dims[i - 1];
  Array out(dims);
  for (int64_t i = 0; i < dims.numel(); ++i) {
    const Ints at = out.IndexOf(i);
    Ints point = {at[0]};
    point.insert(point.end(), at.begin() + 2, at.end());
    point.push_back(0);
    Ints from = at;
    const std::function<double(int)> along = [&](int axis) -> double {
      if (axis == rank) return x.values[x.Offset(from)];
      point.back() = rank - 1 - axis;
      const double position = grid.values[grid.Offset(point)];
      return Interpolated(op, x.dims[axis], position, [&](int64_t index) {
        from[axis] = index;
        return along(axis + 1);
      });
    };
    out.values[i] = along(2);
  }
  return {{"Out", out}};
}

std::vector<OpExample> GridSampleGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = GridSampleExamples(make);
  for (OpExample& example : examples) {
    DDim dims = example.inputs[0].second.dims();
    for (int i = 2; i < dims.rank(); ++i) {
      dims[i] = example.inputs[1].second.dims()[i - 1];
    }
    example.inputs.emplace_back("Out@GRAD", make.Values(dims));
  }
  return examples;
}

// Walks from axis to axis of X as the reference of the op; where it reads an
// element, that gets the weight with which it was read.
Arrays GridSampleGradReference(const Arrays& in, const OpDesc& op) {
  const Array &x = in.at("X"), &grid = in.at("Grid");
  const Array& grad = in.at("Out@GRAD");
  const int rank = x.dims.rank();
  Array x_grad(x.dims), grid_grad(grid.dims);
  for (int64_t i = 0; i < grad.dims.numel(); ++i) {
    const Ints at = grad.IndexOf(i);
    Ints point = {at[0]};
    point.insert(point.end(), at.begin() + 2, at.end());
    point.push_back(0);
    Ints from = at;
    const auto position = [&](int axis) {
      point.back() = rank - 1 - axis;
      return grid.values[grid.Offset(point)];
    };
    // The derivative of Out by the position along `by`, or Out for -1.
    const std::function<double(int, int)> along = [&](int axis, int by) {
      if (axis == rank) return x.values[x.Offset(from)];
      const std::function<double(int64_t)> line = [&](int64_t index) {
        from[axis] = index;
        return along(axis + 1, by);
      };
      return Interpolated(op, x.dims[axis], position(axis), line, axis == by);
    };
    const std::function<void(int, double)> give = [&](int axis, double part) {
      if (axis == rank) {
        x_grad.values[x.Offset(from)] += part;
        return;
      }
      std::vector<bool> read(static_cast<size_t>(x.dims[axis]));
      const auto weight = [&](int64_t of) {
        return Interpolated(op, x.dims[axis], position(axis),
                            [&](int64_t index) {
                              read[static_cast<size_t>(index)] = true;
                              return index == of ? 1.0 : 0.0;
                            });
      };
      weight(-1);
      for (int64_t index = 0; index < x.dims[axis]; ++index) {
        if (!read[static_cast<size_t>(index)]) continue;
        from[axis] = index;
        give(axis + 1, part * weight(index));
      }
    };
    give(2, grad.values[i]);
    for (int axis = 2; axis < rank; ++axis) {
      const double slope = along(2, axis);
      point.back() = rank - 1 - axis;
      grid_grad.values[grid.Offset(point)] += grad.values[i] * slope;
    }
  }
  return {{"X@GRAD", x_grad}, {"Grid@GRAD", grid_grad}};
}

std::vector<OpExample> AffineGridExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const Ints& size :
       {Ints{2, 1, 3, 4}, Ints{1, 2, 2, 3, 4}, Ints{1, 1, 1, 1},
        Ints{0, 1, 2, 2}, Ints{2, 1, 0, 3}, Ints{2, 1, 90, 41}}) {
    const auto dims = static_cast<int64_t>(size.size()) - 2;
    for (const bool align_corners : {false, true}) {
      examples.push_back({{{"Theta", make.Values({size[0], dims, dims + 1})}},
                          {{"size", size}, {"align_corners", align_corners}}});
    }
  }
  return examples;
}

Arrays AffineGridReference(const Arrays& in, const OpDesc& op) {
  const Array& theta = in.at("Theta");
  const Ints& size = GetAttr<Ints>(op, "size");
  const auto count = static_cast<int64_t>(size.size()) - 2;
  Ints dims(size.begin() + 2, size.end());
  dims.insert(dims.begin(), size[0]);
  dims.push_back(count);
  Array out{DDim(dims)};
  for (int64_t i = 0; i < out.dims.numel(); ++i) {
    const Ints at = out.IndexOf(i);
    double sum = theta(at[0], at.back(), count);
    for (int64_t d = 0; d < count; ++d) {  // from the last dim on
      const auto length = static_cast<double>(dims[count - d]);
      const auto index = static_cast<double>(at[count - d]);
      double position = -1 + (index + 0.5) * 2 / length;
      if (GetAttr<bool>(op, "align_corners")) {
        position = length == 1 ? 0 : -1 + index * 2 / (length - 1);
      }
      sum += theta(at[0], at.back(), d) * position;
    }
    out.values[i] = sum;
  }
  return {{"Out", out}};
}

std::vector<OpExample> AffineGridGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const DDim& dims :
       {DDim{2, 3, 4, 2}, DDim{1, 2, 3, 4, 3}, DDim{1, 1, 1, 2},
        DDim{0, 2, 2, 2}, DDim{2, 0, 3, 2}, DDim{2, 90, 41, 2}}) {
    for (const bool align_corners : {false, true}) {
      examples.push_back({{{"Out@GRAD", make.Values(dims)}},
                          {{"align_corners", align_corners}}});
    }
  }
  return examples;
}

// The op is linear in Theta: what one element gives, times the gradient.
Arrays AffineGridGradReference(const Arrays& in, const OpDesc& op) {
  const Array& grad = in.at("Out@GRAD");
  const auto count = static_cast<int64_t>(grad.dims.rank()) - 2;
  Array theta({grad.dims[0], count, count + 1});
  OpDesc forward;
  Ints size = {grad.dims[0], 1};
  size.insert(size.end(), grad.dims.begin() + 1, grad.dims.end() - 1);
  forward.attributes = {{"size", size},
                        {"align_corners", GetAttr<bool>(op, "align_corners")}};
  for (size_t i = 0; i < theta.values.size(); ++i) {
    Array one(theta.dims);
    one.values[i] = 1;
    const Array out = AffineGridReference({{"Theta", one}}, forward).at("Out");
    for (size_t j = 0; j < out.values.size(); ++j) {
      theta.values[i] += out.values[j] * grad.values[j];
    }
  }
  return {{"Theta@GRAD", theta}};
}

}  // namespace

REGISTER_OP_CASE(grid_sample, GridSampleExamples, GridSampleReference, 4);
REGISTER_OP_CASE(affine_grid, AffineGridExamples, AffineGridReference, 4);
REGISTER_OP_CASE(grid_sample_grad,
                 GridSampleGradExamples,
                 GridSampleGradReference,
                 64);
REGISTER_OP_CASE(affine_grid_grad,
                 AffineGridGradExamples,
                 AffineGridGradReference,
                 64);

}  // namespace sluice::testing
