#include "sluice/laboratory/tuning/corpus.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <utility>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/run/run_op.h"
#include "sluice/laboratory/tuning/corpus_layers.h"
#include "sluice/platform/dtype.h"

namespace sluice {
namespace {

using Ints = std::vector<int64_t>;

// Limits for a batch above 1; a multiply-add counts as two operations.
constexpr double kMostOperations = 1e9;
constexpr int64_t kMostElements = 4'000'000;

struct Argument {
  const char* name;
  Ints dims;
  bool constant = false;
  DType dtype = DType::kFloat32;
};

CorpusCase MakeCase(const std::string& network,
                    const std::string& type,
                    const std::vector<Argument>& inputs,
                    const std::vector<std::string>& outputs,
                    const AttributeMap& attributes) {
  std::vector<std::pair<std::string, Tensor>> outlines;
  std::vector<uint8_t> constant;
  for (const Argument& input : inputs) {
    static char unread = 0;  // only shapes and dtypes matter
    const DDim dims(input.dims);
    outlines.emplace_back(
        input.name, Tensor::Borrow(CPUPlace(), input.dtype, dims, &unread));
    constant.push_back(input.constant ? 1 : 0);
  }
  const OneOp made = MakeOneOp(type, outlines, attributes, outputs);
  CorpusCase drawn{network, Isolate(made).facts};
  drawn.facts.input_constant = std::move(constant);
  return drawn;
}

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}

  // Distributions of the standard library differ between implementations.
  size_t Below(size_t end) { return random_() % end; }
  bool Chance(int percent) { return Below(100) < static_cast<size_t>(percent); }
  template <typename T>
  const T& Of(std::span<const T> list) {
    return list[Below(list.size())];
  }
  // Draws 1 in half of all cases, and no batch that makes an op too large,
  // except 1.
  int64_t Batch(double operations_each, int64_t elements_each) {
    static constexpr int64_t kBatches[] = {1, 1, 1, 1, 2, 4, 8, 16, 32};
    int64_t batch = kBatches[Below(std::size(kBatches))];
    while (batch > 1 &&
           (static_cast<double>(batch) * operations_each > kMostOperations ||
            batch * elements_each > kMostElements)) {
      batch /= 2;
    }
    return batch;
  }
  std::string DataFormat() { return Chance(50) ? "NCHW" : "NHWC"; }

 private:
  std::mt19937 random_;
};

Ints ImageDims(
    const std::string& format, int64_t n, int64_t c, int64_t h, int64_t w) {
  return format == "NHWC" ? Ints{n, h, w, c} : Ints{n, c, h, w};
}

CorpusCase DrawConv(Draw& draw) {
  const ConvLayer& layer = draw.Of(ConvLayers());
  const int64_t out_h =
      (layer.in_h + 2 * layer.pad_h - layer.kernel_h) / layer.stride + 1;
  const int64_t out_w =
      (layer.in_w + 2 * layer.pad_w - layer.kernel_w) / layer.stride + 1;
  const int64_t patch =
      layer.in_c / layer.groups * layer.kernel_h * layer.kernel_w;
  const int64_t out_elements = layer.out_c * out_h * out_w;
  const int64_t n = draw.Batch(
      2.0 * static_cast<double>(out_elements) * static_cast<double>(patch),
      std::max(layer.in_c * layer.in_h * layer.in_w, out_elements));
  const std::string format = draw.DataFormat();
  const Argument input = {
      "Input", ImageDims(format, n, layer.in_c, layer.in_h, layer.in_w)};
  Argument filter = {
      "Filter",
      {layer.out_c, layer.in_c / layer.groups, layer.kernel_h, layer.kernel_w}};
  const Argument bias = {"Bias", {layer.out_c}};
  const Argument grad = {"Output@GRAD",
                         ImageDims(format, n, layer.out_c, out_h, out_w)};
  const AttributeMap attributes = {
      {"strides", Ints{layer.stride, layer.stride}},
      {"paddings", Ints{layer.pad_h, layer.pad_w}},
      {"groups", layer.groups},
      {"data_format", format}};
  const size_t part = draw.Below(10);
  const bool with_bias = draw.Chance(40);
  if (part < 5) {
    filter.constant = draw.Chance(50);
    std::vector<Argument> inputs = {input, filter};
    if (with_bias) inputs.push_back(bias);
    return MakeCase(layer.network, "conv2d", inputs, {"Output"}, attributes);
  }
  if (part < 7) {
    return MakeCase(layer.network, "conv2d_grad_input", {input, filter, grad},
                    {"Input@GRAD"}, attributes);
  }
  std::vector<std::string> outputs = {"Filter@GRAD"};
  if (with_bias) outputs.push_back("Bias@GRAD");
  return MakeCase(layer.network, "conv2d_grad_filter", {input, filter, grad},
                  outputs, attributes);
}

CorpusCase DrawProduct(Draw& draw) {
  const ProductLayer& layer = draw.Of(ProductLayers());
  const int64_t heads = std::max<int64_t>(layer.heads, 1);
  const int64_t m = layer.m == 0 ? 1 : layer.m;
  const int64_t n = draw.Batch(2.0 * static_cast<double>(heads * m) *
                                   static_cast<double>(layer.k) *
                                   static_cast<double>(layer.n),
                               heads * m * std::max(layer.k, layer.n));
  const bool mul = layer.heads == 0;
  const Ints x = mul ? Ints{n * m, layer.k} : Ints{n, heads, m, layer.k};
  const Ints out = mul ? Ints{n * m, layer.n} : Ints{n, heads, m, layer.n};
  const Ints y = mul                 ? Ints{layer.k, layer.n}
                 : layer.transpose_y ? Ints{n, heads, layer.n, layer.k}
                                     : Ints{n, heads, layer.k, layer.n};
  const std::string type = mul ? "mul" : "matmul";
  AttributeMap attributes;
  if (!mul) attributes["transpose_Y"] = layer.transpose_y;
  const size_t part = draw.Below(4);
  if (part < 2) {
    const bool constant = mul && draw.Chance(50);
    return MakeCase(layer.network, type, {{"X", x}, {"Y", y, constant}},
                    {"Out"}, attributes);
  }
  const std::vector<Argument> inputs = {{"X", x}, {"Y", y}, {"Out@GRAD", out}};
  if (part == 2) {
    return MakeCase(layer.network, type + "_grad_x", inputs, {"X@GRAD"},
                    attributes);
  }
  return MakeCase(layer.network, type + "_grad_y", inputs, {"Y@GRAD"},
                  attributes);
}

CorpusCase DrawPool(Draw& draw) {
  const PoolLayer& layer = draw.Of(PoolLayers());
  const bool global = layer.kernel == 0;
  const int64_t size =
      global ? 1
             : (layer.size + 2 * layer.pad - layer.kernel) / layer.stride + 1;
  const int64_t elements = layer.channels * layer.size * layer.size;
  const int64_t n = draw.Batch(static_cast<double>(elements), elements);
  const std::string format = draw.DataFormat();
  AttributeMap attributes = {
      {"pooling_type", std::string(layer.max ? "max" : "avg")},
      {"data_format", format}};
  if (global) {
    attributes["global_pooling"] = true;
  } else {
    attributes["ksize"] = Ints{layer.kernel, layer.kernel};
    attributes["strides"] = Ints{layer.stride, layer.stride};
    attributes["paddings"] = Ints{layer.pad, layer.pad};
  }
  const Argument x = {
      "X", ImageDims(format, n, layer.channels, layer.size, layer.size)};
  const Ints out = ImageDims(format, n, layer.channels, size, size);
  if (draw.Chance(50)) {
    return MakeCase(layer.network, "pool2d", {x}, {"Out"}, attributes);
  }
  std::vector<Argument> inputs = {x};
  if (layer.max) inputs.push_back({"Out", out});
  inputs.push_back({"Out@GRAD", out});
  return MakeCase(layer.network, "pool2d_grad", inputs, {"X@GRAD"}, attributes);
}

CorpusCase DrawNorm(Draw& draw) {
  const NormLayer& layer = draw.Of(NormLayers());
  const int64_t pixels = std::max<int64_t>(layer.size * layer.size, 1);
  const int64_t elements = layer.channels * pixels;
  int64_t n = draw.Batch(static_cast<double>(elements), elements);
  const std::string format = draw.DataFormat();
  const Ints dims = layer.size == 0 ? Ints{n, layer.channels}
                                    : ImageDims(format, n, layer.channels,
                                                layer.size, layer.size);
  const Ints channels = {layer.channels};
  const bool is_test = draw.Chance(30);
  const AttributeMap attributes = {{"is_test", is_test},
                                   {"data_format", format}};
  if (is_test || draw.Chance(50)) {
    return MakeCase(
        layer.network, "batch_norm",
        {{"X", dims},
         {"Scale", channels, is_test},
         {"Bias", channels, is_test},
         {"Mean", channels, is_test},
         {"Variance", channels, is_test}},
        {"Y", "MeanOut", "VarianceOut", "SavedMean", "SavedVariance"},
        attributes);
  }
  return MakeCase(layer.network, "batch_norm_grad",
                  {{"X", dims},
                   {"Scale", channels},
                   {"SavedMean", channels},
                   {"SavedVariance", channels},
                   {"Y@GRAD", dims}},
                  {"X@GRAD", "Scale@GRAD", "Bias@GRAD"}, attributes);
}

Ints WithBatch(Ints dims, Draw& draw) {
  int64_t elements = 1;
  for (const int64_t size : dims) {
    elements *= std::max<int64_t>(size, 1);
  }
  const int64_t n = draw.Batch(static_cast<double>(elements), elements);
  std::replace(dims.begin(), dims.end(), int64_t{0}, n);
  return dims;
}

CorpusCase DrawTranspose(Draw& draw) {
  const ShapedLayer& layer = draw.Of(TransposeLayers());
  return MakeCase(layer.network, "transpose",
                  {{"X", WithBatch(layer.dims, draw)}}, {"Out"},
                  {{"axis", layer.axes}});
}

// Ops that no network here contains, and that also have several kernels.
CorpusCase DrawOther(Draw& draw) {
  static constexpr int64_t kSizes[] = {1, 5, 17, 64, 150, 400};
  const auto size = [&draw] {
    return draw.Of(std::span<const int64_t>(kSizes));
  };
  const Ints x = {size(), 3 + size()};
  const Ints y = {size(), x[1]};
  const size_t part = draw.Below(3);
  if (part == 0) {
    return MakeCase("odd sizes", "manhattan_distance", {{"X", x}, {"Y", y}},
                    {"Out"}, {});
  }
  if (part == 1) {
    return MakeCase("odd sizes", "manhattan_distance_grad",
                    {{"X", x}, {"Y", y}, {"Out@GRAD", {x[0], y[0]}}},
                    {"X@GRAD", "Y@GRAD"}, {});
  }
  const int64_t pixels = std::min<int64_t>(size(), 64);
  return MakeCase("odd sizes", "average_embedding_mask",
                  {{"Embedding", {2, pixels, 40, x[0]}},
                   {"Mask", {2, 7, pixels, 2}, false, DType::kInt64}},
                  {"Out", "Count"}, {});
}

CorpusCase DrawVolume(Draw& draw) {
  const VolumeLayer& layer = draw.Of(VolumeLayers());
  const Ints sizes = {layer.depth, layer.size, layer.size};
  const int64_t pad = layer.kernel / 2;
  const bool pool = layer.out_c == 0;
  const auto volume = [&](int64_t channels, int64_t stride, int64_t padding) {
    Ints dims = {1, channels};
    for (const int64_t size : sizes) {
      dims.push_back((size + 2 * padding - layer.kernel) / stride + 1);
    }
    return dims;
  };
  const Argument input = {pool ? "X" : "Input",
                          {1, layer.in_c, sizes[0], sizes[1], sizes[2]}};
  const Ints strides(3, layer.stride), kernel(3, layer.kernel);
  const size_t part = draw.Below(3);
  if (pool) {
    const AttributeMap attributes = {
        {"ksize", kernel},
        {"strides", strides},
        {"pooling_type", std::string(draw.Chance(50) ? "max" : "avg")}};
    if (part == 0) {
      return MakeCase(layer.network, "pool3d", {input}, {"Out"}, attributes);
    }
    const Ints out = volume(layer.in_c, layer.stride, 0);
    return MakeCase(layer.network, "pool3d_grad", {input, {"Out@GRAD", out}},
                    {"X@GRAD"}, attributes);
  }
  const Argument filter = {
      "Filter",
      {layer.out_c, layer.in_c, layer.kernel, layer.kernel, layer.kernel}};
  const AttributeMap attributes = {{"strides", strides},
                                   {"paddings", Ints(3, pad)}};
  if (part == 0) {
    return MakeCase(layer.network, "conv3d", {input, filter}, {"Output"},
                    attributes);
  }
  const Argument grad = {"Output@GRAD", volume(layer.out_c, layer.stride, pad)};
  const bool of_input = part == 1;
  return MakeCase(layer.network,
                  of_input ? "conv3d_grad_input" : "conv3d_grad_filter",
                  {input, filter, grad},
                  {of_input ? "Input@GRAD" : "Filter@GRAD"}, attributes);
}

// Numbers between 0.5 and 1.5 are valid as variances as well as data.
void FillUniform(Tensor* tensor, std::mt19937* random) {
  float* data = tensor->data<float>();
  for (int64_t i = 0; i < tensor->numel(); ++i) {
    data[i] = 0.5F + static_cast<float>((*random)() >> 8) * 0x1p-24F;
  }
}

// Runs of at most 40 pixels, as in DrawOther.
void FillRuns(Tensor* tensor, std::mt19937* random) {
  auto* runs = tensor->data<int64_t>();
  for (int64_t i = 0; i < tensor->numel(); i += 2) {
    runs[i] = static_cast<int64_t>((*random)() % 20);
    runs[i + 1] = runs[i] + static_cast<int64_t>((*random)() % 20);
  }
}

// The gradient of a maximum searches for it: Out must be pool2d's output for X.
void FillMaxima(const OpFacts& facts, std::vector<Tensor>* inputs) {
  const CorpusCase forward =
      MakeCase("", "pool2d",
               {{"X", Ints(facts.inputs[0].begin(), facts.inputs[0].end())}},
               {"Out"}, facts.desc.attributes);
  const IsolatedOp op{forward.facts, {(*inputs)[0]}};
  for (const KernelDef* kernel : Registry::Global().Kernels("pool2d")) {
    if (kernel->key.dtype != DType::kFloat32 || kernel->variant != "plain" ||
        kernel->key.place != PlaceKind::kCPU) {
      continue;
    }
    KernelRun run(op, *kernel, CPUPlace(), 1);
    run.Run();
    (*inputs)[1] = run.outputs()[0];
  }
}

}  // namespace

std::vector<CorpusCase> DrawCorpus(unsigned seed, int cases) {
  // The percentage of cases from each family.
  using Family = CorpusCase (*)(Draw&);
  constexpr std::pair<int, Family> kFamilies[] = {
      {54, DrawConv}, {16, DrawProduct},  {10, DrawPool},
      {10, DrawNorm}, {8, DrawTranspose}, {2, DrawOther}};
  Draw draw(seed);
  std::vector<CorpusCase> corpus;
  while (static_cast<int>(corpus.size()) < cases) {
    auto number = static_cast<int>(draw.Below(100));
    const auto* family = kFamilies;
    while (number >= family->first) {
      number -= (family++)->first;
    }
    corpus.push_back(family->second(draw));
  }
  return corpus;
}

std::vector<CorpusCase> DrawVolumes(unsigned seed, int cases) {
  Draw draw(seed);
  std::vector<CorpusCase> corpus;
  corpus.reserve(cases);
  for (int i = 0; i < cases; ++i) {
    corpus.push_back(DrawVolume(draw));
  }
  return corpus;
}

IsolatedOp WithValues(const CorpusCase& drawn) {
  IsolatedOp op{drawn.facts, {}};
  std::mt19937 random(1);
  for (size_t i = 0; i < op.facts.inputs.size(); ++i) {
    Tensor& tensor = op.inputs.emplace_back();
    tensor.Resize(op.facts.inputs[i])
        .mutable_data(op.facts.input_dtypes[i], CPUPlace());
    if (op.facts.input_dtypes[i] == DType::kInt64) {
      FillRuns(&tensor, &random);
    } else {
      FillUniform(&tensor, &random);
    }
  }
  if (op.facts.desc.type == "pool2d_grad" && op.facts.inputs.size() == 3) {
    FillMaxima(op.facts, &op.inputs);
  }
  return op;
}

}  // namespace sluice
