#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using testing::ExpectError;
using Ints = std::vector<int64_t>;

// 1, 2, 3, ...
Tensor Numbers(const DDim& dims) {
  std::vector<float> values(static_cast<size_t>(dims.numel()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i + 1);
  }
  return Tensor::FromVector(dims, values);
}

TEST(Conv2d, ThinGroupsNeedNoProductOfMatrices) {
  const auto run = [](int64_t groups) {
    return RunOp("conv2d",
                 {{"Input", Numbers({1, 8, 1, 1})},
                  {"Filter", Numbers({8, 8 / groups, 1, 1})}},
                 {{"groups", groups}},
                 {.hint = "require library=PLAIN, variant=direct"})
        .at("Output")
        .ToVector<float>();
  };
  EXPECT_EQ(run(8), (std::vector<float>{1, 4, 9, 16, 25, 36, 49, 64}));
  ExpectError(ErrorCode::kNotFound, "resolver.no_kernel",
              {"conv2d/direct", "fewer than 4 channels, got 4 to 4"},
              [&] { run(2); });
}

TEST(Conv2d, RowsOfOutputsFillVectors) {
  const auto run = [](int64_t width, const char* format) {
    return RunOp("conv2d",
                 {{"Input", Numbers({1, 1, 1, width})},
                  {"Filter", Numbers({1, 1, 1, 1})}},
                 {{"data_format", std::string(format)}},
                 {.hint = "require variant=rows"})
        .at("Output")
        .ToVector<float>();
  };
  EXPECT_EQ(run(67, "NCHW"), Numbers({67}).ToVector<float>());
  ExpectError(ErrorCode::kNotFound, "resolver.no_kernel",
              {"conv2d/rows", "rows of at least", "a vector, got NCHW with 1"},
              [&] { run(1, "NCHW"); });
  ExpectError(ErrorCode::kNotFound, "resolver.no_kernel",
              {"needs NCHW", "got NHWC"}, [&] { run(1, "NHWC"); });
}

// Kernels exchange height and width of images of one column.
TEST(Conv2d, OfOneColumnIsThatOfOneRow) {
  for (const std::string layout : {"NCHW", "NHWC"}) {
    const auto image = [&](int64_t c, int64_t h, int64_t w) {
      return layout == "NCHW" ? DDim{2, c, h, w} : DDim{2, h, w, c};
    };
    const std::map<std::string, std::string> ops = {
        {"conv2d", "Output"},
        {"conv2d_grad_input", "Input@GRAD"},
        {"conv2d_grad_filter", "Filter@GRAD"},
        {"pool2d", "Out"}};
    for (const auto& [op, output] : ops) {
      SCOPED_TRACE(op);
      const auto run = [&, &op = op, &output = output](bool column) {
        const auto pair = [&](int64_t a, int64_t b) {
          return column ? Ints{a, b} : Ints{b, a};
        };
        const Tensor x = Numbers(column ? image(3, 9, 1) : image(3, 1, 9));
        AttributeMap attributes = {
            {"strides", pair(2, 1)},
            {"data_format", layout},
            {"paddings", column ? Ints{1, 2, 0, 0} : Ints{0, 0, 1, 2}}};
        if (op == "pool2d") {
          attributes["ksize"] = pair(3, 1);
          return RunOp(op, {{"X", x}}, attributes)[output];
        }
        attributes["dilations"] = pair(2, 1);
        std::vector<std::pair<std::string, Tensor>> inputs = {
            {"Input", x},
            {"Filter", Numbers(column ? DDim{4, 3, 3, 1} : DDim{4, 3, 1, 3})}};
        if (op != "conv2d") {
          inputs.emplace_back(
              "Output@GRAD", Numbers(column ? image(4, 4, 1) : image(4, 1, 4)));
        }
        return RunOp(op, inputs, attributes, {.outputs = {output}})[output];
      };
      const Tensor column = run(true), row = run(false);
      EXPECT_EQ(column.ToVector<float>(), row.ToVector<float>()) << op;
      EXPECT_EQ(
          column.dims()[layout == "NCHW" || op.ends_with("filter") ? 3 : 2], 1)
          << op;
    }
  }
}

TEST(Conv2dGrad, IsOneOpPerDirection) {
  OpDesc op;
  op.type = "conv2d";
  op.inputs = {{"Input", {"x"}}, {"Filter", {"w"}}, {"Bias", {"b"}}};
  op.outputs = {{"Output", {"y"}}};
  const auto grads = Registry::Global().Schema("conv2d").gradient_fn()(op);
  ASSERT_EQ(grads.size(), 2U);
  EXPECT_EQ(grads[0].type, "conv2d_grad_input");
  EXPECT_EQ(grads[0].Output("Input@GRAD"), ArgVars{"x@GRAD"});
  EXPECT_EQ(grads[1].type, "conv2d_grad_filter");
  EXPECT_EQ(grads[1].Output("Bias@GRAD"), ArgVars{"b@GRAD"});
}

}  // namespace
}  // namespace sluice
