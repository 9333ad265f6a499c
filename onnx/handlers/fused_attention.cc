#include <string>
#include <utility>

#include "sluice/onnx/handlers/attention.h"
#include "sluice/onnx/handlers/quantized_product.h"
#include "sluice/onnx/handlers/rotary.h"

namespace sluice::onnx {

namespace {

// No input of a node.
constexpr int kNoInput = 99;

// The attention operators of onnxruntime. Keys that a mask of theirs leaves out
// are not excluded, but get a large negative score.
class FusedAttention : public AttentionImport {
 public:
  explicit FusedAttention(Node* node) : AttentionImport(node) {
    flat_ = true;
    mask_ = 5;
    query_heads_ = key_heads_ = node_.attributes().NeededInt("num_heads");
    SLUICE_ENFORCE(query_heads_ > 0, ErrorCode::kInvalidArgument,
                   "onnx.attention_num_heads",
                   "attribute num_heads is {}; expected 1 or more",
                   query_heads_);
  }

  // Attention: Q, K and V are the product of inputs 0 and 1.
  void RunPacked() {
    RefuseInput(6, "past_sequence_length");
    ReadTriangle();
    std::string product = Append("matmul", node_.In(0), node_.In(1));
    if (node_.HasInput(2)) {
      product = Append("elementwise_add", product, node_.In(2));
    }
    Ints sizes = node_.attributes().Ints("qkv_hidden_sizes");
    if (sizes.empty()) sizes = Thirds();
    SLUICE_ENFORCE(
        sizes.size() == 3, ErrorCode::kInvalidArgument, "onnx.attention_sizes",
        "attribute qkv_hidden_sizes has {} entries; expected 3", sizes.size());
    node_.attributes().Ignore("rotary_embedding_dim");  // only of do_rotary
    RunProduct(product, sizes, {.mask = 3, .past = 4});
  }

  // QAttention: the product is one of quantized inputs.
  void RunQuantized() {
    ReadTriangle();
    dtype_ = node_.TypeOf(3);
    mask_ = kNoInput;
    const std::string product = FloatProduct(
        node_,
        {.x = 0, .x_scale = 3, .x_zero = 6, .y = 1, .y_scale = 4, .y_zero = 7});
    RunProduct(Append("elementwise_add", product, node_.In(2)), Thirds(),
               {.mask = 5, .past = 8});
  }

  // MultiHeadAttention.
  void RunSeparate() {
    RefuseInput(8, "past_sequence_length");
    RefuseInput(9, "cache_indirection");
    causal_ = node_.attributes().Flag("unidirectional");
    shown_ = kMasked;
    std::string parts[3];
    ReadParts(parts);
    int64_t begin = 0;
    for (std::string& part : parts) {
      // Keys with 4 dims are of an earlier call.
      if (node_.DimsOf(part).rank() == 4) continue;
      if (node_.HasInput(3)) {
        const int64_t end = begin + node_.SizeOf(part, 2);
        part =
            Append("elementwise_add", part, Slice(node_.In(3), begin, end, 0));
        begin = end;
      }
      part = Heads(part, query_heads_);
    }
    AllowKeys(4);
    RunHeads(parts[0], WithPast(parts[1], 6, kPresentKey),
             WithPast(parts[2], 7, kPresentValue));
  }

 protected:
  bool HasScale() override { return false; }

  // The last query belongs to the last key.
  std::string FirstPlace() override {
    return Append("elementwise_sub", columns_, rows_);
  }

  void RefuseInput(int index, const char* what) {
    if (node_.HasInput(index)) {
      Node::Unsupported("its input {} ({}): keys in a buffer that is shared",
                        index, what);
    }
  }

 private:
  struct PackedInputs {
    int mask, past;
  };

  void ReadTriangle() {
    Attributes& attributes = node_.attributes();
    for (const char* name : {"do_rotary", "past_present_share_buffer"}) {
      if (attributes.Flag(name)) Node::Unsupported("attribute {}, 1", name);
    }
    causal_ = attributes.Flag("unidirectional");
  }

  // The columns of the weights, input 1; Slice refuses unknown ones.
  Ints Thirds() {
    const int64_t columns = node_.SizeOf(node_.In(1), 1);
    return Ints(3, columns < 0 ? kUnknownDim : columns / 3);
  }

  // Q, K and V are `sizes` columns of a product. Past and present are both K
  // and V, in a dim before the others.
  void RunProduct(const std::string& product,
                  const Ints& sizes,
                  const PackedInputs& inputs) {
    std::string parts[3], pair[2];
    for (int64_t i = 0, begin = 0; i < 3; begin += sizes.at(i++)) {
      parts[i] =
          Heads(Slice(product, begin, begin + sizes.at(i), -1), query_heads_);
      if (i == 0) continue;
      if (node_.HasInput(inputs.past)) {
        const std::string past = Slice(node_.In(inputs.past), i - 1, i, 0);
        parts[i] = node_.Concat(
            {node_.Unary("squeeze", past, {{"axes", Ints{0}}}), parts[i]}, 2);
      }
      pair[i - 1] = node_.Unsqueeze(parts[i], {0});
    }
    if (node_.HasOutput(1)) {
      node_.FinishOutput(1, "concat", {{"X", {pair[0], pair[1]}}},
                         {{"axis", int64_t{0}}});
    }
    AllowKeys(inputs.mask);
    RunHeads(parts[0], parts[1], parts[2]);
  }

  // Inputs 0 to 2, or Q, K and V of input 0 [batch, sequence, heads, 3, size],
  // or K and V of input 1, likewise.
  void ReadParts(std::string* parts) {
    const auto take = [this](int input, int64_t i) {
      const std::string part = Slice(node_.In(input), i, i + 1, 3);
      return node_.Reshape(part, {0, 0, -1});
    };
    const int packed = RankOf(node_, 0) == 5 ? 0 : 1;
    for (int i = 0; i < 3; ++i) {
      if (i >= packed && RankOf(node_, packed) == 5) {
        parts[i] = take(packed, i - packed);
      } else {
        RankOf(node_, i);  // raises if it is unknown
        parts[i] = node_.In(i);
      }
    }
  }

  // Input `mask`: the number of keys of each sequence, or these and the first
  // key of each after them, or a 1 for each key, of all queries or of each.
  void AllowKeys(int mask) {
    const double filter = node_.attributes().Float("mask_filter_value", -10000);
    if (!node_.HasInput(mask)) return;
    const int rank = RankOf(node_, mask);
    if (rank == 0 || rank > 3) {
      Node::Unsupported("a mask of shape {}", Printable(node_.Dims(mask)));
    }
    filter_ = Number(filter);
    if (rank == 1) {
      counts_ = node_.Cast(node_.In(mask), DType::kInt64);
      ReadStarts(node_.Dims(mask)[0], node_.SizeOf(node_.In(kQuery), 0));
    } else {
      const std::string kept = Append("greater_than", node_.In(mask),
                                      node_.Number(0, node_.TypeOf(mask)));
      allowed_ = node_.Unsqueeze(kept, rank == 2 ? Ints{1, 2} : Ints{1});
    }
  }

  void ReadStarts(int64_t count, int64_t batch) {
    if (count < 0 || batch < 0 || count == batch) return;
    if (count != 2 * batch) {
      Node::Unsupported("a mask of {} numbers for {} sequences", count, batch);
    }
    starts_ = node_.Slice(counts_, batch, count);
    counts_ = node_.Slice(counts_, 0, batch);
  }

  std::string Filtered(const std::string& scores) override {
    if (filter_.empty()) return scores;
    if (allowed_.empty()) {
      const std::string columns = node_.Count(columns_);
      allowed_ = Append("less_than", columns, AsColumn(counts_));
      if (!starts_.empty()) {
        allowed_ = Append("logical_and", allowed_,
                          Append("greater_equal", columns, AsColumn(starts_)));
      }
    }
    return Append("elementwise_add", scores,
                  node_.Where({allowed_, Number(0), filter_}));
  }

  std::string counts_, starts_, allowed_, filter_;  // see AllowKeys
};

template <void (FusedAttention::*kRun)()>
void RunFused(Node& node) {
  (FusedAttention(&node).*kRun)();
}

}  // namespace

const HandlerTable kFusedAttentionHandlers = {
    {"com.microsoft.Attention", 1, RunFused<&FusedAttention::RunPacked>},
    {"com.microsoft.MultiHeadAttention", 1,
     RunFused<&FusedAttention::RunSeparate>},
    {"com.microsoft.QAttention", 1, RunFused<&FusedAttention::RunQuantized>},
};

}  // namespace sluice::onnx
