#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "sluice/operators/registration.h"
#include "sluice/operators/volume_windows.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// The elements of one window along one axis: there are `count` of them with a
// stride of `dilation`. `padded` also counts those in the padding.
struct Span {
  int64_t begin = 0;
  int64_t count = 0;
  int64_t padded = 0;
};

// Counts those of the first `most` of begin, begin + dilation, ... below `end`.
int64_t CountBelow(int64_t begin, int64_t dilation, int64_t most, int64_t end) {
  return begin >= end ? 0 : std::min(most, (end - 1 - begin) / dilation + 1);
}

Span SpanOf(const VolumeAxis& axis, int64_t window) {
  Span span;
  const int64_t first = window * axis.stride - axis.pad_before;
  const int64_t skipped = CountBelow(first, axis.dilation, axis.kernel, 0);
  span.padded =
      CountBelow(first, axis.dilation, axis.kernel, axis.in + axis.pad_after);
  span.begin = first + skipped * axis.dilation;
  span.count =
      CountBelow(span.begin, axis.dilation, axis.kernel - skipped, axis.in);
  return span;
}

using Window = std::array<Span, 3>;  // along depth, height and width

struct PoolGeometry {
  int64_t channels = 0;  // of all elements of the batch
  std::array<VolumeAxis, 3> axes;
  int64_t volume = 0;   // elements of a channel of X
  int64_t windows = 0;  // of a channel
  bool max = true;
  bool exclusive = true;

  // Whether rows of windows are long enough to be taken together, element by
  // element of the kernel.
  bool HasLines() const {
    return axes[2].out >= 4 && VolumeWindows{axes}.kernel() <= volume;
  }
};

PoolGeometry GeometryOf(const KernelQuery& query,
                        const DDim& x,
                        const DDim& out) {
  VolumeWindows windows = WindowsOver(query, x, query.Attr<Ints>("ksize"));
  for (int i = 0; i < 3; ++i) {
    windows.axes[i].out = out[i + 2];  // ceil_mode may add one
  }
  return {.channels = x[0] * x[1],
          .axes = windows.axes,
          .volume = windows.in(),
          .windows = windows.out(),
          .max = query.Attr<std::string>("pooling_type") == "max",
          .exclusive = query.Attr<bool>("exclusive")};
}

// Calls visit(offset in the channel) for each element of a window, in order.
template <typename Visit>
void ForEachElement(const PoolGeometry& g,
                    const Window& window,
                    const Visit& visit) {
  const auto& [d, h, w] = window;
  for (int64_t i = 0; i < d.count; ++i) {
    const int64_t plane = (d.begin + i * g.axes[0].dilation) * g.axes[1].in;
    for (int64_t j = 0; j < h.count; ++j) {
      const int64_t row =
          (plane + h.begin + j * g.axes[1].dilation) * g.axes[2].in;
      for (int64_t k = 0; k < w.count; ++k) {
        visit(row + w.begin + k * g.axes[2].dilation);
      }
    }
  }
}

// Calls take(window, x) for element after element of a channel's windows, in
// the order of ForEachElement, row by row of windows: so the loop over a row is
// vectorized.
template <typename T, typename Take>
void TakeLines(const PoolGeometry& g, const T* channel, const Take& take) {
  const VolumeWindows windows{g.axes};
  const int64_t stride = g.axes[2].stride;
  for (int64_t tap = 0; tap < windows.kernel(); ++tap) {
    ForEachLine(windows, tap,
                [&](int64_t row, int64_t from, const WindowReach& reach) {
                  const T* const x = channel + from;
                  const int64_t to = row + reach.first;
                  const int64_t count = reach.last - reach.first;
                  if (stride == 1) {
                    for (int64_t i = 0; i < count; ++i) {
                      take(to + i, x[i]);
                    }
                  } else if (stride == 2) {
                    for (int64_t i = 0; i < count; ++i) {
                      take(to + i, x[2 * i]);
                    }
                  } else {
                    for (int64_t i = 0; i < count; ++i) {
                      take(to + i, x[i * stride]);
                    }
                  }
                });
  }
}

// Sets `out` to the maxima of a channel's windows, -infinity for empty ones.
template <typename T>
void MaxOfLines(const PoolGeometry& g, const T* channel, T* out) {
  std::fill(out, out + g.windows, -std::numeric_limits<T>::infinity());
  TakeLines(g, channel, [out](int64_t window, T x) {
    const T best = out[window];
    out[window] = x > best || std::isnan(x) ? x : best;
  });
}

// Sets `sums` to the sums of a channel's windows.
template <typename T>
void SumsOfLines(const PoolGeometry& g, const T* channel, double* sums) {
  std::fill(sums, sums + g.windows, 0.0);
  TakeLines(g, channel, [sums](int64_t window, T x) { sums[window] += x; });
}

// Returns the offset of a window's maximum, -1 for an empty window.
template <typename T>
int64_t FindMax(const PoolGeometry& g, const Window& window, const T* channel) {
  int64_t best = -1;
  ForEachElement(g, window, [&](int64_t at) {
    const bool first = best < 0 || channel[at] > channel[best] ||
                       (std::isnan(channel[at]) && !std::isnan(channel[best]));
    if (first) best = at;
  });
  return best;
}

double Divisor(const PoolGeometry& g, const Window& window) {
  const auto& [d, h, w] = window;
  const auto real = [](int64_t count) { return static_cast<double>(count); };
  if (g.exclusive) return real(d.count) * real(h.count) * real(w.count);
  return std::max(real(d.padded) * real(h.padded) * real(w.padded), 1.0);
}

// Calls visit(number, window) for the windows of a channel.
template <typename Visit>
void ForEachWindow(const PoolGeometry& g, const Visit& visit) {
  int64_t number = 0;
  for (int64_t i = 0; i < g.axes[0].out; ++i) {
    const Span d = SpanOf(g.axes[0], i);
    for (int64_t j = 0; j < g.axes[1].out; ++j) {
      const Span h = SpanOf(g.axes[1], j);
      for (int64_t k = 0; k < g.axes[2].out; ++k) {
        visit(number++, Window{d, h, SpanOf(g.axes[2], k)});
      }
    }
  }
}

// The average of a window whose sum is known.
template <typename T>
T AverageOf(const PoolGeometry& g,
            const Window& window,
            const T* channel,
            double sum) {
  const double divisor = Divisor(g, window);
  if (std::isfinite(sum)) return static_cast<T>(sum / divisor);
  double average = 0;  // may be finite
  ForEachElement(g, window,
                 [&](int64_t at) { average += channel[at] / divisor; });
  return static_cast<T>(average);
}

template <typename T>
class Pool3dKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    dims_ = query.outputs[0];
    geometry_ = GeometryOf(query, query.inputs[0], dims_);
  }

  void Compute(OpKernelContext& context) const override {
    const PoolGeometry& g = geometry_;
    T* const out = context.AllocateOutput("Out", dims_).template data<T>();
    int64_t* mask = nullptr;
    if (context.HasOutput("Mask")) {
      mask = context.AllocateOutput("Mask", dims_).template data<int64_t>();
    }
    if (dims_.numel() == 0) return;
    const T* const x = context.Input(0).data<T>();
    // One thread handles a channel.
    ParallelFor(g.channels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        const T* const channel = x + c * g.volume;
        T* const to = out + c * g.windows;
        if (!g.max) {
          Averages(channel, to);
        } else if (mask == nullptr && g.HasLines()) {
          MaxOfLines(g, channel, to);
        } else {
          Maxima(channel, to, mask == nullptr ? nullptr : mask + c * g.windows);
        }
        // The mask counts elements of all of X.
        for (int64_t i = 0; mask != nullptr && i < g.windows; ++i) {
          int64_t& at = mask[c * g.windows + i];
          at = g.max && at >= 0 ? at + c * g.volume : -1;
        }
      }
    });
  }

 private:
  void Averages(const T* channel, T* out) const {
    const PoolGeometry& g = geometry_;
    std::vector<double> sums(g.windows);
    if (g.HasLines()) {
      SumsOfLines(g, channel, sums.data());
    } else {
      ForEachWindow(g, [&](int64_t number, const Window& window) {
        ForEachElement(g, window,
                       [&](int64_t at) { sums[number] += channel[at]; });
      });
    }
    ForEachWindow(g, [&](int64_t number, const Window& window) {
      out[number] = AverageOf(g, window, channel, sums[number]);
    });
  }

  void Maxima(const T* channel, T* out, int64_t* mask) const {
    ForEachWindow(geometry_, [&](int64_t number, const Window& window) {
      const int64_t best = FindMax(geometry_, window, channel);
      out[number] =
          best < 0 ? -std::numeric_limits<T>::infinity() : channel[best];
      if (mask != nullptr) mask[number] = best;
    });
  }

  DDim dims_;
  PoolGeometry geometry_;
};

template <typename T>
class Pool3dGradKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    dims_ = query.inputs[0];
    geometry_ = GeometryOf(query, dims_, query.inputs[1]);
  }

  void Compute(OpKernelContext& context) const override {
    const PoolGeometry& g = geometry_;
    T* const x_grad = context.AllocateOutput(0, dims_).template data<T>();
    std::fill(x_grad, x_grad + dims_.numel(), T{0});
    if (dims_.numel() == 0) return;
    const T* const x = context.Input(0).data<T>();
    const T* const grad = context.Input(1).data<T>();
    ParallelFor(g.channels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        T* const to = x_grad + c * g.volume;
        const T* const from = grad + c * g.windows;
        ForEachWindow(g, [&](int64_t number, const Window& window) {
          if (g.max) {
            const int64_t best = FindMax(g, window, x + c * g.volume);
            if (best >= 0) to[best] += from[number];
            return;
          }
          const T part = static_cast<T>(from[number] / Divisor(g, window));
          ForEachElement(g, window, [&](int64_t at) { to[at] += part; });
        });
      }
    });
  }

 private:
  DDim dims_;
  PoolGeometry geometry_;
};

// A thread handles a channel, element by element or line by line.
KernelWork Pool3dWork(const KernelQuery& query,
                      const DDim& x,
                      const DDim& windows) {
  KernelWork work = DefaultKernelWork(query);
  work.costs = query.op.type;
  work.windows = static_cast<double>(windows.numel());
  double terms = work.windows;
  for (const int64_t size : query.Attr<Ints>("ksize")) {
    terms *= static_cast<double>(size);
  }
  const bool max = query.Attr<std::string>("pooling_type") == "max";
  (max ? work.terms : work.sums) = terms;
  work.max_threads = std::max(static_cast<double>(x[0] * x[1]), 1.0);
  return work;
}
KernelWork Pool3dForwardWork(const KernelQuery& query) {
  const DDim &x = query.inputs[0], &out = query.outputs[0];
  KernelWork work = Pool3dWork(query, x, out);
  if (work.windows > 0 && GeometryOf(query, x, out).HasLines()) {
    work.costs = "pool3d_lines";
    if (work.terms > 0) work.windows = 0;
  }
  return work;
}
KernelWork Pool3dBackwardWork(const KernelQuery& query) {
  return Pool3dWork(query, query.inputs[0], query.inputs[1]);
}

}  // namespace

REGISTER_OP_CPU_KERNEL(pool3d,
                       EstimatedBy<&Pool3dForwardWork>,
                       Pool3dKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(pool3d_grad,
                       EstimatedBy<&Pool3dBackwardWork>,
                       Pool3dGradKernel<FloatTypes>);

}  // namespace sluice
