#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "sluice/framework/values/tensor_values.h"
#include "sluice/onnx/handlers/forest.h"
#include "sluice/onnx/handlers/scores.h"
#include "sluice/onnx/import/handlers.h"
#include "sluice/onnx/import/tensor_values.h"

// Ensembles of decision trees.
namespace sluice::onnx {

namespace {

// Float64 stays; integers become float32.
DType ComputedIn(const Node& node) {
  const DType dtype = node.TypeOf(0);
  return dtype == DType::kFloat64 ? dtype : DType::kFloat32;
}

// x plus the numbers, which may be omitted, of each column.
std::string PlusBase(Node& node, const std::string& x, const Doubles& base) {
  if (base.empty()) return x;
  const auto count = static_cast<int64_t>(base.size());
  return node.Binary("elementwise_add",
                     {x, NewNumbers(node, {count}, base, node.DTypeOf(x))});
}

// The attribute base_values, one for each of `columns` or none.
Doubles BaseOf(Node& node, int64_t columns) {
  Doubles base = NumbersOf(node, "base_values");
  SLUICE_ENFORCE(base.empty() || std::ssize(base) == columns,
                 ErrorCode::kInvalidArgument, "onnx.tree_base",
                 "it has {} base_values; expected none or {}", base.size(),
                 columns);
  return base;
}

// The same of a classifier. Of two classes one may be there, for the first.
Doubles BaseOfClasses(Node& node, int64_t classes) {
  const bool one = classes == 2 && NumbersOf(node, "base_values").size() == 1;
  Doubles base = BaseOf(node, one ? 1 : classes);
  if (one) base.push_back(0);
  return base;
}

std::string IsAbove(Node& node, const std::string& score, double limit) {
  return node.Binary("greater_than",
                     {score, node.Number(limit, node.DTypeOf(score))});
}

// Labels of scores of which some columns have no weights and never win.
void FinishByScored(Node& node,
                    const ClassLabels& labels,
                    const std::string& scores,
                    const std::set<int64_t>& scored) {
  Doubles none(static_cast<size_t>(labels.count()),
               -std::numeric_limits<double>::infinity());
  for (const int64_t column : scored) {
    none[static_cast<size_t>(column)] = 0;
  }
  labels.FinishByBest(PlusBase(node, scores, none));
}

// One or two classes, of which one has weights: the label depends on its score
// alone. Converters write weights of class 0, which are those of the second
// class.
void FinishOneScored(Node& node,
                     const ClassLabels& labels,
                     const Forest& forest,
                     const std::string& x,
                     int64_t column) {
  const int64_t count = labels.count();
  const ScoreTransform transform = TransformOf(node);
  const bool is_share =
      count == 2 && std::all_of(forest.weights.begin(), forest.weights.end(),
                                [](double weight) { return weight >= 0; });
  const bool has_two =
      column == 1 || NumbersOf(node, "base_values").size() == 2;
  const std::string scores =
      PlusBase(node, AppendForest(node, forest, x, count, "sum"),
               BaseOfClasses(node, count));
  const std::string score = node.Slice(scores, column, column + 1, {1});
  labels.FinishByCondition(IsAbove(node, score, is_share ? 0.5 : 0));
  if (has_two) return FinishScores(node, Transformed(node, scores, transform));
  FinishScores(node, count == 1 ? TransformedTargets(node, score, 1, transform)
                                : BothScores(node, score, is_share, transform));
}

void TreeEnsembleClassifier(Node& node) {
  const ClassLabels labels(node, "classlabels_int64s");
  const int64_t count = labels.count();
  const Forest forest = ReadForest(node, "class");
  const std::string x = RowsOf(node, 0, ComputedIn(node));
  const std::set<int64_t> scored(forest.targets.begin(), forest.targets.end());
  if (count <= 2 && scored.size() <= 1) {
    const int64_t column = scored.empty() ? 0 : *scored.begin();
    return FinishOneScored(node, labels, forest, x, column);
  }
  const Doubles base = BaseOfClasses(node, count);
  const std::string scores =
      PlusBase(node, AppendForest(node, forest, x, count, "sum"), base);
  if (base.empty() && std::ssize(scored) < count) {
    FinishByScored(node, labels, scores, scored);
  } else {
    labels.FinishByBest(scores);
  }
  FinishScores(node, Transformed(node, scores, TransformOf(node)));
}

void TreeEnsembleRegressor(Node& node) {
  const int64_t targets = node.attributes().Int("n_targets", 1);
  Forest forest = ReadForest(node, "target");
  // For one target onnxruntime reads only the first weight of each leaf;
  // skl2onnx's decision paths repeat it for each class.
  for (ForestNode& leaf : forest.nodes) {
    if (targets != 1 || leaf.mode != 0) continue;
    leaf.no = std::min(leaf.no, leaf.yes + 1);
  }
  constexpr std::pair<const char*, const char*> kAggregates[] = {
      {"SUM", "sum"}, {"AVERAGE", "average"}, {"MIN", "min"}, {"MAX", "max"}};
  const std::string name =
      node.attributes().String("aggregate_function", "SUM");
  const auto* const aggregate =
      std::find_if(std::begin(kAggregates), std::end(kAggregates),
                   [&](const auto& row) { return name == row.first; });
  SLUICE_ENFORCE(aggregate != std::end(kAggregates),
                 ErrorCode::kInvalidArgument, "onnx.tree_aggregate",
                 "its aggregate_function is {}; expected SUM, AVERAGE, MIN or "
                 "MAX",
                 Shown(name));
  const ScoreTransform transform = TransformOf(node);
  const std::string x = RowsOf(node, 0, ComputedIn(node));
  const std::string scores =
      PlusBase(node, AppendForest(node, forest, x, targets, aggregate->second),
               BaseOf(node, targets));
  FinishCast(node, TransformedTargets(node, scores, targets, transform),
             DType::kFloat32);
}

// The attributes of TreeEnsemble, in which leaves are counted apart.
class TreeEnsembleReader {
 public:
  explicit TreeEnsembleReader(Node& node)
      : modes_(TensorOf(node, "nodes_modes")),
        splits_(TensorOf(node, "nodes_splits")),
        features_(node.attributes().Ints("nodes_featureids")),
        yes_(node.attributes().Ints("nodes_truenodeids")),
        no_(node.attributes().Ints("nodes_falsenodeids")),
        yes_is_leaf_(node.attributes().Ints("nodes_trueleafs")),
        no_is_leaf_(node.attributes().Ints("nodes_falseleafs")),
        nan_to_yes_(node.attributes().Ints("nodes_missing_value_tracks_true")),
        members_(TensorOf(node, "membership_values")) {
    node.attributes().Ignore("nodes_hitrates");
    forest_.roots = node.attributes().Ints("tree_roots");
    forest_.targets = node.attributes().Ints("leaf_targetids");
    forest_.weights = TensorOf(node, "leaf_weights");
    const size_t count = modes_.size();
    if (nan_to_yes_.empty()) nan_to_yes_.resize(count);
    CheckCount("nodes_splits", splits_.size(), count);
    CheckCount("nodes_featureids", features_.size(), count);
    CheckCount("nodes_truenodeids", yes_.size(), count);
    CheckCount("nodes_falsenodeids", no_.size(), count);
    CheckCount("nodes_trueleafs", yes_is_leaf_.size(), count);
    CheckCount("nodes_falseleafs", no_is_leaf_.size(), count);
    CheckCount("nodes_missing_value_tracks_true", nan_to_yes_.size(), count);
    CheckCount("leaf_targetids", forest_.targets.size(),
               forest_.weights.size());
  }

  // The nodes, then the leaves, then more nodes for members of sets.
  Forest Read() {
    const size_t count = modes_.size();
    forest_.nodes.resize(count + forest_.weights.size());
    for (size_t i = 0; i < forest_.weights.size(); ++i) {
      forest_.nodes[count + i].yes = static_cast<int64_t>(i);
      forest_.nodes[count + i].no = static_cast<int64_t>(i + 1);
    }
    for (const int64_t root : forest_.roots) {
      Check("tree_roots has", root, count);
    }
    for (size_t i = 0; i < count; ++i) {
      ReadNode(i);
    }
    SLUICE_ENFORCE(member_ == members_.size(), ErrorCode::kInvalidArgument,
                   "onnx.tree_members_left",
                   "its membership_values have {} elements; its nodes of mode "
                   "BRANCH_MEMBER take {}",
                   members_.size(), member_);
    return std::move(forest_);
  }

 private:
  static constexpr double kMember = 6;

  // Empty if it is omitted.
  static Doubles TensorOf(Node& node, const char* name) {
    const TensorProto* tensor = node.attributes().Tensor(name);
    if (tensor == nullptr) return {};
    return ToDoubles(ToTensor(*tensor, nullptr,
                              "attribute " + std::string(name), &node.cost()));
  }

  static void Check(const char* what, int64_t index, size_t count) {
    SLUICE_ENFORCE(index >= 0 && index < static_cast<int64_t>(count),
                   ErrorCode::kInvalidArgument, "onnx.tree_index",
                   "{} {}; there are {}", what, index, count);
  }

  int64_t ChildOf(int64_t index, bool is_leaf) const {
    Check(is_leaf ? "a tree node leads to leaf" : "a tree node leads to node",
          index, is_leaf ? forest_.weights.size() : modes_.size());
    return is_leaf ? static_cast<int64_t>(modes_.size()) + index : index;
  }

  void ReadNode(size_t at) {
    const double mode = modes_[at];
    SLUICE_ENFORCE(mode >= 0 && mode <= kMember, ErrorCode::kInvalidArgument,
                   "onnx.tree_mode_number",
                   "the mode of tree node {} is {}; expected 0 to 6", at, mode);
    ForestNode made;
    made.mode = static_cast<int64_t>(mode) + 1;
    made.feature = features_[at];
    made.split = splits_[at];
    made.yes = ChildOf(yes_[at], yes_is_leaf_[at] != 0);
    made.no = ChildOf(no_[at], no_is_leaf_[at] != 0);
    const int64_t nan = nan_to_yes_[at] != 0 ? kForestNaNToYes : 0;
    if (mode == kMember) {
      ReadMembers(made, nan, at);
      return;
    }
    made.mode += nan;
    forest_.nodes[at] = made;
  }

  // The next members, up to NaN, as nodes that compare one each. `made` leads
  // to where a member and where another number goes.
  void ReadMembers(ForestNode made, int64_t nan, size_t at) {
    const int64_t otherwise = made.no;
    made.mode = kForestEqual + nan;
    const size_t first = member_;
    for (; member_ < members_.size() && !std::isnan(members_[member_]);
         ++member_) {
      made.split = members_[member_];
      made.no = otherwise;
      if (member_ == first) {
        forest_.nodes[at] = made;
        continue;
      }
      // The node before leads here where the number is not its member.
      const size_t before =
          member_ - 1 == first ? at : forest_.nodes.size() - 1;
      forest_.nodes[before].no = static_cast<int64_t>(forest_.nodes.size());
      forest_.nodes.push_back(made);
    }
    SLUICE_ENFORCE(member_ < members_.size(), ErrorCode::kInvalidArgument,
                   "onnx.tree_members",
                   "its membership_values end before NaN ends the set of tree "
                   "node {}",
                   at);
    if (member_ == first) {  // no number equals NaN
      made.split = members_[member_];
      forest_.nodes[at] = made;
    }
    ++member_;
  }

  Doubles modes_, splits_;
  Ints features_, yes_, no_, yes_is_leaf_, no_is_leaf_, nan_to_yes_;
  Doubles members_;
  size_t member_ = 0;
  Forest forest_;
};

// An attribute that is one of a list of names, 0 to `last`.
int64_t ChoiceOf(Node& node,
                 const char* attribute,
                 int64_t otherwise,
                 int64_t last) {
  const int64_t given = node.attributes().Int(attribute, otherwise);
  SLUICE_ENFORCE(given >= 0 && given <= last, ErrorCode::kInvalidArgument,
                 "onnx.tree_choice", "its {} is {}; expected 0 to {}",
                 attribute, given, last);
  return given;
}

void TreeEnsemble(Node& node) {
  constexpr const char* kAggregates[] = {"average", "sum", "min", "max"};
  const int64_t targets = node.attributes().NeededInt("n_targets");
  const char* aggregate =
      kAggregates[ChoiceOf(node, "aggregate_function", 1, 3)];
  const int64_t transform = ChoiceOf(node, "post_transform", 0, 4);
  const Forest forest = TreeEnsembleReader(node).Read();
  const std::string x = RowsOf(node, 0, ComputedIn(node));
  const std::string scores = AppendForest(node, forest, x, targets, aggregate);
  FinishCast(node,
             TransformedTargets(node, scores, targets,
                                static_cast<ScoreTransform>(transform)),
             node.TypeOf(0));
}

}  // namespace

const HandlerTable kTreeHandlers = {
    {"ai.onnx.ml.TreeEnsemble", 1, TreeEnsemble},
    {"ai.onnx.ml.TreeEnsembleClassifier", 1, TreeEnsembleClassifier},
    {"ai.onnx.ml.TreeEnsembleRegressor", 1, TreeEnsembleRegressor},
};

}  // namespace sluice::onnx
