#include "sluice/framework/op/plugin_kernels.h"

#include <string>
#include <vector>

#include "tests/framework/test_ops.h"
#include "tests/platform/plugin_cases.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/op/infer_shape_context.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/run/executor.h"
#include "sluice/framework/run/run_op.h"
#include "sluice/platform/device.h"
#include "sluice/platform/error.h"
#include "sluice/platform/plugin/plugin_device.h"

namespace sluice {
namespace {

using sluice::testing::ExpectError;

void ProbeShape(InferShapeContext& context) {
  context.SetOutput("Out", context.input("X"));
}

void ProbeSchema(OpSchema& op) {
  op.Doc("What probe_plugin/plugin.cc checks.");
  op.TypeVar("T", {DType::kFloat32});
  op.Input("X", "T", "");
  op.Input("Extra", "T", "", {.optional = true});
  op.Input("Sizes", "int64", "", {.host = true});
  op.Input("Many", "T", "", {.variadic = true});
  op.Output("Out", "T", "");
  op.Attr<bool>("flag", "");
  op.Attr<int64_t>("count", "");
  op.Attr<double>("ratio", "");
  op.Attr<std::string>("mode", "");
  op.Attr<std::vector<int64_t>>("axes", "");
  op.Attr<std::vector<double>>("weights", "");
  op.Attr<std::vector<std::string>>("names", "");
  op.Attr<DType>("as", "");
  op.InferShape(ProbeShape);
}

class PluginKernelsTest : public ::testing::Test {
 protected:
  PluginKernelsTest() {
    if (Registry::Global().FindSchema("test_probe") == nullptr) {
      Registry::Global().AddOperator("test_probe", &ProbeSchema);
    }
    kind_ = LoadDevicePlugin(SLUICE_PROBE_PLUGIN).kind;
  }

  // test_probe of n elements 0, 1, ... on probe:1.
  Tensor Probe(int64_t n) {
    std::vector<float> values;
    for (int64_t i = 0; i < n; ++i)
      values.push_back(static_cast<float>(i));
    return RunOp("test_probe",
                 {{"X", Tensor::FromVector<float>({n}, values)},
                  {"Sizes", Tensor::FromVector<int64_t>({1}, {1000})},
                  {"Many", Tensor::FromVector<float>({1}, {10000})},
                  {"Many", Tensor::FromVector<float>({1}, {20000})}},
                 {{"flag", true},
                  {"count", int64_t{7}},
                  {"ratio", 0.5},
                  {"mode", std::string("fast")},
                  {"axes", std::vector<int64_t>{2, 3}},
                  {"weights", std::vector<double>{0.25}},
                  {"names", std::vector<std::string>{"a", "bc"}},
                  {"as", DType::kInt64}},
                 {.place = PlaceKey(kind_, 1)})
        .at("Out");
  }

  PluginDevice& Device() {
    return static_cast<PluginDevice&>(
        DeviceManager::Instance().Get(PlaceKey(kind_, 1)));
  }

  PlaceKind kind_;
};

TEST_F(PluginKernelsTest, AreRegisteredUnderTheirKeys) {
  const auto kernels = Registry::Global().Kernels("test_probe");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(ToString(*kernels[0]), "test_probe/probing (probe float32 PLAIN)");
  // Its priority 3 makes it faster than a kernel without a priority.
  EXPECT_TRUE(kernels[0]->estimate != nullptr);
}

TEST_F(PluginKernelsTest, SeeArgumentsAttributesStateAndScratch) {
  EXPECT_EQ(Probe(3).ToVector<float>(),
            (std::vector<float>{31003, 31004, 31005}));
}

TEST_F(PluginKernelsTest, ReleaseTheirStates) {
  Probe(4);
  EXPECT_EQ(Device().Counters().kernels, 0u);
}

TEST_F(PluginKernelsTest, SayWhyTheyDoNotTakeAnOp) {
  ExpectError(ErrorCode::kNotFound, "resolver.no_kernel", {"13 is unlucky"},
              [&] { Probe(13); });
  ExpectError(ErrorCode::kNotFound, "resolver.no_kernel",
              {"its predicate threw"}, [&] { Probe(14); });
  ExpectError(ErrorCode::kNotFound, "resolver.no_kernel",
              {"refuses without a reason"}, [&] { Probe(15); });
}

TEST_F(PluginKernelsTest, SayWhyTheyCannotBePrepared) {
  ExpectError(ErrorCode::kResourceExhausted, "plugin.callback_failed",
              {"probe:1", "prepare of kernel test_probe/probing",
               "no beads left", "op 0 (test_probe)"},
              [&] { Probe(99); });
  EXPECT_EQ(Device().Counters().kernels, 0u);
}

TEST_F(PluginKernelsTest, ThatThrowBecomeErrors) {
  LoadBadPlugin("throws_in_kernel");
  const PlaceKey place(InternPlaceKind("throws_in_kernel"), 0);
  ExpectError(ErrorCode::kInternal, "plugin.threw",
              {"compute of kernel reshape/bad", "division by moon"}, [&] {
                RunOp("reshape",
                      {{"X", Tensor::FromVector<float>({2}, {1, 2})}},
                      {{"shape", std::vector<int64_t>{2, 1}}},
                      {.place = place, .hint = "require variant=bad"});
              });
}

TEST_F(PluginKernelsTest, AreAllRefusedWhenOneIsTaken) {
  DevicePlugin plugin;
  plugin.path = "two.so";
  plugin.kind = InternPlaceKind("two_kernels");
  SluiceKernelDef kernel{};
  kernel.op = "test_probe";
  kernel.dtype = SLUICE_FLOAT32;
  kernel.variant = "first";
  plugin.kernels.push_back(kernel);
  kernel.variant = "second";
  plugin.kernels.push_back(kernel);
  Registry registry;
  KernelDef other;
  other.op = "test_probe";
  other.key.place = plugin.kind;
  other.variant = "second";
  other.make = [](const OpKernelConstruction&) {
    return std::unique_ptr<OpKernel>();
  };
  registry.AddKernel(other);
  ExpectError(ErrorCode::kInvalidArgument, "plugin.kernel_taken",
              {"two.so", "test_probe/second"},
              [&] { AddPluginKernels(plugin, registry); });
  EXPECT_EQ(registry.Kernels("test_probe").size(), 1u);
}

TEST_F(PluginKernelsTest, OfOneLayoutRefuseOpsOfTheOther) {
  DevicePlugin plugin;
  plugin.kind = InternPlaceKind("layouts");
  SluiceKernelDef kernel{};
  kernel.op = "test_probe";
  kernel.dtype = SLUICE_FLOAT32;
  kernel.variant = "last";
  kernel.layout = SLUICE_LAYOUT_NHWC;
  plugin.kernels.push_back(kernel);
  Registry registry;
  AddPluginKernels(plugin, registry);
  const KernelDef& added = *registry.Kernels("test_probe")[0];
  const OpSchema& schema = Registry::Global().Schema("test_probe");
  OpDesc op;
  const auto refusal = [&] {
    return added.predicate({schema, op, {}, {}, {}, {}, PlaceKey()});
  };
  EXPECT_EQ(refusal(), "");
  op.attributes["data_format"] = std::string("NHWC");
  EXPECT_EQ(refusal(), "");
  op.attributes["data_format"] = std::string("NCHW");
  EXPECT_EQ(refusal(), "is for layout NHWC, this op is NCHW");
}

// --- the FPGA stub in the framework

class FPGAKernelTest : public ::testing::Test {
 protected:
  FPGAKernelTest()
      : device_(static_cast<PluginDevice&>(
            DeviceManager::Instance().Get(FPGAPlace{0}))) {}

  std::vector<float> Distance() {
    return RunOp("manhattan_distance",
                 {{"X", Tensor::FromVector<float>({2, 2}, {1, 2, 3, 4})},
                  {"Y", Tensor::FromVector<float>({1, 2}, {0, 5})}},
                 {}, {.place = FPGAPlace{0}})
        .at("Out")
        .ToVector<float>();
  }

  PluginDevice& device_;
};

TEST_F(FPGAKernelTest, ComputesOnTheDevice) {
  const uint64_t before = device_.Counters().kernels;
  EXPECT_EQ(Distance(), (std::vector<float>{4, 4}));
  EXPECT_EQ(device_.Counters().kernels, before + 1);
}

TEST_F(FPGAKernelTest, NamesTheOpWhoseQueuedWorkFailed) {
  Program program;
  program.Data("x", DType::kFloat32, {2, 2});
  std::string out = "x";
  for (int i = 0; i < 3; ++i) {
    out = sluice::testing::Append(&program, "manhattan_distance",
                                  {{"X", {out}}, {"Y", {"x"}}});
  }
  device_.SetOption("fail_kernel", "2");
  Executor executor(FPGAPlace{0});
  const Tensor fed = Tensor::FromVector<float>({2, 2}, {1, 2, 3, 4});
  ExpectError(ErrorCode::kInternal, "plugin.callback_failed",
              {"systolic", "in op 1 (manhattan_distance)"}, [&] {
                executor.Run(program, {{"x", fed}}, {out});
              });
  EXPECT_EQ(executor.Run(program, {{"x", fed}}, {out})[0].dims(), DDim({2, 2}));
}

}  // namespace
}  // namespace sluice
