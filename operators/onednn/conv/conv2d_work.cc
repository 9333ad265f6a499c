#include "sluice/operators/onednn/conv/conv2d_work.h"

#include <algorithm>

#include "sluice/operators/chain/chain_steps.h"
#include "sluice/operators/conv/conv2d_work.h"
#include "sluice/operators/math/work.h"
#include "sluice/operators/onednn/vector_width.h"

namespace sluice::onednn {
namespace {

// What the code for a convolution takes: 0.3 to 0.7 ms on an EPYC with AVX2.
constexpr double kConvSeconds = 5e-4;

double Real(int64_t value) {
  return static_cast<double>(value);
}

Conv2dDirection DirectionOf(const KernelQuery& query) {
  return query.op.type == "conv2d_grad_input"    ? Conv2dDirection::kGradInput
         : query.op.type == "conv2d_grad_filter" ? Conv2dDirection::kGradFilter
                                                 : Conv2dDirection::kForward;
}

// One convolution, and the quantities that its cost is computed from.
struct Conv {
  Conv(const KernelQuery& query, ConvVariant wanted)
      : g(Conv2dGeometryOf(query)),
        direction(DirectionOf(query)),
        variant(wanted),
        element(Real(static_cast<int64_t>(SizeOf(query.input_dtypes[0])))),
        lanes(WideVectors() ? 16 : 8),
        flops(Conv2dFlops(g)),
        in(Real(g.input_size())),
        out(Real(g.output_size())),
        filter(Real(g.filter_size())),
        windows(Real(g.n * g.out_pixels())),
        taps(Real(g.kernel_h * g.kernel_w)),
        depthwise(g.groups > 1 && g.groups == g.in_c && g.out_c == g.in_c),
        constant_filter(query.input_constant.size() > 1 &&
                        query.input_constant[1] != 0),
        bias_grad(!query.op.Output("Bias@GRAD").empty()) {}

  // The ratios of padded to used channels in vectors.
  double FilledOut() const { return Filled(g.group_out_c()); }
  double FilledIn() const { return Filled(g.group_in_c()); }
  double Filled(int64_t channels) const {
    return Padded(channels, lanes) / Real(channels);
  }
  // Returns the number of vectors for these channels.
  double Vectors(int64_t channels) const {
    return Padded(channels, lanes) / Real(lanes);
  }
  // Returns the number of elements of all patches, which im2col writes.
  double patches() const {
    return g.pointwise() ? 0 : windows * Real(g.in_c) * taps;
  }
  // Counts the filter that is copied to or from a blocked layout. A filter of
  // one tap is a matrix that is transposed; each of its rows is a filter.
  void CopyFilter(KernelWork* work) const {
    work->filters = filter;
    if (taps != 1) return;
    work->aliased = filter * AliasedReads(g.patch() * element_bytes());
  }

  // Returns the elements that are read again as images are turned to channels
  // last, for channels that a cache cannot hold.
  double InEvicted() const {
    return in * EvictedShare(g.in_pixels() * element_bytes(), g.in_c);
  }
  double OutEvicted() const {
    return out * EvictedShare(g.out_pixels() * element_bytes(), g.out_c);
  }
  int64_t element_bytes() const { return static_cast<int64_t>(element); }

  const Conv2dGeometry g;
  Conv2dDirection direction;
  ConvVariant variant;
  double element;  // bytes
  int64_t lanes;
  double flops, in, out, filter, windows, taps;
  bool depthwise, constant_filter, bias_grad;
};

// Channels first in the given layout use im2col and a product for each image
// and group.
void AddProducts(const Conv& conv, KernelWork* work) {
  const double products = Real(conv.g.n * conv.g.groups);
  work->flops = conv.flops;
  work->library_calls = 1;
  work->max_threads = std::max(products, Real(conv.g.out_h));
  work->patches = conv.patches();
  work->products = products;
  switch (conv.direction) {
    case Conv2dDirection::kForward:
      work->costs = "onednn_conv_products";
      work->outputs = conv.out;
      if (!conv.constant_filter) work->filters = conv.filter;
      break;
    case Conv2dDirection::kGradInput:
      work->costs = "onednn_conv_grad_input_products";
      work->filters = conv.filter;
      work->inputs = conv.in;
      break;
    default:
      work->costs = "onednn_conv_grad_filter_products";
      work->inputs = conv.in;
      work->outputs = conv.out;
      if (conv.bias_grad) work->sums = conv.out;
      break;
  }
}

void AddForward(const Conv& conv, KernelWork* work) {
  work->library_calls = conv.constant_filter ? 1 : 2;
  if (!conv.constant_filter) conv.CopyFilter(work);
  if (conv.depthwise) {
    work->costs = "onednn_conv_depthwise";
    work->flops = conv.flops * conv.Filled(conv.g.in_c);
    work->windows = conv.windows;
    work->taps = conv.windows * conv.taps;
    work->outputs = conv.out;
    return;
  }
  work->costs = "onednn_conv";
  work->flops = conv.flops * conv.FilledOut();
}

// With channels last, it is a forward convolution of the gradient, and vectors
// hold input channels; sums over fewer than 4 channels are padded. Blocked
// layouts pad both kinds of channels.
void AddGradInput(const Conv& conv, bool channels_last, KernelWork* work) {
  work->library_calls = 3;
  if (conv.depthwise) {
    work->costs = channels_last ? "onednn_conv_depthwise_grad_input_last"
                                : "onednn_conv_depthwise_grad_input_blocked";
    work->flops = 2 * conv.flops * conv.Filled(conv.g.in_c);
    return;
  }
  const int64_t out_c = conv.g.group_out_c();
  if (channels_last) {
    work->costs = "onednn_conv_grad_input_last";
    work->flops = conv.flops * conv.FilledIn() * Padded(out_c, 4) / Real(out_c);
    work->setups = 1;
  } else {
    work->costs = "onednn_conv_grad_input_blocked";
    work->flops = conv.flops * conv.FilledIn() * conv.FilledOut();
  }
  conv.CopyFilter(work);
  if (conv.g.stride_w > 1) work->strided_patches = conv.patches();
}

bool HasDepthwiseGradFilter(const Conv& conv) {
  return conv.depthwise && conv.g.kernel_h <= 3 && conv.g.kernel_w <= 3;
}

void AddGradFilter(const Conv& conv, bool channels_last, KernelWork* work) {
  work->library_calls = 2;
  if (HasDepthwiseGradFilter(conv)) {
    work->costs = "onednn_conv_depthwise_grad_filter";
    work->flops = conv.flops * conv.Filled(conv.g.in_c);
    work->filters = conv.filter;
    // With few blocks, some of them partial, threads together take longer to
    // copy them than a single thread.
    constexpr double kFewBlocks = 32;
    if (!channels_last && conv.Filled(conv.g.in_c) > 1 &&
        Real(conv.g.n) * conv.Vectors(conv.g.in_c) < kFewBlocks) {
      work->max_threads = 1;
    }
    return;
  }
  if (conv.g.groups > 1) {
    // Larger depthwise filters also use dense code, a vector per group.
    work->costs = "onednn_conv_grouped_grad_filter";
    work->flops = conv.flops * conv.FilledOut();
    work->filters = conv.filter;
    return;
  }
  work->costs = "onednn_conv_grad_filter";
  work->flops = conv.flops * conv.FilledOut();
  conv.CopyFilter(work);
  if (channels_last && conv.bias_grad) work->sums = conv.out;
  if (!channels_last) {
    // AVX2 code pads both kinds of channels, regardless of their number.
    if (!WideVectors()) {
      work->flops *= conv.FilledIn();
    } else if (conv.g.in_c > 4) {
      work->flops *= (1 + conv.FilledIn()) / 2;
    }
    return;
  }
  // It transposes the input's channels for each row of windows. With AVX2 only
  // blocked layouts are vectorized.
  if (!WideVectors()) work->flops *= 2;
  work->rows = conv.windows * Real(conv.g.kernel_h);
  if (conv.g.nhwc) work->extra_bytes += 3 * (conv.in + conv.out);
  // Threads share images and blocks of channels, but not rows.
  work->max_threads =
      Real(conv.g.n) * conv.Vectors(conv.g.in_c) * conv.Vectors(conv.g.out_c);
}

// Adds the copies of images to another layout and back.
void AddCopies(const Conv& conv, bool channels_last, KernelWork* work) {
  double in = conv.in, out = conv.out;
  if (!channels_last && conv.direction == Conv2dDirection::kGradFilter &&
      !conv.depthwise) {
    in *= conv.FilledIn();
    out *= conv.FilledOut();
  }
  if (!conv.g.nhwc) {
    work->library_calls += 2;
    work->copied_inputs = in;
    work->copied_outputs = out;
    switch (conv.direction) {
      case Conv2dDirection::kForward:
        work->copied_bytes = conv.element * (in + out);
        work->evicted = conv.InEvicted();
        return;
      case Conv2dDirection::kGradInput:
        work->extra_bytes += conv.element * (in + out);
        if (channels_last) work->evicted = conv.OutEvicted();
        return;
      default:
        if (channels_last) {
          work->copied_bytes = conv.element * (in + out);
          work->transposed_bytes = conv.element * out;
          work->evicted = conv.InEvicted() + conv.OutEvicted();
        } else {
          work->extra_bytes += conv.element * (in + out);
        }
        return;
    }
  }
  if (conv.variant != ConvVariant::kBlocked) return;
  switch (conv.direction) {
    case Conv2dDirection::kForward:
      // oneDNN uses channels last, but not for the output if in_c <= 4.
      if (conv.g.groups > 1 || conv.g.in_c > 4) return;
      work->extra_bytes += 3 * conv.element * out;
      break;
    case Conv2dDirection::kGradInput:
      if (conv.depthwise) {
        work->extra_bytes += 3 * conv.element * (in + out);
      } else {
        work->copied_bytes = conv.element * (in + out);
      }
      break;
    default:
      work->copied_bytes = conv.element * (in + out);
      work->copied_inputs = in;
      break;
  }
  work->library_calls += 2;
}

}  // namespace

KernelWork ConvWork(const KernelQuery& query, ConvVariant variant) {
  const Conv conv(query, variant);
  KernelWork work;
  work.bytes =
      Conv2dBytes(conv.g, conv.direction, static_cast<size_t>(conv.element));
  work.extra_bytes = OperandBytes(query);
  const bool channels_last = variant != ConvVariant::kBlocked;
  // For groups, the gradient of the filter has blocked code only for depthwise
  // convolutions.
  const bool no_blocks = !channels_last && conv.g.groups > 1 &&
                         conv.direction == Conv2dDirection::kGradFilter &&
                         !HasDepthwiseGradFilter(conv);
  if (no_blocks || (!conv.g.nhwc && variant == ConvVariant::kDirect)) {
    AddProducts(conv, &work);
    work.prepare_seconds = kConvSeconds;
    return work;
  }
  switch (conv.direction) {
    case Conv2dDirection::kForward:
      AddForward(conv, &work);
      break;
    case Conv2dDirection::kGradInput:
      AddGradInput(conv, channels_last, &work);
      break;
    default:
      AddGradFilter(conv, channels_last, &work);
      break;
  }
  AddCopies(conv, channels_last, &work);
  work.parallel_loops = work.library_calls;
  work.prepare_seconds = work.library_calls * kConvSeconds;
  return work;
}

}  // namespace sluice::onednn
