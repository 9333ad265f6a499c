#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "sluice/onnx/handlers/scores.h"
#include "sluice/onnx/import/handlers.h"
#include "sluice/platform/plugin/kernel_module.h"

// Operators that make strings, or read what is in them.
namespace sluice::onnx {

namespace {

// The inputs of an op of strings, which the node's must be.
Inputs TextInputs(const Node& node, const Names& arguments) {
  Inputs inputs;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto index = static_cast<int>(i);
    SLUICE_ENFORCE(node.ReadsTexts(index), ErrorCode::kInvalidArgument,
                   "onnx.not_strings", "its input {} is {}; expected strings",
                   Shown(node.In(index)), node.TypeOf(index));
    inputs.push_back({arguments[i], {node.In(index)}});
  }
  inputs.push_back({"Texts", {node.texts_input()}});
  return inputs;
}

void StringConcat(Node& node) {
  node.MarkTexts();
  node.Finish("string_concat", TextInputs(node, {"X", "Y"}));
}

void StringNormalizer(Node& node) {
  Attributes& attributes = node.attributes();
  const std::string locale = attributes.String("locale", "en_US");
  for (const char* language : {"az", "lt", "tr"}) {
    if (locale.starts_with(language)) {
      Node::Unsupported("its locale is {}, whose language has cases of its own",
                        Shown(locale));
    }
  }
  const std::string action = attributes.String("case_change_action", "NONE");
  const char* change = action == "NONE"    ? "none"
                       : action == "LOWER" ? "lower"
                       : action == "UPPER" ? "upper"
                                           : nullptr;
  SLUICE_ENFORCE(change != nullptr, ErrorCode::kInvalidArgument,
                 "onnx.case_change",
                 "its case_change_action is {}; expected LOWER, UPPER or NONE",
                 Shown(action));
  node.MarkTexts();
  node.Finish("string_normalize", TextInputs(node, {"X"}),
              {{"stopwords", attributes.Strings("stopwords")},
               {"case_sensitive", attributes.Flag("is_case_sensitive")},
               {"change_case", std::string(change)}});
}

void StringSplit(Node& node) {
  Attributes& attributes = node.attributes();
  const int64_t most = attributes.Int("maxsplit", -1);
  node.MarkTexts();
  node.FinishAll("string_split", TextInputs(node, {"X"}),
                 {{"delimiter", attributes.String("delimiter", "")},
                  {"maxsplit", std::max<int64_t>(most, -1)}},
                 {"Out", "Counts"});
}

// Raises what the plan would for a pattern that is wrong, and names RE2 where
// it is not there.
void TryPattern(Node& node,
                const std::string& op,
                const AttributeMap& attributes) {
  try {
    node.Unary(op, node.Vector({}), attributes);
  } catch (const Error& error) {
    if (error.check_id() != "resolver.no_kernel") throw;
    const std::string& missing = LoadModule("re2");
    Node::Unsupported("its pattern needs RE2: {}",
                      missing.empty()
                          ? "a hint or SLUICE_ENABLE_RE2 excludes it"
                          : missing +
                                "; a build with Debian's package "
                                "libre2-dev has it");
  }
}

void RegexFullMatch(Node& node) {
  const AttributeMap attributes = {
      {"pattern", node.attributes().String("pattern", "")}};
  TryPattern(node, "regex_full_match", attributes);
  node.Finish("regex_full_match", TextInputs(node, {"X"}), attributes);
}

// com.microsoft.Tokenizer.
void Tokenizer(Node& node) {
  Attributes& given = node.attributes();
  const Names separators = given.Strings("separators");
  const std::string pattern = given.String("tokenexp", "");
  const AttributeMap attributes = {
      {"separators", separators},
      {"pattern", separators.empty() ? pattern : ""},
      {"min_length", given.Int("mincharnum", 1)},
      {"mark", given.Flag("mark")},
      {"pad", given.String("pad_value", "")}};
  TryPattern(node, "tokenize", attributes);
  node.MarkTexts();
  node.Finish("tokenize", TextInputs(node, {"X"}), attributes);
}

// The tokens that n-grams are of, as int64: numbers of strings, or integers.
std::string TokensOf(Node& node, bool of_texts) {
  const DType dtype = node.TypeOf(0);
  const bool is_integer = dtype == DType::kInt32 || dtype == DType::kInt64;
  SLUICE_ENFORCE(node.ReadsTexts(0) == of_texts && is_integer,
                 ErrorCode::kInvalidArgument, "onnx.tfidf_type",
                 "its pool is of {}, and its input of {}",
                 of_texts ? "strings" : "int64",
                 node.ReadsTexts(0) ? "strings" : ToString(dtype));
  return node.Cast(node.In(0), DType::kInt64);
}

void TfIdfVectorizer(Node& node) {
  Attributes& attributes = node.attributes();
  const Names strings = attributes.Strings("pool_strings");
  const Ints integers = attributes.Ints("pool_int64s");
  SLUICE_ENFORCE(strings.empty() != integers.empty(),
                 ErrorCode::kInvalidArgument, "onnx.tfidf_pool",
                 "it has {} pool_strings and {} pool_int64s; expected one of "
                 "both",
                 strings.size(), integers.size());
  const Ints columns = attributes.Ints("ngram_indexes");
  SLUICE_ENFORCE(!columns.empty(), ErrorCode::kInvalidArgument,
                 "onnx.tfidf_indexes", "it has no ngram_indexes");
  const auto [least, most] =
      std::minmax_element(columns.begin(), columns.end());
  const int64_t last = *most;
  SLUICE_ENFORCE(*least >= 0 && last < std::numeric_limits<int32_t>::max(),
                 ErrorCode::kInvalidArgument, "onnx.tfidf_index",
                 "its ngram_indexes are from {} to {}; expected 0 to 2^31 - 2",
                 *least, last);
  const std::string mode = attributes.String("mode", "");
  SLUICE_ENFORCE(mode == "TF" || mode == "IDF" || mode == "TFIDF",
                 ErrorCode::kInvalidArgument, "onnx.tfidf_mode",
                 "its mode is {}; expected TF, IDF or TFIDF", Shown(mode));
  const std::string x = TokensOf(node, !strings.empty());
  const Ints pool =
      strings.empty() ? integers : node.texts().NumbersOf(strings);
  Inputs inputs = {{"X", {x}},
                   {"Pool", {node.Vector(pool)}},
                   {"Columns", {node.Vector(columns)}}};
  // As in onnxruntime and ONNX's reference a weight is that of a column.
  Doubles weights = attributes.Floats("weights");
  if (mode != "TF" && !weights.empty()) {
    SLUICE_ENFORCE(
        weights.size() == columns.size() && last < std::ssize(weights),
        ErrorCode::kInvalidArgument, "onnx.tfidf_weights",
        "it has {} weights, {} ngram_indexes and {} columns; expected a weight "
        "for each",
        weights.size(), columns.size(), last + 1);
    weights.resize(static_cast<size_t>(last + 1));
    inputs.push_back(
        {"Weights", {NewNumbers(node, {last + 1}, weights, DType::kFloat32)}});
  }
  node.Finish("tfidf_vectorize", std::move(inputs),
              {{"starts", attributes.Ints("ngram_counts")},
               {"min_length", attributes.NeededInt("min_gram_length")},
               {"max_length", attributes.NeededInt("max_gram_length")},
               {"max_skips", attributes.NeededInt("max_skip_count")},
               {"num_columns", last + 1},
               {"binary", mode == "IDF"}});
}

}  // namespace

const HandlerTable kStringHandlers = {
    {"RegexFullMatch", 20, RegexFullMatch},
    {"StringConcat", 20, StringConcat},
    {"StringNormalizer", 10, StringNormalizer},
    {"StringSplit", 20, StringSplit},
    {"TfIdfVectorizer", 9, TfIdfVectorizer},
    {"com.microsoft.Tokenizer", 1, Tokenizer},
};

}  // namespace sluice::onnx
