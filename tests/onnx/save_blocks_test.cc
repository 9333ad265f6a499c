#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/program/control_flow.h"
#include "sluice/framework/run/executor.h"
#include "sluice/onnx/load_onnx.h"
#include "sluice/onnx/onnx.pb.h"
#include "sluice/onnx/save_onnx.h"
#include "sluice/ops.h"

namespace sluice::testing {
namespace {

using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using Floats = std::vector<float>;
using Names = std::vector<std::string>;

class SaveBlocksTest : public ::testing::Test {
 protected:
  SaveBlocksTest() : x_(program_.Data("x", DType::kFloat32, {-1, 2})) {}

  Var Number(double value) {
    return ops::FillConstant(program_, {1}, {.value = value});
  }
  Var IsBelow(const Var& x, double limit) {
    return ops::LessThan(ops::ReduceSum(x, {.reduce_all = true}),
                         Number(limit));
  }

  ModelProto Message(const Names& outputs) {
    ModelProto model;
    EXPECT_TRUE(model.ParseFromString(
        onnx::SerializeOnnx(program_, scope_, {.outputs = outputs})));
    return model;
  }

  // Expects the model and the program to compute the same.
  void ExpectSame(const Names& outputs, const std::vector<Feeds>& all_feeds) {
    const auto model = onnx::ParseOnnx(
        onnx::SerializeOnnx(program_, scope_, {.outputs = outputs}));
    const Fetches fetches(outputs.begin(), outputs.end());
    Executor here;
    Executor there;
    model.PutParameters(there.scope());
    for (const Feeds& feeds : all_feeds) {
      const auto want = here.Run(program_, feeds, fetches);
      const auto got = there.Run(model.program, feeds, fetches);
      for (size_t i = 0; i < want.size(); ++i) {
        ASSERT_EQ(got[i].dims(), want[i].dims()) << outputs[i];
        EXPECT_EQ(got[i].ToVector<float>(), want[i].ToVector<float>());
      }
    }
  }

  Program program_;
  Scope scope_;
  Var x_;
};

Feeds Rows(const Floats& values) {
  const auto rows = static_cast<int64_t>(values.size() / 2);
  return {{"x", Tensor::FromVector<float>({rows, 2}, values)}};
}

const NodeProto& Find(const GraphProto& graph, const std::string& type) {
  const auto found =
      std::find_if(graph.node().begin(), graph.node().end(),
                   [&](const auto& node) { return node.op_type() == type; });
  EXPECT_NE(found, graph.node().end()) << type;
  return *found;
}

void AddNames(const GraphProto& graph, std::multiset<std::string>* names) {
  for (const auto& input : graph.input()) {
    names->insert(input.name());
  }
  for (const auto& tensor : graph.initializer()) {
    names->insert(tensor.name());
  }
  for (const auto& node : graph.node()) {
    names->insert(node.output().begin(), node.output().end());
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) AddNames(attribute.g(), names);
    }
  }
}

void ExpectUniqueNames(const GraphProto& graph) {
  std::multiset<std::string> names;
  AddNames(graph, &names);
  for (const std::string& name : names) {
    EXPECT_EQ(names.count(name), 1U) << name;
  }
}

TEST_F(SaveBlocksTest, AnIfHasAGraphForEachBlock) {
  const Vars out = Cond(
      IsBelow(x_, 0),
      [&] {
        return Vars{ops::Square(x_), x_};
      },
      [&] {
        const Var y = ops::Relu(x_);
        return Vars{y, y};
      });
  const Names outputs = {out[0].name(), out[1].name()};
  const NodeProto node = Find(Message(outputs).graph(), "If");
  ASSERT_EQ(node.attribute_size(), 2);
  EXPECT_EQ(node.attribute(0).name(), "then_branch");
  const GraphProto& then_graph = node.attribute(0).g();
  EXPECT_EQ(then_graph.name(), "block_1");
  EXPECT_EQ(then_graph.input_size(), 0);
  // A variable of the program has another name as a graph output.
  ASSERT_EQ(then_graph.node_size(), 2);
  EXPECT_EQ(then_graph.node(0).op_type(), "Mul");
  EXPECT_EQ(then_graph.node(1).op_type(), "Identity");
  EXPECT_EQ(then_graph.node(1).input(0), "x");
  const GraphProto& else_graph = node.attribute(1).g();
  EXPECT_NE(else_graph.output(0).name(), else_graph.output(1).name());
  ExpectSame(outputs, {Rows({1, 2}), Rows({-1, 2, -3, -4})});
}

TEST_F(SaveBlocksTest, NamesAreUniqueInTheWholeModel) {
  const auto add = [&](const std::string& type, const std::string& out) {
    program_.AppendOp(type, {{"X", {"x"}}}, {}, {"net.py", 7},
                      {{"Out", {out}}});
    return program_.Find(out);
  };
  const Vars out = Cond(
      IsBelow(x_, 0), [&] { return Vars{add("square", "same")}; },
      [&] { return Vars{add("relu", "same")}; });
  add("abs", "same");
  const Var sum = ops::ElementwiseAdd(out[0], program_.Find("same"));
  const GraphProto graph = Message({sum.name()}).graph();
  ExpectUniqueNames(graph);
  EXPECT_EQ(Find(graph, "Abs").output(0), "same");
  ExpectSame({sum.name()}, {Rows({1, 2}), Rows({-1, 2, -3, -4})});
}

TEST_F(SaveBlocksTest, AWhileLoopIsALoop) {
  const Vars out =
      WhileLoop([&](const Vars& vars) { return IsBelow(vars[0], 100); },
                [&](const Vars& vars) {
                  return Vars{ops::ElementwiseAdd(vars[0], vars[0]), vars[0]};
                },
                {ops::Abs(x_), x_});
  const Names outputs = {out[0].name(), out[1].name()};
  const NodeProto node = Find(Message(outputs).graph(), "Loop");
  EXPECT_EQ(node.input(0), "");
  const GraphProto& body = node.attribute(0).g();
  EXPECT_EQ(body.input_size(), 4);  // number, condition, carried
  EXPECT_EQ(body.output_size(), 3);
  ExpectSame(outputs, {Rows({1, 2}), Rows({500, 2}), Rows({1, 2, 3, 4})});
}

TEST_F(SaveBlocksTest, AScanIsAScanWhileShapesStay) {
  const Var first = ops::FillConstant(program_, {2}, {.value = 1});
  const auto sums = Scan(
      [](const Vars& carried, const Vars& elements) {
        const Var sum = ops::ElementwiseAdd(carried[0], elements[0]);
        return ScanStep{{sum}, {sum, elements[0]}};
      },
      {first}, {x_}, {.reversed = true});
  const Names outputs = {sums.carried[0].name(), sums.stacked[0].name(),
                         sums.stacked[1].name()};
  EXPECT_EQ(Find(Message(outputs).graph(), "Scan").output_size(), 3);
  ExpectSame(outputs, {Rows({1, 2, 3, 4, 5, 6}), Rows({1, 2})});

  const auto grown = Scan(
      [](const Vars& carried, const Vars& elements) {
        return ScanStep{{ops::Concat({carried[0], elements[0]})}, {}};
      },
      {ops::Reshape(ops::ReduceSum(x_, {.reduce_all = true}), {-1})}, {x_},
      {.dims = {{-1}}});
  EXPECT_EQ(
      Find(Message({grown.carried[0].name()}).graph(), "Loop").attribute_size(),
      1);
}

TEST_F(SaveBlocksTest, BlocksInEachOtherAreGraphsInEachOther) {
  const Vars out = Cond(
      IsBelow(x_, 0),
      [&] {
        const Var y = ops::Square(x_);
        return Cond(
            IsBelow(x_, -10), [&] { return Vars{ops::ElementwiseAdd(y, x_)}; },
            [&] { return Vars{y}; });
      },
      [&] { return Vars{x_}; });
  const GraphProto graph = Message({out[0].name()}).graph();
  ExpectUniqueNames(graph);
  Find(Find(graph, "If").attribute(0).g(), "If");
  ExpectSame({out[0].name()}, {Rows({1, 2}), Rows({-1, -2}), Rows({-9, -8})});
}

TEST_F(SaveBlocksTest, OpsOfAllBlocksAreInOneList) {
  const Vars out = Cond(
      IsBelow(x_, 0), [&] { return Vars{ops::Atan2(x_, x_)}; },
      [&] { return Vars{ops::Atan2(ops::Square(x_), x_)}; });
  const Var last = ops::Atan2(out[0], x_);
  ExpectError(
      ErrorCode::kUnimplemented, "onnx.no_counterpart",
      {"3 of 8 ops", "atan2 (makes", "arc tangent", "save_blocks_test.cc"},
      [&] {
        onnx::SerializeOnnx(program_, scope_, {.outputs = {last.name()}});
      });
}

}  // namespace
}  // namespace sluice::testing
