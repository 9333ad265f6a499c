#include "sluice/onnx/handlers/attention.h"

#include <algorithm>

#include "sluice/onnx/handlers/scores.h"

namespace sluice::onnx {

namespace {

void Attention(Node& node) {
  AttentionImport(&node).Run();
}

// Graphs of the model may change the scores and the weights.
class FlexAttention : public AttentionImport {
 public:
  using AttentionImport::AttentionImport;

  void RunFlexible() {
    for (const int input : {kQuery, kKey, kValue}) {
      SLUICE_ENFORCE(RankOf(node_, input) == 4, ErrorCode::kInvalidArgument,
                     "onnx.flex_attention_rank",
                     "its input {} has {} dims; expected 4", input,
                     RankOf(node_, input));
    }
    ReadHeadDims();
    DType precise = ComputedType();
    if (node_.attributes().Has("softmax_precision")) {
      precise = node_.attributes().NeededType("softmax_precision");
    }
    SLUICE_ENFORCE(IsFloating(precise), ErrorCode::kInvalidArgument,
                   "onnx.flex_attention_precision",
                   "attribute softmax_precision is {}; expected a float",
                   precise);
    std::string query = Computed(node_.In(kQuery));
    const double scale = Scale(&query);
    const std::string scores =
        Append("matmul", query, Repeated(Computed(node_.In(kKey))),
               {{"transpose_Y", true}, {"alpha", scale}});
    const std::string changed =
        Changed("score_mod", node_.Cast(scores, precise));
    const std::string weights =
        Changed("prob_mod", node_.Unary("softmax", changed));
    const std::string values = node_.Cast(node_.In(kValue), precise);
    FinishCast(node_, Append("matmul", weights, Repeated(values)), dtype_);
  }

 private:
  // The result of the graph that is attribute `name`; x without one.
  std::string Changed(const char* name, const std::string& x) {
    if (!node_.attributes().Has(name)) return x;
    const Names results =
        node_.AddCopy(node_.attributes().NeededGraph(name), 0, {x});
    SLUICE_ENFORCE(results.size() == 1, ErrorCode::kInvalidArgument,
                   "onnx.flex_attention_outputs",
                   "graph {} has {} outputs; expected one", name,
                   results.size());
    const DType from = node_.DTypeOf(x), to = node_.DTypeOf(results[0]);
    const DDim given = node_.DimsOf(x), made = node_.DimsOf(results[0]);
    const bool same = !made.rank_known() ||
                      std::equal(made.begin(), made.end(), given.begin(),
                                 given.end(), [](int64_t a, int64_t b) {
                                   return a < 0 || b < 0 || a == b;
                                 });
    SLUICE_ENFORCE(from == to && same, ErrorCode::kInvalidArgument,
                   "onnx.flex_attention_graph",
                   "graph {} makes {} {} of {} {}; expected the same dtype "
                   "and shape",
                   name, to, Printable(made), from, Printable(given));
    return results[0];
  }
};

void ImportFlexAttention(Node& node) {
  FlexAttention(&node).RunFlexible();
}

}  // namespace

const HandlerTable kAttentionHandlers = {
    {"Attention", 23, Attention},
    {"ai.onnx.preview.FlexAttention", 1, ImportFlexAttention}};

}  // namespace sluice::onnx
