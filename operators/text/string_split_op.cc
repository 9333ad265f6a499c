#include <algorithm>
#include <limits>

#include "sluice/operators/text/op_texts.h"

namespace sluice {
namespace {

void StringSplitShape(InferShapeContext& context) {
  const ShapeHandle x = context.input("X");
  context.SetOutput("Out", context.Concatenate(x, context.Vector(kUnknownDim)));
  context.SetOutput("Counts", x);
}

void StringSplitSchema(OpSchema& op) {
  op.Doc(
      "The parts of each string between delimiters, as str.split of Python. Of "
      "white "
      "space, which is space, \\t, \\n, \\v, \\f and \\r, each run is one "
      "delimiter, and what is at the ends is left out.");
  op.Input("X", "T", "Strings, of any shape.");
  AddTextsInput(op);
  op.Output("Out", "T",
            "[dims of X, n]: the parts, and empty strings after them; n is the "
            "largest count.");
  op.Output("Counts", "int64", "How many parts each string has.",
            {.optional = true});
  op.Attr<std::string>("delimiter", "Between parts; empty for white space.")
      .Default(std::string());
  op.Attr<int64_t>("maxsplit",
                   "At how many delimiters a string is cut; -1 for all.")
      .Default(int64_t{-1})
      .AtLeast(-1);
  op.InferShape(StringSplitShape);
}

class StringSplitKernel final : public Int64Kernel {
 public:
  explicit StringSplitKernel(const OpKernelConstruction& construction)
      : delimiter_(construction.Attr<std::string>("delimiter")) {
    const auto most = construction.Attr<int64_t>("maxsplit");
    if (most >= 0) most_ = most;
  }

  void Compute(OpKernelContext& context) const override {
    const OpTexts texts(context);
    const Tensor& x = context.Input(0);
    std::vector<Ints> rows;
    rows.reserve(static_cast<size_t>(x.numel()));
    for (int64_t i = 0; i < x.numel(); ++i) {
      Ints& row = rows.emplace_back();
      const std::string text = texts.Read("X", x.data<int64_t>()[i]);
      const auto add = [&](std::string_view part) {
        row.push_back(texts.NumberOf(part));
      };
      delimiter_.empty() ? CutAtSpace(text, add) : CutAtDelimiter(text, add);
    }
    texts.WriteRows(context, x.dims(), rows, "");
    if (!context.HasOutput("Counts")) return;
    auto* counts = context.AllocateOutput("Counts", x.dims()).data<int64_t>();
    for (const Ints& row : rows) {
      *counts++ = std::ssize(row);
    }
  }

 private:
  template <typename Add>
  void CutAtDelimiter(std::string_view text, const Add& add) const {
    for (int64_t cuts = 0; cuts < most_; ++cuts) {
      const size_t end = text.find(delimiter_);
      if (end == std::string_view::npos) break;
      add(text.substr(0, end));
      text.remove_prefix(end + delimiter_.size());
    }
    add(text);
  }

  template <typename Add>
  void CutAtSpace(std::string_view text, const Add& add) const {
    constexpr std::string_view kSpace = " \t\n\v\f\r";
    text = text.substr(0, text.find_last_not_of(kSpace) + 1);
    for (int64_t cuts = 0;; ++cuts) {
      text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
      if (text.empty()) return;
      const size_t end = cuts < most_
                             ? std::min(text.find_first_of(kSpace), text.size())
                             : text.size();
      add(text.substr(0, end));
      text.remove_prefix(end);
    }
  }

  std::string delimiter_;
  int64_t most_ = std::numeric_limits<int64_t>::max();
};

}  // namespace

REGISTER_OPERATOR(string_split, StringSplitSchema);
REGISTER_OP_CPU_KERNEL(string_split, StringSplitKernel);

}  // namespace sluice
