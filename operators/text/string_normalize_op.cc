#include <algorithm>
#include <set>

#include "sluice/operators/text/op_texts.h"
#include "sluice/operators/text/utf8.h"
#include "sluice/operators/usual_shapes.h"

namespace sluice {
namespace {

using Words = std::vector<std::string>;

DDim NormalizedDims(const InferShapeContext& context) {
  DDim x = context.input("X");
  if (!x.rank_known()) return x;
  context.Require(
      x.rank() == 1 || (x.rank() == 2 && (x[0] == 1 || x[0] == kUnknownDim)),
      "string_normalize.shape", "input X has shape {}; expected [C] or [1, C]",
      x);
  int64_t& last = x[x.rank() - 1];
  const bool keeps = context.Attr<Words>("stopwords").empty();
  last = keeps ? std::max(last, last < 0 ? last : 1) : kUnknownDim;
  if (x.rank() == 2) x[0] = 1;
  return x;
}

void StringNormalizeSchema(OpSchema& op) {
  op.Doc(
      "Strings without stopwords, in upper or lower case. Where none is left, "
      "one empty string. Each code point is mapped by itself, as languages do "
      "but Turkish and its like.");
  op.Input("X", "T", "[C] or [1, C]: strings.");
  AddTextsInput(op);
  op.Output("Out", "T", "[n] or [1, n]: the strings that are left.");
  op.Attr<Words>("stopwords", "The strings that are left out.")
      .Default(Words());
  op.Attr<bool>("case_sensitive", "Whether stopwords have the case as written.")
      .Default(false);
  op.Attr<std::string>("change_case", "lower, upper or none.")
      .Default(std::string("none"))
      .OneOf({"none", "lower", "upper"});
  op.InferShape(OutShape<NormalizedDims>);
}

class StringNormalizeKernel final : public Int64Kernel {
 public:
  explicit StringNormalizeKernel(const OpKernelConstruction& construction)
      : sensitive_(construction.Attr<bool>("case_sensitive")),
        change_(construction.Attr<std::string>("change_case")) {
    for (const std::string& word : construction.Attr<Words>("stopwords")) {
      stopwords_.insert(Key(word));
    }
  }

  void Compute(OpKernelContext& context) const override {
    const OpTexts texts(context);
    const Tensor& x = context.Input(0);
    Ints left;
    for (int64_t i = 0; i < x.numel(); ++i) {
      const int64_t number = x.data<int64_t>()[i];
      const std::string text = texts.ReadUtf8("X", number);
      if (!stopwords_.empty() && stopwords_.contains(Key(text))) continue;
      left.push_back(change_ == "none"
                         ? number
                         : texts.NumberOf(MapCase(text, change_ == "upper")));
    }
    if (left.empty()) left.push_back(texts.NumberOf(""));
    DDim dims = x.dims();
    dims[dims.rank() - 1] = std::ssize(left);
    std::copy(left.begin(), left.end(),
              context.AllocateOutput(0, dims).data<int64_t>());
  }

 private:
  // What is compared with stopwords.
  std::string Key(const std::string& text) const {
    return sensitive_ ? text : MapCase(text, change_ == "upper");
  }

  bool sensitive_;
  std::string change_;
  std::set<std::string> stopwords_;
};

}  // namespace

REGISTER_OPERATOR(string_normalize, StringNormalizeSchema);
REGISTER_OP_CPU_KERNEL(string_normalize, StringNormalizeKernel);

}  // namespace sluice
