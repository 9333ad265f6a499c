#include <algorithm>
#include <utility>

#include "sluice/operators/text/tokenize_kernel.h"
#include "sluice/operators/text/utf8.h"
#include "sluice/operators/usual_shapes.h"
#include "sluice/platform/text.h"

// The kernels here take expressions that stand for themselves; those of others
// are in operators/re2.
namespace sluice {
namespace {

using Words = std::vector<std::string>;

void RegexFullMatchSchema(OpSchema& op) {
  op.Doc("Whether each whole string matches a regular expression.");
  op.Input("X", "T", "Strings, of any shape.");
  AddTextsInput(op);
  op.Output("Out", "bool", "One for each string.");
  op.Attr<std::string>("pattern", "The expression, in RE2's syntax.");
  op.InferShape(SameShape);
}

void TokenizeShape(InferShapeContext& context) {
  const ShapeHandle x = context.input("X");
  context.Require(!x.dims.rank_known() || x.rank() == 1 || x.rank() == 2,
                  "tokenize.shape",
                  "input X has shape {}; expected [C] or [N, C]", x.dims);
  const bool has_pattern = !context.Attr<std::string>("pattern").empty();
  const bool has_separators = !context.Attr<Words>("separators").empty();
  context.Require(has_pattern != has_separators, "tokenize.pattern",
                  "it has {} pattern and {} separators; expected one of both",
                  has_pattern ? "a" : "no",
                  context.Attr<Words>("separators").size());
  context.SetOutput("Out", context.Concatenate(x, context.Vector(kUnknownDim)));
}

void TokenizeSchema(OpSchema& op) {
  op.Doc(
      "The tokens of strings, as onnxruntime's Tokenizer: the longest matches "
      "of a pattern, one after the other, or what is between matches of "
      "separators, each of which cuts what those before it have left. The "
      "pattern \".\", and the one separator \"\", give each code point.");
  op.Input("X", "T", "[C] or [N, C]: strings in UTF-8.");
  AddTextsInput(op);
  op.Output("Out", "T",
            "[dims of X, n]: the tokens, and pads after them; n is the largest "
            "count.");
  op.Attr<std::string>("pattern", "What a token is, in RE2's syntax.")
      .Default(std::string());
  op.Attr<Words>("separators", "What is between tokens, in RE2's syntax.")
      .Default(Words());
  op.Attr<int64_t>("min_length", "Tokens of fewer code points are left out.")
      .Default(int64_t{1})
      .AtLeast(1);
  op.Attr<bool>("mark",
                "Adds \"\\2\" before and \"\\3\" after the tokens of each "
                "string, if one has any.")
      .Default(false);
  op.Attr<std::string>("pad", "The string after shorter rows.")
      .Default(std::string());
  op.InferShape(TokenizeShape);
}

size_t CodePointAt(std::string_view text, size_t at) {
  // An expression of single bytes matches inside of one.
  return std::max<size_t>(1, Utf8SequenceLength(text.substr(at)));
}

bool IsEachPoint(const std::string& pattern, const Words& separators) {
  return pattern == "." || separators == Words{""};
}

constexpr const char* kRefusal =
    "takes expressions without special characters; others need RE2";

std::string MatchRefusal(const KernelQuery& query) {
  return IsLiteral(query.Attr<std::string>("pattern")) ? "" : kRefusal;
}

std::string TokenizeRefusal(const KernelQuery& query) {
  const auto& pattern = query.Attr<std::string>("pattern");
  const auto& separators = query.Attr<Words>("separators");
  const bool literal =
      IsLiteral(pattern) &&
      std::all_of(separators.begin(), separators.end(), IsLiteral);
  return literal || IsEachPoint(pattern, separators) ? "" : kRefusal;
}

class LiteralMatchKernel final : public Int64Kernel {
 public:
  explicit LiteralMatchKernel(const OpKernelConstruction& construction)
      : pattern_(construction.Attr<std::string>("pattern")) {}

  void Compute(OpKernelContext& context) const override {
    const OpTexts texts(context);
    const Tensor& x = context.Input(0);
    bool* out = context.AllocateOutput(0, x.dims()).data<bool>();
    for (int64_t i = 0; i < x.numel(); ++i) {
      out[i] = texts.Read("X", x.data<int64_t>()[i]) == pattern_;
    }
  }

 private:
  std::string pattern_;
};

class LiteralTokenizeKernel final : public TokenizeKernel {
 public:
  using TokenizeKernel::TokenizeKernel;

 private:
  std::optional<Match> Find(size_t expression,
                            std::string_view text,
                            size_t begin) const override {
    if (each_point()) return Match{begin, CodePointAt(text, begin)};
    const std::string& literal = expressions()[expression];
    const size_t at = text.find(literal, begin);
    if (at == std::string_view::npos) return std::nullopt;
    return Match{at, literal.size()};
  }
};

}  // namespace

bool IsLiteral(std::string_view expression) {
  return expression.find_first_of("\\.+*?()[]{}|^$") == std::string_view::npos;
}

TokenizeKernel::TokenizeKernel(const OpKernelConstruction& construction)
    : min_length_(construction.Attr<int64_t>("min_length")),
      mark_(construction.Attr<bool>("mark")),
      pad_(construction.Attr<std::string>("pad")),
      expressions_(construction.Attr<Words>("separators")) {
  const auto& pattern = construction.Attr<std::string>("pattern");
  each_point_ = IsEachPoint(pattern, expressions_);
  finds_tokens_ = each_point_ || !pattern.empty();
  if (!pattern.empty()) expressions_ = {pattern};
}

void TokenizeKernel::Compute(OpKernelContext& context) const {
  const OpTexts texts(context);
  const Tensor& x = context.Input(0);
  std::vector<Ints> rows;
  bool any = false;
  for (int64_t i = 0; i < x.numel(); ++i) {
    const std::string text = texts.ReadUtf8("X", x.data<int64_t>()[i]);
    Ints& row = rows.emplace_back();
    for (const std::string_view token : Tokens(text)) {
      row.push_back(texts.NumberOf(token));
    }
    any = any || !row.empty();
  }
  if (mark_ && any) {
    for (Ints& row : rows) {
      row.insert(row.begin(), texts.NumberOf("\2"));
      row.push_back(texts.NumberOf("\3"));
    }
  }
  texts.WriteRows(context, x.dims(), rows, pad_);
}

std::vector<std::string_view> TokenizeKernel::Tokens(
    std::string_view text) const {
  std::vector<std::string_view> parts;
  const auto keep = [&](std::string_view part) {
    const bool keeps = CountCodePoints(part) >= min_length_;
    if (keeps) parts.push_back(part);
    return keeps;
  };
  if (finds_tokens_) {
    ForEachMatch(0, text, [&](Match match) {
      return keep(text.substr(match.begin, match.size));
    });
    return parts;
  }
  parts = {text};
  for (size_t i = 0; i < expressions_.size(); ++i) {
    for (const std::string_view whole : std::exchange(parts, {})) {
      size_t begin = 0;
      ForEachMatch(i, whole, [&](Match match) {
        keep(whole.substr(begin, match.begin - begin));
        // As in onnxruntime, an empty match takes a code point away.
        begin = match.begin +
                (match.size > 0 ? match.size : CodePointAt(whole, match.begin));
        return true;
      });
      keep(whole.substr(std::min(begin, whole.size())));
    }
  }
  return parts;
}

// Calls take(match) for matches from left to right. The next one is after a
// match that is taken and not empty, else a code point further.
template <typename Take>
void TokenizeKernel::ForEachMatch(size_t expression,
                                  std::string_view text,
                                  const Take& take) const {
  for (size_t begin = 0; begin < text.size();) {
    const std::optional<Match> match = Find(expression, text, begin);
    if (!match) return;
    const bool taken = take(*match) && match->size > 0;
    begin =
        match->begin + (taken ? match->size : CodePointAt(text, match->begin));
  }
}

REGISTER_OPERATOR(regex_full_match, RegexFullMatchSchema);
REGISTER_OPERATOR(tokenize, TokenizeSchema);
REGISTER_OP_CPU_KERNEL(regex_full_match,
                       TakenWhen<&MatchRefusal>,
                       LiteralMatchKernel);
REGISTER_OP_CPU_KERNEL(tokenize,
                       TakenWhen<&TokenizeRefusal>,
                       LiteralTokenizeKernel);

}  // namespace sluice
