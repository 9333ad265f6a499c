#include "benchmarks/cuda/rows.h"

#include <algorithm>
#include <set>

#include "benchmarks/cuda/bandwidth_cases.h"

#include "sluice/framework/op/registry.h"
#include "sluice/platform/error.h"

namespace sluice::bench {

using Ints = std::vector<int64_t>;

namespace {

bool HasKernel(const std::string& op) {
  const auto kernels = Registry::Global().Kernels(op);
  return std::any_of(kernels.begin(), kernels.end(), [](const auto* kernel) {
    return kernel->key.place == PlaceKind::kCUDA &&
           kernel->key.dtype == DType::kFloat32;
  });
}

// Adds a row for the op, and one for each of its gradients with a kernel.
// `row.id` is the suffix of the op's name: "/1MB", ".dim0/1MB".
void AddWithGradients(OpRow row, std::vector<OpRow>* rows) {
  const std::string rest = row.id;
  const OneOpProgram forward = DescribeForward(row.forward);
  row.id = Format("cuda/{}{}", row.forward.op, rest);
  if (row.work == 0) row.work = BytesOf(forward);
  rows->push_back(row);
  for (const std::string& gradient : GradientOps(forward)) {
    // Skips gradients by the op itself (transpose) or another one (squeeze).
    if (!HasKernel(gradient) ||
        !gradient.starts_with(row.forward.op + "_grad")) {
      continue;
    }
    row.gradient = gradient;
    row.id = Format("cuda/{}{}", gradient, rest);
    if (row.bound == Bound::kMemory) {
      row.work = BytesOf(DescribeGradient(forward, gradient));
    }
    rows->push_back(row);
  }
}

void AddBandwidth(const std::string& op, Rows* all) {
  const auto small = BandwidthCases(op, Sizes().front().bytes);
  for (const NamedSize& size : Sizes()) {
    const auto cases = BandwidthCases(op, size.bytes);
    for (size_t i = 0; i < cases.size(); ++i) {
      const std::string& variant = cases[i].variant;
      AddWithGradients(
          {.id = (variant.empty() ? "" : "." + variant) + "/" + size.name,
           .forward = cases[i].spec,
           .work = cases[i].bytes,
           .size = size.bytes,
           .small = small[i].spec,
           .check_small = size.bytes == Sizes().front().bytes},
          &all->rows);
    }
  }
}

OpSpec Product(int64_t size) {
  return {"matmul",
          {{"X", {size, size}, {.seed = 1}}, {"Y", {size, size}, {.seed = 2}}}};
}

void AddProducts(std::vector<OpRow>* rows) {
  for (const int64_t size : {256, 512, 1024, 2048, 4096, 8192}) {
    const auto edge = static_cast<double>(size);
    AddWithGradients({.id = Format("/{}", size),
                      .forward = Product(size),
                      .bound = Bound::kFlops,
                      .work = 2 * edge * edge * edge,
                      .small = Product(48),
                      .check_small = size == 256},
                     rows);
  }
}

struct Layer {
  int64_t channels, pixels, filters, kernel, stride;
};

// The distinct convolutions of ResNet-50 in their order, with the stride in the
// 3x3 ones.
constexpr Layer kResNet50[] = {
    {3, 224, 64, 7, 2},    {64, 56, 64, 1, 1},    {64, 56, 64, 3, 1},
    {64, 56, 256, 1, 1},   {256, 56, 64, 1, 1},   {256, 56, 128, 1, 1},
    {128, 56, 128, 3, 2},  {128, 28, 512, 1, 1},  {256, 56, 512, 1, 2},
    {512, 28, 128, 1, 1},  {128, 28, 128, 3, 1},  {512, 28, 256, 1, 1},
    {256, 28, 256, 3, 2},  {256, 14, 1024, 1, 1}, {512, 28, 1024, 1, 2},
    {1024, 14, 256, 1, 1}, {256, 14, 256, 3, 1},  {1024, 14, 512, 1, 1},
    {512, 14, 512, 3, 2},  {512, 7, 2048, 1, 1},  {1024, 14, 2048, 1, 2},
    {2048, 7, 512, 1, 1},  {512, 7, 512, 3, 1}};
constexpr int64_t kBatch = 32;

OpSpec Convolution(const Layer& layer, int64_t batch) {
  const int64_t k = layer.kernel;
  return {"conv2d",
          {{"Input",
            {batch, layer.channels, layer.pixels, layer.pixels},
            {.seed = 1}},
           {"Filter", {layer.filters, layer.channels, k, k}, {.seed = 2}}},
          {{"strides", Ints{layer.stride, layer.stride}},
           {"paddings", Ints{k / 2, k / 2}}}};
}

void AddConvolutions(std::vector<OpRow>* rows) {
  for (const Layer& layer : kResNet50) {
    const Layer small = {std::min<int64_t>(layer.channels, 5),
                         std::min<int64_t>(layer.pixels, 9),
                         std::min<int64_t>(layer.filters, 6), layer.kernel,
                         layer.stride};
    const int64_t out = (layer.pixels + layer.stride - 1) / layer.stride;
    const int64_t k = layer.kernel;
    AddWithGradients(
        {.id = Format("/{}x{}_{}x{}x{}_s{}", layer.channels, layer.pixels,
                      layer.filters, k, k, layer.stride),
         .forward = Convolution(layer, kBatch),
         .bound = Bound::kFlops,
         .work = 2.0 * static_cast<double>(kBatch * out * out * layer.filters) *
                 static_cast<double>(layer.channels * k * k),
         .small = Convolution(small, 2)},
        rows);
  }
}

OpSpec Distances(int64_t rows, int64_t columns) {
  return {"manhattan_distance",
          {{"X", {rows, columns}, {.low = 0, .seed = 1}},
           {"Y", {rows, columns}, {.low = 0, .seed = 2}}}};
}

void AddDistances(std::vector<OpRow>* rows) {
  struct Size {
    int64_t rows, columns;
    const char* note;
  };
  const Size sizes[] = {
      {32, 32, "TensorFlow 2.3, V100: 1.1 ms vectorised, 41 ms as a loop"},
      {64, 64, "TensorFlow 2.3, V100: 2.0 ms vectorised, 151 ms as a loop"},
      {128, 128, "TensorFlow 2.3, V100: 5.8 ms vectorised, 582 ms as a loop"},
      {4096, 1024, ""}};
  for (const Size& size : sizes) {
    const auto first = rows->size();
    AddWithGradients(
        {.id = Format("/{}x{}x{}", size.rows, size.rows, size.columns),
         .forward = Distances(size.rows, size.columns),
         .bound = Bound::kPairs,
         .work = static_cast<double>(size.rows * size.rows * size.columns),
         .small = Distances(17, 19),
         .check_small = size.rows == 32},
        rows);
    (*rows)[first].note = size.note;
  }
}

void AddArithmetic(const std::string& op, Rows* all) {
  if (op == "matmul") {
    AddProducts(&all->rows);
  } else if (op == "conv2d") {
    AddConvolutions(&all->rows);
  } else if (op == "manhattan_distance") {
    AddDistances(&all->rows);
  } else if (op == "conv2d_transpose") {
    all->left_out[op] = "computed as conv2d_grad_input is";
  } else {
    all->left_out[op] = "computed as matmul is";
  }
}

}  // namespace

std::string UnitOf(Bound bound) {
  constexpr const char* kUnits[] = {"GB/s", "TFLOP/s", "G pairs/s"};
  return kUnits[static_cast<int>(bound)];
}

const std::vector<NamedSize>& Sizes() {
  static const std::vector<NamedSize> kSizes = {
      {"4KB", 4 << 10}, {"1MB", 1 << 20}, {"256MB", 256 << 20}};
  return kSizes;
}

Rows AllRows() {
  Rows all;
  const Registry& registry = Registry::Global();
  std::vector<std::string> gradients;
  for (const std::string& op : registry.OpNames()) {
    if (!HasKernel(op)) continue;
    // Gradients are added with their forward ops.
    const auto& outputs = registry.Schema(op).outputs();
    if (!outputs.empty() && outputs[0].name.ends_with("@GRAD")) {
      gradients.push_back(op);
    } else if (registry.Schema(op).internal()) {
      all.left_out[op] = "only passes make this op";
    } else if (IsArithmetic(op)) {
      AddArithmetic(op, &all);
    } else {
      try {
        AddBandwidth(op, &all);
      } catch (const Error& error) {
        all.left_out[op] = error.what();
      }
    }
  }
  std::set<std::string> measured;
  for (const OpRow& row : all.rows) {
    measured.insert(row.gradient);
  }
  for (const std::string& op : gradients) {
    if (measured.contains(op)) continue;
    all.left_out[op] = "no op that is measured has this gradient";
  }
  return all;
}

OneOpProgram Measured(const OpRow& row, const OneOpProgram& forward) {
  return row.gradient.empty() ? forward
                              : DescribeGradient(forward, row.gradient);
}

}  // namespace sluice::bench
