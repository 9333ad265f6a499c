#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "sluice/onnx/handlers/window.h"
#include "sluice/onnx/import/handlers.h"

namespace sluice::onnx {

namespace {

// Returns whether the last window may extend past the padding, with ceil_mode.
bool ReachesPastPadding(Node& node) {
  const size_t rank = WindowRank(node);
  const Windows windows = ReadWindows(node, std::max<size_t>(rank, 2),
                                      node.attributes().Ints("kernel_shape"));
  for (size_t i = 0; i < windows.dims; ++i) {
    const int64_t size = ImageSize(node, windows.dims, i);
    const int64_t stride = windows.strides[i];
    if (size < 0 || stride < 1) return true;
    const int64_t more = windows.paddings[2 * i] + windows.paddings[2 * i + 1] -
                         windows.kernel[i];
    if ((size % stride + more % stride) % stride != 0) return true;
  }
  return false;
}

struct Pooling {
  size_t dims;
  std::string op;
  AttributeMap attributes;
};

// Reads pool2d if it computes the same, since it is faster, else pool3d.
Pooling ReadPooling(Node& node,
                    const char* type,
                    bool exclusive,
                    bool needs_mask = false) {
  const Ints kernel = node.attributes().Ints("kernel_shape");
  const bool ceil = node.attributes().Int("ceil_mode", 0) != 0;
  const size_t rank = WindowRank(node);
  Windows windows = ReadWindows(node, std::max<size_t>(rank, 2), kernel);
  const bool dilated = windows.dilations != Ints(windows.dims, 1);
  if (windows.dims == 2 && (dilated || needs_mask)) {
    windows = ReadWindows(node, 3, kernel);
  }
  Pooling pooling = {windows.dims,
                     windows.dims == 2 ? "pool2d" : "pool3d",
                     {{"pooling_type", std::string(type)},
                      {"ksize", windows.kernel},
                      {"strides", windows.strides},
                      {"paddings", windows.paddings},
                      {"exclusive", exclusive},
                      {"ceil_mode", ceil}}};
  if (windows.dims == 3) pooling.attributes["dilations"] = windows.dilations;
  return pooling;
}

// Returns whether there are no kernels for the dtype of input 0. It is then
// computed in float32, which represents all small integers and halves.
bool IsWidened(const Node& node, const Pooling& pooling) {
  const DType dtype = node.TypeOf(0);
  const bool half = dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  return dtype == DType::kInt8 || dtype == DType::kUInt8 ||
         (half && pooling.dims == 3);
}

std::string Computable(Node& node, const Pooling& pooling) {
  std::string x = AsImage(node, pooling.dims, 0);
  if (!IsWidened(node, pooling)) return x;
  return node.Unary("cast", x, {{"dtype", DType::kFloat32}});
}

// Makes `image`, computed from Computable's result, output 0.
void FinishAs(Node& node, const Pooling& pooling, const std::string& image) {
  const std::string out = FromImage(node, pooling.dims, image);
  if (!IsWidened(node, pooling)) return node.FinishUnary("assign", out);
  node.FinishUnary("cast", out, {{"dtype", node.TypeOf(0)}});
}

void FinishPool(Node& node, const Pooling& pooling) {
  const std::string x = Computable(node, pooling);
  if (!IsWidened(node, pooling)) {
    return FinishImage(node, pooling.dims, pooling.op, {{"X", {x}}},
                       pooling.attributes);
  }
  FinishAs(node, pooling, node.Unary(pooling.op, x, pooling.attributes));
}

// Output 1 is the index of the maxima in X. With storage_order 1 it is
// column-major, so rows and columns are swapped.
void MaxPoolWithIndices(Node& node, const Pooling& pooling, bool by_columns) {
  const auto swapped = [&](const std::string& image) {
    if (!by_columns) return image;
    return node.Unary("transpose", image, {{"axis", Ints{0, 1, 2, 4, 3}}});
  };
  AttributeMap attributes = pooling.attributes;
  if (by_columns) {
    for (const char* name : {"ksize", "strides", "dilations"}) {
      auto& numbers = std::get<Ints>(attributes[name]);
      std::swap(numbers[1], numbers[2]);
    }
    auto& paddings = std::get<Ints>(attributes["paddings"]);
    std::swap_ranges(paddings.begin() + 2, paddings.begin() + 4,
                     paddings.begin() + 4);
  }
  const std::vector<std::string> results =
      node.AppendAll("pool3d", {{"X", {swapped(Computable(node, pooling))}}},
                     attributes, {"Out", "Mask"});
  FinishAs(node, pooling, swapped(results[0]));
  node.FinishOutput(
      1, "assign",
      {{"X", {FromImage(node, pooling.dims, swapped(results[1]))}}});
}

void MaxPool(Node& node) {
  const bool indices = node.HasOutput(1);
  const bool by_columns = node.attributes().Int("storage_order", 0) == 1;
  const Pooling pooling = ReadPooling(node, "max", true, indices);
  if (indices) {
    if (by_columns && WindowRank(node) != 2) {
      Node::Unsupported("storage_order = 1 of other inputs than images");
    }
    return MaxPoolWithIndices(node, pooling, by_columns);
  }
  FinishPool(node, pooling);
}

void AveragePool(Node& node) {
  const bool exclusive = node.attributes().Int("count_include_pad", 0) == 0;
  const Pooling pooling = ReadPooling(node, "avg", exclusive);
  FinishPool(node, pooling);
}

// Reads attribute p.
double OrderOf(Node& node) {
  const int64_t p = node.attributes().Int("p", 2);
  SLUICE_ENFORCE(p >= 1, ErrorCode::kInvalidArgument, "onnx.pool_order",
                 "attribute p is {}; expected 1 or more", p);
  return static_cast<double>(p);
}

// Computed in float64, in which powers of float32 are finite.
std::string Power(Node& node, const std::string& x, double exponent) {
  const std::string number =
      node.NewConstant(Tensor::FromVector<double>({}, {exponent}));
  return node.Binary("elementwise_pow", {x, number});
}

// Computes |x|^p.
std::string PowerOfSize(Node& node, const std::string& x, double p) {
  const std::string number = node.Cast(x, DType::kFloat64);
  return Power(node, node.Unary("abs", number), p);
}

// The p-th root of the sum of |x|^p over a window, whose padding is 0. The sum
// is the mean times the number of elements.
void LpPool(Node& node) {
  const Pooling pooling = ReadPooling(node, "avg", false);
  const bool ceil = std::get<bool>(pooling.attributes.at("ceil_mode"));
  const double p = OrderOf(node);
  double count = 1;
  for (const int64_t size : std::get<Ints>(pooling.attributes.at("ksize"))) {
    count *= static_cast<double>(size);
  }
  // The mean of such a window would divide by fewer elements.
  if (ceil && ReachesPastPadding(node)) {
    Node::Unsupported("ceil_mode with windows that reach past the padding");
  }
  const std::string image = AsImage(node, pooling.dims, 0);
  const std::string mean =
      node.Unary(pooling.op, PowerOfSize(node, image, p), pooling.attributes);
  const std::string sum = node.Unary("scale", mean, {{"scale", count}});
  const std::string root = Power(node, sum, 1 / p);
  node.FinishUnary("cast", FromImage(node, pooling.dims, root),
                   {{"dtype", node.TypeOf(0)}});
}

// Attributes of a reduction over all dims but the first two, keeping dims of 1.
AttributeMap OverImage(const Node& node) {
  Ints dims;
  for (int64_t i = 2; i < RankOf(node, 0); ++i) {
    dims.push_back(i);
  }
  return {{"dim", dims}, {"keep_dim", true}};
}

void GlobalPool(Node& node, const char* type, const char* reduction) {
  const int rank = RankOf(node, 0);
  if (rank == 4) {
    return node.FinishUnary(
        "pool2d", node.In(0),
        {{"pooling_type", std::string(type)}, {"global_pooling", true}});
  }
  const AttributeMap over = OverImage(node);
  if (rank < 3) return node.FinishUnary("assign", node.In(0));
  node.FinishUnary(reduction, node.In(0), over);
}

void GlobalAveragePool(Node& node) {
  GlobalPool(node, "avg", "reduce_mean");
}

void GlobalMaxPool(Node& node) {
  GlobalPool(node, "max", "reduce_max");
}

void GlobalLpPool(Node& node) {
  const double p = OrderOf(node);
  std::string sum = PowerOfSize(node, node.In(0), p);
  if (RankOf(node, 0) > 2) {
    sum = node.Unary("reduce_sum", sum, OverImage(node));
  }
  node.FinishUnary("cast", Power(node, sum, 1 / p),
                   {{"dtype", node.TypeOf(0)}});
}

constexpr HandlerRow kPoolRows[] = {
    {"AveragePool", 1, AveragePool},
    {"GlobalAveragePool", 1, GlobalAveragePool},
    {"GlobalLpPool", 2, GlobalLpPool},
    {"GlobalMaxPool", 1, GlobalMaxPool},
    {"LpPool", 2, LpPool},
    {"MaxPool", 1, MaxPool},
};

}  // namespace

std::span<const HandlerRow> PoolHandlers() {
  return kPoolRows;
}

}  // namespace sluice::onnx
