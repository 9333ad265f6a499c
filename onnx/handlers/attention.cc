#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "sluice/onnx/import/handlers.h"

namespace sluice::onnx {

namespace {

// Inputs of Attention.
enum : int { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kValidKeys };
// Outputs of Attention.
enum : int { kOut, kPresentKey, kPresentValue, kScores };

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Writes softmax(scale * Q K^T + bias) V for each head with existing ops. Q, K
// and V are [batch, heads, sequence, size].
class AttentionImport {
 public:
  explicit AttentionImport(Node* node) : node_(*node) {}

  void Run() {
    ReadHeads();
    const auto heads = [this](int input, int64_t count) {
      return flat_ ? Heads(node_.In(input), count) : node_.In(input);
    };
    RunHeads(heads(kQuery, query_heads_),
             WithPast(heads(kKey, key_heads_), kPastKey, kPresentKey),
             WithPast(heads(kValue, key_heads_), kPastValue, kPresentValue));
  }

  // Attention of onnxruntime: Q, K and V are the product of inputs 0 and 1.
  void RunPacked() {
    SetFused();
    std::string product = Append("matmul", node_.In(0), node_.In(1));
    if (node_.HasInput(2)) {
      product = Append("elementwise_add", product, node_.In(2));
    }
    Ints sizes = node_.attributes().Ints("qkv_hidden_sizes");
    if (sizes.empty()) sizes.assign(3, node_.SizeOf(node_.In(1), 1) / 3);
    if (node_.HasInput(6) || node_.attributes().Flag("do_rotary")) {
      Node::Unsupported("do_rotary, or a shared buffer of past keys");
    }
    std::string parts[3], pair[2];
    for (int64_t i = 0, begin = 0; i < 3; begin += sizes.at(i++)) {
      parts[i] =
          Heads(Slice(product, begin, begin + sizes.at(i), -1), query_heads_);
      if (i == 0) continue;
      if (node_.HasInput(4)) {
        const std::string past = Slice(node_.In(4), i - 1, i, 0);
        parts[i] = node_.Concat(
            {node_.Unary("squeeze", past, {{"axes", Ints{0}}}), parts[i]}, 2);
      }
      pair[i - 1] = node_.Unsqueeze(parts[i], {0});
    }
    if (node_.HasOutput(1)) {
      node_.FinishOutput(1, "concat", {{"X", {pair[0], pair[1]}}},
                         {{"axis", int64_t{0}}});
    }
    AllowKeys(3);
    RunHeads(parts[0], parts[1], parts[2]);
  }

  // MultiHeadAttention of onnxruntime.
  void RunSeparate() {
    SetFused();
    if (!node_.HasInput(1) || !node_.HasInput(2) || node_.input_count() > 8) {
      Node::Unsupported("Q, K and V in one input, or a buffer of past keys");
    }
    std::string parts[3];
    int64_t begin = 0;
    for (int i = 0; i < 3; ++i) {
      parts[i] = node_.In(i);
      // Keys with 4 dims are of an earlier call.
      if (RankOf(node_, i) == 4) continue;
      if (node_.HasInput(3)) {
        const int64_t end = begin + node_.SizeOf(parts[i], 2);
        parts[i] = Append("elementwise_add", parts[i],
                          Slice(node_.In(3), begin, end, 0));
        begin = end;
      }
      parts[i] = Heads(parts[i], query_heads_);
    }
    AllowKeys(4);
    RunHeads(parts[0], WithPast(parts[1], 6, kPresentKey),
             WithPast(parts[2], 7, kPresentValue));
  }

 private:
  void RunHeads(std::string query, std::string key, std::string value) {
    query = Computed(query);
    key = Computed(key);
    value = Computed(value);
    rows_ = SizeOf(query, 2);
    columns_ = SizeOf(key, 2);
    std::string scores =
        Append("matmul", query, Repeated(key),
               {{"transpose_Y", true}, {"alpha", Scale(query)}});
    Show(0, scores);
    scores = Capped(scores);
    Show(1, scores);
    scores = Masked(scores);
    Show(2, scores);
    const std::string weights = Softmax(scores);
    Show(3, weights);
    Finish({{"X", {weights}}, {"Y", {Repeated(value)}}});
  }

  // In onnxruntime's operators the last query belongs to the last key.
  void SetFused() {
    fused_ = flat_ = true;
    mask_ = 5;
    query_heads_ = key_heads_ = node_.attributes().NeededInt("num_heads");
  }

  // Input `mask` of onnxruntime's operators: the number of keys of each
  // sequence, or a 1 for each key, of all queries or of each. Keys that it
  // leaves out are not excluded, but get a large negative score.
  void AllowKeys(int mask) {
    filter_ = Number(node_.attributes().Float("mask_filter_value", -10000));
    if (!node_.HasInput(mask)) return filter_.clear();
    const int rank = RankOf(node_, mask);
    if (rank > 3) Node::Unsupported("a mask with {} dims", rank);
    if (rank == 1) {
      counts_ = AsColumn(node_.Cast(node_.In(mask), DType::kInt64));
    } else {
      allowed_ = node_.Unsqueeze(node_.Cast(node_.In(mask), DType::kBool),
                                 rank == 2 ? Ints{1, 2} : Ints{1});
    }
  }

  // The scores plus what AllowKeys says.
  std::string Filtered(const std::string& scores) {
    if (filter_.empty()) return scores;
    if (allowed_.empty()) {
      allowed_ = Append("less_than", node_.Count(columns_), counts_);
    }
    return Append("elementwise_add", scores,
                  node_.Where({allowed_, Number(0), filter_}));
  }

  std::string Slice(const std::string& x,
                    int64_t begin,
                    int64_t end,
                    int64_t axis) {
    if (begin < 0 || end < begin) {
      Node::Unsupported("the size of {} is known only when the model runs",
                        Shown(x));
    }
    return node_.Slice(x, begin, end, {axis});
  }
  std::string Append(const char* type,
                     const std::string& x,
                     const std::string& y,
                     AttributeMap attributes = {}) {
    return node_.Binary(type, {x, y}, std::move(attributes));
  }
  std::string Add(const std::string& x, double number) {
    if (number == 0) return x;
    return node_.Unary("scale", x, {{"bias", number}});
  }
  std::string Times(const std::string& x, double number) {
    return node_.Unary("scale", x, {{"scale", number}});
  }
  // A number of each sequence, for all heads, queries and keys.
  std::string AsColumn(const std::string& x) {
    return node_.Reshape(x, {-1, 1, 1, 1});
  }
  // 16-bit floats are computed in float32: their products may overflow, and
  // rounded scores make inaccurate weights.
  DType ComputedType() const {
    const DType dtype = node_.TypeOf(kQuery);
    return sluice::SizeOf(dtype) == 2 ? DType::kFloat32 : dtype;
  }
  std::string Computed(const std::string& x) {
    return node_.Cast(x, ComputedType());
  }
  // A number in the dtype of the computation.
  std::string Number(double number) {
    return node_.Number(number, ComputedType());
  }
  // An int64 [1]; a constant if the size is known.
  std::string SizeOf(const std::string& x, int64_t axis) {
    const int64_t size = node_.SizeOf(x, static_cast<int>(axis));
    if (size >= 0) {
      return node_.Vector({size});
    }
    return node_.Unary("shape", x, {{"start", axis}, {"end", axis + 1}});
  }

  void ReadHeads() {
    Attributes& attributes = node_.attributes();
    const int rank = RankOf(node_, kQuery);
    for (const int input : {kQuery, kKey, kValue}) {
      const int own = RankOf(node_, input);
      SLUICE_ENFORCE(own == rank && (rank == 3 || rank == 4),
                     ErrorCode::kInvalidArgument, "onnx.attention_rank",
                     "its input {} has {} dims; expected 3, or 4, of Q, K and "
                     "V alike",
                     input, own);
    }
    flat_ = rank == 3;
    query_heads_ = attributes.Int("q_num_heads", 0);
    key_heads_ = attributes.Int("kv_num_heads", 0);
    if (!flat_) {
      query_heads_ = node_.Dims(kQuery)[1];
      key_heads_ = node_.Dims(kKey)[1];
      return;
    }
    SLUICE_ENFORCE(query_heads_ > 0 && key_heads_ > 0,
                   ErrorCode::kInvalidArgument, "onnx.attention_heads",
                   "q_num_heads is {} and kv_num_heads {}; inputs of 3 dims "
                   "need both",
                   query_heads_, key_heads_);
  }

  // Reshapes [batch, sequence, heads * size] to [batch, heads, sequence, size].
  std::string Heads(const std::string& x, int64_t heads) {
    return node_.Transpose(node_.Reshape(x, {0, 0, heads, -1}), {0, 2, 1, 3});
  }

  std::string WithPast(const std::string& present, int past, int output) {
    std::string all = present;
    if (node_.HasInput(past)) {
      all = node_.Concat({node_.In(past), present}, 2);
    }
    if (node_.HasOutput(output)) {
      node_.FinishOutput(output, "assign", {{"X", {all}}});
    }
    return all;
  }

  // Repeats each head of keys or values for each of its query heads.
  std::string Repeated(const std::string& x) {
    if (query_heads_ == key_heads_ || query_heads_ < 0 || key_heads_ < 0) {
      return x;
    }
    SLUICE_ENFORCE(key_heads_ > 0 && query_heads_ % key_heads_ == 0,
                   ErrorCode::kInvalidArgument, "onnx.attention_groups",
                   "{} heads of queries do not divide by {} of keys",
                   query_heads_, key_heads_);
    Tensor index = node_.NewTable({query_heads_});
    for (int64_t i = 0; i < query_heads_; ++i) {
      index.data<int64_t>()[i] = i / (query_heads_ / key_heads_);
    }
    return node_.Gather({x, node_.NewConstant(std::move(index))}, 1);
  }

  double Scale(const std::string& query) {
    const double given = node_.attributes().Float("scale", 0);
    if (given != 0 || (!fused_ && node_.attributes().Has("scale"))) {
      return given;
    }
    const int64_t size = node_.SizeOf(query, 3);
    if (size < 0) {
      Node::Unsupported(
          "its scale is one over the root of a size that is known only when "
          "the model runs");
    }
    return size == 0 ? 1 : 1 / std::sqrt(static_cast<double>(size));
  }

  std::string Capped(const std::string& scores) {
    const double cap = node_.attributes().Float("softcap", 0);
    if (cap == 0) return scores;
    return Times(node_.Unary("tanh", Times(scores, 1 / cap)), cap);
  }

  // Key positions of the queries: an int64 tensor that broadcasts with [batch,
  // heads, rows, columns].
  std::string Places() {
    std::string rows = node_.Reshape(node_.Count(rows_), {-1, 1});
    if (fused_) {
      return Append("elementwise_add", rows,
                    Append("elementwise_sub", columns_, rows_));
    }
    if (node_.HasInput(kPastKey)) {
      return Append("elementwise_add", rows, SizeOf(node_.In(kPastKey), 2));
    }
    if (!node_.HasInput(kValidKeys)) return rows;
    const std::string offset =
        Append("elementwise_sub", node_.In(kValidKeys), rows_);
    return Append("elementwise_add", AsColumn(offset), rows);
  }

  // A bool mask of the keys that each query attends to; "" if all.
  std::string Allowed() {
    Attributes& attributes = node_.attributes();
    const bool causal =
        attributes.Flag("is_causal") || attributes.Flag("unidirectional");
    const int64_t left = attributes.Int("left_window_size", -1);
    const int64_t right = attributes.Int("right_window_size", -1);
    for (const int64_t size : {left, right}) {
      SLUICE_ENFORCE(size >= -1, ErrorCode::kInvalidArgument,
                     "onnx.attention_window",
                     "a window of {} positions; expected -1 or more", size);
    }
    std::string allowed;
    const auto and_also = [&](const std::string& more) {
      allowed = allowed.empty() ? more : Append("logical_and", allowed, more);
    };
    const bool windows = causal || left >= 0 || right >= 0;
    const bool valid_keys = !fused_ && node_.HasInput(kValidKeys);
    if (windows || valid_keys) {
      const std::string columns = node_.Count(columns_);
      const std::string places = windows ? Places() : "";
      if (causal) and_also(Append("less_equal", columns, places));
      if (left >= 0) {
        and_also(Append("greater_equal", columns,
                        Add(places, -static_cast<double>(left))));
      }
      if (right >= 0) {
        and_also(Append("less_equal", columns,
                        Add(places, static_cast<double>(right))));
      }
      if (valid_keys) {
        and_also(Append("less_than", columns, AsColumn(node_.In(kValidKeys))));
      }
    }
    if (node_.HasInput(mask_) && node_.TypeOf(mask_) == DType::kBool) {
      and_also(FullMask(0));
    }
    // Except for the plain triangle, a row may have no key left.
    may_be_empty_ = !fused_ && (node_.HasInput(mask_) || valid_keys ||
                                left >= 0 || right >= 0);
    return allowed;
  }

  // The mask, padded with `value` if its last dim lacks the last keys.
  std::string FullMask(double value) {
    const std::string& mask = node_.In(mask_);
    const DDim dims = node_.Dims(mask_);
    if (dims.rank() == 0) return mask;
    const int64_t given =
        dims.rank_known() ? dims[dims.rank() - 1] : kUnknownDim;
    const Tensor* columns = node_.ConstantOf(columns_);
    Inputs inputs = {{"X", {mask}}};
    AttributeMap attributes = {{"axes", Ints{-1}}, {"value", value}};
    if (columns == nullptr || given < 0) {
      inputs.push_back({"Pads", {MissingKeys(mask)}});
    } else {
      const int64_t missing = columns->data<int64_t>()[0] - given;
      if (missing <= 0) return mask;
      attributes["pads"] = Ints{0, missing};
    }
    return node_.Append("pad", inputs, attributes);
  }

  // An int64 [2]: 0, and the number of missing keys of the mask, computed at
  // run time.
  std::string MissingKeys(const std::string& mask) {
    const std::string shape = node_.Unary("shape", mask);
    const std::string given = node_.Slice(shape, -1, INT64_MAX, {0});
    const std::string missing =
        Append("elementwise_max", Append("elementwise_sub", columns_, given),
               node_.Whole(0));
    return node_.Concat({node_.Vector({0}), missing});
  }

  std::string Masked(std::string scores) {
    const std::string allowed = Allowed();
    scores = Filtered(scores);
    if (node_.HasInput(mask_) && node_.TypeOf(mask_) != DType::kBool) {
      scores =
          Append("elementwise_add", scores, Computed(FullMask(-kInfinity)));
    }
    if (allowed.empty()) return scores;
    return node_.Where({allowed, scores, Number(-kInfinity)});
  }

  // Rows without any key become 0.
  std::string Softmax(const std::string& scores) {
    const DType dtype = ComputedType();
    DType precise = dtype;
    if (node_.attributes().Has("softmax_precision")) {
      precise = node_.attributes().NeededType("softmax_precision");
    }
    // Never less precise than the scores.
    if (sluice::SizeOf(precise) < sluice::SizeOf(dtype)) precise = dtype;
    std::string weights =
        node_.Cast(node_.Unary("softmax", node_.Cast(scores, precise)), dtype);
    if (!may_be_empty_) return weights;
    const std::string largest = node_.Unary(
        "reduce_max", scores, {{"dim", Ints{-1}}, {"keep_dim", true}});
    const std::string empty = Append("equal", largest, Number(-kInfinity));
    return node_.Where({empty, Number(0), weights});
  }

  // Adds output qk_matmul_output in the requested mode.
  void Show(int64_t mode, const std::string& scores) {
    const int64_t wanted = node_.attributes().Int("qk_matmul_output_mode", 0);
    SLUICE_ENFORCE(wanted >= 0 && wanted <= 3, ErrorCode::kInvalidArgument,
                   "onnx.attention_output",
                   "qk_matmul_output_mode is {}; expected 0 to 3", wanted);
    if (mode == wanted && !fused_ && node_.HasOutput(kScores)) {
      node_.FinishOutput(kScores, "cast", {{"X", {scores}}},
                         {{"dtype", node_.TypeOf(kQuery)}});
    }
  }

  // Computes the weighted values, in Q's dtype and with Q's rank.
  void Finish(const Inputs& factors) {
    const DType dtype = node_.TypeOf(kQuery);
    if (!flat_ && dtype == ComputedType()) {
      return node_.Finish("matmul", factors);
    }
    const std::string out = node_.Append("matmul", factors);
    if (!flat_) {
      return node_.FinishUnary("cast", out, {{"dtype", dtype}});
    }
    const std::string turned =
        node_.Transpose(node_.Cast(out, dtype), {0, 2, 1, 3});
    node_.FinishUnary("reshape", turned, {{"shape", Ints{0, 0, -1}}});
  }

  Node& node_;
  bool flat_ = false;   // whether inputs have 3 dims
  bool fused_ = false;  // whether it is an operator of onnxruntime
  int mask_ = kMask;
  std::string counts_, allowed_, filter_;  // see AllowKeys
  int64_t query_heads_ = 0;
  int64_t key_heads_ = 0;
  std::string rows_, columns_;  // number of queries and keys: int64 [1]
  bool may_be_empty_ = false;
};

template <void (AttentionImport::*kRun)()>
void Attention(Node& node) {
  (AttentionImport(&node).*kRun)();
}

}  // namespace

const HandlerTable kAttentionHandlers = {
    {"Attention", 23, Attention<&AttentionImport::Run>},
    {"com.microsoft.Attention", 1, Attention<&AttentionImport::RunPacked>},
    {"com.microsoft.MultiHeadAttention", 1,
     Attention<&AttentionImport::RunSeparate>},
};

}  // namespace sluice::onnx
