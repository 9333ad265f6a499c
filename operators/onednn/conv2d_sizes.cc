#include "sluice/operators/onednn/conv2d_sizes.h"

#include <algorithm>
#include <array>

#include "sluice/operators/onednn/vector_width.h"

namespace sluice::operators::onednn {

Dims ConvSizes::filter() const {
  const math::Conv2dGeometry& g = geometry;
  if (g.groups == 1) return {g.out_c, g.in_c, g.kernel_h, g.kernel_w};
  return {g.groups, g.group_out_c(), g.group_in_c(), g.kernel_h, g.kernel_w};
}

Desc ConvSizes::GivenFilter(platform::DType dtype) const {
  return {filter(), ToDnnl(dtype),
          geometry.groups == 1 ? Tag::oihw : Tag::goihw};
}

Desc ConvSizes::WantedImage(const Dims& nchw,
                            platform::DType dtype,
                            ConvLayout layout) const {
  if (MixesWindows(dtype)) return Image(nchw, dtype, /*channels_last=*/false);
  switch (layout) {
    case ConvLayout::kAsGiven:
      return GivenImage(nchw, dtype);
    case ConvLayout::kChannelsLast:
      return Image(nchw, dtype, /*channels_last=*/true);
    default:
      return {nchw, ToDnnl(dtype), Tag::any};
  }
}

namespace {

using framework::KernelQuery;

std::string TakesChannelsLast(const KernelQuery& query) {
  if (query.Attr<std::string>("data_format") == "NHWC") {
    return "the channels are the last already";
  }
  return FitsOneDnn(query);
}

// Priorities in the order of ConvLayout.
using Ranks = std::array<int, 3>;

// Measured on one core with AVX-512 and on one with AVX2, between 1 and 256
// channels. What decides is how many channels the vectors of the blocked
// layouts would leave empty, and whether the copies to and from a better layout
// pay.
Ranks ForwardRanks(const math::Conv2dGeometry& g) {
  if (g.nhwc) return {20, 0, 10};
  if (g.groups > 1) return {10, 15, 20};
  if (g.pointwise()) return {20, 12, 11};
  if (g.in_c <= 4) return {-3, -1, -2};
  return {g.in_c < 32 ? -1 : 5, 20, 18};
}

Ranks GradInputRanks(const math::Conv2dGeometry& g) {
  if (g.groups > 1) return g.nhwc ? Ranks{20, 0, 10} : Ranks{10, 15, 20};
  if (!g.nhwc && g.pointwise()) return {20, 10, 15};
  const bool fills = WideVectors() ? g.in_c >= 32 : g.in_c % 8 == 0;
  if (!fills) return {-1, -3, -2};
  return g.nhwc ? Ranks{20, 0, 10} : Ranks{5, 18, 20};
}

// With AVX2 oneDNN is at its best in the blocked layout; with the channels last
// it is up to 15 % faster than the plain kernel where they do not fill vectors,
// and up to 2.6 times as slow where they do.
Ranks NarrowGradFilterRanks(const math::Conv2dGeometry& g) {
  if (g.nhwc) return {-1, -3, -2};
  return g.in_c % 8 == 0 ? Ranks{-3, -2, 20} : Ranks{-1, -3, -2};
}

Ranks GradFilterRanks(const math::Conv2dGeometry& g) {
  if (g.nhwc && g.in_c == 1) return {-1, -3, -2};
  if (!WideVectors() && g.groups == 1 && !g.pointwise()) {
    return NarrowGradFilterRanks(g);
  }
  if (g.nhwc) return {20, 0, 5};
  if (g.groups > 1) return {10, 15, 20};
  if (g.pointwise()) return {20, 9, 10};
  if (g.in_c > 1 && g.in_c <= 4) return {-1, -3, -2};
  return g.in_c < 32 ? Ranks{-1, 20, 15} : Ranks{-1, 18, 20};
}

int Rank(const KernelQuery& query, ConvLayout layout) {
  const math::Conv2dGeometry g = Conv2dGeometryOf(query);
  const Ranks ranks = query.op.type == "conv2d_grad_input" ? GradInputRanks(g)
                      : query.op.type == "conv2d_grad_filter"
                          ? GradFilterRanks(g)
                          : ForwardRanks(g);
  const int rank = ranks[static_cast<size_t>(layout)];
  // Nothing else knows the instructions for half precision.
  const bool half = query.input_dtypes[0] == platform::DType::kBFloat16;
  return half ? std::max(rank, 4 + rank / 5) : rank;
}

}  // namespace

framework::KernelTraits ConvTraits(ConvLayout layout) {
  const auto rank = [layout](const KernelQuery& query) {
    return Rank(query, layout);
  };
  return framework::KernelTraits()
      .Priority(20 - static_cast<int>(layout), rank)
      .When(layout == ConvLayout::kChannelsLast ? &TakesChannelsLast
                                                : &FitsOneDnn);
}

}  // namespace sluice::operators::onednn
