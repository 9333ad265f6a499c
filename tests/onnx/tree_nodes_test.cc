#include <limits>
#include <string>
#include <vector>

#include "tests/onnx/classical_model.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

// Ensembles of trees. tests/python/classical/test_onnx_trees.py compares their
// results.
namespace sluice::testing {
namespace {

// Tree 0 has a split and two leaves, tree 1 is a leaf.
const std::vector<NodeChange> kNodes = {
    Of("nodes_treeids", {0, 0, 0, 1}),
    Of("nodes_nodeids", {0, 1, 2, 0}),
    Of("nodes_featureids", {1, 0, 0, 0}),
    Of("nodes_truenodeids", {1, 0, 0, 0}),
    Of("nodes_falsenodeids", {2, 0, 0, 0}),
    OfFloats("nodes_values", {0.5, 0, 0, 0}),
    OfTexts("nodes_modes", {"BRANCH_LEQ", "LEAF", "LEAF", "LEAF"})};

std::vector<NodeChange> Trees(const std::string& kind) {
  std::vector<NodeChange> all = kNodes;
  all.insert(all.end(),
             {Of(kind + "_treeids", {1, 0, 0}),
              Of(kind + "_nodeids", {0, 2, 1}), Of(kind + "_ids", {0, 0, 0}),
              OfFloats(kind + "_weights", {0.25, 3, -2})});
  return all;
}

TEST(OnnxTrees, AddWeightsOfTheLeavesThatRowsComeTo) {
  std::vector<NodeChange> trees = Trees("target");
  EXPECT_EQ(
      Classical("TreeEnsembleRegressor", trees).Run({{9, 0.5, 9, 0.75}})[0],
      (std::vector<float>{-1.75, 3.25}));
  trees.push_back(OfFloats("base_values", {10}));
  trees.push_back(OfText("aggregate_function", "MAX"));
  EXPECT_EQ(
      Classical("TreeEnsembleRegressor", trees).Run({{9, 0.5, 9, 0.75}})[0],
      (std::vector<float>{10.25, 13}));
}

TEST(OnnxTrees, NeedNodesThatAreThereOnce) {
  const auto refused = [](const char* id, const NodeChange& change,
                          const std::string& word) {
    ExpectClassicalRefused(id, "TreeEnsembleRegressor", Trees("target"),
                           {change}, word);
  };
  refused("onnx.tree_node_twice", Of("nodes_nodeids", {0, 1, 1, 0}),
          "node 1 of tree 0 is there twice");
  refused("onnx.tree_child", Of("nodes_falsenodeids", {7, 0, 0, 0}),
          "node 0 of tree 0 leads to node 7 (nodes_falsenodeids)");
  refused("onnx.tree_child", Of("nodes_truenodeids", {-1, 0, 0, 0}),
          "node 0 of tree 0 leads to node -1 (nodes_truenodeids)");
  refused("onnx.tree_weight", Of("target_nodeids", {1, 2, 1}),
          "element 0 of target_nodeids is node 1 of tree 1");
  refused("onnx.tree_count", OfFloats("nodes_values", {0.5}), "nodes_values");
  refused("onnx.tree_count", Of("target_treeids", {1, 0}), "treeids");
  refused("onnx.tree_mode",
          OfTexts("nodes_modes", {"BRANCH_LE", "LEAF", "LEAF", "LEAF"}),
          "node 0 of tree 0 is BRANCH_LE");
  refused("onnx.tree_feature", Of("nodes_featureids", {2, 0, 0, 0}),
          "node 0 of tree 0 compares feature 2");
  refused("onnx.tree_target", Of("target_ids", {0, 1, 0}), "expected 0 to 0");
  refused("onnx.tree_aggregate", OfText("aggregate_function", "MEAN"), "MEAN");
  refused("onnx.tree_base", OfFloats("base_values", {1, 2}), "2 base_values");
  refused("onnx.post_transform", OfText("post_transform", "LOGIT"), "LOGIT");
  refused("onnx.numbers_twice", OfTensor("nodes_values_as_tensor", {1}),
          "nodes_values_as_tensor");
}

TEST(OnnxTrees, MustNotHaveCycles) {
  const std::vector<NodeChange> cycle = {
      OfTexts("nodes_modes", {"BRANCH_LEQ", "BRANCH_LT", "LEAF", "LEAF"}),
      Of("nodes_truenodeids", {1, 0, 0, 0}),
      Of("nodes_falsenodeids", {2, 2, 0, 0})};
  ExpectClassicalRefused("onnx.tree_cycle", "TreeEnsembleRegressor",
                         Trees("target"), cycle,
                         {"node 1 of tree 0 leads back to node 0 of tree 0"});
}

// Each of 2^17 nodes leads to a leaf and to the next node.
TEST(OnnxTrees, MayBeDeep) {
  constexpr int64_t kDepth = 1 << 17;
  std::vector<int64_t> trees(2 * kDepth + 1), ids, yes, no;
  std::vector<std::string> modes;
  for (int64_t i = 0; i < kDepth; ++i) {
    modes.insert(modes.end(), {"BRANCH_LEQ", "LEAF"});
    yes.insert(yes.end(), {2 * i + 1, 0});
    no.insert(no.end(), {2 * i + 2, 0});
  }
  modes.emplace_back("LEAF");
  yes.push_back(0);
  no.push_back(0);
  for (int64_t i = 0; i <= 2 * kDepth; ++i) {
    ids.push_back(i);
  }
  const ModelBuilder builder =
      Classical("TreeEnsembleRegressor",
                {Of("nodes_treeids", trees), Of("nodes_nodeids", ids),
                 Of("nodes_featureids", trees), Of("nodes_truenodeids", yes),
                 Of("nodes_falsenodeids", no),
                 OfFloats("nodes_values", std::vector<float>(trees.size())),
                 OfTexts("nodes_modes", modes), Of("target_treeids", {0, 0}),
                 Of("target_nodeids", {1, 2 * kDepth}),
                 Of("target_ids", {0, 0}), OfFloats("target_weights", {3, 4})});
  EXPECT_EQ(builder.Run({{-1, 0, 1, 0}})[0], (std::vector<float>{3, 4}));
}

TEST(OnnxTrees, ClassifiersNeedLabels) {
  const std::vector<NodeChange> trees = Trees("class");
  const auto refused = [&](const char* id, const std::vector<NodeChange>& more,
                           const std::string& word) {
    ExpectClassicalRefused(id, "TreeEnsembleClassifier", trees, more, word);
  };
  const NodeChange labels = Of("classlabels_int64s", {4, 5});
  refused("onnx.class_labels", {}, "0 classlabels_int64s and 0");
  refused("onnx.class_labels", {labels, OfTexts("classlabels_strings", {"a"})},
          "2 classlabels_int64s and 1");
  refused("onnx.tree_base", {labels, OfFloats("base_values", {1, 2, 3})},
          "3 base_values");
}

TEST(OnnxTrees, LabelsMayBeStrings) {
  std::vector<NodeChange> trees = Trees("class");
  trees.push_back(OfTexts("classlabels_strings", {"a", "b"}));
  const onnx::OnnxModel model =
      Classical("TreeEnsembleClassifier", trees).Load();
  EXPECT_TRUE(model.outputs[0].of_texts);
  EXPECT_EQ(model.texts, (std::vector<std::string>{"a", "b"}));
}

TEST(OnnxTrees, StringsThatNothingReadsAreAllowed) {
  std::vector<NodeChange> trees = Trees("class");
  trees.push_back(OfTexts("classlabels_strings", {"a", "b"}));
  EXPECT_EQ(
      Classical("TreeEnsembleClassifier", trees, true).Run({{9, 0.75}})[0],
      (std::vector<float>{-3.25, 3.25}));
}

// Two nodes, of which the second tests for members, and two leaves.
std::vector<NodeChange> Ensemble() {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  return {OfInt("n_targets", 1),
          OfBytes("nodes_modes", {0, 6}),
          OfTensor("nodes_splits", {0, 0}),
          Of("nodes_featureids", {0, 1}),
          Of("nodes_truenodeids", {1, 0}),
          Of("nodes_falsenodeids", {1, 1}),
          Of("nodes_trueleafs", {0, 1}),
          Of("nodes_falseleafs", {1, 1}),
          Of("leaf_targetids", {0, 0}),
          OfTensor("leaf_weights", {3, 4}),
          OfTensor("membership_values", {1, 5, nan}),
          Of("tree_roots", {0})};
}

TEST(OnnxTrees, TestForMembers) {
  EXPECT_EQ(
      Classical("TreeEnsemble", Ensemble()).Run({{0, 1, 0, 5, 0, 3, 1, 1}})[0],
      (std::vector<float>{3, 3, 4, 4}));
}

TEST(OnnxTrees, OfOneOperatorAreChecked) {
  const auto refused = [](const char* id, const NodeChange& change,
                          const std::string& word) {
    ExpectClassicalRefused(id, "TreeEnsemble", Ensemble(), {change}, word);
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  refused("onnx.tree_index", Of("tree_roots", {2}), "tree_roots has 2");
  refused("onnx.tree_index", Of("nodes_falsenodeids", {1, 2}), "leaf 2");
  refused("onnx.tree_index", Of("nodes_truenodeids", {-1, 0}), "node -1");
  refused("onnx.tree_members", OfTensor("membership_values", {1, 5}),
          "tree node 1");
  refused("onnx.tree_members_left",
          OfTensor("membership_values", {1, nan, 5, nan}), "4 elements");
  refused("onnx.tree_mode_number", OfTensor("nodes_modes", {7, 6}),
          "tree node 0 is 7");
  refused("onnx.tree_choice", OfInt("aggregate_function", 4), "is 4");
  refused("onnx.tree_choice", OfInt("post_transform", 5), "is 5");
}

}  // namespace
}  // namespace sluice::testing
