#include "sluice/onnx/import/texts.h"

#include <set>

#include "sluice/onnx/import/tensor_values.h"
#include "sluice/onnx/onnx.pb.h"

namespace sluice::onnx {

int64_t Texts::NumberOf(const std::string& text) {
  const auto [found, is_new] =
      numbers_.emplace(text, static_cast<int64_t>(texts_.size()));
  if (is_new) texts_.push_back(text);
  return found->second;
}

Ints Texts::NumbersOf(const Names& texts) {
  Ints numbers;
  numbers.reserve(texts.size());
  for (const std::string& text : texts) {
    numbers.push_back(NumberOf(text));
  }
  return numbers;
}

Tensor Texts::ToTensor(const TensorProto& tensor,
                       const ElementSource* source,
                       const std::string& what,
                       ImportCost* cost) {
  if (!IsOfTexts(tensor)) return onnx::ToTensor(tensor, source, what, cost);
  const DDim dims = DimsOf(tensor, what);
  const auto& texts = tensor.string_data();
  SLUICE_ENFORCE(texts.size() == dims.numel(), ErrorCode::kDataLoss,
                 "onnx.text_count", "{} has {} strings, its shape {} takes {}",
                 what, texts.size(), dims, dims.numel());
  return Tensor::FromVector<int64_t>(dims,
                                     NumbersOf({texts.begin(), texts.end()}));
}

bool IsOfTexts(const TensorProto& tensor) {
  return tensor.data_type() == TensorProto::STRING;
}

TextUse TextUseOf(std::string_view type) {
  static const std::set<std::string_view> kMoving = {
      "Compress",        "Concat",
      "Expand",          "Flatten",
      "Gather",          "GatherND",
      "GatherElements",  "Identity",
      "Reshape",         "Slice",
      "ReverseSequence", "ScatterElements",
      "ScatterND",       "Split",
      "Squeeze",         "Tile",
      "Transpose",       "Unsqueeze",
      "Where",           "DepthToSpace",
      "SpaceToDepth",    "ai.onnx.ml.ArrayFeatureExtractor"};
  static const std::set<std::string_view> kReading = {
      "Equal",
      "Shape",
      "Size",
      "ai.onnx.ml.CategoryMapper",
      "ai.onnx.ml.LabelEncoder",
      "ai.onnx.ml.OneHotEncoder",
      "TfIdfVectorizer",
      "com.microsoft.Tokenizer"};
  if (kMoving.contains(type)) return TextUse::kMoves;
  return kReading.contains(type) || NeedsTable(type) ? TextUse::kReads
                                                     : TextUse::kRefuses;
}

bool NeedsTable(std::string_view type) {
  static const std::set<std::string_view> kNeeding = {
      "RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit",
      "Tokenizer"};
  return kNeeding.contains(type);
}

}  // namespace sluice::onnx
