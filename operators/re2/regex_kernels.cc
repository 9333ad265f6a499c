#include <memory>

#include <re2/re2.h>

#include "sluice/operators/text/tokenize_kernel.h"
#include "sluice/platform/text.h"

namespace sluice::re2_kernels {
namespace {

// Bounds the memory of an expression and its automata; past it a match is
// slower, and has the same result.
constexpr int64_t kMostBytes = 8 << 20;

std::unique_ptr<RE2> Compile(const OpKernelConstruction& construction,
                             const std::string& pattern,
                             bool longest) {
  RE2::Options options;
  options.set_max_mem(kMostBytes);
  options.set_log_errors(false);
  options.set_longest_match(longest);
  auto compiled = std::make_unique<RE2>(pattern, options);
  SLUICE_ENFORCE(compiled->ok(), ErrorCode::kInvalidArgument, "re2.pattern",
                 "{}: its pattern {} is no regular expression: {}",
                 construction.op(), Shown(pattern), compiled->error());
  return compiled;
}

class RegexFullMatchKernel final : public Int64Kernel {
 public:
  explicit RegexFullMatchKernel(const OpKernelConstruction& construction)
      : pattern_(Compile(
            construction, construction.Attr<std::string>("pattern"), false)) {}

  void Compute(OpKernelContext& context) const override {
    const OpTexts texts(context);
    const Tensor& x = context.Input(0);
    bool* out = context.AllocateOutput(0, x.dims()).data<bool>();
    for (int64_t i = 0; i < x.numel(); ++i) {
      const std::string text = texts.Read("X", x.data<int64_t>()[i]);
      out[i] = RE2::FullMatch(text, *pattern_);
    }
  }

 private:
  std::unique_ptr<RE2> pattern_;
};

class RegexTokenizeKernel final : public TokenizeKernel {
 public:
  explicit RegexTokenizeKernel(const OpKernelConstruction& construction)
      : TokenizeKernel(construction) {
    for (const std::string& expression : expressions()) {
      compiled_.push_back(
          Compile(construction, each_point() ? "(?s:.)" : expression, true));
    }
  }

 private:
  std::optional<Match> Find(size_t expression,
                            std::string_view text,
                            size_t begin) const override {
    re2::StringPiece match;
    const re2::StringPiece piece(text.data(), text.size());
    if (!compiled_[expression]->Match(piece, begin, text.size(),
                                      RE2::UNANCHORED, &match, 1)) {
      return std::nullopt;
    }
    return Match{static_cast<size_t>(match.data() - text.data()), match.size()};
  }

  std::vector<std::unique_ptr<RE2>> compiled_;
};

}  // namespace

REGISTER_OP_KERNEL(
    regex_full_match, RE2, CPUPlace, re2, KernelTraits(), RegexFullMatchKernel);
REGISTER_OP_KERNEL(
    tokenize, RE2, CPUPlace, re2, KernelTraits(), RegexTokenizeKernel);

}  // namespace sluice::re2_kernels
