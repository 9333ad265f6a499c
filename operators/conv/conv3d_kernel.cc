#include <algorithm>
#include <cstdint>
#include <limits>

#include "sluice/operators/conv/conv_method.h"
#include "sluice/operators/math/gemm.h"
#include "sluice/operators/math/work.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/volume_windows.h"

namespace sluice {
namespace {

// As Conv2dGeometry: input [n, in_c, the windows' volume], output [n, out_c,
// windows], filter [out_c, in_c / groups, the windows' kernel].
struct Conv3dGeometry {
  int64_t n = 0;
  int64_t in_c = 0;
  int64_t out_c = 0;
  int64_t groups = 1;
  VolumeWindows windows;
  bool nhwc = false;  // channels second only

  int64_t group_in_c() const { return in_c / groups; }
  int64_t group_out_c() const { return out_c / groups; }
  int64_t patch() const { return group_in_c() * windows.kernel(); }
  int64_t in_pixels() const { return windows.in(); }
  int64_t out_pixels() const { return windows.out(); }
  int64_t depth() const { return windows.axes[0].out; }
  int64_t plane() const { return windows.axes[1].out * windows.axes[2].out; }
};

Conv3dGeometry Conv3dGeometryOf(const KernelQuery& query) {
  const DDim& in = IsTransposed(query) ? query.outputs[0] : query.inputs[0];
  Conv3dGeometry g;
  g.n = in[0];
  g.in_c = in[1];
  g.out_c = query.inputs[1][0];
  g.groups = query.Attr<int64_t>("groups");
  g.windows = ConvWindows(query);
  return g;
}

// Returns the memory for all patches of one depth of the output.
size_t PatchBytes(const Conv3dGeometry& g, size_t element) {
  size_t bytes = element;
  bool overflow = false;
  for (const int64_t factor : {g.patch(), g.plane()}) {
    overflow |=
        __builtin_mul_overflow(bytes, static_cast<size_t>(factor), &bytes);
  }
  return overflow ? std::numeric_limits<size_t>::max() / 2 : bytes;
}

template <typename T>
void FillWithBias(
    const T* bias, int64_t images, int64_t channels, int64_t size, T* out) {
  for (int64_t i = 0; i < images * channels; ++i) {
    std::fill(out + i * size, out + (i + 1) * size,
              bias == nullptr ? T{0} : bias[i % channels]);
  }
}

// Computes one product of matrices for each image, group of channels and depth
// of the output.
class SliceMethod {
 public:
  void Prepare(KernelPreparation& preparation,
               Conv2dDirection direction,
               size_t element) {
    g_ = Conv3dGeometryOf(preparation.query);
    // Without output channels only the gradient of the input, zeros, is laid.
    const bool lays = g_.out_c > 0 || direction == Conv2dDirection::kGradInput;
    if (g_.n > 0 && lays) preparation.scratch_bytes = PatchBytes(g_, element);
  }
  const Conv3dGeometry& geometry() const { return g_; }

  template <typename T>
  void Forward(const T* input,
               const T* filter,
               const T* bias,
               T* output,
               void* scratch) const {
    FillWithBias(bias, g_.n, g_.out_c, g_.out_pixels(), output);
    T* const patches = static_cast<T*>(scratch);
    ForEachSlice([&](const Slice& slice) {
      Gather(slice, input, patches);
      Gemm<T>({.m = g_.group_out_c(),
               .n = g_.plane(),
               .k = g_.patch(),
               .a = filter + slice.filter,
               .lda = g_.patch(),
               .b = patches,
               .ldb = g_.plane(),
               .beta = 1,
               .c = output + slice.output,
               .ldc = g_.out_pixels()});
    });
  }

  template <typename T>
  void GradInput(const T* filter,
                 const T* grad,
                 const T* bias,
                 T* input_grad,
                 void* scratch) const {
    FillWithBias(bias, g_.n, g_.in_c, g_.in_pixels(), input_grad);
    T* const patches = static_cast<T*>(scratch);
    ForEachSlice([&](const Slice& slice) {
      Gemm<T>({.transpose_a = true,
               .m = g_.patch(),
               .n = g_.plane(),
               .k = g_.group_out_c(),
               .a = filter + slice.filter,
               .lda = g_.patch(),
               .b = grad + slice.output,
               .ldb = g_.out_pixels(),
               .c = patches,
               .ldc = g_.plane()});
      Scatter(slice, patches, input_grad);
    });
  }

  template <typename T>
  void GradFilter(const T* input,
                  const T* grad,
                  T* filter_grad,
                  void* scratch) const {
    std::fill_n(filter_grad, g_.out_c * g_.patch(), T{0});
    T* const patches = static_cast<T*>(scratch);
    ForEachSlice([&](const Slice& slice) {
      Gather(slice, input, patches);
      Gemm<T>({.transpose_b = true,
               .m = g_.group_out_c(),
               .n = g_.patch(),
               .k = g_.plane(),
               .a = grad + slice.output,
               .lda = g_.out_pixels(),
               .b = patches,
               .ldb = g_.plane(),
               .beta = 1,
               .c = filter_grad + slice.filter,
               .ldc = g_.patch()});
    });
  }

 private:
  // The windows of one depth, and where their data begins.
  struct Slice {
    VolumeWindows windows;
    int64_t input = 0;
    int64_t filter = 0;
    int64_t output = 0;
  };

  template <typename Work>
  void ForEachSlice(const Work& work) const {
    for (int64_t i = 0; i < g_.n * g_.groups; ++i) {
      for (int64_t z = 0; z < g_.depth(); ++z) {
        work(Slice{
            .windows = g_.windows.Slice(z),
            .input = i * g_.group_in_c() * g_.in_pixels(),
            .filter = i % g_.groups * g_.group_out_c() * g_.patch(),
            .output = i * g_.group_out_c() * g_.out_pixels() + z * g_.plane()});
      }
    }
  }

  template <typename T>
  void Gather(const Slice& slice, const T* input, T* patches) const {
    GatherPatches(slice.windows, g_.group_in_c(), g_.in_pixels(),
                  input + slice.input, patches);
  }

  template <typename T>
  void Scatter(const Slice& slice, const T* patches, T* input_grad) const {
    const int64_t rows = slice.windows.kernel() * g_.plane();
    const int64_t grain = std::max<int64_t>(1, kPatchGrain / rows);
    ParallelFor(g_.group_in_c(), grain, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        AddPatches(
            slice.windows, patches + c * rows, [](T value) { return value; },
            input_grad + slice.input + c * g_.in_pixels());
      }
    });
  }

  Conv3dGeometry g_;
};

template <Conv2dDirection kDirection>
KernelWork SliceWork(const KernelQuery& query) {
  constexpr auto kGradInput = Conv2dDirection::kGradInput;
  KernelWork work = DefaultKernelWork(query);
  work.costs = kDirection == Conv2dDirection::kForward ? "conv3d"
               : kDirection == kGradInput              ? "conv3d_grad_input"
                                                       : "conv3d_grad_filter";
  const Conv3dGeometry g = Conv3dGeometryOf(query);
  if (g.n * g.out_c == 0 || query.outputs[0].numel() == 0) return work;
  const auto real = [](int64_t count) { return static_cast<double>(count); };
  const double terms = real(g.patch());
  const double places = real(g.n * g.out_pixels());
  const int64_t lanes = VectorLanes(SizeOf(query.input_dtypes[0]));
  work.flops = 2 * places * real(g.out_c) * terms *
               (Padded(g.plane(), lanes) / real(g.plane()));
  work.patches = places * terms * real(g.groups);
  const VolumeAxis& width = g.windows.axes[2];
  if (width.stride > 1) work.strided_patches = work.patches;
  work.runs = work.patches / real(width.out);
  work.products = real(g.n * g.groups * g.depth());
  // Fewer than a million multiplications run on one thread (gemm.cc).
  work.max_threads = std::max(work.flops / (2e6 * work.products), 1.0);
  return work;
}

}  // namespace

REGISTER_OP_CPU_KERNEL(conv3d,
                       EstimatedBy<&SliceWork<Conv2dDirection::kForward>>,
                       ConvKernel<SliceMethod, FloatTypes>);
REGISTER_OP_CPU_KERNEL(conv3d_grad_input,
                       EstimatedBy<&SliceWork<Conv2dDirection::kGradInput>>,
                       ConvGradInputKernel<SliceMethod, FloatTypes>);
REGISTER_OP_CPU_KERNEL(conv3d_grad_filter,
                       EstimatedBy<&SliceWork<Conv2dDirection::kGradFilter>>,
                       ConvGradFilterKernel<SliceMethod, FloatTypes>);
REGISTER_OP_CPU_KERNEL(conv3d_transpose,
                       EstimatedBy<&SliceWork<Conv2dDirection::kGradInput>>,
                       ConvGradInputKernel<SliceMethod, FloatTypes>);

}  // namespace sluice
