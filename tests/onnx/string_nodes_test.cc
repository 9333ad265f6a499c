#include <string>
#include <vector>

#include "tests/onnx/classical_model.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/executor.h"
#include "sluice/framework/values/text_table.h"

// Operators of strings. tests/python/classical/test_onnx_strings.py compares
// their results.
namespace sluice::testing {
namespace {

ModelBuilder StringNode(const std::string& type,
                        const std::vector<NodeChange>& changes,
                        int dtype = ::onnx::TensorProto::STRING) {
  ModelBuilder builder = Classical(type, changes);
  builder.model.mutable_opset_import(0)->set_version(20);
  auto& node = *builder.graph().mutable_node(0);
  node.set_domain(type == "Tokenizer" ? "com.microsoft" : "");
  auto* input = builder.graph().mutable_input(0);
  input->mutable_type()->mutable_tensor_type()->set_elem_type(dtype);
  return builder;
}

void ExpectRefused(std::string_view id,
                   std::string_view word,
                   const ModelBuilder& builder) {
  ExpectError(ErrorCode::kInvalidArgument, id, {"node_5", word},
              [&] { builder.Load(); });
}

TEST(OnnxStrings, AreNumbersOfATableThatTheRunIsGiven) {
  const onnx::OnnxModel model =
      StringNode("StringSplit", {OfText("delimiter", ",")}).Load();
  EXPECT_EQ(model.texts_input, "texts");
  ASSERT_EQ(model.inputs.size(), 1u);
  EXPECT_TRUE(model.inputs[0].of_texts && model.outputs[0].of_texts);
  const auto table = TextTable::Make();
  const Tensor x = Tensor::FromVector<int64_t>(
      {1, 2}, {table->NumberOf("a,b"), table->NumberOf("")});
  const Tensor handle = Tensor::FromVector<int64_t>({}, {table->handle()});
  Executor executor;
  const auto y =
      executor.Run(model.program, {{"x", x}, {"texts", handle}}, {"y"});
  std::vector<std::string> parts;
  for (const int64_t number : y[0].ToVector<int64_t>()) {
    parts.push_back(*table->Find(number));
  }
  EXPECT_EQ(parts, (std::vector<std::string>{"a", "b", "", ""}));
}

TEST(OnnxStrings, AModelThatMakesNoneHasNoTable) {
  const std::vector<NodeChange> counts = {
      OfText("mode", "TF"),        Of("pool_int64s", {1}),
      Of("ngram_counts", {0}),     Of("ngram_indexes", {0}),
      OfInt("min_gram_length", 1), OfInt("max_gram_length", 1),
      OfInt("max_skip_count", 0)};
  const int int64 = ::onnx::TensorProto::INT64;
  EXPECT_EQ(StringNode("TfIdfVectorizer", counts, int64).Load().texts_input,
            "");
}

TEST(OnnxStrings, AreChecked) {
  ExpectRefused("onnx.not_strings", "x is float32; expected strings",
                StringNode("RegexFullMatch", {}, ::onnx::TensorProto::FLOAT));
  ExpectRefused(
      "onnx.case_change", "Upper",
      StringNode("StringNormalizer", {OfText("case_change_action", "Upper")}));
  ExpectRefused("re2.pattern", "missing )",
                StringNode("RegexFullMatch", {OfText("pattern", "(a")}));
  ExpectRefused("tokenize.pattern", "no pattern and 0 separators",
                StringNode("Tokenizer", {}));
}

TEST(OnnxStrings, NgramsAreChecked) {
  const std::vector<NodeChange> counts = {
      OfText("mode", "IDF"),       OfTexts("pool_strings", {"a", "b"}),
      Of("ngram_counts", {0}),     Of("ngram_indexes", {0, 1}),
      OfInt("min_gram_length", 1), OfInt("max_gram_length", 1),
      OfInt("max_skip_count", 0),
  };
  const auto refused = [&](std::string_view id, std::string_view word,
                           const NodeChange& change) {
    std::vector<NodeChange> changes = counts;
    changes.push_back(change);
    ExpectRefused(id, word, StringNode("TfIdfVectorizer", changes));
  };
  refused("onnx.tfidf_pool", "2 pool_strings and 1 pool_int64s",
          Of("pool_int64s", {1}));
  refused("onnx.tfidf_indexes", "no ngram_indexes", Of("ngram_indexes", {}));
  refused("onnx.tfidf_index", "from -1 to 0", Of("ngram_indexes", {0, -1}));
  refused("onnx.tfidf_index", "2147483647",
          Of("ngram_indexes", {0, 2147483647}));
  refused("onnx.tfidf_mode", "is TF IDF", OfText("mode", "TF IDF"));
  refused("onnx.tfidf_weights", "1 weights", OfFloats("weights", {1}));
  refused("tfidf_vectorize.columns", "expected 2", Of("ngram_indexes", {0}));
  ExpectRefused(
      "onnx.tfidf_type", "its pool is of strings, and its input of int64",
      StringNode("TfIdfVectorizer", counts, ::onnx::TensorProto::INT64));
}

}  // namespace
}  // namespace sluice::testing
