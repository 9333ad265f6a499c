#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "sluice/operators/estimator/packed_trees.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

void TreeEnsembleShape(InferShapeContext& context) {
  const ShapeHandle x = context.WithRank(context.input("X"), 2);
  const ShapeHandle nodes = context.WithRank(context.input("Nodes"), 2);
  const ShapeHandle splits = context.WithRank(context.input("Splits"), 1);
  context.WithRank(context.input("Roots"), 1);
  context.Merge(context.WithRank(context.input("Targets"), 1),
                context.WithRank(context.input("Weights"), 1));
  if (nodes.dims.rank_known()) {
    context.WithValue(context.Dim(nodes, 1), kTreeColumns);
    if (splits.dims.rank_known()) {
      context.Merge(context.Dim(splits, 0), context.Dim(nodes, 0));
    }
  }
  context.SetOutput("Out", {x.dims.rank_known() ? x.dims[0] : kUnknownDim,
                            context.Attr<int64_t>("num_targets")});
}

void TreeEnsembleSchema(OpSchema& op) {
  op.Doc(
      "The sum, mean, minimum or maximum over trees of the weights at the "
      "leaves that a row of X comes to. A row of Nodes is [mode, feature, yes, "
      "no]. Modes 1 to 6 compare X[i, feature] with the element of Splits: <=, "
      "<, >=, >, ==, !=; the next node is yes if that is true, else no, and "
      "comes after this one, so that no path is a cycle. NaN is unequal to "
      "every split, and goes to yes where 8 is added to the mode. Mode 0 is a "
      "leaf with elements yes to no - 1 of Weights. Nodes are checked where a "
      "row comes to them. Sums are computed in float64.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("X", "T", "[N, F]: rows of features.");
  op.Input("Nodes", "int32", "[nodes, 4]: mode, feature, yes and no.");
  op.Input("Splits", "T", "[nodes]: what features are compared with.");
  op.Input("Roots", "int32", "[trees]: the first node of each tree.");
  op.Input("Targets", "int32", "[weights]: the column of Out of each weight.");
  op.Input("Weights", "T", "[weights]: the numbers at leaves.");
  op.Output("Out", "T",
            "[N, num_targets]: the results; 0 where no leaf has a weight.");
  op.Attr<int64_t>("num_targets", "How many columns Out has.").AtLeast(1);
  op.Attr<std::string>("aggregate",
                       "sum; average: the sum by the number of trees; min; "
                       "max.")
      .Default(std::string("sum"))
      .OneOf({"sum", "average", "min", "max"});
  op.InferShape(TreeEnsembleShape);
  op.NoGradient("trees are steps");
}

// The trees of one call, which every access checks.
template <typename T>
class TreeWalk {
 public:
  TreeWalk(const OpKernelContext& context, int64_t targets)
      : op_(context.op()),
        nodes_(context.Input("Nodes").data<int32_t>()),
        splits_(context.Input("Splits").data<T>()),
        roots_(context.Input("Roots").data<int32_t>()),
        targets_(context.Input("Targets").data<int32_t>()),
        weights_(context.Input("Weights").data<T>()),
        node_count_(context.Input("Splits").numel()),
        weight_count_(context.Input("Weights").numel()),
        trees_(context.Input("Roots").numel()),
        features_(context.Input("X").dims()[1]),
        columns_(targets) {}

  int64_t trees() const { return trees_; }

  // Calls take(i, target, weight) for weights `leaf` of row i.
  template <typename Take>
  void Visit(int64_t i,
             typename PackedTrees<T>::Range leaf,
             const Take& take) const {
    for (int64_t j = leaf.begin; j < leaf.end; ++j) {
      if (targets_[j] < 0 || targets_[j] >= columns_) FailTarget(j);
      take(i, targets_[j], static_cast<double>(weights_[j]));
    }
  }

  // The same for the weights that a tree has for rows i, at most kTreeRows, of
  // `features` numbers each. They step together, without branches that depend
  // on them, so that loads of one row do not wait for those of another.
  template <typename Take>
  void VisitWeights(int64_t tree,
                    const T* rows,
                    int64_t count,
                    const Take& take) const {
    const int64_t root = roots_[tree];
    if (root < 0 || root >= node_count_) FailRoot(tree);
    std::array<int64_t, kTreeRows> at, walking;  // rows before a leaf
    at.fill(root);
    std::iota(walking.begin(), walking.begin() + count, int64_t{0});
    int64_t left = IsLeaf(root) ? 0 : count;
    while (left > 0) {
      int64_t kept = 0;
      for (int64_t j = 0; j < left; ++j) {
        const int64_t i = walking[j];
        at[i] = Next(at[i], rows + i * features_);
        walking[kept] = i;
        kept += IsLeaf(at[i]) ? 0 : 1;
      }
      left = kept;
    }
    for (int64_t i = 0; i < count; ++i) {
      const int32_t* node = nodes_ + at[i] * kTreeColumns;
      const int64_t begin = node[kTreeYes], end = node[kTreeNo];
      if (begin < 0 || end > weight_count_) FailLeaf(at[i]);
      Visit(i, {begin, end}, take);
    }
  }

 private:
  // 0 <= index < end, of an end that is not negative.
  static bool IsBelow(int64_t index, int64_t end) {
    return static_cast<uint64_t>(index) < static_cast<uint64_t>(end);
  }

  bool IsLeaf(int64_t at) const {
    return nodes_[at * kTreeColumns + kTreeMode] == kTreeLeaf;
  }

  // Where a row goes from node `at`, which is no leaf.
  int64_t Next(int64_t at, const T* row) const {
    const int32_t* node = nodes_ + at * kTreeColumns;
    const int64_t feature = node[kTreeFeature];
    if (!IsBelow(feature, features_)) FailFeature(at);
    const int yes = Compare(at, row[feature]);
    const int64_t next = node[kTreeNo - yes];
    if (!IsBelow(next - at - 1, node_count_ - at - 1)) FailNext(at, yes != 0);
    return next;
  }

  // By mode, bit i: the result for x that is (1) less, (2) greater, (3) equal
  // or (4) NaN, and (0) for a split that is NaN.
  static constexpr std::array<uint8_t, 16> kTrue = {
      0, 0x0a, 0x02, 0x0c, 0x04, 0x08, 0x17, 0,
      0, 0x1a, 0x12, 0x1c, 0x14, 0x18, 0x17, 0};

  // 1 if the comparison of a node is true, else 0.
  int Compare(int64_t at, T x) const {
    const auto mode = static_cast<uint32_t>(nodes_[at * kTreeColumns]);
    if (mode >= kTrue.size() || kTrue[mode] == 0) FailMode(at);
    const T split = splits_[at];
    const int is = static_cast<int>(x <= split) +
                   2 * static_cast<int>(x >= split) +
                   4 * static_cast<int>(std::isnan(x));
    return kTrue[mode] >> is & 1;
  }

  [[noreturn]] void FailRoot(int64_t tree) const {
    Raise(ErrorCode::kOutOfRange, "tree_ensemble.root",
          "{}: Roots[{}] = {}; expected one of the {} rows of input Nodes", op_,
          tree, roots_[tree], node_count_);
  }
  [[noreturn]] void FailMode(int64_t at) const {
    Raise(ErrorCode::kOutOfRange, "tree_ensemble.mode",
          "{}: Nodes[{}, 0] = {}; expected a mode, 0 to 6, or 9 to 14 where "
          "NaN goes to yes",
          op_, at, nodes_[at * kTreeColumns]);
  }
  [[noreturn]] void FailFeature(int64_t at) const {
    Raise(ErrorCode::kOutOfRange, "tree_ensemble.feature",
          "{}: Nodes[{}, 1] = {}; expected one of the {} features of input X",
          op_, at, nodes_[at * kTreeColumns + kTreeFeature], features_);
  }
  [[noreturn]] void FailNext(int64_t at, bool yes) const {
    const int column = yes ? kTreeYes : kTreeNo;
    Raise(ErrorCode::kOutOfRange, "tree_ensemble.next",
          "{}: Nodes[{}, {}] = {}; expected a later one of the {} nodes", op_,
          at, column, nodes_[at * kTreeColumns + column], node_count_);
  }
  [[noreturn]] void FailLeaf(int64_t at) const {
    const int32_t* node = nodes_ + at * kTreeColumns;
    Raise(ErrorCode::kOutOfRange, "tree_ensemble.leaf",
          "{}: row {} of input Nodes is a leaf with weights {} to {}; expected "
          "a range of the {} elements of input Weights",
          op_, at, node[kTreeYes], node[kTreeNo], weight_count_);
  }
  [[noreturn]] void FailTarget(int64_t i) const {
    Raise(ErrorCode::kOutOfRange, "tree_ensemble.target",
          "{}: Targets[{}] = {}; expected 0 to {}, the columns of Out", op_, i,
          targets_[i], columns_ - 1);
  }

  const std::string& op_;
  const int32_t* nodes_;
  const T* splits_;
  const int32_t* roots_;
  const int32_t* targets_;
  const T* weights_;
  int64_t node_count_;
  int64_t weight_count_;
  int64_t trees_;
  int64_t features_;
  int64_t columns_;
};

enum class TreeAggregate : uint8_t { kSum, kAverage, kMin, kMax };

// The results of some rows while trees are added.
class TreeScores {
 public:
  TreeScores(TreeAggregate aggregate, int64_t count)
      : aggregate_(aggregate),
        sums_(static_cast<size_t>(count)),
        known_(aggregate < TreeAggregate::kMin ? 0 : sums_.size()) {}

  void Add(int64_t index, double weight) {
    const auto i = static_cast<size_t>(index);
    if (known_.empty()) {
      sums_[i] += weight;
      return;
    }
    const bool less = weight < sums_[i];
    const bool greater = weight > sums_[i];
    if (known_[i] == 0 ||
        (aggregate_ == TreeAggregate::kMin ? less : greater)) {
      sums_[i] = weight;
    }
    known_[i] = 1;
  }

  template <typename T>
  void Write(int64_t trees, T* out) const {
    const double divisor = aggregate_ == TreeAggregate::kAverage && trees > 0
                               ? static_cast<double>(trees)
                               : 1;
    for (const double sum : sums_) {
      *out++ = static_cast<T>(sum / divisor);
    }
  }

 private:
  TreeAggregate aggregate_;
  std::vector<double> sums_;
  std::vector<uint8_t> known_;  // for min and max: whether there was a weight
};

template <typename T>
class TreeEnsembleKernel final : public OpKernel {
 public:
  explicit TreeEnsembleKernel(const OpKernelConstruction& construction)
      : targets_(construction.Attr<int64_t>("num_targets")) {
    const auto& name = construction.Attr<std::string>("aggregate");
    aggregate_ = name == "sum"       ? TreeAggregate::kSum
                 : name == "average" ? TreeAggregate::kAverage
                 : name == "min"     ? TreeAggregate::kMin
                                     : TreeAggregate::kMax;
  }

  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    const auto constant = query.input_constant;
    if (constant.size() <= kRoots || constant[kNodes] == 0 ||
        constant[kSplits] == 0 || constant[kRoots] == 0) {
      return;
    }
    packed_.emplace(
        TreePacking<T>(query.inputs[0][1], query.inputs[kWeights][0]),
        preparation.num_threads);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const int64_t rows = x.dims()[0], features = x.dims()[1];
    Tensor& out = context.AllocateOutput("Out", {rows, targets_});
    const TreeWalk<T> walk(context, targets_);
    std::shared_ptr<const PackedWeights> packed;
    std::optional<PackedTrees<T>> trees;
    if (packed_) {
      packed = packed_->Get(std::array{&context.Input(kNodes),
                                       &context.Input(kSplits),
                                       &context.Input(kRoots)});
      trees.emplace(packed->data());
      if (!trees->usable()) trees.reset();
    }
    const T* from = x.data<T>();
    T* to = out.data<T>();
    constexpr int64_t kTrees = 512;  // a thread's worth: a walk is some steps
    const int64_t grain = kTrees / std::max<int64_t>(walk.trees(), 1);
    ParallelFor(
        rows, std::max<int64_t>(grain, 1), [&](int64_t begin, int64_t end) {
          for (; begin < end; begin += kRows) {
            const int64_t count = std::min(kRows, end - begin);
            WriteRows(walk, trees ? &*trees : nullptr, from + begin * features,
                      count, features, to + begin * targets_);
          }
        });
  }

 private:
  // Rows that take a tree one after the other, while it is in the cache.
  static constexpr int64_t kRows = 64;

  // `trees` is null where TreeWalk walks them.
  void WriteRows(const TreeWalk<T>& walk,
                 const PackedTrees<T>* trees,
                 const T* x,
                 int64_t count,
                 int64_t features,
                 T* out) const {
    TreeScores scores(aggregate_, count * targets_);
    std::vector<TreeKey<T>> keys;
    if (trees != nullptr) {  // also of no features: leaves read the first one
      keys.resize(static_cast<size_t>(count * features + 1));
      std::transform(x, x + count * features, keys.begin(), &TreeKeyOf<T>);
    }
    for (int64_t tree = 0; tree < walk.trees(); ++tree) {
      for (int64_t row = 0; row < count; row += kTreeRows) {
        const int64_t together = std::min(kTreeRows, count - row);
        const auto take = [&](int64_t i, int64_t target, double weight) {
          scores.Add((row + i) * targets_ + target, weight);
        };
        if (trees == nullptr) {
          walk.VisitWeights(tree, x + row * features, together, take);
          continue;
        }
        std::array<typename PackedTrees<T>::Range, kTreeRows> leaves;
        trees->Walk(tree, keys.data() + row * features, features, together,
                    leaves.data());
        for (int64_t i = 0; i < together; ++i) {
          walk.Visit(i, leaves[i], take);
        }
      }
    }
    scores.Write(walk.trees(), out);
  }

  // The inputs' positions in the schema.
  enum : uint8_t { kNodes = 1, kSplits, kRoots, kTargets, kWeights };

  int64_t targets_;
  TreeAggregate aggregate_;
  std::optional<KeptWeights> packed_;  // none: Nodes are not constant
};

}  // namespace

REGISTER_OPERATOR(tree_ensemble, TreeEnsembleSchema);
REGISTER_OP_CPU_KERNEL(tree_ensemble, TreeEnsembleKernel<FloatTypes>);

}  // namespace sluice
