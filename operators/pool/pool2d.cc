#include "sluice/operators/pool/pool2d.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "sluice/operators/math/block_sums.h"
#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/math/reduction/extremes.h"
#include "sluice/operators/pool/pool2d_pairs.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// Returns relu of `value`; NaN stays NaN.
template <typename T>
T Positive(T value) {
  return value <= T{0} ? T{0} : value;
}

// The pixels [begin, end) of a window along one axis, and the number of pixels
// that an average is divided by.
struct Cut {
  Cut(int64_t first, int64_t kernel, int64_t size, bool exclusive, int64_t last)
      : begin(std::max<int64_t>(first, 0)),
        end(std::min(first + kernel, size)),
        counted(exclusive ? end - begin
                          : std::min(first + kernel, last) - first) {}
  int64_t begin, end, counted;
};

Cut Rows(const Pool2dGeometry& g, int64_t oh) {
  return {oh * g.stride_h - g.pad_top, g.kernel_h, g.in_h, g.exclusive,
          g.end_h};
}
Cut Columns(const Pool2dGeometry& g, int64_t ow) {
  return {ow * g.stride_w - g.pad_left, g.kernel_w, g.in_w, g.exclusive,
          g.end_w};
}

// The divisors of the averages in a line.
struct Divisors {
  const Pool2dGeometry* g = nullptr;
  int64_t rows = 0;    // counted in a window
  int64_t first = -1;  // the line's first window; -1: `rows` are all pixels

  int64_t operator()(int64_t i) const {
    return first < 0 ? rows : rows * Columns(*g, first + i).counted;
  }
  bool operator==(const Divisors&) const = default;
};

// A line is a list of results: windows of one row, or channels of a window.
constexpr int64_t kLine = 128;
constexpr int64_t kShardWork = int64_t{1} << 15;

// Calls visit(i, (i - begin) * step) for i in [begin, end). The usual steps are
// known when the loop is compiled, so that it is vectorized.
template <typename Visit>
void ForEachTap(int64_t begin, int64_t end, int64_t step, const Visit& visit) {
  if (step == 1) {
    for (int64_t i = begin; i < end; ++i) {
      visit(i, i - begin);
    }
  } else if (step == 2) {
    for (int64_t i = begin; i < end; ++i) {
      visit(i, 2 * (i - begin));
    }
  } else {
    for (int64_t i = begin; i < end; ++i) {
      visit(i, (i - begin) * step);
    }
  }
}

// Each struct computes one line after another. Tap handles elements [begin,
// end) of the line with the input pixels at, at + step, ... End returns whether
// the line is finished; if not, the struct from Again() computes it.
template <typename T>
struct MaxLine {
  const T* x;
  T* out;
  bool relu;

  void Begin(int64_t first, int64_t count, const Divisors& /*divisor*/) {
    to = out + first;
    std::fill(best, best + count,
              -std::numeric_limits<Computed<T>>::infinity());
  }
  void Tap(int64_t begin, int64_t end, int64_t at, int64_t step) {
    ForEachTap(begin, end, step,
               [this, from = x + at](int64_t i, int64_t pixel) {
                 const Computed<T> value = Widen(from[pixel]);
                 const Computed<T> larger = value > best[i] ? value : best[i];
                 best[i] = std::isnan(value) ? value : larger;
               });
  }
  bool End(int64_t count, const Divisors& /*divisor*/) {
    for (int64_t i = 0; i < count; ++i) {
      to[i] = Narrow<T>(relu ? Positive(best[i]) : best[i]);
    }
    return true;
  }

  T* to = nullptr;
  Computed<T> best[kLine] = {};
};

// Recomputes averages that are not finite as sums of pixel / count. These
// overflow only if the average does.
template <typename T, bool kRelu>
struct ShareLine {
  const T* x;
  T* out;

  void Begin(int64_t first, int64_t count, const Divisors& divisor) {
    to = out + first;
    for (int64_t i = 0; i < count; ++i) {
      sum[i] = 0;
      pixels[i] = static_cast<double>(divisor(i));
    }
  }
  void Tap(int64_t begin, int64_t end, int64_t at, int64_t step) {
    for (int64_t i = begin; i < end; ++i) {
      const Computed<T> value = Widen(x[at + (i - begin) * step]);
      sum[i] += double{kRelu ? Positive(value) : value} / pixels[i];
    }
  }
  bool End(int64_t count, const Divisors& /*divisor*/) {
    for (int64_t i = 0; i < count; ++i) {
      if (std::isfinite(Widen(to[i]))) continue;
      to[i] = Narrow<T>(static_cast<Computed<T>>(sum[i]));
    }
    return true;
  }

  T* to = nullptr;
  double sum[kLine] = {};
  double pixels[kLine] = {};
};

// Sum is the type in which a window is summed.
template <typename T, bool kRelu, typename Sum>
struct AvgLine {
  const T* x;
  T* out;

  void Begin(int64_t first, int64_t count, const Divisors& /*divisor*/) {
    to = out + first;
    std::fill(sum, sum + count, Sum{0});
  }
  void Tap(int64_t begin, int64_t end, int64_t at, int64_t step) {
    ForEachTap(begin, end, step,
               [this, from = x + at](int64_t i, int64_t pixel) {
                 const Computed<T> value = Widen(from[pixel]);
                 sum[i] += kRelu ? Positive(value) : value;
               });
  }
  bool End(int64_t count, const Divisors& divisor) {
    if (!(divisor == divided_by) || count > divided) {
      for (int64_t i = 0; i < count; ++i) {
        pixels[i] = static_cast<Sum>(divisor(i));
      }
      divided_by = divisor;
      divided = count;
    }
    int overflows = 0;
    for (int64_t i = 0; i < count; ++i) {
      to[i] = Narrow<T>(static_cast<Computed<T>>(sum[i] / pixels[i]));
      overflows |= static_cast<int>(sum[i] - sum[i] != 0);
    }
    return overflows == 0;
  }
  ShareLine<T, kRelu> Again() const { return {.x = x, .out = out}; }

  T* to = nullptr;
  Sum sum[kLine] = {};
  // The divisors of the line before: those of most lines.
  Sum pixels[kLine] = {};
  Divisors divided_by = {};
  int64_t divided = 0;
};

// Sums of more pixels lose digits in float.
constexpr int64_t kMostInFloat = 64;

template <typename T>
struct MaxGradLine {
  const T* x;
  const T* out;
  const T* out_grad;
  PoolGrad<T>* x_grad;
  bool relu;

  void Begin(int64_t first, int64_t count, const Divisors& /*divisor*/) {
    for (int64_t i = 0; i < count; ++i) {
      best[i] = Widen(out[first + i]);
      const bool stays = !relu || !(best[i] <= 0);
      left[i] = stays ? Widen(out_grad[first + i]) : Computed<T>{0};
    }
  }
  void Tap(int64_t begin, int64_t end, int64_t at, int64_t step) {
    const T* from = x + at;
    Computed<T>* to = x_grad + at;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t pixel = (i - begin) * step;
      const Computed<T> value = Widen(from[pixel]);
      const bool same =
          value == best[i] || (std::isnan(value) && std::isnan(best[i]));
      const Computed<T> gets = same ? left[i] : Computed<T>{0};
      to[pixel] += gets;
      left[i] = same ? Computed<T>{0} : left[i];
    }
  }
  bool End(int64_t /*count*/, const Divisors& /*divisor*/) { return true; }

  // The maximum and the gradient that is left until the maximum is found.
  Computed<T> best[kLine] = {};
  Computed<T> left[kLine] = {};
};

template <typename T, bool kRelu>
struct AvgGradLine {
  const T* x;  // used if kRelu
  const T* out_grad;
  PoolGrad<T>* x_grad;

  void Begin(int64_t first, int64_t count, const Divisors& divisor) {
    for (int64_t i = 0; i < count; ++i) {
      part[i] =
          Widen(out_grad[first + i]) / static_cast<Computed<T>>(divisor(i));
    }
  }
  void Tap(int64_t begin, int64_t end, int64_t at, int64_t step) {
    Computed<T>* to = x_grad + at;
    for (int64_t i = begin; i < end; ++i) {
      Computed<T> gets = part[i];
      if constexpr (kRelu) {
        if (Widen(x[at + (i - begin) * step]) <= 0) gets = 0;
      }
      to[(i - begin) * step] += gets;
    }
  }
  bool End(int64_t /*count*/, const Divisors& /*divisor*/) { return true; }

  Computed<T> part[kLine] = {};
};

// Handles windows [first, first + count) of row `oh` of an NCHW plane.
template <typename Line>
void WindowsOfARow(const Pool2dGeometry& g,
                   int64_t plane,
                   int64_t oh,
                   int64_t first,
                   int64_t count,
                   Line& line) {
  const Cut rows = Rows(g, oh);
  const Divisors divisor{.g = &g, .rows = rows.counted, .first = first};
  line.Begin((plane * g.out_h + oh) * g.out_w + first, count, divisor);
  for (int64_t h = rows.begin; h < rows.end; ++h) {
    for (int64_t kw = 0; kw < g.kernel_w; ++kw) {
      const int64_t shift = kw - g.pad_left;
      int64_t begin = shift >= 0 ? 0 : (-shift - 1) / g.stride_w + 1;
      int64_t end = g.in_w > shift ? (g.in_w - shift - 1) / g.stride_w + 1 : 0;
      begin = std::clamp(begin, first, first + count);
      end = std::clamp(end, begin, first + count);
      if (begin == end) continue;
      line.Tap(begin - first, end - first,
               (plane * g.in_h + h) * g.in_w + begin * g.stride_w + shift,
               g.stride_w);
    }
  }
  if (line.End(count, divisor)) return;
  if constexpr (requires { line.Again(); }) {
    auto again = line.Again();
    WindowsOfARow(g, plane, oh, first, count, again);
  }
}

// Handles channels [first, first + count) of one NHWC window.
template <typename Line>
void ChannelsOfAWindow(const Pool2dGeometry& g,
                       int64_t n,
                       int64_t oh,
                       int64_t ow,
                       int64_t first,
                       int64_t count,
                       Line& line) {
  const Cut rows = Rows(g, oh), columns = Columns(g, ow);
  const Divisors divisor{.g = &g, .rows = rows.counted * columns.counted};
  line.Begin(((n * g.out_h + oh) * g.out_w + ow) * g.c + first, count, divisor);
  for (int64_t h = rows.begin; h < rows.end; ++h) {
    for (int64_t w = columns.begin; w < columns.end; ++w) {
      line.Tap(0, count, ((n * g.in_h + h) * g.in_w + w) * g.c + first, 1);
    }
  }
  if (line.End(count, divisor)) return;
  if constexpr (requires { line.Again(); }) {
    auto again = line.Again();
    ChannelsOfAWindow(g, n, oh, ow, first, count, again);
  }
}

// Handles channels [first, first + count) of one row of windows of an image.
template <typename Line>
void ChannelsOfARow(const Pool2dGeometry& g,
                    int64_t n,
                    int64_t oh,
                    int64_t first,
                    int64_t count,
                    Line& line) {
  for (int64_t ow = 0; ow < g.out_w; ++ow) {
    for (int64_t c = first; c < first + count; c += kLine) {
      ChannelsOfAWindow(g, n, oh, ow, c, std::min(kLine, first + count - c),
                        line);
    }
  }
}

template <typename Line>
void Plane(const Pool2dGeometry& g, int64_t plane, Line& line) {
  for (int64_t oh = 0; oh < g.out_h; ++oh) {
    for (int64_t ow = 0; ow < g.out_w; ow += kLine) {
      WindowsOfARow(g, plane, oh, ow, std::min(kLine, g.out_w - ow), line);
    }
  }
}

int64_t Grain(int64_t work) {
  return std::max<int64_t>(kShardWork / std::max<int64_t>(work, 1), 1);
}

// Handles all windows in shards. Each shard has its own copy of `line`.
template <typename Line>
void Forward(const Pool2dGeometry& g, const Line& line) {
  const int64_t window = g.kernel_h * g.kernel_w;
  if (!g.nhwc) {
    ParallelFor(g.n * g.c, Grain(g.out_pixels() * window),
                [&](int64_t begin, int64_t end) {
                  Line own = line;
                  for (int64_t i = begin; i < end; ++i) {
                    Plane(g, i, own);
                  }
                });
    return;
  }
  ParallelFor(g.n * g.out_h, Grain(g.out_w * g.c * window),
              [&](int64_t begin, int64_t end) {
                Line own = line;
                for (int64_t i = begin; i < end; ++i) {
                  ChannelsOfARow(g, i / g.out_h, i % g.out_h, 0, g.c, own);
                }
              });
}

// Handles all windows in shards if windows may overlap in the gradient: a shard
// sets its pixels to 0 and then handles all windows that contain them.
template <typename Line>
void Backward(const Pool2dGeometry& g, const Line& line) {
  const int64_t window = g.kernel_h * g.kernel_w;
  const int64_t work = g.out_pixels() * window + g.in_pixels();
  if (!g.nhwc) {
    ParallelFor(g.n * g.c, Grain(work), [&](int64_t begin, int64_t end) {
      Line own = line;
      for (int64_t i = begin; i < end; ++i) {
        auto* to = line.x_grad + i * g.in_pixels();
        std::fill(to, to + g.in_pixels(),
                  std::remove_reference_t<decltype(*to)>{});
        Plane(g, i, own);
      }
    });
    return;
  }
  const int64_t runs = (g.c + kLine - 1) / kLine;
  ParallelFor(
      g.n * runs, Grain(work * std::min(g.c, kLine)),
      [&](int64_t begin, int64_t end) {
        Line own = line;
        for (int64_t i = begin; i < end; ++i) {
          const int64_t n = i / runs, first = i % runs * kLine;
          const int64_t count = std::min(kLine, g.c - first);
          for (int64_t pixel = 0; pixel < g.in_pixels(); ++pixel) {
            auto* to = line.x_grad + (n * g.in_pixels() + pixel) * g.c + first;
            std::fill(to, to + count, std::remove_reference_t<decltype(*to)>{});
          }
          for (int64_t oh = 0; oh < g.out_h; ++oh) {
            ChannelsOfARow(g, n, oh, first, count, own);
          }
        }
      });
}

// Pools whole planes as rows. Averages that are not finite are computed as
// those of other windows.
template <typename T, bool kRelu>
void PoolPlanes(const Pool2dGeometry& g, const T* x, T* out) {
  const int64_t pixels = g.in_pixels();
  const auto counted =
      static_cast<double>(Rows(g, 0).counted * Columns(g, 0).counted);
  ParallelFor(g.n * g.c, Grain(pixels), [&](int64_t begin, int64_t end) {
    AvgLine<T, kRelu, double> line{.x = x, .out = out};
    for (int64_t i = begin; i < end; ++i) {
      const T* from = x + i * pixels;
      if (g.max) {
        const T most = LargestOf(from, pixels);
        out[i] = kRelu ? Positive(most) : most;
        continue;
      }
      double sum = 0;
      T positive[kSumBlock];
      for (int64_t at = 0; at < pixels; at += kSumBlock) {
        const int64_t count = std::min(kSumBlock, pixels - at);
        for (int64_t j = 0; kRelu && j < count; ++j) {
          positive[j] = Positive(from[at + j]);
        }
        double block = 0;
        SumBlocks(kRelu ? positive : from + at, count, &block);
        sum += block;
      }
      out[i] = static_cast<T>(sum / counted);
      if (!std::isfinite(out[i])) Plane(g, i, line);
    }
  });
}

template <typename T, bool kRelu>
void Average(const Pool2dGeometry& g, const T* x, T* out) {
  if (g.kernel_h * g.kernel_w > kMostInFloat) {
    Forward(g, AvgLine<T, kRelu, double>{.x = x, .out = out});
  } else {
    Forward(g, AvgLine<T, kRelu, Computed<T>>{.x = x, .out = out});
  }
}

}  // namespace

bool HasWholePlanes(const Pool2dGeometry& g) {
  if (g.nhwc || g.out_pixels() != 1) return false;
  const Cut rows = Rows(g, 0), columns = Columns(g, 0);
  return rows.begin == 0 && rows.end == g.in_h && columns.begin == 0 &&
         columns.end == g.in_w && g.in_pixels() > 0;
}

template <typename T>
void Pool2d(const Pool2dGeometry& g, const T* x, T* out) {
  if constexpr (!kIsHalf<T>) {
    if (IsMaxOfPairs(g)) return MaxOfPairs(g, x, out);
    if (g.max && g.nhwc) return MaxOfChannels(g, x, out);
    if (HasWholePlanes(g)) {
      return g.relu ? PoolPlanes<T, true>(g, x, out)
                    : PoolPlanes<T, false>(g, x, out);
    }
  }
  if (g.max) {
    Forward(g, MaxLine<T>{.x = x, .out = out, .relu = g.relu});
  } else if (g.relu) {
    Average<T, true>(g, x, out);
  } else {
    Average<T, false>(g, x, out);
  }
}

template <typename T>
void Pool2dGrad(const Pool2dGeometry& g,
                const T* x,
                const T* out,
                const T* out_grad,
                PoolGrad<T>* x_grad) {
  if constexpr (!kIsHalf<T>) {
    if (IsMaxOfPairs(g)) return MaxOfPairsGrad(g, x, out, out_grad, x_grad);
  }
  if (g.max) {
    Backward(g, MaxGradLine<T>{.x = x,
                               .out = out,
                               .out_grad = out_grad,
                               .x_grad = x_grad,
                               .relu = g.relu});
  } else if (g.relu) {
    Backward(g, AvgGradLine<T, true>{
                    .x = x, .out_grad = out_grad, .x_grad = x_grad});
  } else {
    Backward(g, AvgGradLine<T, false>{
                    .x = x, .out_grad = out_grad, .x_grad = x_grad});
  }
}

SLUICE_INSTANTIATE_FLOATS_AND_HALVES(Pool2d);
SLUICE_INSTANTIATE_FLOATS_AND_HALVES(Pool2dGrad);

}  // namespace sluice
