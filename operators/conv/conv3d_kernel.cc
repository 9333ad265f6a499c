#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "sluice/operators/conv/channel_sum.h"
#include "sluice/operators/math/gemm.h"
#include "sluice/operators/math/work.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// The windows along one axis of a volume: element k of window w is element w *
// stride + k * dilation - pad of the volume, if that exists.
struct VolumeAxis {
  int64_t in = 1;
  int64_t out = 1;  // windows
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad = 0;  // before the first element
};

// The axes depth, height and width; images have a depth of 1. The sizes are
// checked: the padded volume and each window fit into 64 bits.
struct VolumeWindows {
  std::array<VolumeAxis, 3> axes;

  int64_t in() const { return axes[0].in * axes[1].in * axes[2].in; }
  int64_t out() const { return axes[0].out * axes[1].out * axes[2].out; }
  int64_t kernel() const {
    return axes[0].kernel * axes[1].kernel * axes[2].kernel;
  }
  // Returns the windows of depth `w` only.
  VolumeWindows Slice(int64_t w) const {
    VolumeWindows slice = *this;
    slice.axes[0].pad -= w * slice.axes[0].stride;
    slice.axes[0].out = 1;
    return slice;
  }
};

constexpr int64_t kPatchGrain = 16384;  // elements of patches

// The windows [first, last) for which element k is inside the volume, and the
// position `at` of that element for the first window.
struct Reach {
  int64_t first = 0;
  int64_t last = 0;
  int64_t at = 0;
};

Reach ReachOf(const VolumeAxis& axis, int64_t k) {
  const int64_t begin = k * axis.dilation - axis.pad;  // of window 0
  if (begin >= axis.in) return {};
  Reach reach;
  reach.first = begin >= 0 ? 0 : (-begin - 1) / axis.stride + 1;
  if (reach.first >= axis.out) return {};
  reach.at = begin + reach.first * axis.stride;
  if (reach.at >= axis.in) return {};
  const int64_t more = (axis.in - 1 - reach.at) / axis.stride;
  reach.last = std::min(axis.out, reach.first + more + 1);
  return reach;
}

// Calls line(patch, volume, width) for each row of windows and element `tap` of
// the kernel: the row's offset in its patch, the offset of its first element
// inside, and the reach along the width. Rows outside have an empty reach.
template <typename Line>
void ForEachLine(const VolumeWindows& windows, int64_t tap, const Line& line) {
  const auto& [depth, height, width] = windows.axes;
  const int64_t kw = tap % width.kernel;
  const int64_t kh = tap / width.kernel % height.kernel;
  const int64_t kd = tap / width.kernel / height.kernel;
  const Reach d = ReachOf(depth, kd), h = ReachOf(height, kh);
  const Reach w = ReachOf(width, kw);
  for (int64_t od = 0; od < depth.out; ++od) {
    for (int64_t oh = 0; oh < height.out; ++oh) {
      const int64_t patch = (od * height.out + oh) * width.out;
      if (od < d.first || od >= d.last || oh < h.first || oh >= h.last) {
        line(patch, int64_t{0}, Reach{});
        continue;
      }
      const int64_t id = d.at + (od - d.first) * depth.stride;
      const int64_t ih = h.at + (oh - h.first) * height.stride;
      line(patch, (id * height.in + ih) * width.in + w.at, w);
    }
  }
}

// patches[kernel][window] = the elements of `channels` channels, zeros outside
// of the volume. Channels are outermost in both. Runs through ParallelFor.
template <typename T>
void LayPatches(const VolumeWindows& windows,
                int64_t channels,
                int64_t channel_stride,
                const T* volume,
                T* patches) {
  const int64_t taps = windows.kernel(), out = windows.out();
  const int64_t stride = windows.axes[2].stride, width = windows.axes[2].out;
  const int64_t grain =
      std::max<int64_t>(1, kPatchGrain / std::max<int64_t>(out, 1));
  ParallelFor(channels * taps, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const T* channel = volume + row / taps * channel_stride;
      T* const patch = patches + row * out;
      ForEachLine(windows, row % taps,
                  [&](int64_t to, int64_t from, const Reach& reach) {
                    T* const line = patch + to;
                    std::fill(line, line + reach.first, T{0});
                    for (int64_t i = reach.first; i < reach.last; ++i) {
                      line[i] = channel[from + (i - reach.first) * stride];
                    }
                    std::fill(line + reach.last, line + width, T{0});
                  });
    }
  });
}

// The reverse of LayPatches: adds the elements of the patches to the volume, in
// a fixed order.
template <typename T>
void AddPatches(const VolumeWindows& windows,
                int64_t channels,
                int64_t channel_stride,
                const T* patches,
                T* volume) {
  const int64_t taps = windows.kernel(), out = windows.out();
  const int64_t stride = windows.axes[2].stride;
  const int64_t grain =
      std::max<int64_t>(1, kPatchGrain / std::max<int64_t>(out * taps, 1));
  ParallelFor(channels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      T* const channel = volume + c * channel_stride;
      for (int64_t tap = 0; tap < taps; ++tap) {
        const T* const patch = patches + (c * taps + tap) * out;
        ForEachLine(
            windows, tap, [&](int64_t from, int64_t to, const Reach& reach) {
              for (int64_t i = reach.first; i < reach.last; ++i) {
                channel[to + (i - reach.first) * stride] += patch[from + i];
              }
            });
      }
    }
  });
}

// Windows slide over `volume`; `windows` has one element for each of them.
// These are Input and Output of conv3d, Output and Input of its transpose.
VolumeWindows WindowsOf(const KernelQuery& query,
                        const DDim& volume,
                        const DDim& windows) {
  const Ints& paddings = query.Attr<Ints>("paddings");
  VolumeWindows result;
  for (int i = 0; i < 3; ++i) {
    VolumeAxis& axis = result.axes[i];
    axis.in = volume[i + 2];
    axis.out = windows[i + 2];
    axis.kernel = query.inputs[1][i + 2];
    axis.stride = query.Attr<Ints>("strides")[i];
    axis.dilation = query.Attr<Ints>("dilations")[i];
    axis.pad = paddings[paddings.size() == 6 ? 2 * i : i];
  }
  return result;
}

// Returns the memory for all patches of one depth of the windows' volume.
size_t PatchBytes(const VolumeWindows& windows,
                  int64_t channels,
                  size_t element) {
  size_t bytes = element;
  bool overflow = false;
  for (const int64_t factor :
       {channels, windows.kernel(), windows.axes[1].out, windows.axes[2].out}) {
    overflow |=
        __builtin_mul_overflow(bytes, static_cast<size_t>(factor), &bytes);
  }
  return overflow ? std::numeric_limits<size_t>::max() / 2 : bytes;
}

template <typename T>
void FillBias(const OpKernelContext& context,
              int64_t images,
              int64_t channels,
              int64_t size,
              T* out) {
  const T* const bias =
      context.HasInput("Bias") ? context.Input("Bias").data<T>() : nullptr;
  for (int64_t i = 0; i < images * channels; ++i) {
    std::fill(out + i * size, out + (i + 1) * size,
              bias == nullptr ? T{0} : bias[i % channels]);
  }
}

// Computes one product of matrices for each depth of the output.
template <typename T>
class Conv3dKernel final : public OpKernel {
 public:
  explicit Conv3dKernel(const OpKernelConstruction& construction)
      : groups_(construction.Attr<int64_t>("groups")) {}

  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    dims_ = query.outputs[0];
    if (dims_.numel() == 0) return;
    windows_ = WindowsOf(query, query.inputs[0], dims_);
    in_channels_ = query.inputs[0][1] / groups_;
    preparation.scratch_bytes = PatchBytes(windows_, in_channels_, sizeof(T));
  }

  void Compute(OpKernelContext& context) const override {
    T* const out = context.AllocateOutput(0, dims_).template data<T>();
    if (dims_.numel() == 0) return;
    const T* const x = context.Input(0).data<T>();
    const T* const filter = context.Input(1).data<T>();
    auto* const patches = static_cast<T*>(context.scratch());
    const int64_t in = windows_.in(), all = windows_.out();
    const int64_t depth = windows_.axes[0].out, plane = all / depth;
    const int64_t out_channels = dims_[1] / groups_;
    const int64_t terms = in_channels_ * windows_.kernel();
    FillBias(context, dims_[0], dims_[1], all, out);
    for (int64_t group = 0; group < dims_[0] * groups_; ++group) {
      for (int64_t z = 0; z < depth; ++z) {
        LayPatches(windows_.Slice(z), in_channels_, in,
                   x + group * in_channels_ * in, patches);
        Gemm<T>({.m = out_channels,
                 .n = plane,
                 .k = terms,
                 .a = filter + group % groups_ * out_channels * terms,
                 .lda = terms,
                 .b = patches,
                 .ldb = plane,
                 .beta = 1,
                 .c = out + group * out_channels * all + z * plane,
                 .ldc = all});
      }
    }
  }

 private:
  int64_t groups_;
  int64_t in_channels_ = 0;  // per group
  VolumeWindows windows_;
  DDim dims_;
};

// kWindows is the input with one element for each window. conv3d's gradient by
// its input computes the same as conv3d_transpose without a bias.
struct Conv3dTransposed {
  static constexpr int kWindows = 0;
};
struct Conv3dGradInput {
  static constexpr int kWindows = 2;
};

// Computes one product of matrices for each depth of the windows' volume.
template <typename T, typename Op>
class Conv3dScatterKernel final : public OpKernel {
 public:
  explicit Conv3dScatterKernel(const OpKernelConstruction& construction)
      : groups_(construction.Attr<int64_t>("groups")) {}

  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    dims_ = query.outputs[0];
    if (dims_.numel() == 0) return;
    windows_ = WindowsOf(query, dims_, query.inputs[Op::kWindows]);
    in_channels_ = query.inputs[Op::kWindows][1] / groups_;
    preparation.scratch_bytes =
        PatchBytes(windows_, dims_[1] / groups_, sizeof(T));
  }

  void Compute(OpKernelContext& context) const override {
    T* const out = context.AllocateOutput(0, dims_).template data<T>();
    if (dims_.numel() == 0) return;
    const T* const x = context.Input(Op::kWindows).template data<T>();
    const T* const filter = context.Input(1).data<T>();
    auto* const patches = static_cast<T*>(context.scratch());
    const int64_t volume = windows_.in(), all = windows_.out();
    const int64_t depth = windows_.axes[0].out, plane = all / depth;
    const int64_t out_channels = dims_[1] / groups_;
    const int64_t terms = out_channels * windows_.kernel();
    FillBias(context, dims_[0], dims_[1], volume, out);
    for (int64_t group = 0; group < dims_[0] * groups_; ++group) {
      for (int64_t z = 0; z < depth; ++z) {
        Gemm<T>({.transpose_a = true,
                 .m = terms,
                 .n = plane,
                 .k = in_channels_,
                 .a = filter + group % groups_ * in_channels_ * terms,
                 .lda = terms,
                 .b = x + group * in_channels_ * all + z * plane,
                 .ldb = all,
                 .c = patches,
                 .ldc = plane});
        AddPatches(windows_.Slice(z), out_channels, volume, patches,
                   out + group * out_channels * volume);
      }
    }
  }

 private:
  int64_t groups_;
  int64_t in_channels_ = 0;  // per group
  VolumeWindows windows_;
  DDim dims_;
};

// Adds up the products of matrices for all images and depths of the output.
template <typename T>
class Conv3dGradFilterKernel final : public OpKernel {
 public:
  explicit Conv3dGradFilterKernel(const OpKernelConstruction& construction)
      : groups_(construction.Attr<int64_t>("groups")) {}

  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    dims_ = query.inputs[1];
    grad_ = query.inputs[2];
    if (dims_.numel() == 0 || grad_.numel() == 0) return;
    windows_ = WindowsOf(query, query.inputs[0], grad_);
    preparation.scratch_bytes = PatchBytes(windows_, dims_[1], sizeof(T));
  }

  void Compute(OpKernelContext& context) const override {
    const T* const grad = context.Input("Output@GRAD").data<T>();
    if (context.HasOutput("Bias@GRAD")) {
      T* const bias =
          context.AllocateOutput("Bias@GRAD", {grad_[1]}).template data<T>();
      ChannelSum(grad, grad_[0], grad_[1], grad_[2] * grad_[3] * grad_[4],
                 false, bias);
    }
    if (!context.HasOutput("Filter@GRAD")) return;
    T* const out =
        context.AllocateOutput("Filter@GRAD", dims_).template data<T>();
    std::fill(out, out + dims_.numel(), T{0});
    if (dims_.numel() == 0 || grad_.numel() == 0) return;
    const T* const x = context.Input("Input").data<T>();
    auto* const patches = static_cast<T*>(context.scratch());
    const int64_t in = windows_.in(), all = windows_.out();
    const int64_t depth = windows_.axes[0].out, plane = all / depth;
    const int64_t out_channels = dims_[0] / groups_;
    const int64_t terms = dims_[1] * windows_.kernel();
    for (int64_t group = 0; group < grad_[0] * groups_; ++group) {
      for (int64_t z = 0; z < depth; ++z) {
        LayPatches(windows_.Slice(z), dims_[1], in, x + group * dims_[1] * in,
                   patches);
        Gemm<T>({.transpose_b = true,
                 .m = out_channels,
                 .n = terms,
                 .k = plane,
                 .a = grad + group * out_channels * all + z * plane,
                 .lda = all,
                 .b = patches,
                 .ldb = plane,
                 .beta = 1,
                 .c = out + group % groups_ * out_channels * terms,
                 .ldc = terms});
      }
    }
  }

 private:
  int64_t groups_;
  VolumeWindows windows_;
  DDim dims_;  // the filter's
  DDim grad_;  // the output's
};

// Patches of each depth of the windows' volume, and a product with them.
// `windows` has one element for each window.
KernelWork PatchWork(const KernelQuery& query,
                     const DDim& windows,
                     const char* costs) {
  KernelWork work = DefaultKernelWork(query);
  work.costs = costs;
  if (windows.numel() == 0 || query.outputs[0].numel() == 0) return work;
  const DDim& filter = query.inputs[1];
  const auto real = [](int64_t count) { return static_cast<double>(count); };
  const auto groups = query.Attr<int64_t>("groups");
  const double terms = real(filter.numel()) / real(windows[1]);
  const double places = real(windows.numel()) / real(windows[1]);
  const int64_t lanes = VectorLanes(SizeOf(query.input_dtypes[0]));
  const int64_t plane = windows[3] * windows[4];
  work.flops =
      2 * real(windows.numel()) * terms * (Padded(plane, lanes) / real(plane));
  work.patches = places * terms * real(groups);
  if (query.Attr<Ints>("strides")[2] > 1) work.strided_patches = work.patches;
  work.runs = work.patches / real(windows[4]);
  work.products = real(windows[0] * groups * windows[2]);
  // Fewer than a million multiplications run on one thread (gemm.cc).
  work.max_threads = std::max(work.flops / (2e6 * work.products), 1.0);
  return work;
}

KernelWork ForwardWork(const KernelQuery& query) {
  return PatchWork(query, query.outputs[0], "conv3d");
}
KernelWork TransposeWork3d(const KernelQuery& query) {
  return PatchWork(query, query.inputs[0], "conv3d_grad_input");
}
KernelWork GradInputWork(const KernelQuery& query) {
  return PatchWork(query, query.inputs[2], "conv3d_grad_input");
}
KernelWork GradFilterWork(const KernelQuery& query) {
  return PatchWork(query, query.inputs[2], "conv3d_grad_filter");
}

}  // namespace

REGISTER_OP_CPU_KERNEL(conv3d,
                       EstimatedBy<&ForwardWork>,
                       Conv3dKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(conv3d_grad_input,
                       EstimatedBy<&GradInputWork>,
                       Conv3dScatterKernel<FloatTypes, Conv3dGradInput>);
REGISTER_OP_CPU_KERNEL(conv3d_grad_filter,
                       EstimatedBy<&GradFilterWork>,
                       Conv3dGradFilterKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(conv3d_transpose,
                       EstimatedBy<&TransposeWork3d>,
                       Conv3dScatterKernel<FloatTypes, Conv3dTransposed>);

}  // namespace sluice
