#include "sluice/operators/onednn/conv/conv2d_work.h"

#include <algorithm>

#include "sluice/operators/chain/chain_steps.h"
#include "sluice/operators/math/conv/conv2d_work.h"
#include "sluice/operators/math/work.h"
#include "sluice/operators/onednn/vector_width.h"

// The constants were fitted to layers of many networks on one core with
// AVX-512.
namespace sluice::operators::onednn {
namespace {

using framework::KernelQuery;
using framework::KernelWork;
using math::Conv2dDirection;
using math::Conv2dGeometry;
using math::Padded;

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
  Conv(const KernelQuery& query, ConvLayout wanted)
      : g(Conv2dGeometryOf(query)),
        direction(DirectionOf(query)),
        layout(wanted),
        element(Real(
            static_cast<int64_t>(platform::SizeOf(query.input_dtypes[0])))),
        lanes(WideVectors() ? 16 : 8),
        flops(math::Conv2dFlops(g)),
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
  // Returns the moves of the filter to or from a blocked layout. A filter of
  // one tap is a matrix that is transposed; each of its rows is a filter.
  double FilterMoves(double each) const {
    const double aliased =
        taps == 1 ? math::AliasedMoves(g.patch() * element_bytes()) : 0;
    return (each + aliased) * filter;
  }

  // Returns the moves of images to channels last for channels that a cache
  // cannot hold.
  double InColumns() const {
    return in * math::ColumnMoves(g.in_pixels() * element_bytes(), g.in_c);
  }
  double OutColumns() const {
    return out * math::ColumnMoves(g.out_pixels() * element_bytes(), g.out_c);
  }
  int64_t element_bytes() const { return static_cast<int64_t>(element); }

  const Conv2dGeometry g;
  Conv2dDirection direction;
  ConvLayout layout;
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
  switch (conv.direction) {
    case Conv2dDirection::kForward:
      work->efficiency = 0.9;
      work->moves = 1.45 * conv.patches() + 0.4 * conv.out + 475 * products;
      if (!conv.constant_filter) work->moves += 0.3 * conv.filter;
      break;
    case Conv2dDirection::kGradInput:
      work->efficiency = 0.94;
      work->moves =
          1.75 * conv.patches() + conv.filter + 0.3 * conv.in + 475 * products;
      break;
    default:
      work->efficiency = 0.91;
      work->moves =
          2 * conv.patches() + 0.75 * conv.in + 0.9 * conv.out + 350 * products;
      if (conv.bias_grad) work->moves += 1.25 * conv.out;
      break;
  }
}

void AddForward(const Conv& conv, KernelWork* work) {
  work->library_calls = conv.constant_filter ? 1 : 2;
  if (!conv.constant_filter) work->moves = conv.FilterMoves(0.75);
  if (conv.depthwise) {
    work->flops = conv.flops * conv.Filled(conv.g.in_c);
    work->efficiency = 0.93;
    work->moves += conv.windows * (5 + 0.75 * conv.taps) + 0.08 * conv.out;
    return;
  }
  work->flops = conv.flops * conv.FilledOut();
  work->efficiency = 0.97;
}

// With channels last, it is a forward convolution of the gradient, and vectors
// hold input channels; sums over fewer than 4 channels are padded. Blocked
// layouts pad both kinds of channels.
void AddGradInput(const Conv& conv, bool channels_last, KernelWork* work) {
  work->library_calls = 3;
  if (conv.depthwise) {
    work->flops = 2 * conv.flops * conv.Filled(conv.g.in_c);
    return;
  }
  const int64_t out_c = conv.g.group_out_c();
  if (channels_last) {
    work->flops = conv.flops * conv.FilledIn() * Padded(out_c, 4) / Real(out_c);
    work->efficiency = 0.98;
    work->moves = conv.FilterMoves(0.5) + 1250;
  } else {
    work->flops = conv.flops * conv.FilledIn() * conv.FilledOut();
    work->efficiency = 0.935;
    work->moves = conv.FilterMoves(0.12);
  }
  if (conv.g.stride_w > 1) work->moves += 0.45 * conv.patches();
}

bool HasDepthwiseGradFilter(const Conv& conv) {
  return conv.depthwise && conv.g.kernel_h <= 3 && conv.g.kernel_w <= 3;
}

void AddGradFilter(const Conv& conv, bool channels_last, KernelWork* work) {
  work->library_calls = 2;
  if (HasDepthwiseGradFilter(conv)) {
    work->flops = conv.flops * conv.Filled(conv.g.in_c);
    work->efficiency = 0.59;
    work->moves = conv.filter;
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
    work->flops = conv.flops * conv.FilledOut();
    work->efficiency = 0.71;
    work->moves = 2.5 * conv.filter;
    return;
  }
  work->flops = conv.flops * conv.FilledOut();
  work->efficiency = 0.91;
  work->moves = conv.FilterMoves(1.25);
  if (channels_last && conv.bias_grad) work->moves += 0.4 * conv.out;
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
  if (!WideVectors()) work->efficiency /= 2;
  work->moves += conv.windows * Real(conv.g.kernel_h);
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
    switch (conv.direction) {
      case Conv2dDirection::kForward:
        work->extra_bytes += 1.25 * conv.element * (in + out);
        work->moves += 0.4 * in + 0.5 * out + conv.InColumns();
        return;
      case Conv2dDirection::kGradInput:
        work->extra_bytes += conv.element * (in + out);
        work->moves += 0.4 * out + (channels_last ? 0.6 : 0.25) * in;
        if (channels_last) work->moves += conv.OutColumns();
        return;
      default:
        work->extra_bytes +=
            conv.element * (channels_last ? 1.5 * in + 2.75 * out : in + out);
        work->moves += 0.25 * (in + out);
        if (channels_last) work->moves += conv.InColumns() + conv.OutColumns();
        return;
    }
  }
  if (conv.layout != ConvLayout::kBlocked) return;
  switch (conv.direction) {
    case Conv2dDirection::kForward:
      // oneDNN uses channels last, but not for the output if in_c <= 4.
      if (conv.g.groups > 1 || conv.g.in_c > 4) return;
      work->extra_bytes += 3 * conv.element * out;
      break;
    case Conv2dDirection::kGradInput:
      work->extra_bytes +=
          (conv.depthwise ? 3 : 1.75) * conv.element * (in + out);
      break;
    default:
      work->extra_bytes += 1.5 * conv.element * (in + out);
      work->moves += 0.25 * in;
      break;
  }
  work->library_calls += 2;
}

}  // namespace

KernelWork ConvWork(const KernelQuery& query, ConvLayout layout) {
  const Conv conv(query, layout);
  KernelWork work;
  work.bytes = math::Conv2dBytes(conv.g, conv.direction,
                                 static_cast<size_t>(conv.element));
  work.extra_bytes = OperandBytes(query);
  const bool channels_last = layout != ConvLayout::kBlocked;
  // For groups, the gradient of the filter has blocked code only for depthwise
  // convolutions.
  const bool no_blocks = !channels_last && conv.g.groups > 1 &&
                         conv.direction == Conv2dDirection::kGradFilter &&
                         !HasDepthwiseGradFilter(conv);
  if (no_blocks || (!conv.g.nhwc && layout == ConvLayout::kAsGiven)) {
    AddProducts(conv, &work);
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
  return work;
}

}  // namespace sluice::operators::onednn
