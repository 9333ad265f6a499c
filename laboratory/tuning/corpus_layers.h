#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sluice/platform/export.h"

namespace sluice {

// Layers from the networks' papers, as corpus_layers.json lists them; see
// DrawCorpus.
struct ConvLayer {
  std::string network;
  int64_t in_c, in_h, in_w, out_c;
  int64_t kernel_h, kernel_w, stride, pad_h, pad_w, groups;
};
struct PoolLayer {
  std::string network;
  bool max;
  int64_t channels, size, kernel, stride, pad;  // kernel 0: global
};
struct NormLayer {
  std::string network;
  int64_t channels, size;  // 0: rank 2
};
// X [batch..., m, k] times Y [batch..., k, n]; Y may be stored transposed.
struct ProductLayer {
  std::string network;
  int64_t heads, m, k, n;  // heads 0: `mul` by a parameter; m 0: the batch
  bool transpose_y;
};
struct ShapedLayer {
  std::string network;
  std::vector<int64_t> dims;  // 0: the batch
  std::vector<int64_t> axes;  // of a transpose, or of a softmax
};

// A kernel of equal sizes over a volume [depth, size, size]; with padding to
// the same size, or, for out_c 0, a pooling without.
struct VolumeLayer {
  std::string network;
  int64_t in_c, depth, size, out_c;
  int64_t kernel, stride;
};

std::span<const ConvLayer> ConvLayers();
// The distinct convolutions of ResNet-50, with the stride in the 3x3 ones, of
// which ConvLayers has some.
SLUICE_API std::vector<ConvLayer> ResNet50Convolutions();
std::span<const PoolLayer> PoolLayers();
std::span<const NormLayer> NormLayers();
std::span<const ProductLayer> ProductLayers();
std::span<const ShapedLayer> TransposeLayers();
std::span<const VolumeLayer> VolumeLayers();

}  // namespace sluice
