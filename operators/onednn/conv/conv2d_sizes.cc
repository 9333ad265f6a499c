#include "sluice/operators/onednn/conv/conv2d_sizes.h"

#include "sluice/operators/onednn/conv/conv2d_work.h"

namespace sluice::onednn {

Dims ConvSizes::filter() const {
  const Conv2dGeometry& g = geometry;
  if (g.groups == 1) return {g.out_c, g.in_c, g.kernel_h, g.kernel_w};
  return {g.groups, g.group_out_c(), g.group_in_c(), g.kernel_h, g.kernel_w};
}

Desc ConvSizes::GivenFilter(DType dtype) const {
  return {filter(), ToDnnl(dtype),
          geometry.groups == 1 ? Tag::oihw : Tag::goihw};
}

Desc ConvSizes::WantedImage(const Dims& nchw,
                            DType dtype,
                            ConvVariant variant) const {
  if (MixesWindows(dtype)) return Image(nchw, dtype, /*channels_last=*/false);
  switch (variant) {
    case ConvVariant::kDirect:
      return GivenImage(nchw, dtype);
    case ConvVariant::kChannelsLast:
      return Image(nchw, dtype, /*channels_last=*/true);
    default:
      return {nchw, ToDnnl(dtype), Tag::any};
  }
}

namespace {

std::string TakesChannelsLast(const KernelQuery& query) {
  if (query.Attr<std::string>("data_format") == "NHWC") {
    return "the channels are the last already";
  }
  return FitsOneDnn(query);
}

}  // namespace

KernelTraits ConvTraits(ConvVariant variant) {
  return KernelTraits()
      .Estimate([variant](const KernelQuery& query) {
        return ConvWork(query, variant);
      })
      .When(variant == ConvVariant::kChannelsLast ? &TakesChannelsLast
                                                  : &FitsOneDnn);
}

}  // namespace sluice::onednn
