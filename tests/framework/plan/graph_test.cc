#include "sluice/framework/plan/graph.h"

#include <algorithm>
#include <map>
#include <set>

#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/inspect/explain.h"
#include "sluice/framework/run/executor.h"

namespace sluice {
namespace {

using sluice::testing::Append;
using sluice::testing::ExpectError;
using sluice::testing::Floats;

using Ids = std::vector<int>;

// x -> twice -> four -> eight, each a test_add of a value to itself.
class GraphTest : public ::testing::Test {
 protected:
  GraphTest() {
    sluice::testing::UseTestOps();
    program_.Data("x", DType::kFloat32, {-1, 2});
    twice_ = Double("x");
    four_ = Double(twice_);
    eight_ = Double(four_);
  }
  std::string Double(const std::string& x) {
    return Append(&program_, "test_add", {{"X", {x}}, {"Y", {x}}});
  }
  Graph Make(const std::vector<std::string>& fetches,
             const std::string& hints = "") {
    return Graph(program_, {{"x", DType::kFloat32, {3, 2}, CPUPlace()}},
                 fetches, CPUPlace(), ParseKernelHints(hints, "a test"));
  }
  // An op that computes `out` from `x` in one step, except for the factor.
  static OpDesc Fused(const std::string& x, const std::string& out) {
    OpDesc op;
    op.type = "test_divide";
    op.inputs = {{"X", {x}}};
    op.outputs = {{"Out", {out}}};
    return op;
  }

  Program program_;
  std::string twice_;
  std::string four_;
  std::string eight_;
};

TEST_F(GraphTest, HasTheNeededOpsAndEveryShape) {
  const Graph graph = Make({four_});
  EXPECT_EQ(graph.order(), (Ids{0, 1}));
  EXPECT_EQ(graph.not_needed(), Ids{2});
  EXPECT_EQ(graph.dims(twice_), DDim({3, 2}));
  EXPECT_EQ(graph.Writer(four_), 1);
  EXPECT_EQ(graph.Readers(twice_), Ids{1});
  EXPECT_TRUE(graph.IsInternal(twice_));
  EXPECT_FALSE(graph.IsInternal(four_));
  EXPECT_FALSE(graph.IsInternal("x"));
}

TEST_F(GraphTest, SaysWhichVariantAnOpWouldGet) {
  const auto variant = [&](const std::string& hints) {
    Graph graph = Make({eight_}, hints);
    const Candidate* kernel = graph.Predict(graph.op(0));
    return kernel == nullptr ? "" : kernel->kernel->variant;
  };
  EXPECT_EQ(variant(""), "plain");
  EXPECT_EQ(variant("exclude variant=plain"), "wrong");
  EXPECT_EQ(variant("require variant=none"), "");
}

TEST_F(GraphTest, ReplacesSeveralOpsByOne) {
  Graph graph = Make({eight_});
  ASSERT_TRUE(graph.Replace({0, 1}, Fused("x", four_)));
  EXPECT_EQ(graph.order(), (Ids{1, 2}));
  EXPECT_EQ(graph.op(1).desc.type, "test_divide");
  EXPECT_EQ(graph.op(1).covers, (Ids{0, 1}));
}

TEST_F(GraphTest, AHintThatWantsAnotherKernelKeepsTheOpsApart) {
  for (const char* hints :
       {"require variant=wrong", "test_add: prefer variant=wrong",
        "#1: require variant=wrong", "exclude variant=plain"}) {
    Graph graph = Make({eight_}, hints);
    EXPECT_FALSE(graph.Replace({0, 1}, Fused("x", four_))) << hints;
    EXPECT_EQ(graph.order(), (Ids{0, 1, 2})) << hints;
    EXPECT_EQ(graph.op(1).desc.type, "test_add") << hints;
  }
  Graph graph = Make({eight_}, "prefer variant=plain");
  EXPECT_TRUE(graph.Replace({0, 1}, Fused("x", four_)));
}

TEST_F(GraphTest, KeepsTheOpsWhenNoKernelTakesTheOther) {
  Graph graph = Make({eight_});
  OpDesc op = Fused("x", four_);
  op.attributes["nonsense"] = true;
  ExpectError(ErrorCode::kNotFound, "op.unknown_attribute", {"nonsense"}, [&] {
    graph.Replace({0, 1}, op);
  });
  EXPECT_EQ(graph.order(), (Ids{0, 1, 2}));
}

TEST_F(GraphTest, InsertsAndRewrites) {
  Graph graph = Make({eight_});
  const std::string inverse = graph.NewName("inverse");
  EXPECT_NE(inverse, graph.NewName("inverse"));
  const int id = graph.InsertBefore(1, Fused(twice_, inverse));
  EXPECT_EQ(graph.order(), (Ids{0, id, 1, 2}));
  EXPECT_EQ(graph.dims(inverse), DDim({3, 2}));
  OpDesc second = graph.op(1).desc;
  second.inputs = {{"X", {inverse}}, {"Y", {inverse}}};
  graph.Rewrite(1, second);
  EXPECT_EQ(graph.Readers(twice_), Ids{id});
  EXPECT_EQ(graph.Readers(inverse), Ids{1});
  const int last = graph.InsertAfter(2, Fused(eight_, graph.NewName("behind")));
  const int between =
      graph.InsertAfter(1, Fused(four_, graph.NewName("behind")));
  EXPECT_EQ(graph.order(), (Ids{0, id, 1, between, 2, last}));
  EXPECT_EQ(graph.Readers(eight_), Ids{last});
}

// Compares Writer and Readers with a walk over all ops.
void ExpectUsesAsOpsSay(const Graph& graph) {
  std::map<std::string, std::set<int>> writers;
  std::map<std::string, Ids> readers;
  for (const int id : graph.order()) {
    const OpDesc& op = graph.op(id).desc;
    for (const auto& [argument, vars] : op.inputs) {
      for (const std::string& var : vars) {
        Ids& of_var = readers[var];
        if (of_var.empty() || of_var.back() != id) of_var.push_back(id);
        writers[var];
      }
    }
    for (const auto& [argument, vars] : op.outputs) {
      for (const std::string& var : vars) {
        writers[var].insert(id);
      }
    }
  }
  for (const auto& [var, ids] : writers) {
    EXPECT_EQ(graph.Writer(var), ids.size() == 1 ? *ids.begin() : -1) << var;
    EXPECT_EQ(graph.Readers(var), readers[var]) << var;
  }
}

TEST_F(GraphTest, KnowsWhoUsesAVariableAfterEveryChange) {
  Graph graph = Make({eight_});
  ExpectUsesAsOpsSay(graph);
  // After op 1 by its id, before it in the order.
  const int before = graph.InsertBefore(1, Fused(twice_, graph.NewName("a")));
  graph.InsertBefore(before, Fused(twice_, graph.NewName("b")));
  EXPECT_EQ(graph.Readers(twice_), (Ids{before + 1, before, 1}));
  ExpectUsesAsOpsSay(graph);
  ASSERT_TRUE(graph.Replace({1}, Fused("x", four_)));
  EXPECT_EQ(graph.Readers("x"), (Ids{0, 1}));
  ExpectUsesAsOpsSay(graph);
  OpDesc second = graph.op(1).desc;
  second.outputs = {{"Out", {twice_}}};
  graph.Rewrite(1, second);
  EXPECT_EQ(graph.Writer(twice_), -1);
  EXPECT_EQ(graph.Writer(four_), -1);
  ExpectUsesAsOpsSay(graph);
}

// The replaced op read the old value; the new one would read the new value.
TEST_F(GraphTest, KeepsTheOpsWhenWhatTheyReadChangesBetween) {
  Graph graph = Make({eight_});
  const int between = graph.InsertBefore(1, Fused(twice_, "x"));
  EXPECT_FALSE(graph.Replace({0, 1}, Fused("x", four_)));
  EXPECT_EQ(graph.order(), (Ids{0, between, 1, 2}));
  graph.Rewrite(between, Fused(twice_, graph.NewName("other")));
  EXPECT_TRUE(graph.Replace({0, 1}, Fused("x", four_)));
}

TEST_F(GraphTest, AParameterIsConstantUnlessAnOpOfTheGraphWritesIt) {
  program_.Persistable("w", DType::kFloat32, {3, 2});
  Graph graph = Make({eight_});
  EXPECT_TRUE(graph.IsConstant("w"));
  EXPECT_FALSE(graph.IsConstant("x"));
  const int id = graph.InsertBefore(0, Fused("x", "w"));
  EXPECT_FALSE(graph.IsConstant("w"));
  graph.Rewrite(id, Fused("x", graph.NewName("other")));
  EXPECT_TRUE(graph.IsConstant("w"));
}

// Replaces the first two of three doublings by 1 / X, while enabled.
bool g_pass_on = false;
int HalvingPass(Graph& graph) {
  if (!g_pass_on || graph.order().size() != 3) return 0;
  OpDesc op;
  op.type = "test_divide";
  op.inputs = graph.op(0).desc.inputs;
  op.inputs.resize(1);
  op.outputs = graph.op(1).desc.outputs;
  return graph.Replace({0, 1}, op) ? 1 : 0;
}

TEST_F(GraphTest, PassesRunWhenAPlanIsPreparedAndExplainSaysSo) {
  Registry::Global().AddPass({"halving", 5, HalvingPass});
  ExpectError(ErrorCode::kInvalidArgument, "registry.pass_twice", {"halving"},
              [] {
                Registry::Global().AddPass({"halving", 6, HalvingPass});
              });
  g_pass_on = true;
  const Tensor x = Floats({1, 2}, {2, 4});
  Executor executor;
  const auto results = executor.Run(program_, {{"x", x}}, {eight_});
  EXPECT_EQ(results[0].ToVector<float>(), (std::vector<float>{1, 0.5F}));
  const std::string text = executor.Explain(program_, {.all = true});
  EXPECT_NE(text.find("halving: 1 change"), std::string::npos) << text;
  EXPECT_NE(text.find("includes ops 0 (test_add), 1 "), std::string::npos)
      << text;
  Executor as_written(CPUPlace(), {.passes = false});
  EXPECT_EQ(as_written.Run(program_, {{"x", x}}, {eight_})[0].ToVector<float>(),
            (std::vector<float>{16, 32}));
  g_pass_on = false;
}

int g_asked = 0;
int g_prepared = 0;
bool g_counting = false;

class CountingKernel : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    ++(preparation.probe ? g_asked : g_prepared);
  }
  void Compute(OpKernelContext& /*context*/) const override {}
};

TEST_F(GraphTest, PassesOnlyAskKernelsWhichArePreparedOnce) {
  KernelDef kernel;
  kernel.op = "test_divide";
  kernel.variant = "counting";
  kernel.predicate = [](const KernelQuery&) {
    return g_counting ? "" : "not counting";
  };
  kernel.make = [](const OpKernelConstruction&) -> std::unique_ptr<OpKernel> {
    return std::make_unique<CountingKernel>();
  };
  Registry::Global().AddKernel(kernel);
  g_counting = true;
  Graph graph = Make({eight_}, "test_divide: require variant=counting");
  graph.InsertAfter(2, Fused(eight_, graph.NewName("new")));
  ASSERT_TRUE(graph.Replace({0, 1}, Fused("x", four_)));
  EXPECT_EQ(g_asked, 1);
  EXPECT_EQ(g_prepared, 0);
  for (int time = 0; time < 3; ++time) {
    EXPECT_EQ(graph.Choose(1).choice().kernel->variant, "counting");
  }
  EXPECT_EQ(g_asked, 1);
  EXPECT_EQ(g_prepared, 1);
  // An op with another input is another op.
  graph.Rewrite(1, Fused(eight_, four_));
  graph.Choose(1);
  EXPECT_EQ(g_prepared, 2);
  g_counting = false;
}

TEST_F(GraphTest, OpsOfTheSameSignatureShareTheirCandidates) {
  Graph graph = Make({eight_}, "#2: prefer variant=wrong");
  const auto list = graph.Choose(0).list;
  EXPECT_EQ(graph.Choose(1).list, list);
  EXPECT_NE(graph.Choose(2).list, list);
  EXPECT_EQ(graph.op(2).choice().kernel->variant, "wrong");
}

// The container of a graph's ops.
TEST(OpOrder, IsEmptyAtFirst) {
  const OpOrder order;
  EXPECT_EQ(order.ids(), Ids());
}

TEST(OpOrder, KeepsWhatIsAppendedInsertedAndRemoved) {
  OpOrder order;
  for (const int id : {2, 0, 7}) {
    order.Append(id);
  }
  EXPECT_EQ(order.ids(), (Ids{2, 0, 7}));
  order.InsertBefore(2, 1);
  order.InsertBefore(7, 3);
  EXPECT_EQ(order.ids(), (Ids{1, 2, 0, 3, 7}));
  EXPECT_TRUE(order.Precedes(1, 2));
  EXPECT_TRUE(order.Precedes(0, 3));
  EXPECT_FALSE(order.Precedes(7, 0));
  EXPECT_FALSE(order.Precedes(0, 0));
  order.Remove(2);
  order.Remove(7);
  EXPECT_EQ(order.ids(), (Ids{1, 0, 3}));
  order.Append(2);
  EXPECT_EQ(order.ids(), (Ids{1, 0, 3, 2}));
  order.InsertAfter(0, 4);
  order.InsertAfter(2, 5);
  EXPECT_EQ(order.ids(), (Ids{1, 0, 4, 3, 2, 5}));
}

// The numbers between two neighbours are used up repeatedly.
TEST(OpOrder, TakesAnyNumberInOnePlace) {
  OpOrder order;
  order.Append(0);
  order.Append(1);
  Ids expected = {0};
  for (int id = 2; id < 500; ++id) {
    order.InsertBefore(1, id);
    expected.push_back(id);
  }
  expected.push_back(1);
  EXPECT_EQ(order.ids(), expected);
  for (int id = 500; id < 1000; ++id) {
    order.InsertBefore(expected[1], id);
    expected.insert(expected.begin() + 1, id);
  }
  for (int id = 1000; id < 1500; ++id) {
    order.InsertBefore(expected[0], id);
    expected.insert(expected.begin(), id);
  }
  EXPECT_EQ(order.ids(), expected);
  EXPECT_TRUE(
      std::is_sorted(expected.begin(), expected.end(),
                     [&](int a, int b) { return order.Precedes(a, b); }));
}

}  // namespace
}  // namespace sluice
