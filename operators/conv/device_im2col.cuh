#pragma once

#include <algorithm>
#include <utility>

#include "sluice/operators/conv/conv2d_geometry.h"
#include "sluice/operators/math/contraction/device_gemm.cuh"

// Convolution as matrix products on CUDA. In the matrix of patches, a row is an
// element (channel, kh, kw) of all patches, and a column is a window.
namespace sluice {

// Splits a batch into chunks of images whose patches fit in memory.
struct Conv2dChunks {
  int64_t rows = 0;    // patch elements, for all groups
  int64_t pixels = 0;  // windows of an image
  int64_t images = 1;  // images of a chunk

  Conv2dChunks() = default;
  Conv2dChunks(const Conv2dGeometry& g, size_t element)
      : rows(g.groups * g.patch()), pixels(g.out_pixels()) {
    constexpr int64_t kBytes = int64_t{128} << 20;
    const int64_t image =
        std::max<int64_t>(rows * pixels * static_cast<int64_t>(element), 1);
    images = std::clamp<int64_t>(kBytes / image, 1, std::max<int64_t>(g.n, 1));
  }

  int64_t elements() const { return images * rows * pixels; }
};

// Returns the input element at row `row` of the patches and window `pixel` of
// `image`.
template <typename T>
__device__ T PatchElement(const Conv2dGeometry& g,
                          const T* input,
                          int64_t image,
                          int64_t row,
                          int64_t pixel) {
  const int64_t c = row / (g.kernel_h * g.kernel_w);
  const int64_t kh = row / g.kernel_w % g.kernel_h;
  const int64_t kw = row % g.kernel_w;
  const int64_t h =
      pixel / g.out_w * g.stride_h + kh * g.dilation_h - g.pad_top;
  const int64_t w =
      pixel % g.out_w * g.stride_w + kw * g.dilation_w - g.pad_left;
  if (h < 0 || h >= g.in_h || w < 0 || w >= g.in_w) return 0;
  return g.nhwc ? input[((image * g.in_h + h) * g.in_w + w) * g.in_c + c]
                : input[((image * g.in_c + c) * g.in_h + h) * g.in_w + w];
}

// Writes patches[image][row][pixel] for `images` images.
template <typename T>
void DeviceIm2Col(const CUDADeviceContext& device,
                  const Conv2dGeometry& g,
                  const Conv2dChunks& chunks,
                  int64_t images,
                  const T* input,
                  T* patches) {
  const int64_t rows = chunks.rows, pixels = chunks.pixels;
  ForEach(device, images * rows * pixels, [=] __device__(int64_t i) {
    const int64_t line = i / pixels;
    patches[i] = PatchElement(g, input, line / rows, line % rows, i % pixels);
  });
}

// Writes patches[row][image][pixel]: one matrix for all images.
template <typename T>
void DeviceIm2ColOfAll(const CUDADeviceContext& device,
                       const Conv2dGeometry& g,
                       const Conv2dChunks& chunks,
                       int64_t images,
                       const T* input,
                       T* patches) {
  const int64_t pixels = chunks.pixels;
  ForEach(device, chunks.rows * images * pixels, [=] __device__(int64_t i) {
    const int64_t line = i / pixels;
    patches[i] =
        PatchElement(g, input, line % images, line / images, i % pixels);
  });
}

// Returns the window along one axis whose element k is pixel `at`, if any.
__device__ inline int64_t WindowWith(int64_t at,
                                     int64_t k,
                                     int64_t stride,
                                     int64_t dilation,
                                     int64_t pad,
                                     int64_t windows) {
  const int64_t begin = at + pad - k * dilation;
  if (begin < 0 || begin % stride != 0) return -1;
  return begin / stride < windows ? begin / stride : -1;
}

// The reverse of DeviceIm2Col: sums the occurrences of an input element in
// patches[image][row][pixel], in the order of the rows.
template <typename T>
__device__ T SumOfPatches(const Conv2dGeometry& g,
                          const T* patches,
                          int64_t image,
                          int64_t c,
                          int64_t h,
                          int64_t w) {
  const T* rows = patches + (image * g.in_c + c) * g.kernel_h * g.kernel_w *
                                g.out_h * g.out_w;
  T sum = 0;
  for (int64_t kh = 0; kh < g.kernel_h; ++kh) {
    const int64_t oh =
        WindowWith(h, kh, g.stride_h, g.dilation_h, g.pad_top, g.out_h);
    if (oh < 0) continue;
    for (int64_t kw = 0; kw < g.kernel_w; ++kw) {
      const int64_t ow =
          WindowWith(w, kw, g.stride_w, g.dilation_w, g.pad_left, g.out_w);
      if (ow < 0) continue;
      sum += rows[((kh * g.kernel_w + kw) * g.out_h + oh) * g.out_w + ow];
    }
  }
  return sum;
}

// input_grad = bias of its channel (nullptr: 0) + the sums.
template <typename T>
void DeviceCol2Im(const CUDADeviceContext& device,
                  const Conv2dGeometry& g,
                  int64_t images,
                  const T* patches,
                  const T* bias,
                  T* input_grad) {
  ForEach(device, images * g.in_c * g.in_pixels(), [=] __device__(int64_t i) {
    const int64_t pixels = g.in_h * g.in_w;
    const int64_t c = g.nhwc ? i % g.in_c : i / pixels % g.in_c;
    const int64_t pixel = g.nhwc ? i / g.in_c % pixels : i % pixels;
    const T sum = SumOfPatches(g, patches, i / (pixels * g.in_c), c,
                               pixel / g.in_w, pixel % g.in_w);
    input_grad[i] = bias == nullptr ? sum : bias[c] + sum;
  });
}

// Multiplies for each image and group. A call batches the more numerous ones.
template <typename T>
void GemmOfImagesAndGroups(const CUDADeviceContext& device,
                           const GemmArgs<T>& args,
                           GemmBatch images,
                           GemmBatch groups) {
  if (images.count > groups.count) std::swap(images, groups);
  GemmArgs<T> here = args;
  for (int64_t i = 0; i < images.count; ++i) {
    DeviceGemm(device, here, groups);
    here.a += images.a;
    here.b += images.b;
    here.c += images.c;
  }
}

// patches[image][row][pixel] = the transposed filter times the output's
// gradient, for `images` images.
template <typename T>
void DeviceBackwardToPatches(const CUDADeviceContext& device,
                             const Conv2dGeometry& g,
                             const Conv2dChunks& chunks,
                             int64_t images,
                             const T* filter,
                             const T* out_grad,
                             T* patches) {
  const int64_t pixels = chunks.pixels, patch = g.patch();
  const int64_t group = g.group_out_c();
  GemmOfImagesAndGroups<T>(
      device,
      {true, g.nhwc, patch, pixels, group, 1, filter, patch, out_grad,
       g.nhwc ? g.out_c : pixels, 0, patches, pixels},
      {images, 0, g.out_c * pixels, chunks.rows * pixels},
      {g.groups, group * patch, g.nhwc ? group : group * pixels,
       patch * pixels});
}

// Sets `count` elements to the bias of their channel (nullptr: 0). Each channel
// has runs of `run` elements.
template <typename T>
void DeviceFillWithBias(const CUDADeviceContext& device,
                        const T* bias,
                        int64_t channels,
                        int64_t run,
                        int64_t count,
                        T* out) {
  if (bias == nullptr) {
    FillZero(device, out, static_cast<size_t>(count) * sizeof(T));
    return;
  }
  ForEach(device, count,
          [=] __device__(int64_t i) { out[i] = bias[i / run % channels]; });
}

}  // namespace sluice
