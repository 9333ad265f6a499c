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

// Returns how many products each result is the sum of.
int64_t TermsOf(const KernelQuery& query, const Conv2dGeometry& g) {
  if (query.op.type == "conv2d_grad_filter") return g.n * g.out_pixels();
  if (query.op.type != "conv2d_grad_input") return g.patch();
  return g.group_out_c() * g.kernel_h * g.kernel_w;
}

// With channels last or in blocks, oneDNN adds up the terms one after the
// other. Of a million of one sign that loses four digits.
std::string Refusal(const KernelQuery& query, ConvVariant variant) {
  constexpr int64_t kMostTerms = int64_t{1} << 19;
  std::string refusal = FitsOneDnn(query);
  if (!refusal.empty()) return refusal;
  const Conv2dGeometry g = Conv2dGeometryOf(query);
  if (variant == ConvVariant::kDirect && !g.nhwc) return "";
  if (variant == ConvVariant::kChannelsLast && g.nhwc) {
    return "the channels are the last already";
  }
  const int64_t terms = TermsOf(query, g);
  if (terms <= kMostTerms) return "";
  return Format("loses digits in sums of over {} terms, here {}", kMostTerms,
                terms);
}

}  // namespace

KernelTraits ConvTraits(ConvVariant variant) {
  return KernelTraits()
      .Estimate([variant](const KernelQuery& query) {
        return ConvWork(query, variant);
      })
      .When([variant](const KernelQuery& query) {
        return Refusal(query, variant);
      });
}

}  // namespace sluice::onednn
