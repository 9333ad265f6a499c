#include "sluice/laboratory/tuning/corpus_layers.h"

namespace sluice {
namespace {

constexpr ConvLayer kConvLayers[] = {
    {"ResNet-50", 3, 224, 224, 64, 7, 7, 2, 3, 3, 1},
    {"ResNet-50", 64, 56, 56, 64, 1, 1, 1, 0, 0, 1},
    {"ResNet-50", 64, 56, 56, 64, 3, 3, 1, 1, 1, 1},
    {"ResNet-50", 64, 56, 56, 256, 1, 1, 1, 0, 0, 1},
    {"ResNet-50", 128, 56, 56, 128, 3, 3, 2, 1, 1, 1},
    {"ResNet-50", 256, 56, 56, 512, 1, 1, 2, 0, 0, 1},
    {"ResNet-50", 128, 28, 28, 128, 3, 3, 1, 1, 1, 1},
    {"ResNet-50", 512, 28, 28, 128, 1, 1, 1, 0, 0, 1},
    {"ResNet-50", 256, 14, 14, 256, 3, 3, 1, 1, 1, 1},
    {"ResNet-50", 256, 14, 14, 1024, 1, 1, 1, 0, 0, 1},
    {"ResNet-50", 512, 7, 7, 512, 3, 3, 1, 1, 1, 1},
    {"ResNet-50", 2048, 7, 7, 512, 1, 1, 1, 0, 0, 1},
    {"ResNet-50", 1024, 14, 14, 2048, 1, 1, 2, 0, 0, 1},
    {"MobileNet-v2", 3, 224, 224, 32, 3, 3, 2, 1, 1, 1},
    {"MobileNet-v2", 32, 112, 112, 32, 3, 3, 1, 1, 1, 32},
    {"MobileNet-v2", 32, 112, 112, 16, 1, 1, 1, 0, 0, 1},
    {"MobileNet-v2", 16, 112, 112, 96, 1, 1, 1, 0, 0, 1},
    {"MobileNet-v2", 96, 112, 112, 96, 3, 3, 2, 1, 1, 96},
    {"MobileNet-v2", 144, 56, 56, 144, 3, 3, 1, 1, 1, 144},
    {"MobileNet-v2", 144, 56, 56, 24, 1, 1, 1, 0, 0, 1},
    {"MobileNet-v2", 144, 56, 56, 144, 3, 3, 2, 1, 1, 144},
    {"MobileNet-v2", 32, 28, 28, 192, 1, 1, 1, 0, 0, 1},
    {"MobileNet-v2", 384, 14, 14, 384, 3, 3, 1, 1, 1, 384},
    {"MobileNet-v2", 384, 14, 14, 96, 1, 1, 1, 0, 0, 1},
    {"MobileNet-v2", 576, 14, 14, 576, 3, 3, 2, 1, 1, 576},
    {"MobileNet-v2", 960, 7, 7, 960, 3, 3, 1, 1, 1, 960},
    {"MobileNet-v2", 160, 7, 7, 960, 1, 1, 1, 0, 0, 1},
    {"MobileNet-v2", 320, 7, 7, 1280, 1, 1, 1, 0, 0, 1},
    {"VGG-16", 3, 224, 224, 64, 3, 3, 1, 1, 1, 1},
    {"VGG-16", 64, 112, 112, 128, 3, 3, 1, 1, 1, 1},
    {"VGG-16", 128, 56, 56, 256, 3, 3, 1, 1, 1, 1},
    {"VGG-16", 256, 28, 28, 512, 3, 3, 1, 1, 1, 1},
    {"VGG-16", 512, 14, 14, 512, 3, 3, 1, 1, 1, 1},
    {"Inception-v3", 3, 299, 299, 32, 3, 3, 2, 0, 0, 1},
    {"Inception-v3", 32, 149, 149, 32, 3, 3, 1, 0, 0, 1},
    {"Inception-v3", 32, 147, 147, 64, 3, 3, 1, 1, 1, 1},
    {"Inception-v3", 64, 73, 73, 80, 1, 1, 1, 0, 0, 1},
    {"Inception-v3", 80, 73, 73, 192, 3, 3, 1, 0, 0, 1},
    {"Inception-v3", 48, 35, 35, 64, 5, 5, 1, 2, 2, 1},
    {"Inception-v3", 64, 35, 35, 96, 3, 3, 1, 1, 1, 1},
    {"Inception-v3", 288, 35, 35, 384, 3, 3, 2, 0, 0, 1},
    {"Inception-v3", 128, 17, 17, 128, 1, 7, 1, 0, 3, 1},
    {"Inception-v3", 160, 17, 17, 160, 7, 1, 1, 3, 0, 1},
    {"Inception-v3", 768, 17, 17, 192, 1, 1, 1, 0, 0, 1},
    {"Inception-v3", 384, 8, 8, 384, 1, 3, 1, 0, 1, 1},
    {"Inception-v3", 448, 8, 8, 384, 3, 3, 1, 1, 1, 1},
    {"DenseNet-121", 3, 224, 224, 64, 7, 7, 2, 3, 3, 1},
    {"DenseNet-121", 160, 56, 56, 128, 1, 1, 1, 0, 0, 1},
    {"DenseNet-121", 128, 56, 56, 32, 3, 3, 1, 1, 1, 1},
    {"DenseNet-121", 320, 28, 28, 128, 1, 1, 1, 0, 0, 1},
    {"DenseNet-121", 128, 28, 28, 32, 3, 3, 1, 1, 1, 1},
    {"DenseNet-121", 800, 14, 14, 128, 1, 1, 1, 0, 0, 1},
    {"DenseNet-121", 128, 14, 14, 32, 3, 3, 1, 1, 1, 1},
    {"DenseNet-121", 992, 7, 7, 128, 1, 1, 1, 0, 0, 1},
    {"DenseNet-121", 128, 7, 7, 32, 3, 3, 1, 1, 1, 1},
    {"SqueezeNet", 3, 224, 224, 64, 3, 3, 2, 0, 0, 1},
    {"SqueezeNet", 64, 55, 55, 16, 1, 1, 1, 0, 0, 1},
    {"SqueezeNet", 16, 55, 55, 64, 1, 1, 1, 0, 0, 1},
    {"SqueezeNet", 16, 55, 55, 64, 3, 3, 1, 1, 1, 1},
    {"SqueezeNet", 32, 27, 27, 128, 3, 3, 1, 1, 1, 1},
    {"SqueezeNet", 48, 13, 13, 192, 1, 1, 1, 0, 0, 1},
    {"SqueezeNet", 48, 13, 13, 192, 3, 3, 1, 1, 1, 1},
    {"SqueezeNet", 64, 13, 13, 256, 3, 3, 1, 1, 1, 1},
    {"SqueezeNet", 512, 13, 13, 1000, 1, 1, 1, 0, 0, 1},
    {"ShuffleNet", 3, 224, 224, 24, 3, 3, 2, 1, 1, 1},
    {"ShuffleNet", 60, 56, 56, 60, 3, 3, 2, 1, 1, 60},
    {"ShuffleNet", 240, 28, 28, 60, 1, 1, 1, 0, 0, 3},
    {"ShuffleNet", 60, 28, 28, 240, 1, 1, 1, 0, 0, 3},
    {"ShuffleNet", 60, 28, 28, 60, 3, 3, 1, 1, 1, 60},
    {"ShuffleNet", 480, 14, 14, 120, 1, 1, 1, 0, 0, 3},
    {"ShuffleNet", 120, 14, 14, 120, 3, 3, 1, 1, 1, 120},
    {"ShuffleNet", 58, 28, 28, 58, 1, 1, 1, 0, 0, 1},
    {"ShuffleNet", 58, 28, 28, 58, 3, 3, 1, 1, 1, 58},
    {"ShuffleNet", 116, 14, 14, 116, 1, 1, 1, 0, 0, 1},
    {"ShuffleNet", 232, 7, 7, 232, 3, 3, 1, 1, 1, 232},
    {"LeNet", 1, 28, 28, 6, 5, 5, 1, 2, 2, 1},
    {"LeNet", 1, 28, 28, 20, 5, 5, 1, 0, 0, 1},
    {"LeNet", 6, 14, 14, 16, 5, 5, 1, 0, 0, 1},
    {"LeNet", 20, 12, 12, 50, 5, 5, 1, 0, 0, 1},
    {"odd sizes", 3, 37, 37, 5, 3, 3, 1, 1, 1, 1},
    {"odd sizes", 17, 23, 41, 31, 3, 3, 1, 1, 1, 1},
    {"odd sizes", 7, 61, 61, 13, 5, 5, 2, 2, 2, 1},
    {"odd sizes", 1, 100, 90, 1, 9, 9, 1, 4, 4, 1},
    {"odd sizes", 50, 19, 19, 3, 3, 3, 1, 0, 0, 1},
    {"odd sizes", 13, 11, 11, 257, 1, 1, 1, 0, 0, 1},
    {"odd sizes", 9, 33, 33, 9, 3, 3, 1, 1, 1, 3},
    {"odd sizes", 40, 29, 29, 60, 3, 3, 2, 1, 1, 5},
    {"odd sizes", 30, 15, 15, 30, 5, 5, 1, 2, 2, 30},
    {"odd sizes", 80, 1, 200, 100, 1, 5, 1, 0, 2, 1},
    {"odd sizes", 24, 5, 5, 24, 3, 3, 1, 1, 1, 1},
    {"odd sizes", 2, 150, 20, 33, 4, 2, 2, 1, 0, 1},
};

constexpr PoolLayer kPoolLayers[] = {
    {"ResNet-50", true, 64, 112, 3, 2, 1},
    {"ResNet-50", false, 2048, 7, 0, 1, 0},
    {"MobileNet-v2", false, 1280, 7, 0, 1, 0},
    {"VGG-16", true, 64, 224, 2, 2, 0},
    {"VGG-16", true, 256, 56, 2, 2, 0},
    {"VGG-16", true, 512, 14, 2, 2, 0},
    {"Inception-v3", true, 64, 147, 3, 2, 0},
    {"Inception-v3", true, 288, 35, 3, 2, 0},
    {"Inception-v3", false, 192, 35, 3, 1, 1},
    {"Inception-v3", false, 768, 17, 3, 1, 1},
    {"DenseNet-121", false, 128, 56, 2, 2, 0},
    {"DenseNet-121", false, 256, 28, 2, 2, 0},
    {"DenseNet-121", false, 512, 14, 2, 2, 0},
    {"SqueezeNet", true, 64, 111, 3, 2, 0},
    {"SqueezeNet", true, 256, 27, 3, 2, 0},
    {"SqueezeNet", false, 1000, 13, 0, 1, 0},
    {"ShuffleNet", false, 24, 56, 3, 2, 1},
    {"ShuffleNet", false, 240, 28, 3, 2, 1},
    {"LeNet", false, 6, 28, 2, 2, 0},
    {"LeNet", true, 20, 24, 2, 2, 0},
    {"LeNet", false, 16, 10, 2, 2, 0},
    {"odd sizes", false, 17, 31, 5, 3, 2},
    {"odd sizes", true, 5, 41, 3, 1, 1},
    {"odd sizes", false, 3, 100, 8, 8, 0},
};

constexpr NormLayer kNormLayers[] = {
    {"ResNet-50", 64, 112},    {"ResNet-50", 256, 56},
    {"ResNet-50", 512, 28},    {"ResNet-50", 1024, 14},
    {"ResNet-50", 2048, 7},    {"MobileNet-v2", 32, 112},
    {"MobileNet-v2", 24, 56},  {"MobileNet-v2", 144, 56},
    {"MobileNet-v2", 960, 7},  {"Inception-v3", 80, 73},
    {"Inception-v3", 192, 35}, {"DenseNet-121", 64, 56},
    {"DenseNet-121", 160, 28}, {"DenseNet-121", 992, 7},
    {"ShuffleNet", 60, 28},    {"ShuffleNet", 240, 28},
    {"ShuffleNet", 58, 28},    {"MLP", 512, 0},
    {"odd sizes", 7, 13},      {"odd sizes", 100, 0},
    {"odd sizes", 33, 19},
};

constexpr ProductLayer kProductLayers[] = {
    {"MLP", 0, 0, 784, 512, false},
    {"MLP", 0, 0, 512, 512, false},
    {"MLP", 0, 0, 512, 10, false},
    {"ResNet-50", 0, 0, 2048, 1000, false},
    {"MobileNet-v2", 0, 0, 1280, 1000, false},
    {"DenseNet-121", 0, 0, 1024, 1000, false},
    {"VGG-16", 0, 0, 4096, 1000, false},
    {"LeNet", 0, 0, 400, 120, false},
    {"LeNet", 0, 0, 120, 84, false},
    {"LeNet", 0, 0, 84, 10, false},
    {"BERT-base", 0, 128, 768, 768, false},
    {"BERT-base", 0, 128, 768, 3072, false},
    {"BERT-base", 0, 64, 3072, 768, false},
    {"BERT-base", 0, 32, 768, 768, false},
    {"GPT-2", 0, 1, 768, 2304, false},
    {"GPT-2", 0, 0, 768, 3072, false},
    {"GPT-2", 0, 16, 3072, 768, false},
    {"BERT-base", 12, 128, 64, 128, true},
    {"BERT-base", 12, 128, 128, 64, false},
    {"BERT-base", 12, 32, 64, 32, true},
    {"BERT-base", 12, 32, 32, 64, false},
    {"GPT-2", 12, 1, 64, 100, true},
    {"GPT-2", 12, 1, 100, 64, false},
    {"GPT-2", 12, 50, 64, 50, true},
    {"odd sizes", 0, 33, 77, 129, false},
    {"odd sizes", 0, 1000, 7, 5, false},
    {"odd sizes", 0, 100, 300, 1, false},
    {"odd sizes", 3, 65, 130, 17, false},
    {"odd sizes", 7, 9, 200, 11, true},
};

const std::vector<ShapedLayer>& Transposes() {
  static const std::vector<ShapedLayer> kLayers = {
      {"BERT-base", {0, 128, 12, 64}, {0, 2, 1, 3}},
      {"BERT-base", {0, 12, 64, 64}, {0, 2, 1, 3}},
      {"GPT-2", {0, 50, 12, 64}, {0, 2, 3, 1}},
      {"BERT-base", {768, 3072}, {1, 0}},
      {"MLP", {784, 512}, {1, 0}},
      {"ShuffleNet", {0, 3, 80, 28, 28}, {0, 2, 1, 3, 4}},
      {"ShuffleNet", {0, 2, 58, 28, 28}, {0, 2, 1, 3, 4}},
      {"ResNet-50", {0, 3, 224, 224}, {0, 2, 3, 1}},
      {"ResNet-50", {0, 64, 56, 56}, {0, 2, 3, 1}},
      {"VGG-16", {0, 7, 7, 512}, {0, 3, 1, 2}},
      {"LeNet", {0, 12, 12, 20}, {0, 3, 1, 2}},
      {"DenseNet-121", {0, 28, 28, 128}, {0, 3, 1, 2}},
      {"odd sizes", {37, 53}, {1, 0}},
      {"odd sizes", {0, 19, 23, 5}, {3, 1, 0, 2}},
      {"odd sizes", {10, 1000, 3}, {0, 2, 1}},
  };
  return kLayers;
}

constexpr VolumeLayer kVolumeLayers[] = {
    {"C3D", 3, 16, 56, 64, 3, 1},         {"C3D", 64, 16, 28, 64, 3, 1},
    {"C3D", 128, 4, 14, 128, 3, 1},       {"C3D", 256, 4, 14, 256, 3, 1},
    {"C3D", 512, 2, 7, 256, 3, 1},        {"C3D", 64, 16, 56, 0, 2, 2},
    {"C3D", 128, 8, 28, 0, 2, 2},         {"C3D", 512, 4, 14, 0, 2, 2},
    {"3-D ResNet", 64, 8, 28, 128, 3, 2}, {"3-D ResNet", 64, 8, 28, 128, 1, 2},
    {"3-D ResNet", 256, 4, 14, 64, 1, 1}, {"3-D U-Net", 1, 32, 32, 32, 3, 1},
    {"3-D U-Net", 32, 16, 16, 64, 3, 1},  {"3-D U-Net", 32, 32, 32, 0, 2, 2},
    {"odd sizes", 5, 9, 23, 7, 5, 1},     {"odd sizes", 3, 7, 37, 6, 3, 2},
    {"odd sizes", 17, 9, 31, 0, 3, 1},    {"odd sizes", 6, 13, 29, 0, 3, 2},
};

}  // namespace

std::span<const ConvLayer> ConvLayers() {
  return kConvLayers;
}
std::span<const PoolLayer> PoolLayers() {
  return kPoolLayers;
}
std::span<const NormLayer> NormLayers() {
  return kNormLayers;
}
std::span<const ProductLayer> ProductLayers() {
  return kProductLayers;
}
std::span<const ShapedLayer> TransposeLayers() {
  return Transposes();
}
std::span<const VolumeLayer> VolumeLayers() {
  return kVolumeLayers;
}

}  // namespace sluice
