#include <cmath>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/hints/kernel_hints.h"
#include "sluice/framework/run/executor.h"
#include "sluice/framework/values/scope.h"
#include "sluice/platform/diagnostics/counters.h"

// The variants of conv2d and fused_conv2d that keep filters packed.
namespace sluice {
namespace {

using Ints = std::vector<int64_t>;

struct Variant {
  std::string name;
  int64_t kernel;
  int64_t groups = 1;
};

void PrintTo(const Variant& variant, std::ostream* to) {
  *to << variant.name;
}

// A channels-last convolution with parameters, and the ops after it.
class PackedConv2d : public ::testing::TestWithParam<Variant> {
 protected:
  static constexpr int64_t kIn = 17;

  PackedConv2d() {
    Parameter("filter", Ramp(filter_, 0.1F));
    for (const char* name : {"bias", "shift", "mean"}) {
      Parameter(name, Ramp({out_}, 1));
    }
    for (const char* name : {"scale", "variance"}) {
      Parameter(name, Ramp({out_}, 0.25F));
      Tensor& tensor = At(name);
      for (int64_t i = 0; i < out_; ++i) {
        tensor.data<float>()[i] += 1;
      }
    }
    Data("x", {2, 9, 7, kIn});
    Data("residual", {2, 9, 7, out_});
  }

  static Tensor Ramp(const DDim& dims, float factor) {
    std::vector<float> values(static_cast<size_t>(dims.numel()));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = factor * (static_cast<float>(i % 17) / 8 - 1);
    }
    return Tensor::FromVector<float>(dims, values);
  }

  void Parameter(const std::string& name, const Tensor& value) {
    program_.Persistable(name, value.dtype(), value.dims());
    *scope_.Var(name).GetMutable<Tensor>() = value;
  }
  Tensor& At(const std::string& name) {
    return *scope_.Var(name).GetMutable<Tensor>();
  }
  void Data(const std::string& name, const DDim& dims) {
    program_.Data(name, DType::kFloat32, dims);
    feeds_.emplace_back(name, Ramp(dims, 1));
  }

  std::string Append(const std::string& type,
                     Program::ArgList inputs,
                     Program::ArgList outputs,
                     AttributeMap attributes) {
    OpDesc op;
    op.type = type;
    op.inputs = std::move(inputs);
    op.outputs = std::move(outputs);
    op.attributes = std::move(attributes);
    const std::string out = op.outputs[0].second[0];
    program_.AppendOp(op);
    return out;
  }

  std::string Conv(const std::string& filter, bool with_bias) {
    Program::ArgList inputs = {{"Input", {"x"}}, {"Filter", {filter}}};
    if (with_bias) inputs.push_back({"Bias", {"bias"}});
    const int64_t pad = GetParam().kernel / 2;
    return Append("conv2d", inputs, {{"Output", {"conv"}}},
                  {{"data_format", std::string("NHWC")},
                   {"groups", GetParam().groups},
                   {"paddings", Ints{pad, pad}}});
  }

  std::string NormAddRelu(const std::string& x) {
    const std::string y =
        Append("batch_norm",
               {{"X", {x}},
                {"Scale", {"scale"}},
                {"Bias", {"shift"}},
                {"Mean", {"mean"}},
                {"Variance", {"variance"}}},
               {{"Y", {"y"}},
                {"SavedMean", {"saved_mean"}},
                {"SavedVariance", {"saved_variance"}}},
               {{"is_test", true}, {"data_format", std::string("NHWC")}});
    const std::string sum =
        Append("elementwise_add", {{"X", {y}}, {"Y", {"residual"}}},
               {{"Out", {"sum"}}}, {});
    return Append("relu", {{"X", {sum}}}, {{"Out", {"out"}}}, {});
  }

  std::vector<float> Run(const std::string& out) {
    return executor_.Prepare(program_, feeds_, {out})
        ->Run(feeds_, &scope_)[0]
        .ToVector<float>();
  }

  // The result of the unfused ops with plain kernels.
  std::vector<float> Expected(const std::string& out) {
    hint_.emplace("conv2d: require variant=plain");
    Executor as_written({}, {.passes = false});
    const auto plan = as_written.Prepare(program_, feeds_, {out});
    hint_.emplace(only_);
    return plan->Run(feeds_, &scope_)[0].ToVector<float>();
  }

  void ExpectRight(const std::string& out) {
    const auto got = Run(out), want = Expected(out);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      if (got[i] == want[i]) continue;  // also infinities
      if (std::isnan(want[i])) {
        ASSERT_TRUE(std::isnan(got[i])) << i;
      } else {
        ASSERT_NEAR(got[i], want[i], 1e-4) << i;
      }
    }
  }

  // The kernel of the only op: "fused_conv2d/pointwise".
  std::string Chosen(const std::string& out) {
    const auto plan = executor_.Prepare(program_, feeds_, {out});
    std::string text;
    for (const auto& decision : plan->decisions()) {
      text += decision.op + "/" + decision.kernel->variant + " ";
    }
    return text;
  }

  static int64_t Packed() { return Counter("weights.packed"); }

  const int64_t out_ = GetParam().groups == 1 ? 21 : kIn;
  const DDim filter_{out_, kIn / GetParam().groups, GetParam().kernel,
                     GetParam().kernel};
  Program program_;
  Feeds feeds_;
  Scope scope_;
  Executor executor_;
  const std::string only_ = "conv2d: require variant=" + GetParam().name;
  std::optional<KernelHintGuard> hint_{only_};
};

TEST_P(PackedConv2d, TakesInWhatFollows) {
  for (const bool with_bias : {false, true}) {
    Program empty;
    program_ = empty;
    for (const char* name :
         {"filter", "bias", "shift", "mean", "scale", "variance"}) {
      program_.Persistable(name, At(name).dtype(), At(name).dims());
    }
    for (const auto& [name, value] : feeds_) {
      program_.Data(name, value.dtype(), value.dims());
    }
    const std::string out = NormAddRelu(Conv("filter", with_bias));
    EXPECT_EQ(Chosen(out), "fused_conv2d/" + GetParam().name + " ");
    ExpectRight(out);
  }
}

TEST_P(PackedConv2d, KeepsNaNAndInfinityWhereTheyAre) {
  const std::string out = NormAddRelu(Conv("filter", true));
  feeds_[0].second.data<float>()[20 * kIn + 3] = std::nanf("");
  feeds_[0].second.data<float>()[90 * kIn + 5] = INFINITY;
  ExpectRight(out);
}

TEST_P(PackedConv2d, PacksAgainWhenAParameterChanges) {
  const std::string out = NormAddRelu(Conv("filter", true));
  const int64_t before = Packed();
  Run(out);
  EXPECT_EQ(Packed(), before + 2);  // filter and bias
  Run(out);
  EXPECT_EQ(Packed(), before + 2);
  At("filter").data<float>()[5] = 3;
  ExpectRight(out);
  EXPECT_EQ(Packed(), before + 3);
  At("variance").data<float>()[2] = 7;
  ExpectRight(out);
  EXPECT_EQ(Packed(), before + 5);
}

TEST_P(PackedConv2d, FiltersThatAreSlicesOfOneTensor) {
  Tensor both = Ramp({2 * out_, filter_[1], filter_[2], filter_[3]}, 0.1F);
  both.data<float>()[both.numel() / 2 + 3] = 5;
  std::vector<std::vector<float>> got;
  for (const int64_t first : {int64_t{0}, out_}) {
    At("filter") = both.Slice(first, first + out_);
    if (first == 0) Conv("filter", true);
    ExpectRight("conv");
    got.push_back(Run("conv"));
  }
  EXPECT_NE(got[0], got[1]);
}

TEST_P(PackedConv2d, AFilterThatIsFedIsPackedForEachRun) {
  Data("fed", filter_);
  const std::string out = Conv("fed", true);
  EXPECT_EQ(Chosen(out), "conv2d/" + GetParam().name + " ");
  ExpectRight(out);
  feeds_.back().second.data<float>()[5] = 3;
  ExpectRight(out);
}

TEST_P(PackedConv2d, ThreadsShareWhatIsPacked) {
  const std::string out = NormAddRelu(Conv("filter", false));
  const auto plan = executor_.Prepare(program_, feeds_, {out});
  const int64_t before = Packed();
  std::vector<std::thread> callers;
  callers.reserve(4);
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int run = 0; run < 20; ++run) {
        plan->Run(feeds_, &scope_);
      }
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  EXPECT_EQ(Packed(), before + 2);
}

INSTANTIATE_TEST_SUITE_P(Variants,
                         PackedConv2d,
                         ::testing::Values(Variant{"winograd_2x2", 3},
                                           Variant{"winograd_4x4", 3},
                                           Variant{"pointwise", 1},
                                           Variant{"depthwise", 3, 17}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace sluice
