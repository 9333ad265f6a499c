#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "sluice/onnx/import/handlers.h"

namespace sluice::onnx {

// Writes softmax(scale * Q K^T + bias) V for each head with existing ops. Q, K
// and V are [batch, heads, sequence, size]. Lives for one call of a handler,
// whose node it borrows; used by one thread.
class AttentionImport {
 public:
  explicit AttentionImport(Node* node)
      : node_(*node), dtype_(node->TypeOf(kQuery)) {}

  // Attention of ONNX.
  void Run() {
    ReadHeads();
    ReadMask();
    const auto heads = [this](int input, int64_t count) {
      return flat_ ? Heads(node_.In(input), count) : node_.In(input);
    };
    RunHeads(heads(kQuery, query_heads_),
             WithPast(heads(kKey, key_heads_), kPastKey, kPresentKey),
             WithPast(heads(kValue, key_heads_), kPastValue, kPresentValue));
  }

  virtual ~AttentionImport() = default;
  AttentionImport(const AttentionImport&) = delete;
  AttentionImport& operator=(const AttentionImport&) = delete;

 protected:
  // Inputs of Attention.
  enum : int { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kValidKeys };
  // Outputs of Attention.
  enum : int { kOut, kPresentKey, kPresentValue, kScores };
  // What output kScores has.
  enum : int { kProducts, kCapped, kMasked, kWeights };

  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  void RunHeads(std::string query, std::string key, std::string value) {
    query = Computed(query);
    key = Computed(key);
    value = Computed(value);
    rows_ = SizeOf(query, 2);
    columns_ = SizeOf(key, 2);
    const double scale = Scale(&query);
    std::string scores = Append("matmul", query, Repeated(key),
                                {{"transpose_Y", true}, {"alpha", scale}});
    Show(kProducts, scores);
    scores = Capped(scores);
    Show(kCapped, scores);
    scores = Masked(scores);
    Show(kMasked, scores);
    const std::string weights = Softmax(scores);
    Show(kWeights, weights);
    Finish({{"X", {weights}}, {"Y", {Repeated(value)}}});
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
    return sluice::SizeOf(dtype_) == 2 ? DType::kFloat32 : dtype_;
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
    if (!flat_) return ReadHeadDims();
    SLUICE_ENFORCE(query_heads_ > 0 && key_heads_ > 0,
                   ErrorCode::kInvalidArgument, "onnx.attention_heads",
                   "q_num_heads is {} and kv_num_heads {}; inputs of 3 dims "
                   "need both",
                   query_heads_, key_heads_);
  }

  // Reads the numbers of heads and their sizes from inputs of rank 4.
  void ReadHeadDims() {
    query_heads_ = node_.Dims(kQuery)[1];
    key_heads_ = node_.Dims(kKey)[1];
    const int64_t of_values = node_.Dims(kValue)[1];
    SLUICE_ENFORCE(
        key_heads_ < 0 || of_values < 0 || key_heads_ == of_values,
        ErrorCode::kInvalidArgument, "onnx.attention_values",
        "its keys have {} heads, and its values {}; expected as many",
        key_heads_, of_values);
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
    if (query_heads_ < 0 || key_heads_ < 0) return RepeatedLate(x);
    if (query_heads_ == key_heads_) return x;
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

  // The same for inputs of rank 4 whose numbers of heads are unknown.
  std::string RepeatedLate(const std::string& x) {
    const std::string heads = SizeOf(node_.In(kKey), 1);
    const std::string each = Append(
        "elementwise_max",
        Append("elementwise_floordiv", SizeOf(node_.In(kQuery), 1), heads),
        node_.Whole(1));
    const std::string all = node_.Count(Append("elementwise_mul", heads, each));
    return node_.Gather({x, Append("elementwise_floordiv", all, each)}, 1);
  }

  // Whether a scale of 0 is one.
  virtual bool HasScale() { return node_.attributes().Has("scale"); }

  // The factor of the scores. Queries are multiplied instead if it is the root
  // of a size that is known only at run time.
  double Scale(std::string* query) {
    const double given = node_.attributes().Float("scale", 0);
    if (given != 0 || HasScale()) return given;
    const int64_t size = node_.SizeOf(*query, 3);
    if (size < 0) {
      const std::string late = node_.Cast(SizeOf(*query, 3), ComputedType());
      *query = Append("elementwise_mul", *query, node_.Unary("rsqrt", late));
      return 1;
    }
    return size == 0 ? 1 : 1 / std::sqrt(static_cast<double>(size));
  }

  std::string Capped(const std::string& scores) {
    const double cap = node_.attributes().Float("softcap", 0);
    if (cap == 0) return scores;
    return Times(node_.Unary("tanh", Times(scores, 1 / cap)), cap);
  }

  void ReadMask() {
    Attributes& attributes = node_.attributes();
    causal_ = attributes.Flag("is_causal");
    left_ = attributes.Int("left_window_size", -1);
    right_ = attributes.Int("right_window_size", -1);
    shown_ = attributes.Int("qk_matmul_output_mode", 0);
    SLUICE_ENFORCE(shown_ >= 0 && shown_ <= 3, ErrorCode::kInvalidArgument,
                   "onnx.attention_output",
                   "qk_matmul_output_mode is {}; expected 0 to 3", shown_);
    for (const int64_t size : {left_, right_}) {
      SLUICE_ENFORCE(size >= -1, ErrorCode::kInvalidArgument,
                     "onnx.attention_window",
                     "a window of {} positions; expected -1 or more", size);
    }
    if (node_.HasInput(kValidKeys)) valid_ = node_.In(kValidKeys);
    // Except for the plain triangle, a row may have no key left.
    may_be_empty_ =
        node_.HasInput(mask_) || !valid_.empty() || left_ >= 0 || right_ >= 0;
  }

  // Key positions of the queries: an int64 tensor that broadcasts with [batch,
  // heads, rows, columns].
  std::string Places() {
    const std::string rows = node_.Reshape(node_.Count(rows_), {-1, 1});
    const std::string first = FirstPlace();
    return first.empty() ? rows : Append("elementwise_add", rows, first);
  }

  // The key position of the first query; "" for 0.
  virtual std::string FirstPlace() {
    if (node_.HasInput(kPastKey)) return SizeOf(node_.In(kPastKey), 2);
    if (valid_.empty()) return "";
    return AsColumn(Append("elementwise_sub", valid_, rows_));
  }

  // A bool mask of the keys that each query attends to; "" if all.
  std::string Allowed() {
    std::string allowed;
    const auto and_also = [&](const std::string& more) {
      allowed = allowed.empty() ? more : Append("logical_and", allowed, more);
    };
    const bool windows = causal_ || left_ >= 0 || right_ >= 0;
    if (windows || !valid_.empty()) {
      const std::string columns = node_.Count(columns_);
      const std::string places = windows ? Places() : "";
      if (causal_) and_also(Append("less_equal", columns, places));
      if (left_ >= 0) {
        and_also(Append("greater_equal", columns,
                        Add(places, -static_cast<double>(left_))));
      }
      if (right_ >= 0) {
        and_also(Append("less_equal", columns,
                        Add(places, static_cast<double>(right_))));
      }
      if (!valid_.empty()) {
        and_also(Append("less_than", columns, AsColumn(valid_)));
      }
    }
    if (node_.HasInput(mask_) && node_.TypeOf(mask_) == DType::kBool) {
      and_also(FullMask(0));
    }
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

  // Changes the scores that a mask leaves out, other than by excluding them.
  virtual std::string Filtered(const std::string& scores) { return scores; }

  // Rows without any key become 0.
  virtual std::string Softmax(const std::string& scores) {
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

  // Adds the output of scores, if it is what is to be shown.
  virtual void Show(int64_t what, const std::string& scores) {
    if (what == shown_ && node_.HasOutput(kScores)) {
      node_.FinishOutput(kScores, "cast", {{"X", {scores}}},
                         {{"dtype", dtype_}});
    }
  }

  // Computes the weighted values, in Q's dtype and with Q's rank.
  void Finish(const Inputs& factors) {
    if (!flat_ && dtype_ == ComputedType()) {
      return node_.Finish("matmul", factors);
    }
    const std::string out = node_.Append("matmul", factors);
    if (!flat_) {
      return node_.FinishUnary("cast", out, {{"dtype", dtype_}});
    }
    const std::string turned =
        node_.Transpose(node_.Cast(out, dtype_), {0, 2, 1, 3});
    node_.FinishUnary("reshape", turned, {{"shape", Ints{0, 0, -1}}});
  }

  Node& node_;
  DType dtype_;        // of Q, K, V and the result
  bool flat_ = false;  // whether inputs have 3 dims
  int mask_ = kMask;
  int64_t query_heads_ = 0;
  int64_t key_heads_ = 0;
  bool causal_ = false;
  int64_t left_ = -1, right_ = -1;  // windows of positions; -1 for all
  std::string valid_;               // the number of keys of each sequence
  int64_t shown_ = -1;              // which scores are an output
  std::string rows_, columns_;      // number of queries and keys: int64 [1]
  bool may_be_empty_ = false;
};

}  // namespace sluice::onnx
