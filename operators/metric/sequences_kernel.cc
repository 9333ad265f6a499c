#include <algorithm>
#include <numeric>

#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// The sequences of an input [B, T] or [B, T, 1].
template <typename T>
class PaddedSequences {
 public:
  PaddedSequences(const OpKernelContext& context,
                  const char* input,
                  const char* length)
      : tokens_(context.Input(input).data<T>()),
        size_(context.Input(input).dims()[0]),
        most_(context.Input(input).dims()[1]) {
    if (!context.HasInput(length)) return;
    lengths_ = context.Input(length).data<int64_t>();
    for (int64_t b = 0; b < size_; ++b) {
      SLUICE_ENFORCE(lengths_[b] >= 0 && lengths_[b] <= most_,
                     ErrorCode::kOutOfRange, "metric.length",
                     "{}: input {}[{}] = {}; expected 0 to {}", context.op(),
                     length, b, lengths_[b], most_);
    }
  }

  int64_t size() const { return size_; }
  int64_t most() const { return most_; }
  const T* begin(int64_t b) const { return tokens_ + b * most_; }
  const T* end(int64_t b) const {
    return begin(b) + (lengths_ == nullptr ? most_ : lengths_[b]);
  }

 private:
  const T* tokens_;
  int64_t size_, most_;
  const int64_t* lengths_ = nullptr;
};

template <typename T>
class EditDistanceKernel final : public OpKernel {
 public:
  explicit EditDistanceKernel(const OpKernelConstruction& construction)
      : normalized_(construction.Attr<bool>("normalized")),
        ignored_(construction.Attr<Ints>("ignored_tokens")) {}

  void Compute(OpKernelContext& context) const override {
    const PaddedSequences<T> hyps(context, "Hyps", "HypsLength");
    const PaddedSequences<T> refs(context, "Refs", "RefsLength");
    Tensor& out = context.AllocateOutput("Out", {hyps.size(), 1});
    *context.AllocateOutput("SequenceNum", DDim({1})).template data<int64_t>() =
        hyps.size();
    if (out.numel() == 0) return;
    auto* distance = out.data<float>();
    const int64_t grain = (1 << 14) / (hyps.most() * refs.most() + 1) + 1;
    ParallelFor(hyps.size(), grain, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const std::vector<T> ref = Kept(refs, b);
        auto result = static_cast<double>(Distance(Kept(hyps, b), ref));
        if (normalized_) {
          SLUICE_ENFORCE(!ref.empty(), ErrorCode::kOutOfRange,
                         "edit_distance.empty",
                         "{}: sequence {} of input Refs is empty; a normalized "
                         "distance is divided by its length",
                         context.op(), b);
          result /= static_cast<double>(ref.size());
        }
        distance[b] = static_cast<float>(result);
      }
    });
  }

 private:
  std::vector<T> Kept(const PaddedSequences<T>& sequences, int64_t b) const {
    std::vector<T> kept;
    std::copy_if(sequences.begin(b), sequences.end(b), std::back_inserter(kept),
                 [&](T token) {
                   return std::find(ignored_.begin(), ignored_.end(), token) ==
                          ignored_.end();
                 });
    return kept;
  }

  // Holds one row of the table of distances between beginnings.
  static int64_t Distance(const std::vector<T>& hyp,
                          const std::vector<T>& ref) {
    std::vector<int64_t> row(ref.size() + 1);
    std::iota(row.begin(), row.end(), int64_t{0});
    for (size_t i = 0; i < hyp.size(); ++i) {
      int64_t diagonal = row[0]++;
      for (size_t j = 0; j < ref.size(); ++j) {
        const int64_t replaced = diagonal + (hyp[i] == ref[j] ? 0 : 1);
        diagonal = row[j + 1];
        row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, replaced});
      }
    }
    return row.back();
  }

  bool normalized_;
  Ints ignored_;
};

// The tags of a scheme. Those that a scheme lacks are negative.
struct ChunkScheme {
  int64_t tags, begin, inside, end, single;

  static ChunkScheme Of(const std::string& name) {
    if (name == "IOB") return {2, 0, 1, -2, -2};
    if (name == "IOE") return {2, -2, 0, 1, -2};
    if (name == "IOBES") return {4, 0, 1, 2, 3};
    return {1, -2, -2, -2, -2};
  }
};

struct Chunk {
  int64_t first, last, type;
  bool operator==(const Chunk&) const = default;
};

class ChunkEvalKernel final : public OpKernel {
 public:
  static constexpr DType kDTypes[1] = {DType::kInt64};

  explicit ChunkEvalKernel(const OpKernelConstruction& construction)
      : scheme_(
            ChunkScheme::Of(construction.Attr<std::string>("chunk_scheme"))),
        outside_(construction.Attr<int64_t>("num_chunk_types")),
        excluded_(construction.Attr<Ints>("excluded_chunk_types")) {}

  void Compute(OpKernelContext& context) const override {
    const PaddedSequences<int64_t> inferred(context, "Inference", "SeqLength");
    const PaddedSequences<int64_t> labels(context, "Label", "SeqLength");
    int64_t counts[3] = {};  // in inferred, in labels, in both
    const int64_t sequences = labels.most() == 0 ? 0 : labels.size();
    for (int64_t b = 0; b < sequences; ++b) {
      const auto ours = ChunksOf(context, "Inference", inferred, b);
      const auto right = ChunksOf(context, "Label", labels, b);
      counts[0] += static_cast<int64_t>(ours.size());
      counts[1] += static_cast<int64_t>(right.size());
      // Both are in order of their first positions.
      size_t at = 0;
      for (const Chunk& chunk : ours) {
        while (at < right.size() && right[at].first < chunk.first) {
          ++at;
        }
        if (at < right.size() && right[at] == chunk) ++counts[2];
      }
    }
    const auto share = [](int64_t part, int64_t all) {
      return all == 0 ? 0
                      : static_cast<double>(part) / static_cast<double>(all);
    };
    const double precision = share(counts[2], counts[0]);
    const double recall = share(counts[2], counts[1]);
    const double f1 =
        counts[2] == 0 ? 0 : 2 * precision * recall / (precision + recall);
    const DDim one({1});
    const double scores[3] = {precision, recall, f1};
    for (int i = 0; i < 3; ++i) {
      *context.AllocateOutput(i, one).data<float>() =
          static_cast<float>(scores[i]);
      *context.AllocateOutput(i + 3, one).data<int64_t>() = counts[i];
    }
  }

 private:
  struct Tag {
    int64_t position, type;
  };

  std::vector<Chunk> ChunksOf(const OpKernelContext& context,
                              const char* input,
                              const PaddedSequences<int64_t>& sequences,
                              int64_t b) const {
    const int64_t* tags = sequences.begin(b);
    const int64_t size = sequences.end(b) - tags;
    std::vector<Chunk> chunks;
    Tag before = {-1, outside_};
    int64_t first = -1;  // of the chunk that is not complete
    const auto close = [&](int64_t end) {
      const bool counts = std::find(excluded_.begin(), excluded_.end(),
                                    before.type) == excluded_.end();
      if (first >= 0 && counts) chunks.push_back({first, end - 1, before.type});
      first = -1;
    };
    for (int64_t i = 0; i < size; ++i) {
      SLUICE_ENFORCE(tags[i] >= 0 && tags[i] <= outside_ * scheme_.tags,
                     ErrorCode::kOutOfRange, "chunk_eval.tag",
                     "{}: input {}[{}, {}] = {}; expected a tag, 0 to {}",
                     context.op(), input, b, i, tags[i],
                     outside_ * scheme_.tags);
      const Tag tag = {tags[i] % scheme_.tags, tags[i] / scheme_.tags};
      if (Ends(before, tag)) close(i);
      if (Begins(before, tag)) first = i;
      before = tag;
    }
    close(size);
    return chunks;
  }

  // Whether a chunk that has tag `before` ends before `tag`.
  bool Ends(const Tag& before, const Tag& tag) const {
    if (before.type == outside_) return false;
    if (tag.type != before.type) return true;
    if (before.position == scheme_.end || before.position == scheme_.single) {
      return true;
    }
    return tag.position == scheme_.begin || tag.position == scheme_.single;
  }

  // Whether a chunk begins at `tag`.
  bool Begins(const Tag& before, const Tag& tag) const {
    if (tag.type == outside_) return false;
    if (tag.type != before.type) return true;
    if (tag.position == scheme_.begin || tag.position == scheme_.single) {
      return true;
    }
    return before.position == scheme_.end || before.position == scheme_.single;
  }

  ChunkScheme scheme_;
  int64_t outside_;
  Ints excluded_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(edit_distance, EditDistanceKernel<IndexTypes>);
REGISTER_OP_CPU_KERNEL(chunk_eval, ChunkEvalKernel);

}  // namespace sluice
