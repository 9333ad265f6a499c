#pragma once

#include <cstdint>
#include <string>

#include "sluice/framework/op/op_kernel.h"

namespace sluice {

// `rows` rows of channels x step elements. `step` is the number of pixels if
// channels come first, and 1 if they come last. The window of channel c is [c -
// before, c + after], clipped to the channels.
struct LrnGeometry {
  int64_t rows = 0, channels = 0, step = 1;
  int64_t before = 0, after = 0;
  double k = 1, scale = 0, beta = 0;

  LrnGeometry() = default;
  // Windows have `n` channels, clipped to the number of channels.
  LrnGeometry(int64_t rows, int64_t channels, int64_t step, int64_t n)
      : rows(rows),
        channels(channels),
        step(step),
        before(Cut((n - 1) / 2)),
        after(Cut(n / 2)) {}

  int64_t row() const { return channels * step; }

  // The elements that are computed at a time. The buffers for them and their
  // inputs fit into the first-level cache.
  static constexpr int64_t kBlock = 512;

 private:
  int64_t Cut(int64_t reach) const {
    return reach < channels ? reach : channels;
  }
};

// Returns the geometry for a kernel of lrn or lrn_grad; input 0 is X.
inline LrnGeometry LrnGeometryOf(const KernelQuery& query) {
  const DDim& x = query.inputs[0];
  const bool last = query.Attr<std::string>("data_format") == "NHWC";
  const int rank = x.rank();
  const int channel = last ? rank - 1 : 1;
  const auto n = query.Attr<int64_t>("n");
  LrnGeometry g(x.Product(0, channel), x[channel], x.Product(channel + 1, rank),
                n);
  g.k = query.Attr<double>("k");
  g.scale = query.Attr<double>("alpha") / static_cast<double>(n);
  g.beta = query.Attr<double>("beta");
  return g;
}

}  // namespace sluice
