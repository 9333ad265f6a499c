#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "sluice/onnx/handlers/scores.h"
#include "sluice/onnx/import/handlers.h"

// Linear models and support vector machines.
namespace sluice::onnx {

namespace {

// x [N, F] times the transposed constant [rows, F], plus numbers for columns.
std::string TimesRows(Node& node,
                      const std::string& x,
                      const Doubles& rows,
                      int64_t count,
                      const Doubles& added) {
  const DType dtype = node.DTypeOf(x);
  const auto size = static_cast<int64_t>(rows.size());
  SLUICE_ENFORCE(count > 0 && size > 0 && size % count == 0,
                 ErrorCode::kInvalidArgument, "onnx.linear_count",
                 "its coefficients or support_vectors have {} elements; "
                 "expected as many for each of {} rows",
                 size, count);
  const int64_t features = node.SizeOf(x, 1);
  SLUICE_ENFORCE(features < 0 || features == size / count,
                 ErrorCode::kInvalidArgument, "onnx.linear_features",
                 "its coefficients or support_vectors are for {} features; its "
                 "input has {}",
                 size / count, features);
  std::string product = node.Binary(
      "matmul", {x, NewNumbers(node, {count, size / count}, rows, dtype)},
      {{"transpose_Y", true}});
  if (added.empty()) return product;
  const auto columns = static_cast<int64_t>(added.size());
  return node.Binary("elementwise_add",
                     {product, NewNumbers(node, {columns}, added, dtype)});
}

void CheckIntercepts(const Doubles& intercepts, int64_t targets) {
  SLUICE_ENFORCE(intercepts.empty() || std::ssize(intercepts) == targets,
                 ErrorCode::kInvalidArgument, "onnx.linear_intercepts",
                 "it has {} intercepts; expected none or {}", intercepts.size(),
                 targets);
}

void LinearRegressor(Node& node) {
  const int64_t targets = node.attributes().Int("targets", 1);
  const Doubles coefficients = node.attributes().Floats("coefficients");
  const Doubles intercepts = node.attributes().Floats("intercepts");
  const ScoreTransform transform = TransformOf(node);
  CheckIntercepts(intercepts, targets);
  const std::string x = RowsOf(node, 0, DType::kFloat32);
  const std::string scores =
      TimesRows(node, x, coefficients, targets, intercepts);
  FinishCast(node, TransformedTargets(node, scores, targets, transform),
             DType::kFloat32);
}

void LinearClassifier(Node& node) {
  const ClassLabels labels(node, "classlabels_ints");
  const Doubles coefficients = node.attributes().Floats("coefficients");
  const Doubles intercepts = node.attributes().Floats("intercepts");
  const ScoreTransform transform = TransformOf(node);
  node.attributes().Ignore("multi_class");
  const bool one =
      intercepts.size() == 1 ||
      (intercepts.empty() && std::ssize(coefficients) == FeaturesOf(node));
  const int64_t count = one ? 1 : labels.count();
  CheckIntercepts(intercepts, count);
  const std::string x = RowsOf(node, 0, DType::kFloat32);
  const std::string scores =
      TimesRows(node, x, coefficients, count, intercepts);
  if (!one) {
    labels.FinishByBest(scores);
    return FinishScores(node, Transformed(node, scores, transform));
  }
  labels.FinishByCondition(
      node.Binary("greater_than", {scores, node.Number(0, DType::kFloat32)}));
  FinishScores(node, labels.count() == 2
                         ? BothScores(node, scores, true, transform)
                         : TransformedTargets(node, scores, 1, transform));
}

// The kernel of a support vector machine, computed in float64: distances lose
// digits in float32.
class KernelMachine {
 public:
  explicit KernelMachine(Node& node)
      : node_(node),
        type_(node.attributes().String("kernel_type", "LINEAR")),
        parameters_(node.attributes().Floats("kernel_params")),
        coefficients_(node.attributes().Floats("coefficients")),
        rho_(node.attributes().Floats("rho")),
        vectors_(node.attributes().Floats("support_vectors")),
        x_(RowsOf(node, 0, DType::kFloat64)) {
    const bool known = type_ == "LINEAR" || type_ == "POLY" || type_ == "RBF" ||
                       type_ == "SIGMOID";
    SLUICE_ENFORCE(known, ErrorCode::kInvalidArgument, "onnx.svm_kernel",
                   "its kernel_type is {}; expected LINEAR, POLY, RBF or "
                   "SIGMOID",
                   Shown(type_));
    if (parameters_.empty()) parameters_ = {0, 0, 0};
    SLUICE_ENFORCE(parameters_.size() == 3, ErrorCode::kInvalidArgument,
                   "onnx.svm_parameters",
                   "it has {} kernel_params; expected gamma, coef0 and degree",
                   parameters_.size());
  }

  const std::string& x() const { return x_; }
  const Doubles& coefficients() const { return coefficients_; }
  const Doubles& rho() const { return rho_; }
  void NeedRho(int64_t count) const {
    SLUICE_ENFORCE(std::ssize(rho_) >= count, ErrorCode::kInvalidArgument,
                   "onnx.svm_rho", "it has {} rho; expected {}", rho_.size(),
                   count);
  }

  // The kernel of each row and each of `count` support vectors: [N, count].
  std::string Kernel(int64_t count) const {
    const double gamma = parameters_[0], bias = parameters_[1];
    std::string product = TimesRows(node_, x_, vectors_, count, {});
    if (type_ == "LINEAR") return product;
    if (type_ == "RBF") {
      return node_.Unary("exp", node_.Unary("scale", Distances(product, count),
                                            {{"scale", -gamma}}));
    }
    const std::string scaled =
        node_.Unary("scale", product, {{"scale", gamma}, {"bias", bias}});
    if (type_ == "SIGMOID") return node_.Unary("tanh", scaled);
    return node_.Binary(
        "elementwise_pow",
        {scaled, node_.Number(parameters_[2], DType::kFloat64)});
  }

 private:
  // |x - v|^2 = |x|^2 - 2 xv + |v|^2.
  std::string Distances(const std::string& product, int64_t count) const {
    Doubles squares(static_cast<size_t>(count));
    const size_t features = vectors_.size() / squares.size();
    for (size_t i = 0; i < vectors_.size(); ++i) {
      squares[i / features] += vectors_[i] * vectors_[i];
    }
    const std::string of_rows =
        node_.Unary("reduce_sum", node_.Unary("square", x_),
                    {{"dim", Ints{-1}}, {"keep_dim", true}});
    const std::string sum = node_.Binary(
        "elementwise_add",
        {of_rows, NewNumbers(node_, {count}, squares, DType::kFloat64)});
    const std::string distances =
        node_.Binary("elementwise_add",
                     {node_.Unary("scale", product, {{"scale", -2.0}}), sum});
    return node_.Unary("relu", distances);
  }

  Node& node_;
  std::string type_;
  Doubles parameters_, coefficients_, rho_, vectors_;
  std::string x_;
};

void SVMRegressor(Node& node) {
  const int64_t count = node.attributes().Int("n_supports", 0);
  const bool one_class = node.attributes().Flag("one_class");
  if (TransformOf(node) != ScoreTransform::kNone) {
    Node::Unsupported("its post_transform, which onnxruntime ignores");
  }
  const KernelMachine machine(node);
  machine.NeedRho(1);
  const Doubles rho = {machine.rho()[0]};
  const std::string score =
      TimesRows(node, count > 0 ? machine.Kernel(count) : machine.x(),
                machine.coefficients(), 1, rho);
  if (!one_class) return FinishCast(node, score, DType::kFloat32);
  const std::string is_inside =
      node.Binary("greater_than", {score, node.Number(0, DType::kFloat64)});
  node.Finish("where", {{"Condition", {is_inside}},
                        {"X", {node.Number(1, DType::kFloat32)}},
                        {"Y", {node.Number(-1, DType::kFloat32)}}});
}

// A classifier of support vectors: one machine for each pair of classes.
class PairMachines {
 public:
  PairMachines(Node& node, const KernelMachine& machine, const Ints& vectors_of)
      : node_(node),
        classes_(std::ssize(vectors_of)),
        pairs_(classes_ * (classes_ - 1) / 2),
        begins_(1, 0) {
    machine.NeedRho(pairs_);
    const int64_t most = std::ssize(machine.coefficients());
    for (const int64_t vectors : vectors_of) {
      SLUICE_ENFORCE(vectors >= 0 && vectors <= most,
                     ErrorCode::kInvalidArgument, "onnx.svm_vectors",
                     "one of its vectors_per_class is {}; expected 0 to {}, "
                     "the number of its coefficients",
                     vectors, most);
      begins_.push_back(begins_.back() + vectors);
    }
    const int64_t wanted = (classes_ - 1) * begins_.back();
    SLUICE_ENFORCE(std::ssize(machine.coefficients()) == wanted,
                   ErrorCode::kInvalidArgument, "onnx.svm_coefficients",
                   "it has {} coefficients; expected {}, {} for each of {} "
                   "support vectors",
                   machine.coefficients().size(), wanted, classes_ - 1,
                   begins_.back());
    scores_ = Scores(machine);
  }

  // [N, pairs]: positive where a row belongs to the first class of the pair.
  const std::string& scores() const { return scores_; }
  int64_t pairs() const { return pairs_; }

  // [N, classes]: how many pairs choose each class.
  std::string Votes() const {
    // A pair votes for its second class, or else for its first one.
    Doubles changes(static_cast<size_t>(pairs_ * classes_));
    Doubles second(static_cast<size_t>(classes_));
    VisitPairs([&](int64_t pair, int64_t i, int64_t j) {
      changes[static_cast<size_t>(i * pairs_ + pair)] = 1;
      changes[static_cast<size_t>(j * pairs_ + pair)] = -1;
      ++second[static_cast<size_t>(j)];
    });
    const std::string is_first =
        node_.Cast(node_.Binary("greater_than",
                                {scores_, node_.Number(0, DType::kFloat64)}),
                   DType::kFloat64);
    return TimesRows(node_, is_first, changes, classes_, second);
  }

  // [N, classes]: probabilities, from those of pairs by a sigmoid.
  std::string Probabilities(const Doubles& a, const Doubles& b) const {
    constexpr double kLeast = 1e-7;
    for (const Doubles* numbers : {&a, &b}) {
      SLUICE_ENFORCE(std::ssize(*numbers) == pairs_,
                     ErrorCode::kInvalidArgument, "onnx.svm_probabilities",
                     "it has {} prob_a and {} prob_b; expected {}", a.size(),
                     b.size(), pairs_);
    }
    const std::string exponent = node_.Binary(
        "elementwise_add",
        {node_.Binary(
             "elementwise_mul",
             {scores_, NewNumbers(node_, {pairs_}, a, DType::kFloat64)}),
         NewNumbers(node_, {pairs_}, b, DType::kFloat64)});
    const std::string shares = node_.Unary(
        "clip", node_.Unary("sigmoid", node_.Unary("neg", exponent)),
        {{"min", kLeast}, {"max", 1 - kLeast}});
    return node_.Unary("pairwise_coupling", shares, {{"classes", classes_}});
  }

 private:
  template <typename Visit>
  void VisitPairs(const Visit& visit) const {
    int64_t pair = 0;
    for (int64_t i = 0; i < classes_; ++i) {
      for (int64_t j = i + 1; j < classes_; ++j) {
        visit(pair++, i, j);
      }
    }
  }

  // Coefficients are [classes - 1, vectors]: a vector of class i has one
  // against each other class, without its own.
  std::string Scores(const KernelMachine& machine) const {
    const int64_t vectors = begins_.back();
    node_.cost().Need("its coefficients", static_cast<uint64_t>(pairs_),
                      static_cast<uint64_t>(vectors) * sizeof(double));
    Doubles weights(static_cast<size_t>(pairs_ * vectors));
    const auto copy = [&](int64_t pair, int64_t row, int64_t of) {
      const auto from = machine.coefficients().begin() + row * vectors;
      std::copy(from + Begin(of), from + Begin(of + 1),
                weights.begin() + pair * vectors + Begin(of));
    };
    VisitPairs([&](int64_t pair, int64_t i, int64_t j) {
      copy(pair, j - 1, i);
      copy(pair, i, j);
    });
    const Doubles rho(machine.rho().begin(), machine.rho().begin() + pairs_);
    return TimesRows(node_, machine.Kernel(vectors), weights, pairs_, rho);
  }

  int64_t Begin(int64_t of) const { return begins_[static_cast<size_t>(of)]; }

  Node& node_;
  int64_t classes_;
  int64_t pairs_;
  Ints begins_;  // of the vectors of each class, and their end
  std::string scores_;
};

void SVMClassifier(Node& node) {
  const ClassLabels labels(node, "classlabels_ints");
  const ScoreTransform transform = TransformOf(node);
  const Ints vectors_of = node.attributes().Ints("vectors_per_class");
  const Doubles a = node.attributes().Floats("prob_a");
  const Doubles b = node.attributes().Floats("prob_b");
  const KernelMachine machine(node);
  const bool has_vectors =
      std::any_of(vectors_of.begin(), vectors_of.end(),
                  [](int64_t count) { return count != 0; });
  if (!has_vectors) {
    machine.NeedRho(1);
    const Doubles rho(static_cast<size_t>(labels.count()), machine.rho()[0]);
    const std::string scores = TimesRows(
        node, machine.x(), machine.coefficients(), labels.count(), rho);
    labels.FinishByBest(scores);
    return FinishScores(node, Transformed(node, scores, transform));
  }
  SLUICE_ENFORCE(std::ssize(vectors_of) == labels.count() && labels.count() > 1,
                 ErrorCode::kInvalidArgument, "onnx.svm_classes",
                 "it has {} vectors_per_class and {} classes; expected 2 or "
                 "more of both",
                 vectors_of.size(), labels.count());
  const PairMachines pairs(node, machine, vectors_of);
  labels.FinishByBest(pairs.Votes());
  if (!a.empty()) {
    return FinishScores(
        node, Transformed(node, pairs.Probabilities(a, b), transform));
  }
  if (pairs.pairs() > 1) {
    return FinishScores(node, Transformed(node, pairs.scores(), transform));
  }
  FinishScores(node, BothScores(node, pairs.scores(),
                                transform != ScoreTransform::kNone, transform));
}

}  // namespace

const HandlerTable kLinearHandlers = {
    {"ai.onnx.ml.LinearClassifier", 1, LinearClassifier},
    {"ai.onnx.ml.LinearRegressor", 1, LinearRegressor},
    {"ai.onnx.ml.SVMClassifier", 1, SVMClassifier},
    {"ai.onnx.ml.SVMRegressor", 1, SVMRegressor},
};

}  // namespace sluice::onnx
