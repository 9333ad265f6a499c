#include "sluice/framework/algorithms/two_labels.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

struct Group {
  std::vector<int> nodes;
  double cost;
};

struct Problem {
  std::vector<std::pair<double, double>> nodes;
  std::vector<Group> groups;

  std::vector<uint8_t> Solve() const {
    TwoLabels labels;
    for (const auto& [cost_0, cost_1] : nodes) {
      labels.AddNode(cost_0, cost_1);
    }
    for (const Group& group : groups) {
      labels.AddGroup(group.nodes, group.cost);
    }
    return labels.Solve();
  }

  double Cost(const std::vector<uint8_t>& labels) const {
    double cost = 0;
    for (size_t i = 0; i < nodes.size(); ++i) {
      cost += labels[i] == 0 ? nodes[i].first : nodes[i].second;
    }
    for (const Group& group : groups) {
      const bool differ = std::any_of(
          group.nodes.begin(), group.nodes.end(),
          [&](int node) { return labels[node] != labels[group.nodes[0]]; });
      if (differ) cost += group.cost;
    }
    return cost;
  }
};

// Costs are integers, so that sums are exact and some solutions cost the same.
Problem Draw(std::mt19937* random, double share_of_forbidden) {
  const auto below = [random](int count) {
    return static_cast<int>((*random)() % static_cast<unsigned>(count));
  };
  const auto cost = [&] {
    return (*random)() < share_of_forbidden * 0x1p32
               ? kNever
               : static_cast<double>(below(10));
  };
  Problem problem;
  const int count = 1 + below(9);
  for (int i = 0; i < count; ++i) {
    problem.nodes.emplace_back(cost(), cost());
    if (std::isinf(problem.nodes[i].first)) problem.nodes[i].second = below(10);
  }
  const int groups = below(12);
  for (int i = 0; i < groups; ++i) {
    Group group{{}, cost()};
    const int members = 1 + below(4);
    for (int k = 0; k < members; ++k) {
      group.nodes.push_back(below(count));
    }
    problem.groups.push_back(std::move(group));
  }
  return problem;
}

// Holds the solution against all assignments of labels.
void ExpectBest(const Problem& problem) {
  const std::vector<uint8_t> solution = problem.Solve();
  const auto ones = [](const std::vector<uint8_t>& labels) {
    return std::count(labels.begin(), labels.end(), 1);
  };
  const double cost = problem.Cost(solution);
  for (unsigned bits = 0; bits < 1U << problem.nodes.size(); ++bits) {
    std::vector<uint8_t> labels;
    for (size_t i = 0; i < problem.nodes.size(); ++i) {
      labels.push_back(bits >> i & 1U);
    }
    const double other = problem.Cost(labels);
    ASSERT_LE(cost, other);
    if (other == cost && std::isfinite(cost)) {
      ASSERT_LE(ones(solution), ones(labels));
    }
  }
}

TEST(TwoLabelsTest, AreTheCheapestWithTheFewestOnes) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    SCOPED_TRACE(round);
    ExpectBest(Draw(&random, 0));
    if (HasFatalFailure()) return;
  }
}

TEST(TwoLabelsTest, ForbiddenLabelsAndGroupsAreNotTaken) {
  std::mt19937 random(2);
  int feasible = 0;
  for (int round = 0; round < 2000; ++round) {
    SCOPED_TRACE(round);
    const Problem problem = Draw(&random, 0.2);
    ExpectBest(problem);
    if (HasFatalFailure()) return;
    feasible += std::isfinite(problem.Cost(problem.Solve())) ? 1 : 0;
  }
  EXPECT_GT(feasible, 500);
}

TEST(TwoLabelsTest, NothingIsNoProblem) {
  EXPECT_TRUE(TwoLabels().Solve().empty());
  TwoLabels one;
  one.AddNode(0, 0);
  one.AddGroup({0}, 1);
  one.AddGroup({}, 1);
  EXPECT_EQ(one.Solve(), std::vector<uint8_t>{0});
}

// As the costs of kernels are.
TEST(TwoLabelsTest, TellsSmallCostsApartBesideLargeOnes) {
  TwoLabels labels;
  labels.AddNode(1.0000001e-7, 1e-7);
  labels.AddNode(10, 20);
  EXPECT_EQ(labels.Solve(), (std::vector<uint8_t>{1, 0}));
}

// No network has as many ops with images.
TEST(TwoLabelsTest, ALongChainTakesLittleTime) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> seconds(1e-6, 1e-3);
  Problem problem;
  constexpr int kOps = 5000;
  for (int i = 0; i < kOps; ++i) {
    problem.nodes.emplace_back(seconds(random), seconds(random));
    if (i > 0) problem.groups.push_back({{i - 1, i}, seconds(random)});
    if (i > 3) problem.groups.push_back({{i - 4, i}, seconds(random)});
  }
  const auto begin = std::chrono::steady_clock::now();
  problem.Solve();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

}  // namespace
}  // namespace sluice
