#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "sluice/operators/text/op_texts.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// Checks where the n-grams of each length begin in a pool, and returns how many
// there are.
int64_t CheckStarts(const InferShapeContext& context, int64_t pool) {
  const auto& starts = context.Attr<Ints>("starts");
  int64_t count = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t end = i + 1 < starts.size() ? starts[i + 1] : pool;
    const auto length = static_cast<int64_t>(i + 1);
    context.Require(starts[i] >= 0 && starts[i] <= end && end <= pool,
                    "tfidf_vectorize.starts",
                    "attribute starts has {} at {}, and {}-grams end at {}; "
                    "expected rising places in input Pool of {} elements",
                    starts[i], i, length, end, pool);
    context.Require((end - starts[i]) % length == 0, "tfidf_vectorize.whole",
                    "the {} elements of input Pool from starts[{}] = {} on are "
                    "no whole {}-grams",
                    end - starts[i], i, starts[i], length);
    count += (end - starts[i]) / length;
  }
  return count;
}

void TfidfVectorizeShape(InferShapeContext& context) {
  const DDim x = context.input("X");
  const ShapeHandle pool = context.WithRank(context.input("Pool"), 1);
  const ShapeHandle columns = context.WithRank(context.input("Columns"), 1);
  const auto width = context.Attr<int64_t>("num_columns");
  const auto shortest = context.Attr<int64_t>("min_length");
  const auto longest = context.Attr<int64_t>("max_length");
  const int64_t lengths = std::ssize(context.Attr<Ints>("starts"));
  context.Require(!x.rank_known() || x.rank() == 1 || x.rank() == 2,
                  "tfidf_vectorize.shape",
                  "input X has shape {}; expected [C] or [N, C]", x);
  context.Require(shortest <= longest && longest <= lengths,
                  "tfidf_vectorize.lengths",
                  "attribute min_length is {} and max_length {}; expected no "
                  "more than {}, the number of starts",
                  shortest, longest, lengths);
  if (pool.dims.known()) {
    const int64_t count = CheckStarts(context, pool.dims[0]);
    context.Require(columns.dims[0] < 0 || columns.dims[0] == count,
                    "tfidf_vectorize.columns",
                    "input Columns has {} elements; expected {}, one for each "
                    "n-gram of input Pool",
                    columns.dims[0], count);
  }
  if (context.HasInput("Weights")) {
    const auto weights = context.WithRank(context.input("Weights"), 1);
    context.WithValue(context.Dim(weights, 0), width);
  }
  context.SetOutput("Out", !x.rank_known() ? x
                           : x.rank() == 1 ? DDim({width})
                                           : DDim({x[0], width}));
}

void TfidfVectorizeSchema(OpSchema& op) {
  op.Doc(
      "How often n-grams occur in each row. The elements of an n-gram of two "
      "and more may have others between them, from 0 to max_skips, as many "
      "between any two.");
  op.TypeVar("T", {DType::kInt64});
  op.Input("X", "T", "[C] or [N, C]: rows of tokens.");
  op.Input("Pool", "int64",
           "[p]: the n-grams, one after the other, first those of length 1. Of "
           "equal ones the first counts.");
  op.Input("Columns", "int64", "[n-grams]: the column of each n-gram.");
  op.Input("Weights", "float32", "[num_columns]: factors of the columns.",
           {.optional = true});
  op.Output("Out", "float32", "[num_columns] or [N, num_columns].");
  op.Attr<Ints>("starts", "Where in Pool the n-grams of each length begin.");
  op.Attr<int64_t>("min_length", "The shortest n-grams that are counted.")
      .AtLeast(1);
  op.Attr<int64_t>("max_length", "The longest ones.").AtLeast(1);
  op.Attr<int64_t>("max_skips", "The most elements that are skipped.")
      .Default(int64_t{0})
      .AtLeast(0);
  // 64 MiB of each row.
  op.Attr<int64_t>("num_columns", "How many columns Out has.")
      .AtLeast(1)
      .AtMost(1 << 24);
  op.Attr<bool>("binary", "Counts 1 for an n-gram, however often it occurs.")
      .Default(false);
  op.InferShape(TfidfVectorizeShape);
  op.NoGradient("counts are steps");
}

// The n-grams of a pool as a tree of their elements. Immutable.
class NgramTree {
 public:
  struct Node {
    int64_t column = -1;  // none ends here
    int64_t id = 0;
  };

  // Raises OutOfRange for columns that Out does not have.
  NgramTree(const Tensor& pool,
            const Tensor& columns,
            const Ints& starts,
            int64_t width) {
    const auto* column = columns.data<int64_t>();
    const auto* token = pool.data<int64_t>();
    for (size_t length = 1; length <= starts.size(); ++length) {
      const int64_t end =
          length < starts.size() ? starts[length] : pool.numel();
      for (int64_t at = starts[length - 1]; at < end; ++column) {
        SLUICE_ENFORCE(*column >= 0 && *column < width, ErrorCode::kOutOfRange,
                       "tfidf_vectorize.column",
                       "tfidf_vectorize: input Columns has {}; expected 0 to "
                       "{}",
                       *column, width - 1);
        Node* node = nullptr;
        for (size_t i = 0; i < length; ++i) {
          node = &nodes_[{node == nullptr ? 0 : node->id, token[at++]}];
          if (node->id == 0) node->id = std::ssize(nodes_);
        }
        if (node->column < 0) node->column = *column;
      }
    }
  }

  // The node of an n-gram with one more token; nullptr for none.
  const Node* Next(int64_t id, int64_t token) const {
    const auto found = nodes_.find({id, token});
    return found == nodes_.end() ? nullptr : &found->second;
  }

 private:
  struct Key {
    int64_t id;
    int64_t token;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const {
      constexpr uint64_t kOdd = 0x9E3779B97F4A7C15;
      const auto mixed = (static_cast<uint64_t>(key.id) * kOdd) ^
                         static_cast<uint64_t>(key.token);
      return static_cast<size_t>((mixed * kOdd) >> 16U);
    }
  };
  std::unordered_map<Key, Node, Hash> nodes_;
};

class TfidfVectorizeKernel final : public Int64Kernel {
 public:
  explicit TfidfVectorizeKernel(const OpKernelConstruction& construction)
      : starts_(construction.Attr<Ints>("starts")),
        min_(construction.Attr<int64_t>("min_length")),
        max_(construction.Attr<int64_t>("max_length")),
        skips_(construction.Attr<int64_t>("max_skips")),
        width_(construction.Attr<int64_t>("num_columns")),
        binary_(construction.Attr<bool>("binary")) {}

  void Prepare(KernelPreparation& preparation) override {
    const auto constant = preparation.query.input_constant;
    keeps_ = constant.size() > 2 && constant[1] != 0 && constant[2] != 0;
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const auto tree = TreeOf(context.Input(1), context.Input(2));
    const float* weights = context.HasInput("Weights")
                               ? context.Input("Weights").data<float>()
                               : nullptr;
    const bool one = x.dims().rank() == 1;
    const int64_t rows = one ? 1 : x.dims()[0];
    const int64_t tokens = x.dims()[one ? 0 : 1];
    auto* out =
        context.AllocateOutput(0, one ? DDim({width_}) : DDim({rows, width_}))
            .data<float>();
    const int64_t grain = std::max<int64_t>(1, kGrain / (16 * tokens + width_));
    ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
      Ints counts(static_cast<size_t>(width_));
      for (int64_t row = begin; row < end; ++row) {
        std::fill(counts.begin(), counts.end(), 0);
        Count(*tree, {x.data<int64_t>() + row * tokens, tokens}, &counts);
        for (int64_t i = 0; i < width_; ++i) {
          int64_t& count = counts[static_cast<size_t>(i)];
          if (binary_) count = std::min<int64_t>(count, 1);
          out[row * width_ + i] =
              static_cast<float>(count) * (weights == nullptr ? 1 : weights[i]);
        }
      }
    });
  }

 private:
  struct Row {
    const int64_t* tokens;
    int64_t size;
  };

  void Count(const NgramTree& tree, Row row, Ints* counts) const {
    // Single tokens are counted once, with no skips.
    const int64_t last =
        max_ == 1 ? 1 : std::max<int64_t>(1, std::min(skips_, row.size) + 1);
    for (int64_t step = 1; step <= last; ++step) {
      for (int64_t begin = 0; begin < row.size; ++begin) {
        int64_t id = 0, at = begin;
        for (int64_t n = 1; n <= max_ && at < row.size; ++n, at += step) {
          const auto* node = tree.Next(id, row.tokens[at]);
          if (node == nullptr) break;
          if (n >= min_ && node->column >= 0 && (n > 1 || step == 1)) {
            ++(*counts)[static_cast<size_t>(node->column)];
          }
          id = node->id;
        }
      }
    }
  }

  using Version = std::pair<std::pair<uint64_t, uint64_t>, const void*>;

  static Version VersionOf(const Tensor& tensor) {
    return {tensor.storage_version(), tensor.raw_data()};
  }

  // The tree of parameters is kept while these stay the same.
  std::shared_ptr<const NgramTree> TreeOf(const Tensor& pool,
                                          const Tensor& columns) const {
    const auto make = [&] {
      return std::make_shared<const NgramTree>(pool, columns, starts_, width_);
    };
    if (!keeps_) return make();
    const std::array versions = {VersionOf(pool), VersionOf(columns)};
    const std::lock_guard lock(mutex_);
    if (kept_ == nullptr || versions != versions_) kept_ = make();
    versions_ = versions;
    return kept_;
  }

  Ints starts_;
  int64_t min_;
  int64_t max_;
  int64_t skips_;
  int64_t width_;
  bool binary_;
  bool keeps_ = false;
  mutable std::mutex mutex_;
  mutable std::array<Version, 2> versions_{};
  mutable std::shared_ptr<const NgramTree> kept_;
};

}  // namespace

REGISTER_OPERATOR(tfidf_vectorize, TfidfVectorizeSchema);
REGISTER_OP_CPU_KERNEL(tfidf_vectorize, TfidfVectorizeKernel);

}  // namespace sluice
