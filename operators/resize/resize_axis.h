#pragma once

#include <cstdint>
#include <vector>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/platform/export.h"

// Resizing along one axis, as defined by ONNX's Resize of opset 19. Shared by
// host and device code.
namespace sluice {

enum class ResizeMode : uint8_t { kNearest, kLinear, kCubic };
enum class ResizeCoordinates : uint8_t {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kCropAndResize
};
enum class ResizeRounding : uint8_t {
  kPreferFloor,
  kPreferCeil,
  kFloor,
  kCeil
};

// An element of X along the axis, and its weight.
struct ResizeTap {
  int64_t index = 0;
  double weight = 0;
};

// The coordinate of element j of Out in X is `floor` + `ratio`, with `ratio` in
// [0, 1). Elements `floor` and `floor` + 1 may be outside of X.
struct ResizePosition {
  int64_t floor = 0;
  double ratio = 0;
};

struct ResizeAxis {
  int64_t in = 1;
  int64_t out = 1;
  double scale = 1;   // Out's size relative to X's
  double length = 1;  // in * scale, or a given `out`
  // Whether `out` was given. Coordinates are then exact fractions of integers,
  // so that rounding never selects another element of X.
  bool sized = false;
  ResizeMode mode = ResizeMode::kNearest;
  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel;
  ResizeRounding rounding = ResizeRounding::kPreferFloor;
  double cubic_a = -0.75;
  // Elements outside of X are excluded, and the weights of the others are
  // normalized to a sum of 1. Otherwise the nearest element of X replaces them.
  bool exclude_outside = false;
  // If Out is smaller, weights extend by a factor of 1 / scale.
  bool antialias = false;
  // For kCropAndResize: Out is the range [start, end] of X, in units of X's
  // last index. Elements of Out outside of X are set to `outside`.
  double start = 0;
  double end = 1;
  double outside = 0;

  // Whether element j of Out is element j of X.
  constexpr bool Identity() const {
    return in == out && scale == 1 &&
           coordinates != ResizeCoordinates::kCropAndResize;
  }

  // The number of taps of an element of Out.
  constexpr int64_t taps() const {
    if (mode == ResizeMode::kNearest) return 1;
    const int support = mode == ResizeMode::kLinear ? 1 : 2;
    const double reach = support / Stretch();
    const auto whole = static_cast<int64_t>(reach);
    return 2 * (static_cast<double>(whole) < reach ? whole + 1 : whole);
  }

  constexpr ResizePosition PositionOf(int64_t j) const {
    constexpr int64_t kMost = int64_t{1} << 30;  // products fit into 64 bits
    if (sized && in < kMost && out < kMost &&
        coordinates != ResizeCoordinates::kCropAndResize) {
      return Fraction(j);
    }
    double x = Coordinate(static_cast<double>(j));
    // The result is constant farther away. Extreme scales may cause a NaN.
    const auto reach = static_cast<double>(taps());
    const double most = static_cast<double>(in) + reach;
    if (!(x > -reach)) x = -reach;
    if (x > most) x = most;
    auto floor = static_cast<int64_t>(x);
    if (static_cast<double>(floor) > x) --floor;
    return {floor, x - static_cast<double>(floor)};
  }

  // Whether the element of Out at `position` is set to `outside`, without taps.
  constexpr bool IsOutside(const ResizePosition& position) const {
    return coordinates == ResizeCoordinates::kCropAndResize &&
           (position.floor < 0 || position.floor >= in ||
            (position.floor == in - 1 && position.ratio > 0));
  }

  // Returns the divisor of the weights of TapOf.
  constexpr double WeightSum(const ResizePosition& position) const {
    if (mode == ResizeMode::kNearest) return 1;
    if (!exclude_outside && Stretch() == 1) return 1;
    double sum = 0;
    for (int64_t t = 0; t < taps(); ++t) {
      const int64_t at = IndexOf(position, t);
      const bool inside = at >= 0 && at < in;
      if (inside || !exclude_outside) sum += WeightOf(position, t);
    }
    return sum;
  }

  // Returns tap t of [0, taps()) for the element at `position`; `sum` is its
  // WeightSum. A tap of weight 0 is ignored, even if its element is NaN.
  constexpr ResizeTap TapOf(const ResizePosition& position,
                            int64_t t,
                            double sum) const {
    if (IsOutside(position)) return {};
    if (mode == ResizeMode::kNearest) {
      return {Inside(position.floor + (RoundsUp(position.ratio) ? 1 : 0)), 1};
    }
    const int64_t index = IndexOf(position, t);
    // If all taps are outside of X, its nearest element is used.
    if (sum == 0) return {Inside(index), t == 0 ? 1.0 : 0.0};
    const double weight = WeightOf(position, t);
    const bool counts = !exclude_outside || (index >= 0 && index < in);
    return {Inside(index), counts ? weight / sum : 0};
  }

 private:
  // Returns the factor for distances. It is at least 1 / (4 * in), to limit the
  // number of taps.
  constexpr double Stretch() const {
    if (!antialias || scale >= 1) return 1;
    const double least = 0.25 / static_cast<double>(in);
    return scale > least ? scale : least;
  }

  // Returns the coordinate if the scale is out / in.
  constexpr ResizePosition Fraction(int64_t j) const {
    int64_t numerator = (2 * j + 1) * in - out;
    int64_t denominator = 2 * out;
    if (coordinates == ResizeCoordinates::kAsymmetric) {
      numerator = j * in;
      denominator = out;
    } else if (coordinates == ResizeCoordinates::kAlignCorners && out > 1) {
      numerator = j * (in - 1);
      denominator = out - 1;
    } else if (out == 1 &&
               (coordinates == ResizeCoordinates::kAlignCorners ||
                coordinates == ResizeCoordinates::kPytorchHalfPixel)) {
      numerator = 0;
    }
    int64_t floor = numerator / denominator;
    if (floor * denominator > numerator) --floor;
    return {floor, static_cast<double>(numerator - floor * denominator) /
                       static_cast<double>(denominator)};
  }

  constexpr double Coordinate(double j) const {
    switch (coordinates) {
      case ResizeCoordinates::kAlignCorners:
        return length == 1 ? 0 : j * static_cast<double>(in - 1) / (length - 1);
      case ResizeCoordinates::kAsymmetric:
        return j / scale;
      case ResizeCoordinates::kCropAndResize: {
        const auto last = static_cast<double>(in - 1);
        if (length == 1) return (start + end) * last / 2;
        return start * last + j * (end - start) * last / (length - 1);
      }
      case ResizeCoordinates::kPytorchHalfPixel:
        return out == 1 ? 0 : (j + 0.5) / scale - 0.5;
      case ResizeCoordinates::kHalfPixelSymmetric:
        return static_cast<double>(in) / 2 *
                   (1 - static_cast<double>(out) / length) +
               (j + 0.5) / scale - 0.5;
      default:
        return (j + 0.5) / scale - 0.5;
    }
  }

  constexpr bool RoundsUp(double ratio) const {
    switch (rounding) {
      case ResizeRounding::kPreferFloor:
        return ratio > 0.5;
      case ResizeRounding::kPreferCeil:
        return ratio >= 0.5;
      case ResizeRounding::kCeil:
        return ratio > 0;
      default:
        return false;
    }
  }

  constexpr int64_t IndexOf(const ResizePosition& position, int64_t t) const {
    return position.floor + t - (taps() / 2 - 1);
  }

  constexpr double WeightOf(const ResizePosition& position, int64_t t) const {
    const double stretch = Stretch();
    if (mode == ResizeMode::kLinear && stretch == 1) {
      return t == 0 ? 1 - position.ratio : position.ratio;
    }
    const int64_t first = taps() / 2 - 1;
    const double d =
        (position.ratio + static_cast<double>(first - t)) * stretch;
    const double x = d < 0 ? -d : d;
    if (mode == ResizeMode::kLinear) return x < 1 ? 1 - x : 0;
    // R. Keys, "Cubic convolution interpolation", IEEE Transactions on
    // Acoustics, Speech and Signal Processing 29, 1981.
    const double a = cubic_a;
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
  }

  constexpr int64_t Inside(int64_t index) const {
    if (index < 0) return 0;
    return index < in ? index : in - 1;
  }
};

// Returns the number of elements that `size` elements become at `scale`, which
// is finite and positive: size * scale rounded down, as a double. If the
// product of a float32 scale is integral up to rounding, it is that integer.
SLUICE_API double ResizedSize(int64_t size, double scale);

// Returns the axes of X for resize and resize_grad. The shape function has
// already checked both shapes.
SLUICE_API std::vector<ResizeAxis> ResizeAxesOf(const KernelQuery& query,
                                                const DDim& x,
                                                const DDim& out);

}  // namespace sluice
