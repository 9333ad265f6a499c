#include <string>
#include <utility>

#include "sluice/onnx/handlers/attention.h"
#include "sluice/onnx/handlers/rotary.h"

namespace sluice::onnx {

namespace {

// The inputs of GroupQueryAttention after Q, K and V.
enum : int {
  kCacheOfKeys = 3,
  kCacheOfValues,
  kLastPlaces,
  kMostKeys,
  kCosTable,
  kSinTable,
  kPlacesOfQueries,
  kBias,
  kSinks,
  kFirstScale,
  kSecondScale,
  kQueryNorm
};

// GroupQueryAttention of onnxruntime: keys and values of earlier calls are the
// first rows of a cache, whose number differs between sequences, and which may
// have room for more.
class GroupedAttention : public AttentionImport {
 public:
  explicit GroupedAttention(Node* node) : AttentionImport(node) {}

  void RunGrouped() {
    Attributes& attributes = node_.attributes();
    RefuseForms();
    flat_ = true;
    mask_ = kBias;
    causal_ = attributes.Flag("causal", true);
    ReadWindow();
    const int64_t output = attributes.Int("qk_output", 0);
    SLUICE_ENFORCE(output >= 0 && output <= 2, ErrorCode::kInvalidArgument,
                   "onnx.grouped_output",
                   "attribute qk_output is {}; expected 0 to 2", output);
    if (output > 0) shown_ = output == 1 ? kMasked : kWeights;
    std::string parts[3];
    ReadParts(parts);
    ReadLengths(SizeOf(parts[0], 2));
    for (int i = 0; i < 2; ++i) {
      if (node_.HasInput(kQueryNorm + i)) Normalise(&parts[i], kQueryNorm + i);
    }
    if (attributes.Flag("do_rotary")) Turn(parts);
    attributes.Ignore("rotary_interleaved");  // only of do_rotary
    attributes.Ignore("qk_norm_epsilon");
    const std::string keys = WithCache(parts[1], kCacheOfKeys, kPresentKey);
    const std::string values =
        WithCache(parts[2], kCacheOfValues, kPresentValue);
    if (!causal_) valid_ = ends_;
    RunHeads(parts[0], keys, values);
  }

 private:
  void RefuseForms() {
    Attributes& attributes = node_.attributes();
    for (const char* name : {"k_quant_type", "v_quant_type"}) {
      const std::string type = attributes.String(name, "NONE");
      if (type != "NONE") {
        Node::Unsupported("attribute {}, {}: a quantized cache", name,
                          Shown(type));
      }
    }
    attributes.Ignore("kv_cache_bit_width");  // only of a quantized cache
    if (attributes.Flag("sliding_window_cache")) {
      Node::Unsupported("attribute sliding_window_cache, 1");
    }
    for (const int input : {kFirstScale, kSecondScale}) {
      if (node_.HasInput(input)) {
        Node::Unsupported("its input {}, a scale of a quantized cache", input);
      }
    }
  }

  void ReadWindow() {
    const int64_t size = node_.attributes().Int("local_window_size", -1);
    SLUICE_ENFORCE(size == -1 || (size > 0 && causal_),
                   ErrorCode::kInvalidArgument, "onnx.grouped_window",
                   "attribute local_window_size is {}, and causal {}; expected "
                   "-1, or 1 or more with causal = 1",
                   size, causal_ ? 1 : 0);
    if (size > 0) left_ = size - 1;  // the query itself counts
  }

  // Q, K and V as [batch, heads, sequence, size], from three inputs or one.
  void ReadParts(std::string* parts) {
    query_heads_ = node_.attributes().NeededInt("num_heads");
    key_heads_ = node_.attributes().NeededInt("kv_num_heads");
    SLUICE_ENFORCE(query_heads_ > 0 && key_heads_ > 0,
                   ErrorCode::kInvalidArgument, "onnx.grouped_heads",
                   "num_heads is {} and kv_num_heads {}; expected 1 or more",
                   query_heads_, key_heads_);
    const int64_t heads[] = {query_heads_, key_heads_, key_heads_};
    const int64_t all = query_heads_ + 2 * key_heads_;
    const int64_t width = node_.SizeOf(node_.In(0), 2);
    for (int64_t i = 0, begin = 0; i < 3; ++i) {
      if (node_.HasInput(1)) {
        parts[i] = node_.In(static_cast<int>(i));
      } else {
        const int64_t end = width < 0 ? -1 : begin + width / all * heads[i];
        parts[i] = Slice(node_.In(0), begin, end, 2);
        begin = end;
      }
      parts[i] = Heads(parts[i], heads[i]);
    }
  }

  // A sequence has `ends_` keys, of which `starts_` are of earlier calls. In
  // the first call there are none, and sequences may be shorter than Q.
  void ReadLengths(const std::string& rows) {
    const std::string last = node_.Cast(node_.In(kLastPlaces), DType::kInt64);
    ends_ = Add(node_.Reshape(last, {-1}), 1);
    starts_ = Append("elementwise_max", Append("elementwise_sub", ends_, rows),
                     node_.Whole(0));
    most_ = node_.Reshape(node_.Cast(node_.In(kMostKeys), DType::kInt64), {1});
  }

  void Normalise(std::string* part, int scale) {
    const double epsilon = node_.attributes().Float("qk_norm_epsilon", 1e-6);
    *part = node_.Append(
        "rms_norm", {{"X", {*part}}, {"Scale", {node_.In(scale)}}},
        {{"begin_norm_axis", int64_t{3}}, {"epsilon", epsilon}}, "Y");
  }

  // Turns Q and K by the angles of their positions.
  void Turn(std::string* parts) {
    const int64_t pairs = node_.SizeOf(node_.In(kCosTable), 1);
    if (pairs < 0) {
      Node::Unsupported(
          "the number of columns of its input {} is known only when the model "
          "runs",
          kCosTable);
    }
    const std::string places = PlacesOfQueries(SizeOf(parts[0], 2));
    const auto rows = [&](int table) {
      return node_.Gather({node_.In(table), places});
    };
    const Rotation rotation = {rows(kCosTable), rows(kSinTable), 2 * pairs,
                               node_.attributes().Flag("rotary_interleaved")};
    for (int i = 0; i < 2; ++i) {
      parts[i] = Rotated(node_, parts[i], 1, rotation);
    }
  }

  // [batch, sequence]. If they are given, the first call only reads the first
  // of them.
  std::string PlacesOfQueries(const std::string& rows) {
    const std::string count = node_.Count(rows);
    if (!node_.HasInput(kPlacesOfQueries)) {
      return Append("elementwise_add", node_.Unsqueeze(starts_, {1}), count);
    }
    const std::string& given = node_.In(kPlacesOfQueries);
    const std::string first = node_.Slice(node_.Reshape(given, {-1}), 0, 1);
    return node_.Where({Append("equal", most_, rows),
                        Append("elementwise_add", first, count), given});
  }

  // The cache with x, [batch, heads, sequence, size], after the rows of earlier
  // calls; it grows where it has no room.
  std::string WithCache(const std::string& x, int cache, int output) {
    std::string all = x;
    if (node_.HasInput(cache)) {
      if (rows_of_cache_.empty()) ReadRowsOfCache(cache, SizeOf(x, 2));
      const std::string both = node_.Concat({node_.In(cache), x}, 2);
      const std::string picked =
          node_.Append("gather_nd",
                       {{"X", {node_.Transpose(both, {0, 2, 1, 3})}},
                        {"Index", {rows_of_cache_}}},
                       {{"batch_dims", int64_t{1}}});
      all = node_.Where({has_key_, node_.Transpose(picked, {0, 2, 1, 3}),
                         node_.Number(0, node_.DTypeOf(x))});
    }
    if (node_.HasOutput(output)) {
      node_.FinishOutput(output, "assign", {{"X", {all}}});
    }
    return all;
  }

  // Which rows of the cache and the new keys together are in the next one:
  // [batch, keys, 1]. Rows after the new ones become 0.
  void ReadRowsOfCache(int cache, const std::string& count) {
    const std::string room = SizeOf(node_.In(cache), 2);
    const std::string places =
        node_.Count(Append("elementwise_max", room, most_));
    const std::string starts = node_.Unsqueeze(starts_, {1});
    const std::string offset = Append("elementwise_sub", places, starts);
    const std::string is_new =
        Append("logical_and", Append("greater_equal", offset, node_.Whole(0)),
               Append("less_than", offset, count));
    const std::string last = Add(Append("elementwise_add", room, count), -1);
    const std::string index =
        node_.Where({is_new, Append("elementwise_add", offset, room),
                     Append("elementwise_min", places, last)});
    rows_of_cache_ = node_.Unsqueeze(index, {2});
    has_key_ = node_.Unsqueeze(Append("less_than", offset, count), {1, 3});
  }

  // Shows the scores of as many keys as the longest sequence has; 0 for those
  // that a query does not attend to.
  void Show(int64_t what, const std::string& scores) override {
    if (what != shown_ || !node_.HasOutput(kScores)) return;
    std::string shown = scores;
    if (what == kMasked) {
      const std::string excluded = Append("equal", scores, Number(-kInfinity));
      shown = node_.Where({excluded, Number(0), scores});
    }
    shown = node_.Append(
        "slice",
        {{"X", {shown}}, {"Starts", {node_.Vector({0})}}, {"Ends", {most_}}},
        {{"axes", Ints{3}}});
    AttentionImport::Show(what, shown);
  }

  bool HasScale() override { return false; }

  std::string FirstPlace() override { return AsColumn(starts_); }

  // Each head may have one more score, which has no value.
  std::string Softmax(const std::string& scores) override {
    const bool smooth = node_.attributes().Flag("smooth_softmax");
    if (!smooth && !node_.HasInput(kSinks)) {
      return AttentionImport::Softmax(scores);
    }
    std::string sink = Number(0);
    if (node_.HasInput(kSinks)) {
      sink = node_.Reshape(Computed(node_.In(kSinks)), {1, -1, 1, 1});
    }
    const AttributeMap last = {{"dim", Ints{-1}}, {"keep_dim", true}};
    const std::string largest = Append(
        "elementwise_max", node_.Unary("reduce_max", scores, last), sink);
    const auto power = [&](const std::string& x) {
      return node_.Unary("exp", Append("elementwise_sub", x, largest));
    };
    const std::string powers = power(scores);
    const std::string sum =
        Append("elementwise_add", node_.Unary("reduce_sum", powers, last),
               power(sink));
    return Append("elementwise_div", powers, sum);
  }

  std::string starts_, ends_, most_;     // see ReadLengths
  std::string rows_of_cache_, has_key_;  // see ReadRowsOfCache
};

void GroupQueryAttention(Node& node) {
  GroupedAttention(&node).RunGrouped();
}

}  // namespace

const HandlerTable kGroupedAttentionHandlers = {
    {"com.microsoft.GroupQueryAttention", 1, GroupQueryAttention}};

}  // namespace sluice::onnx
