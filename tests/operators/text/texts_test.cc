#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"
#include "sluice/framework/values/text_table.h"

// Ops of strings with a table; the cases have short strings without one.
namespace sluice {
namespace {

using Words = std::vector<std::string>;
using Ints = std::vector<int64_t>;

class Texts : public ::testing::Test {
 protected:
  Tensor Of(const DDim& dims, const Words& words) const {
    Ints numbers;
    for (const std::string& word : words) {
      numbers.push_back(table_->NumberOf(word));
    }
    return Tensor::FromVector<int64_t>(dims, numbers);
  }

  Words Back(const Tensor& numbers) const {
    Words words;
    for (const int64_t number : numbers.ToVector<int64_t>()) {
      words.push_back(*table_->Find(number));
    }
    return words;
  }

  std::map<std::string, Tensor> Run(const std::string& op,
                                    const Tensor& x,
                                    const AttributeMap& attributes,
                                    const RunOpOptions& options = {}) const {
    return RunOp(op, {{"X", x}, {"Texts", handle_}}, attributes, options);
  }

  const std::shared_ptr<TextTable> table_ = TextTable::Make();
  const Tensor handle_ = Tensor::FromVector<int64_t>({}, {table_->handle()});
};

TEST_F(Texts, AreJoinedWhateverTheirLength) {
  const Tensor x = Of({2, 1}, {"a longer string than a number holds", ""});
  const Tensor y = Of({2}, {"", "!"});
  const Tensor out =
      RunOp("string_concat", {{"X", x}, {"Y", y}, {"Texts", handle_}})["Out"];
  EXPECT_EQ(out.dims(), DDim({2, 2}));
  EXPECT_EQ(Back(out),
            (Words{"a longer string than a number holds",
                   "a longer string than a number holds!", "", "!"}));
}

TEST_F(Texts, ANumberThatTheTableLacksIsRefused) {
  const Tensor x = Tensor::FromVector<int64_t>({1}, {table_->size()});
  testing::ExpectError(ErrorCode::kOutOfRange, "text.number",
                       {"string_split", "input X has 0", "0 strings"},
                       [&] { Run("string_split", x, {}); });
}

TEST_F(Texts, BytesThatAreNoTextAreSplitAndNotTokenized) {
  const Tensor x = Of({1}, {"\xFF,\xC3"});
  const Tensor parts =
      Run("string_split", x, {{"delimiter", std::string(",")}})["Out"];
  EXPECT_EQ(Back(parts), (Words{"\xFF", "\xC3"}));
  testing::ExpectError(ErrorCode::kInvalidArgument, "text.utf8",
                       {"string_normalize", "input X", "no UTF-8"},
                       [&] { Run("string_normalize", x, {}); });
}

TEST_F(Texts, CaseIsThatOfUnicodeAndNotOfTheProgramsLocale) {
  const Tensor x = Of({3}, {"ÄrGer ΣΤΟΡΓΗ", "ДА", std::string("i\0I", 3)});
  const auto in = [&](const std::string& change) {
    return Back(Run("string_normalize", x, {{"change_case", change}})["Out"]);
  };
  EXPECT_EQ(in("lower"), (Words{"ärger στοργη", "да", std::string("i\0i", 3)}));
  EXPECT_EQ(in("upper"), (Words{"ÄRGER ΣΤΟΡΓΗ", "ДА", std::string("I\0I", 3)}));
}

TEST_F(Texts, ManyPartsAreSplit) {
  std::string line;
  for (int i = 0; i < 1000000; ++i) {
    line += "a,";
  }
  const auto out =
      Run("string_split", Of({1}, {line}), {{"delimiter", std::string(",")}},
          {.outputs = {"Out", "Counts"}});
  EXPECT_EQ(out.at("Out").dims(), DDim({1, 1000001}));
  EXPECT_EQ(out.at("Counts").ToVector<int64_t>(), Ints{1000001});
}

// Both kernels, where the library is there.
TEST_F(Texts, ExpressionsThatStandForThemselvesNeedNoLibrary) {
  const Tensor x = Of({2}, {"äöü-öü!", "-"});
  for (const char* hint : {"require library=PLAIN", ""}) {
    const RunOpOptions options{.hint = hint};
    const auto tokens = [&](const AttributeMap& attributes) {
      return Back(Run("tokenize", x, attributes, options)["Out"]);
    };
    EXPECT_EQ(tokens({{"pattern", std::string("öü")}}),
              (Words{"öü", "öü", "", ""}));
    EXPECT_EQ(tokens({{"separators", Words{"-", "ü"}}}),
              (Words{"äö", "ö", "!", "", "", ""}));
    EXPECT_EQ(tokens({{"separators", Words{""}}}),
              (Words{"ä", "ö", "ü", "-", "ö", "ü", "!", "-", "", "", "", "", "",
                     ""}));
    const auto out = Run("regex_full_match", x, {{"pattern", std::string("-")}},
                         options)["Out"];
    EXPECT_FALSE(out.data<bool>()[0]);
    EXPECT_TRUE(out.data<bool>()[1]);
  }
  const RunOpOptions plain{.hint = "require library=PLAIN"};
  testing::ExpectError(
      ErrorCode::kNotFound, "resolver.no_kernel",
      {"tokenize", "without special characters"}, [&] {
        Run("tokenize", x, {{"pattern", std::string("a+")}}, plain);
      });
}

TEST(TfidfVectorize, SkipsPastTheEndOfARowAreNone) {
  const auto ints = [](const Ints& values) {
    return Tensor::FromVector<int64_t>({std::ssize(values)}, values);
  };
  const Tensor out = RunOp("tfidf_vectorize",
                           {{"X", ints({1, 2, 1})},
                            {"Pool", ints({1, 1, 1, 1, 2})},
                            {"Columns", ints({0, 1, 2})}},
                           {{"starts", Ints{0, 1}},
                            {"min_length", int64_t{1}},
                            {"max_length", int64_t{2}},
                            {"max_skips", INT64_MAX},
                            {"num_columns", int64_t{3}}})["Out"];
  EXPECT_EQ(out.ToVector<float>(), (std::vector<float>{2, 1, 1}));
}

}  // namespace
}  // namespace sluice
