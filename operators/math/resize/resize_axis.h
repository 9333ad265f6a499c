#pragma once

#include <cstdint>

// Resizing along one axis, as ONNX's operator Resize of opset 19 defines it.
// Host and device code share it.
namespace sluice::operators::math {

enum class ResizeMode : uint8_t { kNearest, kLinear, kCubic };
enum class ResizeCoordinates : uint8_t {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric
};
enum class ResizeRounding : uint8_t {
  kPreferFloor,
  kPreferCeil,
  kFloor,
  kCeil
};

// An element of X along the axis, and what it is multiplied with.
struct ResizeTap {
  int64_t index = 0;
  double weight = 0;
};

// The coordinate of element j of Out in X: `floor` + `ratio`, with `ratio` in
// [0, 1). Elements `floor` and `floor` + 1 may be outside of X.
struct ResizePosition {
  int64_t floor = 0;
  double ratio = 0;
};

struct ResizeAxis {
  int64_t in = 1;
  int64_t out = 1;
  double scale = 1;   // of Out to X
  double length = 1;  // in * scale; `out` where that was given
  // Whether `out` was given: coordinates are fractions of whole numbers then,
  // and none is rounded to another element of X.
  bool sized = false;
  ResizeMode mode = ResizeMode::kNearest;
  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel;
  ResizeRounding rounding = ResizeRounding::kPreferFloor;
  double cubic_a = -0.75;
  // Elements outside of X do not count, and the others' weights add up to 1;
  // else the nearest element of X takes their place.
  bool exclude_outside = false;

  // Whether element j of Out is element j of X.
  constexpr bool Identity() const { return in == out && scale == 1; }

  // The taps of an element of Out.
  constexpr int taps() const {
    if (mode == ResizeMode::kNearest) return 1;
    return mode == ResizeMode::kLinear ? 2 : 4;
  }

  constexpr ResizePosition PositionOf(int64_t j) const {
    constexpr int64_t kMost = int64_t{1} << 30;  // products fit into 64 bits
    if (sized && in < kMost && out < kMost) return Fraction(j);
    double x = Coordinate(static_cast<double>(j));
    // Farther away nothing changes, and NaN (of absurd scales) is left.
    const double most = static_cast<double>(in) + 4;
    if (!(x > -4)) x = -4;
    if (x > most) x = most;
    auto floor = static_cast<int64_t>(x);
    if (static_cast<double>(floor) > x) --floor;
    return {floor, x - static_cast<double>(floor)};
  }

  // Tap t of [0, taps()) of the element at `position`. A tap of weight 0 does
  // not count, whatever the element is.
  constexpr ResizeTap TapOf(const ResizePosition& position, int t) const {
    if (mode == ResizeMode::kNearest) {
      return {Inside(position.floor + (RoundsUp(position.ratio) ? 1 : 0)), 1};
    }
    const int64_t index = IndexOf(position, t);
    const double weight = WeightOf(position, t);
    if (!exclude_outside) return {Inside(index), weight};
    double sum = 0;
    for (int other = 0; other < taps(); ++other) {
      const int64_t at = IndexOf(position, other);
      if (at >= 0 && at < in) sum += WeightOf(position, other);
    }
    // Where all of them are outside of X, its nearest element is taken.
    if (sum == 0) return {Inside(index), weight};
    const bool inside = index >= 0 && index < in;
    return {Inside(index), inside ? weight / sum : 0};
  }

 private:
  // The coordinate where the scale is out / in.
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

  constexpr int64_t IndexOf(const ResizePosition& position, int t) const {
    return position.floor + t - (mode == ResizeMode::kCubic ? 1 : 0);
  }

  constexpr double WeightOf(const ResizePosition& position, int t) const {
    if (mode == ResizeMode::kLinear) {
      return t == 0 ? 1 - position.ratio : position.ratio;
    }
    // R. Keys, "Cubic convolution interpolation", IEEE Transactions on
    // Acoustics, Speech and Signal Processing 29, 1981.
    const double a = cubic_a;
    const double d = position.ratio + 1 - t;
    const double x = d < 0 ? -d : d;
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
  }

  constexpr int64_t Inside(int64_t index) const {
    if (index < 0) return 0;
    return index < in ? index : in - 1;
  }
};

}  // namespace sluice::operators::math
