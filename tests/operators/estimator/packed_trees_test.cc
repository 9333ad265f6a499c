#include "sluice/operators/estimator/packed_trees.h"

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/run/executor.h"
#include "sluice/framework/values/scope.h"

namespace sluice {
namespace {

template <typename T>
constexpr T kInfinityOf = std::numeric_limits<T>::infinity();

// What splits and features are: some are equal, so that every comparison of a
// node is true for some rows and false for others.
template <typename T>
T DrawnNumber(std::mt19937* random, bool nan) {
  const std::array<T, 8> numbers = {0,
                                    static_cast<T>(-0.0),
                                    kInfinityOf<T>,
                                    -kInfinityOf<T>,
                                    1,
                                    std::numeric_limits<T>::max(),
                                    static_cast<T>(-2.5),
                                    std::numeric_limits<T>::denorm_min()};
  const auto i = (*random)() % 12;
  if (i == 11 && nan) return std::numeric_limits<T>::quiet_NaN();
  if (i < numbers.size()) return numbers[i];
  return static_cast<T>((*random)() % 1000) / 250 - 2;
}

template <typename T>
struct DrawnTrees {
  // Adds a node and those after it; every second child is drawn deeper.
  int32_t AddNode(int depth, int features, std::mt19937* random) {
    const auto at = static_cast<int32_t>(splits.size());
    splits.push_back(DrawnNumber<T>(random, false));
    nodes.insert(nodes.end(), {0, 0, 0, 0});
    if (depth == 0 || (*random)() % 5 == 0) {
      const auto first = static_cast<int32_t>(weights.size());
      for (auto left = (*random)() % 3; left > 0; --left) {
        targets.push_back(static_cast<int32_t>((*random)() % 3));
        weights.push_back(static_cast<T>((*random)() % 100) / 7);
      }
      Set(at, {kTreeLeaf, 0, first, static_cast<int32_t>(weights.size())});
      return at;
    }
    auto mode = static_cast<int32_t>((*random)() % 6) + 1;
    if ((*random)() % 2 == 0 && mode != kTreeEqual) mode += kTreeNaNToYes;
    const auto feature = static_cast<int32_t>((*random)() % features);
    const int32_t yes = AddNode(depth - 1, features, random);
    const int32_t no = AddNode(depth - 1, features, random);
    Set(at, {mode, feature, yes, no});
    return at;
  }

  void Set(int32_t at, const std::array<int32_t, kTreeColumns>& row) {
    std::copy(row.begin(), row.end(), nodes.begin() + at * kTreeColumns);
  }

  std::vector<int32_t> nodes, roots, targets;
  std::vector<T> splits, weights;
};

// The results with constant trees, or with trees that are fed.
template <typename T>
std::vector<T> ResultsOf(const DrawnTrees<T>& trees,
                         const Tensor& x,
                         bool constant,
                         const std::string& aggregate) {
  Program program;
  Scope scope;
  Feeds feeds = {{"x", x}};
  program.Data("x", x.dtype(), x.dims());
  const auto add = [&](const std::string& name, const Tensor& value) {
    if (!constant) {
      program.Data(name, value.dtype(), value.dims());
      feeds.emplace_back(name, value);
      return;
    }
    program.Persistable(name, value.dtype(), value.dims());
    *scope.Var(name).GetMutable<Tensor>() = value;
  };
  const auto size = [](const auto& values) {
    return static_cast<int64_t>(values.size());
  };
  add("nodes", Tensor::FromVector<int32_t>({size(trees.splits), kTreeColumns},
                                           trees.nodes));
  add("splits", Tensor::FromVector<T>({size(trees.splits)}, trees.splits));
  add("roots", Tensor::FromVector<int32_t>({size(trees.roots)}, trees.roots));
  add("targets",
      Tensor::FromVector<int32_t>({size(trees.targets)}, trees.targets));
  add("weights", Tensor::FromVector<T>({size(trees.weights)}, trees.weights));
  program.AppendOp("tree_ensemble",
                   {{"X", {"x"}},
                    {"Nodes", {"nodes"}},
                    {"Splits", {"splits"}},
                    {"Roots", {"roots"}},
                    {"Targets", {"targets"}},
                    {"Weights", {"weights"}}},
                   {{"num_targets", int64_t{3}}, {"aggregate", aggregate}},
                   SourceLocation::Here(), {{"Out", {"out"}}});
  Executor executor;
  return executor.Prepare(program, feeds, {"out"})
      ->Run(feeds, &scope)[0]
      .template ToVector<T>();
}

template <typename T>
void ExpectPackedTreesAreTheSame(uint32_t seed) {
  std::mt19937 random(seed);
  const int features = 1 + static_cast<int>(seed % 5);
  DrawnTrees<T> trees;
  for (int tree = 0; tree < 6; ++tree) {
    trees.roots.push_back(trees.AddNode(tree * 3, features, &random));
  }
  const int64_t rows = seed % 3 == 0 ? 1 : 37;
  std::vector<T> numbers(static_cast<size_t>(rows * features));
  for (T& number : numbers) {
    number = DrawnNumber<T>(&random, true);
  }
  const Tensor x = Tensor::FromVector<T>({rows, features}, numbers);
  for (const char* aggregate : {"sum", "average", "min", "max"}) {
    EXPECT_EQ(ResultsOf(trees, x, true, aggregate),
              ResultsOf(trees, x, false, aggregate))
        << seed << " " << aggregate;
  }
}

TEST(PackedTrees, GiveWhatAWalkOverNodesGives) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    ExpectPackedTreesAreTheSame<float>(seed);
    ExpectPackedTreesAreTheSame<double>(seed);
  }
}

// Whether such nodes of two features and one weight are packed.
bool ArePacked(const std::vector<int32_t>& nodes,
               const std::vector<float>& splits,
               int32_t root = 0) {
  const auto count = static_cast<int64_t>(splits.size());
  const Tensor all = Tensor::FromVector<int32_t>({count, kTreeColumns}, nodes);
  const Tensor at = Tensor::FromVector<float>({count}, splits);
  const Tensor roots = Tensor::FromVector<int32_t>({1}, {root});
  const Tensor packed =
      TreePacking<float>(2, 1)->Make(std::array{&all, &at, &roots}, 1);
  return PackedTrees<float>(packed.raw_data()).usable();
}

TEST(PackedTrees, LeaveTheRestToTheWalk) {
  const float nan = std::nanf("");
  const std::vector<int32_t> leaves = {0, 0, 0, 1, 0, 0, 0, 1};
  const auto tree = [&](std::vector<int32_t> root) {
    root.insert(root.end(), leaves.begin(), leaves.end());
    return root;
  };
  EXPECT_TRUE(ArePacked(tree({kTreeAtMost, 1, 1, 2}), {0.5F, 0, 0}));
  EXPECT_FALSE(ArePacked(tree({kTreeAtMost, 1, 1, 2}), {nan, 0, 0}));
  EXPECT_FALSE(ArePacked(tree({kTreeAtMost, 2, 1, 2}), {0.5F, 0, 0}));
  EXPECT_FALSE(ArePacked(tree({kTreeAtMost, -1, 1, 2}), {0.5F, 0, 0}));
  EXPECT_FALSE(ArePacked(tree({kTreeAtMost, 1, 0, 2}), {0.5F, 0, 0}));
  EXPECT_FALSE(ArePacked(tree({kTreeAtMost, 1, 1, 3}), {0.5F, 0, 0}));
  EXPECT_FALSE(ArePacked(tree({7, 1, 1, 2}), {0.5F, 0, 0}));
  EXPECT_FALSE(ArePacked(tree({kTreeAtMost, 1, 1, 2}), {0.5F, 0, 0}, 3));
  EXPECT_FALSE(
      ArePacked(tree({kTreeEqual + kTreeNaNToYes, 1, 1, 2}), {0.5F, 0, 0}));
  EXPECT_FALSE(ArePacked({0, 0, 0, 2}, {0}));
  // Of a shared node there would be a copy for each path to it.
  std::vector<int32_t> shared;
  const int32_t levels = 40;
  for (int32_t i = 0; i < levels; ++i) {
    shared.insert(shared.end(), {kTreeAtMost, 0, i + 1, i + 1});
  }
  shared.insert(shared.end(), {0, 0, 0, 1});
  EXPECT_FALSE(ArePacked(shared, std::vector<float>(levels + 1)));
}

}  // namespace
}  // namespace sluice
