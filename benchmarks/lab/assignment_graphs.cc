#include "benchmarks/lab/assignment_graphs.h"

#include <algorithm>
#include <array>
#include <random>

namespace sluice::bench {
namespace {

constexpr int kLayouts = 3;

// Appends ops until there are enough of them.
class GraphMaker {
 public:
  explicit GraphMaker(int ops) : most_(ops) { Add({}); }

  bool IsFull() const { return std::ssize(graph_) >= most_; }
  // Returns the op; the last one where the graph is full.
  int Add(std::vector<int> inputs) {
    if (!IsFull()) graph_.push_back(std::move(inputs));
    return static_cast<int>(graph_.size()) - 1;
  }
  int AddChain(int input, int length) {
    for (int i = 0; i < length; ++i) {
      input = Add({input});
    }
    return input;
  }
  OpGraph Take() { return std::move(graph_); }

 private:
  int most_;
  OpGraph graph_;
};

OpGraph Chain(int ops, unsigned /*seed*/) {
  GraphMaker maker(ops);
  maker.AddChain(0, ops);
  return maker.Take();
}

OpGraph ResNet(int ops, unsigned /*seed*/) {
  GraphMaker maker(ops);
  for (int block = 0, last = 0; !maker.IsFull(); ++block) {
    const int branch = maker.AddChain(last, 5);
    const int shortcut = block % 4 == 0 ? maker.Add({last}) : last;
    last = maker.AddChain(maker.Add({branch, shortcut}), 1);
  }
  return maker.Take();
}

OpGraph Inception(int ops, unsigned seed) {
  std::mt19937 random(seed);
  GraphMaker maker(ops);
  for (int last = 0; !maker.IsFull();) {
    std::vector<int> branches(4);
    for (int& branch : branches) {
      branch = maker.AddChain(last, 1 + static_cast<int>(random() % 3));
    }
    last = maker.Add(branches);
  }
  return maker.Take();
}

OpGraph Transformer(int ops, unsigned /*seed*/) {
  GraphMaker maker(ops);
  for (int last = 0; !maker.IsFull();) {
    const int norm = maker.Add({last});
    std::array<int, 3> heads{};  // query, key, value
    for (int& head : heads) {
      head = maker.AddChain(norm, 2);
    }
    const int weights = maker.AddChain(maker.Add({heads[0], heads[1]}), 2);
    const int mixed = maker.AddChain(maker.Add({weights, heads[2]}), 2);
    const int middle = maker.Add({mixed, last});
    last = maker.Add({maker.AddChain(middle, 4), middle});
  }
  return maker.Take();
}

OpGraph UNet(int ops, unsigned /*seed*/) {
  GraphMaker maker(ops);
  // Five ops a level in all: so many levels use up the ops.
  std::vector<int> skips;
  int last = 0;
  for (int level = 0; level < ops / 5; ++level) {
    skips.push_back(maker.AddChain(last, 2));
    last = skips.back();
  }
  while (!maker.IsFull()) {
    const int skip = skips.empty() ? last : skips.back();
    if (!skips.empty()) skips.pop_back();
    last = maker.AddChain(maker.Add({last, skip}), 2);
  }
  return maker.Take();
}

// The gradient of an op reads the op's inputs and its output, and the gradients
// of the ops that read the output.
OpGraph Training(int ops, unsigned seed) {
  const int forward = ops / 2;
  OpGraph graph = ResNet(forward, seed);
  std::vector<std::vector<int>> output_gradients(forward);
  for (int op = forward - 1; op >= 0; --op) {
    std::vector<int> inputs = graph[op];
    inputs.push_back(op);
    for (const int gradient : output_gradients[op]) {
      inputs.push_back(gradient);
    }
    for (const int input : graph[op]) {
      output_gradients[input].push_back(static_cast<int>(graph.size()));
    }
    graph.push_back(std::move(inputs));
  }
  return graph;
}

OpGraph Random(int ops, unsigned seed) {
  constexpr int kWindow = 40;
  std::mt19937 random(seed);
  OpGraph graph(1);
  for (int op = 1; op < ops; ++op) {
    std::vector<int>& inputs = graph.emplace_back();
    const int count = 1 + static_cast<int>(random() % 3);
    for (int i = 0; i < count; ++i) {
      const int back = 1 + static_cast<int>(random() % std::min(op, kWindow));
      inputs.push_back(op - back);
    }
  }
  return graph;
}

}  // namespace

std::vector<GraphFamily> GraphFamilies() {
  return {{"chain", Chain},         {"resnet", ResNet},
          {"inception", Inception}, {"transformer", Transformer},
          {"unet", UNet},           {"training", Training},
          {"random", Random}};
}

framework::AssignmentProblem MakeAssignmentProblem(const OpGraph& graph,
                                                   unsigned seed) {
  std::mt19937 random(seed);
  // The same numbers with every standard library.
  const auto uniform = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random()) / 4294967296.0;
  };
  framework::AssignmentProblem problem;
  std::vector<std::vector<int>> layouts;
  std::vector<double> seconds;
  for (size_t op = 0; op < graph.size(); ++op) {
    seconds.push_back(uniform(5e-6, 50e-6));
    std::vector<double> costs(2 + random() % 5);
    std::vector<int>& layout = layouts.emplace_back();
    for (double& cost : costs) {
      cost = seconds.back() * uniform(1, 2);
      layout.push_back(static_cast<int>(random() % kLayouts));
    }
    problem.AddNode(std::move(costs));
  }
  for (size_t op = 0; op < graph.size(); ++op) {
    for (const int input : graph[op]) {
      std::array<std::array<double, kLayouts>, kLayouts> conversion{};
      for (int from = 0; from < kLayouts; ++from) {
        for (int to = 0; to < kLayouts; ++to) {
          if (from == to) continue;
          conversion[from][to] = seconds[input] * uniform(0.1, 1.5);
        }
      }
      std::vector<double> costs;
      for (const int from : layouts[input]) {
        for (const int to : layouts[op]) {
          costs.push_back(conversion[from][to]);
        }
      }
      problem.AddEdge(input, static_cast<int>(op), std::move(costs));
    }
  }
  return problem;
}

}  // namespace sluice::bench
