#include "sluice/laboratory/tuning/corpus_layers.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <nlohmann/json.hpp>

namespace sluice {

std::string_view CorpusLayerTables();  // corpus_layers.json

namespace {

using Json = nlohmann::ordered_json;

// A table has the layers of networks, a network after the other. Their columns
// are these members.
template <typename Layer, typename... Members>
std::vector<Layer> Read(const char* table, Members Layer::*... members) {
  static const Json kTables = Json::parse(CorpusLayerTables());
  std::vector<Layer> layers;
  for (const Json& group : kTables.at(table)) {
    for (const Json& row : group.at(1)) {
      Layer& layer = layers.emplace_back();
      layer.network = group.at(0);
      size_t column = 0;
      (row.at(column++).get_to(layer.*members), ...);
    }
  }
  return layers;
}

std::vector<ConvLayer> ReadConvolutions(const char* table) {
  using Layer = ConvLayer;
  return Read(table, &Layer::in_c, &Layer::in_h, &Layer::in_w, &Layer::out_c,
              &Layer::kernel_h, &Layer::kernel_w, &Layer::stride, &Layer::pad_h,
              &Layer::pad_w, &Layer::groups);
}

}  // namespace

std::span<const ConvLayer> ConvLayers() {
  static const auto kLayers = ReadConvolutions("convolutions");
  return kLayers;
}

std::vector<ConvLayer> ResNet50Convolutions() {
  std::vector<ConvLayer> layers = ReadConvolutions("not_drawn");
  std::copy_if(
      ConvLayers().begin(), ConvLayers().end(), std::back_inserter(layers),
      [](const ConvLayer& layer) { return layer.network == "ResNet-50"; });
  return layers;
}

std::span<const PoolLayer> PoolLayers() {
  using Layer = PoolLayer;
  static const auto kLayers =
      Read("pools", &Layer::max, &Layer::channels, &Layer::size, &Layer::kernel,
           &Layer::stride, &Layer::pad);
  return kLayers;
}

std::span<const NormLayer> NormLayers() {
  using Layer = NormLayer;
  static const auto kLayers = Read("norms", &Layer::channels, &Layer::size);
  return kLayers;
}

std::span<const ProductLayer> ProductLayers() {
  using Layer = ProductLayer;
  static const auto kLayers = Read("products", &Layer::heads, &Layer::m,
                                   &Layer::k, &Layer::n, &Layer::transpose_y);
  return kLayers;
}

std::span<const ShapedLayer> TransposeLayers() {
  using Layer = ShapedLayer;
  static const auto kLayers = Read("transposes", &Layer::dims, &Layer::axes);
  return kLayers;
}

std::span<const VolumeLayer> VolumeLayers() {
  using Layer = VolumeLayer;
  static const auto kLayers =
      Read("volumes", &Layer::in_c, &Layer::depth, &Layer::size, &Layer::out_c,
           &Layer::kernel, &Layer::stride);
  return kLayers;
}

}  // namespace sluice
