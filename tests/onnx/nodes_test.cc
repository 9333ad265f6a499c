#include <cmath>

#include "tests/onnx/model_builder.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

namespace sluice::testing {
namespace {

// A model of one node with inputs x [1, 2, 4, 4] and outputs y; `change` gets
// the builder and the node.
template <typename Change>
ModelBuilder One(const std::string& type, Change change, int64_t opset = 13) {
  ModelBuilder builder(opset);
  builder.Input("x", {1, 2, 4, 4});
  change(builder, builder.Node(type, {"x"}, {"y"}, "node_5"));
  builder.Output("y");
  return builder;
}

template <typename Change>
void Refused(ErrorCode code,
             const char* id,
             const std::string& type,
             Change change,
             int64_t opset = 13) {
  const ModelBuilder builder = One(type, change, opset);
  ExpectError(code, id, {"node_5", "the ONNX model"}, [&] { builder.Load(); });
}

TEST(OnnxNodes, ThatAreUnknownAreListedAllAtOnce) {
  ModelBuilder builder = Small();
  builder.Node("FooBar", {"x"}, {"a"}, "n1");
  builder.Node("Gelu", {"a"}, {"b"}, "n2").set_domain("com.example");
  builder.Node("Abs", {"a"}, {"c"}, "n3");
  auto& cast = builder.Node("Cast", {"y"}, {"d"}, "n4");
  SetInt(cast, "to", ::onnx::TensorProto::STRING);
  ExpectError(ErrorCode::kUnimplemented, "onnx.unsupported",
              {"3 of the nodes of net.onnx (opset 13)",
               "node n1 (FooBar): there is no such operator",
               "node n2 (Gelu): operators of domain com.example are unknown",
               "node n4 (Cast)", "STRING", "(1 node after them not tried)"},
              [&] { builder.Load({.name = "net.onnx"}); });
}

// Nodes after an unknown one are tried where the model says of which type its
// results are; equal reasons are listed once.
TEST(OnnxNodes, ThatReadWhatIsUnknownAreListedToo) {
  ModelBuilder builder = Small();
  builder.Node("FooBar", {"x"}, {"a"}, "n1");
  builder.Node("FooBar", {"a"}, {"b"}, "n2");
  auto& cast = builder.Node("Cast", {"b"}, {"c"}, "n3");
  SetInt(cast, "to", ::onnx::TensorProto::STRING);
  builder.Node("Attention2", {"c"}, {"d"}, "n4").set_domain("com.microsoft");
  for (const char* name : {"a", "b"}) {
    auto* info = builder.graph().add_value_info();
    *info = builder.graph().input(0);
    info->set_name(name);
  }
  ExpectError(ErrorCode::kUnimplemented, "onnx.unsupported",
              {"4 of the nodes of net.onnx",
               "node n1 (FooBar): there is no such operator in Sluice yet (and "
               "1 more)",
               "node n3 (Cast)", "STRING",
               "node n4 (Attention2): Sluice lacks this operator of "
               "onnxruntime; the model as it was before"},
              [&] { builder.Load({.name = "net.onnx"}); });
}

TEST(OnnxNodes, OfAnOpsetBeforeTheOperatorAreRefused) {
  Refused(
      ErrorCode::kUnimplemented, "onnx.unsupported", "ConstantOfShape",
      [](auto&, auto&) {}, 8);
}

TEST(OnnxNodes, AttributesAreChecked) {
  Refused(ErrorCode::kInvalidArgument, "onnx.attribute_type", "Concat",
          [](auto&, auto& node) { SetString(node, "axis", "1"); });
  Refused(ErrorCode::kInvalidArgument, "onnx.attribute_missing", "Concat",
          [](auto&, auto&) {});
  Refused(ErrorCode::kInvalidArgument, "onnx.attribute_unknown", "Relu",
          [](auto&, auto& node) { SetInt(node, "axis", 1); });
  Refused(ErrorCode::kInvalidArgument, "onnx.attribute_twice", "Concat",
          [](auto&, auto& node) {
            SetInt(node, "axis", 1);
            SetInt(node, "axis", 1);
          });
  Refused(ErrorCode::kInvalidArgument, "onnx.attribute_reference", "Concat",
          [](auto&, auto& node) {
            SetInt(node, "axis", 1);
            node.mutable_attribute(0)->set_ref_attr_name("outer");
          });
}

TEST(OnnxNodes, InputsAndOutputsAreChecked) {
  Refused(ErrorCode::kInvalidArgument, "onnx.input_missing", "Add",
          [](auto&, auto&) {});
  ModelBuilder builder = Small();
  builder.Node("Relu", {"x"}, {}, "node_5");
  ExpectError(ErrorCode::kInvalidArgument, "onnx.output_count", {"node_5"},
              [&] { builder.Load(); });
}

TEST(OnnxNodes, OperandsThatAreAttributesMustBeKnown) {
  const auto with_axes = [](auto& builder, auto& node) {
    builder.Input("axes", {2});
    node.add_input("axes");
    SetInt(node, "noop_with_empty_axes", 1);
  };
  const ModelBuilder builder = One("ReduceSum", with_axes);
  ExpectError(ErrorCode::kUnimplemented, "onnx.unsupported",
              {"its axes (axes) are computed when the model runs"},
              [&] { builder.Load(); });
  Refused(ErrorCode::kInvalidArgument, "onnx.constant_ints", "Reshape",
          [](auto& builder, auto& node) {
            builder.Floats("shape", {1}, {32});
            node.add_input("shape");
          });
  Refused(ErrorCode::kInvalidArgument, "onnx.constant_rank", "Reshape",
          [](auto& builder, auto& node) {
            auto& shape = builder.Ints("shape", {32});
            shape.add_dims(1);
            node.add_input("shape");
          });
}

TEST(OnnxNodes, DropoutKeepsSomeElements) {
  for (const float ratio : {-0.5F, 1.0F, std::nanf("")}) {
    Refused(ErrorCode::kInvalidArgument, "onnx.dropout_ratio", "Dropout",
            [ratio](auto& builder, auto& node) {
              builder.Floats("ratio", {}, {ratio});
              auto& training = builder.Floats("training", {}, {});
              training.set_data_type(::onnx::TensorProto::BOOL);
              training.set_raw_data("\1");
              node.add_input("ratio");
              node.add_input("training");
            });
  }
}

TEST(OnnxNodes, OperandsOfAKnownShapeThatCannotBeAreRefused) {
  Refused(ErrorCode::kInvalidArgument, "op.operand_shape", "Range",
          [](auto&, auto& node) {
            node.add_input("x");
            node.add_input("x");
          });
}

// With allowzero a size of 0 is none to copy, also one that is computed.
TEST(OnnxNodes, ZeroMayBeASizeOfWhatHasNoElements) {
  ModelBuilder builder;
  builder.Input("x", {-1, 2});
  builder.Input("like", {3, -1});
  builder.Node("Shape", {"like"}, {"sizes"});
  SetInt(builder.Node("Reshape", {"x", "sizes"}, {"y"}), "allowzero", 1);
  builder.Output("y");
  EXPECT_EQ(builder.Run({{1, 2, 3, 4, 5, 6}, {0, 0, 0, 0, 0, 0}})[0].size(), 6);
  EXPECT_EQ(builder.Run({{}, {}})[0].size(), 0);
  ExpectError(ErrorCode::kInvalidArgument, "reshape.count",
              {"[1, 2] cannot be [3, 0]"}, [&] {
                builder.Run({{1, 2}, {}});
              });
  auto& inputs = *builder.graph().mutable_node(1)->mutable_input();
  builder.Ints("fixed", {-1, 0});
  inputs[1] = "fixed";
  ExpectError(ErrorCode::kInvalidArgument, "reshape.not_divisible",
              {"do not divide by 0"}, [&] {
                builder.Run({{}, {}});
              });
}

TEST(OnnxNodes, WindowsAreChecked) {
  const auto pool = [](auto change) {
    return [change](auto&, auto& node) {
      SetInts(node, "kernel_shape", {2, 2});
      change(node);
    };
  };
  Refused(ErrorCode::kInvalidArgument, "onnx.window_ints", "MaxPool",
          pool([](auto& node) {
            SetInts(node, "strides", {1, 1, 1});
          }));
  Refused(ErrorCode::kInvalidArgument, "onnx.auto_pad", "MaxPool",
          pool([](auto& node) { SetString(node, "auto_pad", "SOME"); }));
  Refused(ErrorCode::kInvalidArgument, "onnx.kernel_shape", "MaxPool",
          [](auto&, auto& node) { SetInts(node, "kernel_shape", {2}); });
  Refused(ErrorCode::kUnimplemented, "onnx.unsupported", "MaxPool",
          pool([](auto& node) {
            SetInts(node, "pads", {-1, 0, 0, 0});
          }));
  Refused(ErrorCode::kInvalidArgument, "onnx.conv_kernel_shape", "Conv",
          [](auto& builder, auto& node) {
            builder.Floats("w", {1, 2, 1, 1}, {1, 1});
            node.add_input("w");
            SetInts(node, "kernel_shape", {3, 3});
          });
}

TEST(OnnxNodes, TransposedConvolutionsAreChecked) {
  const auto with_filter = [](auto change) {
    return [change](auto& builder, auto& node) {
      builder.Floats("w", {2, 1, 2, 2}, std::vector<float>(8, 1));
      node.add_input("w");
      change(node);
    };
  };
  Refused(ErrorCode::kInvalidArgument, "onnx.output_shape", "ConvTranspose",
          with_filter([](auto& node) { SetInts(node, "output_shape", {9}); }));
  Refused(ErrorCode::kUnimplemented, "onnx.unsupported", "ConvTranspose",
          with_filter([](auto& node) {
            SetInts(node, "output_shape", {int64_t{1} << 40, 9});
          }));
  // Two rows more than the windows cover, with a stride of 1.
  Refused(ErrorCode::kUnimplemented, "onnx.unsupported", "ConvTranspose",
          with_filter([](auto& node) {
            SetInts(node, "output_shape", {7, 5});
          }));
  Refused(ErrorCode::kInvalidArgument, "onnx.conv_kernel_shape",
          "ConvTranspose", with_filter([](auto& node) {
            SetInts(node, "kernel_shape", {3, 3});
          }));
}

TEST(OnnxNodes, ResizesAreChecked) {
  const auto sizes = [](auto change) {
    return [change](auto& builder, auto& node) {
      builder.Ints("sizes", {1, 2, 8, 8});
      builder.Floats("scales", {2}, {2, 2});
      for (const char* input : {"", "", "sizes"}) {
        node.add_input(input);
      }
      change(node);
    };
  };
  const auto invalid = [&](const char* id, auto change) {
    Refused(ErrorCode::kInvalidArgument, id, "Resize", sizes(change), 18);
  };
  invalid("onnx.resize_axes", [](auto& node) {
    SetInts(node, "axes", {2, -2});
  });
  invalid("onnx.resize_entries", [](auto& node) {
    SetInts(node, "axes", {2, 3});
  });
  invalid("onnx.resize_policy", [](auto& node) {
    SetString(node, "keep_aspect_ratio_policy", "never");
  });
  invalid("onnx.resize_sizes", [](auto& node) { node.set_input(3, ""); });
  invalid("onnx.resize_scales", [](auto& node) {
    node.set_input(2, "sizes");
    node.set_input(3, "");
  });
  invalid("onnx.resize_roi", [](auto& node) {
    SetString(node, "coordinate_transformation_mode", "tf_crop_and_resize");
  });
  Refused(ErrorCode::kUnimplemented, "onnx.unsupported", "Resize",
          sizes([&](auto& node) {
            SetString(node, "mode", "linear");
            SetString(node, "coordinate_transformation_mode",
                      "tf_half_pixel_for_nn");
          }),
          18);
}

TEST(OnnxNodes, UpsamplesTakeTheElementBefore) {
  ModelBuilder builder(7);
  builder.Input("x", {1, 3});
  auto& node = builder.Node("Upsample", {"x"}, {"y"});
  SetFloats(node, "scales", {1, 1.5F});
  builder.Output("y");
  EXPECT_EQ(builder.Run({{1, 2, 3}})[0], std::vector<float>({1, 1, 2, 3}));
}

TEST(OnnxNodes, EarlyResizesRoundUpWhereTheyShrink) {
  ModelBuilder builder(10);
  builder.Input("x", {1, 4});
  builder.Floats("scales", {2}, {1, 0.6F});
  builder.Node("Resize", {"x", "scales"}, {"y"});
  builder.Output("y");
  EXPECT_EQ(builder.Run({{1, 2, 3, 4}})[0], std::vector<float>({1, 3}));
  ModelBuilder both(10);
  both.Input("x", {2, 4});
  both.Floats("scales", {2}, {1.5F, 0.6F});
  both.Node("Resize", {"x", "scales"}, {"y"});
  both.Output("y");
  EXPECT_EQ(both.Run({{1, 2, 3, 4, 5, 6, 7, 8}})[0],
            std::vector<float>({1, 3, 1, 3, 5, 7}));
}

TEST(OnnxNodes, AxesAreChecked) {
  Refused(
      ErrorCode::kInvalidArgument, "onnx.axis", "Softmax",
      [](auto&, auto& node) { SetInt(node, "axis", 4); }, 9);
  Refused(
      ErrorCode::kInvalidArgument, "squeeze.size", "Squeeze",
      [](auto&, auto& node) { SetInts(node, "axes", {1}); }, 9);
  Refused(
      ErrorCode::kInvalidArgument, "view.axis_twice", "Unsqueeze",
      [](auto&, auto& node) {
        SetInts(node, "axes", {1, 1});
      },
      9);
  Refused(ErrorCode::kInvalidArgument, "op.attribute_limit", "LRN",
          [](auto&, auto& node) { SetInt(node, "size", 0); });
  Refused(ErrorCode::kInvalidArgument, "onnx.gemm_rank", "Gemm",
          [](auto& builder, auto& node) {
            builder.Floats("w", {1, 1}, {1});
            node.add_input("w");
          });
  ModelBuilder builder;
  builder.Ints("sizes", {2});
  auto& node = builder.Node("ConstantOfShape", {"sizes"}, {"y"}, "node_5");
  auto* value = node.add_attribute();
  value->set_name("value");
  value->set_type(::onnx::AttributeProto::TENSOR);
  value->mutable_t()->set_data_type(::onnx::TensorProto::FLOAT);
  value->mutable_t()->add_dims(2);
  value->mutable_t()->add_float_data(1);
  value->mutable_t()->add_float_data(2);
  builder.Output("y");
  ExpectError(ErrorCode::kInvalidArgument, "onnx.fill_value", {"node_5"},
              [&] { builder.Load(); });
  ModelBuilder negative;
  negative.Ints("sizes", {2, -1});
  negative.Node("ConstantOfShape", {"sizes"}, {"y"}, "node_5");
  negative.Output("y");
  ExpectError(ErrorCode::kInvalidArgument, "onnx.fill_size",
              {"size 1 of its input sizes is -1, a negative number", "node_5"},
              [&] { negative.Load(); });
}

TEST(OnnxNodes, SlicesAreChecked) {
  Refused(
      ErrorCode::kInvalidArgument, "slice.entries", "Slice",
      [](auto&, auto& node) {
        SetInts(node, "starts", {0, 1});
        SetInts(node, "ends", {1, 1});
        SetInts(node, "axes", {2, 3, 1});
      },
      9);
  ModelBuilder builder;
  builder.Input("x", {-1, 2});
  builder.Ints("starts", {1});
  builder.Ints("ends", {int64_t{1} << 62});
  builder.Node("Slice", {"x", "starts", "ends"}, {"y"});
  builder.Output("y");
  EXPECT_EQ(builder.Run({{1, 2, 3, 4}})[0], std::vector<float>({3, 4}));
}

// Sizes that are known only at run time: with a stride of 2 one element is
// added for 4, two for 5; with a stride of 1 two for each size.
TEST(OnnxNodes, SameSizeMayBeKnownLate) {
  const auto run = [](const std::string& type, const char* auto_pad, int stride,
                      int count_padding = 0) {
    ModelBuilder builder;
    builder.Input("x", {1, 1, -1});
    builder.Floats("w", {1, 1, 3}, {1, 1, 1});
    auto& node = builder.Node(type, {"x"}, {"y"});
    if (type == "Conv") node.add_input("w");
    SetInts(node, "kernel_shape", {3});
    SetInts(node, "strides", {stride});
    SetString(node, "auto_pad", auto_pad);
    if (count_padding > 0) SetInt(node, "count_include_pad", count_padding);
    builder.Output("y");
    std::vector<std::vector<float>> results;
    for (const int size : {4, 5}) {
      std::vector<float> x = {-1, -2, -3, -4, -5};
      x.resize(static_cast<size_t>(size));
      results.push_back(builder.Run({x})[0]);
      for (float& y : results.back())
        y = std::round(y * 1000) / 1000;
    }
    return results;
  };
  using Both = std::vector<std::vector<float>>;
  EXPECT_EQ(run("Conv", "SAME_UPPER", 2), Both({{-6, -7}, {-3, -9, -9}}));
  EXPECT_EQ(run("Conv", "SAME_LOWER", 2), Both({{-3, -9}, {-3, -9, -9}}));
  EXPECT_EQ(run("MaxPool", "SAME_UPPER", 2), Both({{-1, -3}, {-1, -2, -4}}));
  EXPECT_EQ(run("AveragePool", "SAME_UPPER", 2),
            Both({{-2, -3.5F}, {-1.5F, -3, -4.5F}}));
  EXPECT_EQ(run("AveragePool", "SAME_LOWER", 2, 1),
            Both({{-1, -3}, {-1, -3, -3}}));
  EXPECT_EQ(run("MaxPool", "SAME_UPPER", 1),
            Both({{-1, -1, -2, -3}, {-1, -1, -2, -3, -4}}));
}

TEST(OnnxNodes, SoftmaxIsOverAllDimsThatFollowUpToOpset12) {
  for (const int64_t opset : {12, 13}) {
    ModelBuilder builder(opset);
    builder.Input("x", {-1, 2, 2});
    SetInt(builder.Node("Softmax", {"x"}, {"y"}), "axis", 1);
    builder.Output("y");
    const float share = opset < 13 ? 0.25F : 0.5F;
    const auto results = builder.Run({std::vector<float>(8, 3)});
    for (const float value : results[0]) {
      EXPECT_FLOAT_EQ(value, share);
    }
  }
}

TEST(OnnxNodes, ConstantsAreOperandsAndParameters) {
  ModelBuilder builder;
  builder.Input("x", {2, 2});
  builder.Ints("sizes", {2});
  builder.Ints("shape", {4});
  auto& fill = builder.Node("ConstantOfShape", {"sizes"}, {"ones"});
  auto* value = fill.add_attribute();
  value->set_name("value");
  value->set_type(::onnx::AttributeProto::TENSOR);
  value->mutable_t()->set_data_type(::onnx::TensorProto::FLOAT);
  value->mutable_t()->add_dims(1);
  value->mutable_t()->add_float_data(1);
  builder.Node("Add", {"x", "ones"}, {"sum"});
  builder.Node("Reshape", {"sum", "shape"}, {"y"});
  builder.Output("y");
  EXPECT_EQ(builder.Run({{1, 2, 3, 4}})[0], std::vector<float>({2, 3, 4, 5}));
  const onnx::OnnxModel model = builder.Load();
  ASSERT_EQ(model.parameters.size(), 1u);
  EXPECT_EQ(model.parameters[0].first, "ones");
}

}  // namespace
}  // namespace sluice::testing
