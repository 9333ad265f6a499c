#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sluice/framework/values/tensor_values.h"
#include "sluice/onnx/handlers/integers.h"
#include "sluice/onnx/handlers/scores.h"
#include "sluice/onnx/import/handlers.h"

// Operators of ai.onnx.ml that prepare features.
namespace sluice::onnx {

namespace {

// Numbers for all features, or one for each of them; none are `otherwise`.
Doubles ForFeatures(const Node& node,
                    const char* attribute,
                    Doubles numbers,
                    double otherwise) {
  if (numbers.empty()) numbers = {otherwise};
  const int64_t features = FeaturesOf(node);
  SLUICE_ENFORCE(
      numbers.size() == 1 || features < 0 || std::ssize(numbers) == features,
      ErrorCode::kInvalidArgument, "onnx.feature_count",
      "its {} has {} numbers; expected 1 or {}, one for each "
      "feature",
      attribute, numbers.size(), features);
  return numbers;
}

std::string FeatureRow(Node& node, const Doubles& numbers, DType dtype) {
  return NewNumbers(node, {std::ssize(numbers)}, numbers, dtype);
}

// Float64 stays; integers become float32.
std::string AsFloats(Node& node) {
  const bool wide = node.TypeOf(0) == DType::kFloat64;
  return node.Cast(node.In(0), wide ? DType::kFloat64 : DType::kFloat32);
}

void Scaler(Node& node) {
  const Doubles offset =
      ForFeatures(node, "offset", node.attributes().Floats("offset"), 0);
  const Doubles scale =
      ForFeatures(node, "scale", node.attributes().Floats("scale"), 1);
  const std::string x = AsFloats(node);
  const DType dtype = node.DTypeOf(x);
  const std::string moved =
      node.Binary("elementwise_sub", {x, FeatureRow(node, offset, dtype)});
  FinishCast(
      node,
      node.Binary("elementwise_mul", {moved, FeatureRow(node, scale, dtype)}),
      DType::kFloat32);
}

// A row whose norm is 0 stays as it is. MAX is the largest element, not the
// largest magnitude, as ONNX and onnxruntime say.
void Normalizer(Node& node) {
  const std::string norm = node.attributes().String("norm", "MAX");
  const char* op = norm == "MAX"  ? "reduce_max"
                   : norm == "L1" ? "reduce_l1"
                   : norm == "L2" ? "reduce_l2"
                                  : nullptr;
  SLUICE_ENFORCE(op != nullptr, ErrorCode::kInvalidArgument,
                 "onnx.normalizer_norm",
                 "its norm is {}; expected MAX, L1 or L2", Shown(norm));
  const std::string x = AsFloats(node);
  const DType dtype = node.DTypeOf(x);
  const std::string norms =
      node.Unary(op, x, {{"dim", Ints{-1}}, {"keep_dim", true}});
  const std::string is_zero =
      node.Binary("equal", {norms, node.Number(0, dtype)});
  const std::string divisors =
      node.Where({is_zero, node.Number(1, dtype), norms});
  FinishCast(node, node.Binary("elementwise_div", {x, divisors}),
             DType::kFloat32);
}

// Integers are compared in float64, since the threshold may be a fraction.
void Binarizer(Node& node) {
  const double threshold = node.attributes().Float("threshold", 0);
  const std::string x = IsInteger(node.TypeOf(0))
                            ? node.Cast(node.In(0), DType::kFloat64)
                            : node.In(0);
  const std::string is_more =
      node.Binary("greater_than", {x, node.Number(threshold, node.DTypeOf(x))});
  node.FinishUnary("cast", is_more, {{"dtype", node.TypeOf(0)}});
}

void Imputer(Node& node) {
  Attributes& attributes = node.attributes();
  const Doubles floats = attributes.Floats("imputed_value_floats");
  const Ints integers = attributes.Ints("imputed_value_int64s");
  const double replaced_float = attributes.Float("replaced_value_float", 0);
  const int64_t replaced_integer = attributes.Int("replaced_value_int64", 0);
  SLUICE_ENFORCE(floats.empty() != integers.empty(),
                 ErrorCode::kInvalidArgument, "onnx.imputer_values",
                 "it has {} imputed_value_floats and {} imputed_value_int64s; "
                 "expected one of both",
                 floats.size(), integers.size());
  const DType dtype = node.TypeOf(0);
  const bool whole = IsInteger(dtype);
  SLUICE_ENFORCE(whole == floats.empty(), ErrorCode::kInvalidArgument,
                 "onnx.imputer_type", "its input is {}, and its values are {}",
                 dtype, floats.empty() ? "int64s" : "floats");
  ForFeatures(node, "imputed values", whole ? Doubles(integers.size()) : floats,
              0);
  const std::string values = whole ? node.Cast(node.Vector(integers), dtype)
                                   : FeatureRow(node, floats, dtype);
  const std::string replaced =
      whole ? node.Cast(node.Whole(replaced_integer), dtype)
            : node.Number(replaced_float, dtype);
  const std::string is_missing =
      !whole && std::isnan(replaced_float)
          ? node.Unary("isnan", node.In(0))
          : node.Binary("equal", {node.In(0), replaced});
  node.Finish(
      "where",
      {{"Condition", {is_missing}}, {"X", {values}}, {"Y", {node.In(0)}}});
}

// Elements of the last dim; a vector gives one row.
void ArrayFeatureExtractor(Node& node) {
  const std::string index = node.Reshape(node.In(1), {-1});
  const std::string x =
      node.Dims(0).rank() == 1 ? node.Reshape(node.In(0), {1, -1}) : node.In(0);
  node.Finish("gather", {{"X", {x}}, {"Index", {index}}},
              {{"axis", int64_t{-1}}});
}

// Rows beside each other, cut or filled with zeros to given widths.
void FeatureVectorizer(Node& node) {
  const Ints widths = node.attributes().Ints("inputdimensions");
  SLUICE_ENFORCE(static_cast<int>(widths.size()) == node.input_count(),
                 ErrorCode::kInvalidArgument, "onnx.vectorizer_widths",
                 "it has {} inputdimensions and {} inputs; expected as many",
                 widths.size(), node.input_count());
  Names parts;
  for (int i = 0; i < node.input_count(); ++i) {
    const int64_t width = widths[static_cast<size_t>(i)];
    SLUICE_ENFORCE(
        width >= 0, ErrorCode::kInvalidArgument, "onnx.vectorizer_width",
        "one of its inputdimensions is {}; expected 0 or more", width);
    std::string part = RowsOf(node, i, DType::kFloat32);
    const int64_t size = node.SizeOf(part, 1);
    if (size < 0 || size > width) part = node.Slice(part, 0, width, {1});
    if (size >= 0 && size < width) {
      part = node.Unary("pad", part, {{"pads", Ints{0, 0, 0, width - size}}});
    }
    parts.push_back(part);
  }
  node.Finish("concat", {{"X", parts}}, {{"axis", int64_t{1}}});
}

bool IsNaNKey(int64_t /*key*/) {
  return false;
}
bool IsNaNKey(double key) {
  return std::isnan(key);
}

// The indices of the keys in rising order, NaN last; of equal keys the first.
template <typename K>
Ints OrderOfKeys(const std::vector<K>& keys) {
  Ints order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  const auto less = [&keys](int64_t a, int64_t b) {
    const K x = keys[static_cast<size_t>(a)], y = keys[static_cast<size_t>(b)];
    return IsNaNKey(x) || IsNaNKey(y) ? !IsNaNKey(x) && IsNaNKey(y) : x < y;
  };
  std::stable_sort(order.begin(), order.end(), less);
  const auto equal = [&less](int64_t a, int64_t b) { return !less(a, b); };
  order.erase(std::unique(order.begin(), order.end(), equal), order.end());
  return order;
}

// Where numbers are among keys: the index of the key, and whether there is one.
struct Found {
  std::string index;
  std::string is_key;
};

template <typename K>
Found FindKeys(Node& node, const std::string& x, const std::vector<K>& keys) {
  SLUICE_ENFORCE(!keys.empty(), ErrorCode::kInvalidArgument, "onnx.no_keys",
                 "it has no keys or categories");
  const Ints order = OrderOfKeys(keys);
  std::vector<K> sorted;
  sorted.reserve(order.size());
  for (const int64_t i : order) {
    sorted.push_back(keys[static_cast<size_t>(i)]);
  }
  const auto count = std::ssize(sorted);
  const std::string value = node.Cast(x, kDTypeOf<K>);
  const std::string in_order =
      node.NewConstant(Tensor::FromVector<K>({count}, sorted));
  const std::string place = node.Append(
      "searchsorted", {{"SortedSequence", {in_order}}, {"Values", {value}}});
  const std::string at =
      node.Binary("elementwise_min", {place, node.Whole(count - 1)});
  std::string is_key =
      node.Binary("equal", {node.Gather({in_order, at}), value});
  if (IsNaNKey(sorted.back())) {
    is_key = node.Binary("logical_or", {is_key, node.Unary("isnan", value)});
  }
  return {node.Gather({node.Vector(order), at}), is_key};
}

// One is set for each number that is a category. Without `zeros` another number
// is an error when the model runs: its index is past the end of a list.
void OneHotEncoder(Node& node) {
  Ints categories = node.attributes().Ints("cats_int64s");
  const Names texts = node.attributes().Strings("cats_strings");
  if (node.ReadsTexts(0)) categories = node.texts().NumbersOf(texts);
  const bool zeros = node.attributes().Flag("zeros", true);
  const auto count = std::ssize(categories);
  const Found found =
      FindKeys(node, node.Cast(node.In(0), DType::kInt64), categories);
  std::string index =
      node.Where({found.is_key, found.index, node.Whole(count)});
  if (!zeros) {
    Ints all(categories.size());
    std::iota(all.begin(), all.end(), 0);
    index = node.Gather({node.Vector(all), index});
  }
  const std::string values = FeatureRow(node, {0, 1}, DType::kFloat32);
  node.Finish("one_hot", {{"X", {index}}, {"Values", {values}}},
              {{"depth", int64_t{count}}});
}

// The integers of a tensor of an integer dtype.
Ints IntegersOf(const Tensor& tensor) {
  Ints integers;
  VisitDType(tensor.dtype(), [&]<typename T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      const auto values = tensor.ToVector<T>();
      integers.assign(values.begin(), values.end());
    }
  });
  return integers;
}

// A list of keys or labels; strings are numbers (Texts).
struct Labels {
  Tensor values;
  bool of_texts = false;
};

Labels LabelsOf(Node& node, const Names& texts) {
  const Ints numbers = node.texts().NumbersOf(texts);
  return {Tensor::FromVector<int64_t>({std::ssize(numbers)}, numbers), true};
}

Labels LabelsOf(const Ints& integers) {
  return {Tensor::FromVector<int64_t>({std::ssize(integers)}, integers)};
}

// Attributes <name>_strings, <name>_floats, <name>_int64s or <name>_tensor, of
// which one must be there.
Labels LabelsOf(Node& node, const std::string& name) {
  Attributes& attributes = node.attributes();
  const Names texts = attributes.Strings(name + "_strings");
  const Doubles floats = attributes.Floats(name + "_floats");
  const Ints integers = attributes.Ints(name + "_int64s");
  if (const TensorProto* tensor = attributes.Tensor(name + "_tensor")) {
    const Tensor value = node.texts().ToTensor(
        *tensor, nullptr, "attribute " + name + "_tensor", &node.cost());
    return {value.Reshaped({value.numel()}), IsOfTexts(*tensor)};
  }
  if (!texts.empty()) return LabelsOf(node, texts);
  if (!floats.empty()) {
    return {FromDoubles(DType::kFloat32, {std::ssize(floats)}, floats)};
  }
  return LabelsOf(integers);
}

// The label of what is no key: one element, of the dtype of the labels.
std::string DefaultLabel(Node& node, const Labels& labels) {
  Attributes& attributes = node.attributes();
  const DType dtype = labels.values.dtype();
  const std::string of_texts = attributes.String("default_string", "_Unused");
  const double of_floats = attributes.Float("default_float", -0.0);
  const int64_t of_integers = attributes.Int("default_int64", -1);
  if (const TensorProto* tensor = attributes.Tensor("default_tensor")) {
    const Tensor value = node.texts().ToTensor(
        *tensor, nullptr, "attribute default_tensor", &node.cost());
    SLUICE_ENFORCE(value.numel() == 1 && value.dtype() == dtype &&
                       IsOfTexts(*tensor) == labels.of_texts,
                   ErrorCode::kInvalidArgument, "onnx.label_default",
                   "its default_tensor is {} {}; expected one element of the "
                   "type of its values",
                   value.dtype(), value.dims());
    return node.NewConstant(value.Reshaped({}));
  }
  if (labels.of_texts) return node.Whole(node.texts().NumberOf(of_texts));
  return IsInteger(dtype) ? node.Cast(node.Whole(of_integers), dtype)
                          : node.Number(of_floats, dtype);
}

// Makes output 0 the value of each key.
void FinishLabels(Node& node, const Labels& keys, const Labels& labels) {
  SLUICE_ENFORCE(keys.values.numel() == labels.values.numel(),
                 ErrorCode::kInvalidArgument, "onnx.label_count",
                 "it has {} keys and {} values", keys.values.numel(),
                 labels.values.numel());
  const DType dtype = keys.values.dtype();
  SLUICE_ENFORCE(dtype == node.TypeOf(0) && keys.of_texts == node.ReadsTexts(0),
                 ErrorCode::kInvalidArgument, "onnx.label_type",
                 "its keys are {}, and its input is {}",
                 keys.of_texts ? "strings" : ToString(dtype),
                 node.ReadsTexts(0) ? "of strings" : ToString(node.TypeOf(0)));
  const Found found = IsInteger(dtype)
                          ? FindKeys(node, node.In(0), IntegersOf(keys.values))
                          : FindKeys(node, node.In(0), ToDoubles(keys.values));
  const std::string otherwise = DefaultLabel(node, labels);
  const std::string label =
      node.Gather({node.NewConstant(labels.values), found.index});
  if (labels.of_texts) node.MarkTexts();
  node.Finish(
      "where",
      {{"Condition", {found.is_key}}, {"X", {label}}, {"Y", {otherwise}}});
}

// From strings to integers, or back, by what the input is.
void FinishCategories(Node& node, const Names& strings, const Ints& integers) {
  const Labels texts = LabelsOf(node, strings);
  const Labels numbers = LabelsOf(integers);
  if (node.ReadsTexts(0)) return FinishLabels(node, texts, numbers);
  FinishLabels(node, numbers, texts);
}

void LabelEncoder(Node& node) {
  // Before version 2: the classes, which are counted.
  const Names classes = node.attributes().Strings("classes_strings");
  if (!classes.empty()) {
    Ints counted(classes.size());
    std::iota(counted.begin(), counted.end(), 0);
    return FinishCategories(node, classes, counted);
  }
  const Labels keys = LabelsOf(node, "keys");
  FinishLabels(node, keys, LabelsOf(node, "values"));
}

void CategoryMapper(Node& node) {
  const Names strings = node.attributes().Strings("cats_strings");
  FinishCategories(node, strings, node.attributes().Ints("cats_int64s"));
}

// Rows of scores as maps from labels.
void ZipMap(Node& node) {
  Ints keys = node.attributes().Ints("classlabels_int64s");
  const Names texts = node.attributes().Strings("classlabels_strings");
  if (!texts.empty()) {
    keys = node.texts().NumbersOf(texts);
    node.MarkTexts();
  }
  const std::string x = RowsOf(node, 0, DType::kFloat32);
  const int64_t columns = node.SizeOf(x, 1);
  SLUICE_ENFORCE(!keys.empty() && (columns < 0 || columns == std::ssize(keys)),
                 ErrorCode::kInvalidArgument, "onnx.map_keys",
                 "it has {} class labels for {} columns; expected as many",
                 keys.size(), columns);
  node.FinishMaps(x, keys);
}

void OfMaps(Node& /*node*/) {
  Node::Unsupported("it takes maps, which Sluice has only as results");
}

}  // namespace

const HandlerTable kFeatureHandlers = {
    {"ai.onnx.ml.ArrayFeatureExtractor", 1, ArrayFeatureExtractor},
    {"ai.onnx.ml.Binarizer", 1, Binarizer},
    {"ai.onnx.ml.CastMap ai.onnx.ml.DictVectorizer", 1, OfMaps},
    {"ai.onnx.ml.CategoryMapper", 1, CategoryMapper},
    {"ai.onnx.ml.FeatureVectorizer", 1, FeatureVectorizer},
    {"ai.onnx.ml.Imputer", 1, Imputer},
    {"ai.onnx.ml.LabelEncoder", 1, LabelEncoder},
    {"ai.onnx.ml.Normalizer", 1, Normalizer},
    {"ai.onnx.ml.OneHotEncoder", 1, OneHotEncoder},
    {"ai.onnx.ml.Scaler", 1, Scaler},
    {"ai.onnx.ml.ZipMap", 1, ZipMap},
};

}  // namespace sluice::onnx
