#include <string>
#include <thread>
#include <vector>

#include "tests/nn/expect_refused.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/nn.h"
#include "sluice/sluice.h"

namespace sluice {
namespace {

using testing::ExpectError;
using Floats = std::vector<float>;

class LayersTest : public ::testing::Test {
 protected:
  Var Image(const DDim& dims = {-1, 4, 8, 8}) {
    return program_.Data("image", DType::kFloat32, dims);
  }
  Program program_;
  nn::Startup startup_;
  Executor executor_;
};

TEST_F(LayersTest, FcMultipliesAndAdds) {
  const Var x = program_.Data("x", DType::kFloat32, {-1, 2});
  const Var y =
      nn::Fc(x, 3,
             {.weight = {.initializer = nn::Values({1, 2, 3, 4, 5, 6})},
              .bias = nn::ParamAttr{.initializer = nn::Constant(-6)},
              .act = "relu"});
  Scope scope;
  executor_.Run(startup_, {}, {}, &scope);
  const auto results = executor_.Run(
      program_, {{"x", Tensor::FromVector<float>({1, 2}, {1, 1})}}, {y},
      &scope);
  EXPECT_EQ(results[0].ToVector<float>(), Floats({0, 1, 3}));
}

TEST_F(LayersTest, LayersOfOneNameShareTheirParameters) {
  const Var x = program_.Data("x", DType::kFloat32, {-1, 3});
  const nn::FcOptions options = {.weight = {.name = "w"}, .bias = std::nullopt};
  nn::Fc(nn::Fc(x, 3, options), 3, options);
  EXPECT_EQ(startup_.block().ops.size(), 1u);
  EXPECT_REFUSED("nn.shared_parameter", "cannot be shared as float32 [3, 4]",
                 nn::Fc(x, 4, options));
}

TEST_F(LayersTest, NamesThatTheProgramHasAreSkipped) {
  const Var x = program_.Data("x", DType::kFloat32, {-1, 3});
  program_.Persistable("fc_0.w_0", DType::kFloat32, {1});
  nn::Fc(x, 2);
  EXPECT_EQ(program_.FindVar("fc_0.w_1").dims, DDim({3, 2}));
}

TEST_F(LayersTest, ParametersMayBeFixed) {
  const Var x = program_.Data("x", DType::kFloat32, {-1, 3});
  nn::Fc(x, 2, {.weight = {.name = "w", .trainable = false}});
  EXPECT_TRUE(program_.FindVar("w").stop_gradient);
  EXPECT_FALSE(program_.FindVar("fc_0.b_0").stop_gradient);
}

TEST_F(LayersTest, BatchNormKeepsAverages) {
  const Var y = nn::BatchNorm(Image({-1, 2}), {.momentum = 0.5});
  Scope scope;
  executor_.Run(startup_, {}, {}, &scope);
  const Feeds feeds = {
      {"image", Tensor::FromVector<float>({2, 2}, {1, 10, 3, 30})}};
  executor_.Run(program_, feeds, {y}, &scope);
  EXPECT_EQ(
      scope.FindVar("batch_norm_0.mean")->Get<Tensor>()->ToVector<float>(),
      Floats({1, 10}));
  EXPECT_TRUE(program_.FindVar("batch_norm_0.mean").stop_gradient);
}

TEST_F(LayersTest, EmbeddingsHaveAPaddingRow) {
  const Var ids = program_.Data("ids", DType::kInt64, {-1});
  const Var y = nn::Embedding(
      ids, 3, 2,
      {.padding_idx = -1, .table = {.initializer = nn::Constant(7)}});
  Scope scope;
  executor_.Run(startup_, {}, {}, &scope);
  const auto rows = executor_.Run(
      program_, {{"ids", Tensor::FromVector<int64_t>({2}, {0, 2})}}, {y},
      &scope);
  EXPECT_EQ(rows[0].ToVector<float>(), Floats({7, 7, 0, 0}));
  EXPECT_REFUSED("nn.padding_idx", "padding_idx must be from -3 to 2, got 3",
                 nn::Embedding(ids, 3, 2, {.padding_idx = 3}));
  EXPECT_REFUSED("nn.positive", "columns must be above 0, got 0",
                 nn::Embedding(ids, 3, 0));
}

TEST_F(LayersTest, DropoutIsOffInTests) {
  const Var y = nn::Dropout(Image({2}), 0.999, {.seed = 3});
  const Feeds feeds = {{"image", Tensor::FromVector<float>({2}, {1, 2})}};
  EXPECT_EQ(executor_.Run(program_, feeds, {y})[0].ToVector<float>(),
            Floats({0, 0}));
  EXPECT_EQ(executor_.Run(program_.CloneForTest(), feeds, {y.name()})[0]
                .ToVector<float>(),
            Floats({1, 2}));
}

TEST_F(LayersTest, LstmStacksLayers) {
  const Var x = program_.Data("x", DType::kFloat32, {3, -1, 2});
  const auto lstm =
      nn::Lstm(x, 4, {.num_layers = 2, .direction = "bidirectional"});
  EXPECT_EQ(lstm.out.dims(), DDim({3, -1, 8}));
  EXPECT_EQ(lstm.last_h.dims(), DDim({4, -1, 4}));
  EXPECT_EQ(lstm.last_c.dims(), DDim({4, -1, 4}));
  EXPECT_EQ(program_.FindVar("lstm_0.w_2").dims, DDim({2, 16, 8}));
  Scope scope;
  executor_.Run(startup_, {}, {}, &scope);
  const auto results = executor_.Run(
      program_,
      {{"x", Tensor::FromVector<float>({3, 1, 2}, {1, 2, 3, 4, 5, 6})}},
      {lstm.out, lstm.last_h}, &scope);
  const Floats out = results[0].ToVector<float>();
  const Floats last = results[1].ToVector<float>();
  // The last state forwards is the output's of the last step, backwards that
  // of the first.
  EXPECT_EQ(Floats(out.begin() + 16, out.begin() + 20),
            Floats(last.begin() + 8, last.begin() + 12));
  EXPECT_EQ(Floats(out.begin() + 4, out.begin() + 8),
            Floats(last.begin() + 12, last.end()));
  EXPECT_NE(last[8], 0);
}

TEST_F(LayersTest, LstmTakesRaggedRows) {
  const Var x = program_.RaggedData("x", DType::kFloat32, {-1, 2});
  const auto lstm =
      nn::Lstm(x, 4, {.num_layers = 2, .direction = "bidirectional"});
  EXPECT_EQ(lstm.out.dims(), DDim({-1, 8}));
  EXPECT_EQ(lstm.out.offsets().name(), "x@LOD");
  Scope scope;
  executor_.Run(startup_, {}, {}, &scope);
  const Tensor first = Tensor::FromVector<float>({1, 2}, {1, 2});
  const Tensor other = Tensor::FromVector<float>({3, 2}, {3, 4, 5, 6, 7, 8});
  const auto last = [&](const std::vector<Tensor>& sequences) {
    const Feeds feeds = PackSequences("x", sequences);
    return executor_.Run(program_, feeds, {lstm.last_h}, &scope)[0]
        .ToVector<float>();
  };
  const Floats both = last({first, other});  // [4, 2, 4]
  const Floats alone[] = {last({first}), last({other})};
  for (size_t i = 0; i < both.size(); ++i) {
    EXPECT_FLOAT_EQ(both[i], alone[i / 4 % 2][i / 8 * 4 + i % 4]);
  }
}

TEST_F(LayersTest, LayersMayBeInBlocks) {
  const Var x = program_.Data("x", DType::kFloat32, {3, 1, 2});
  const Var first = program_.Data("first", DType::kFloat32, {1, 2});
  const auto scan = Scan(
      [](const Vars& carried, const Vars& elements) -> ScanStep {
        const Var h =
            nn::Fc(ops::ElementwiseAdd(carried[0], elements[0]), 2,
                   {.weight = {.initializer = nn::Values({2, 0, 0, 3})}});
        return {{h}, {}};
      },
      {first}, {x});
  EXPECT_EQ(program_.FindVar("fc_0.w_0").dims, DDim({2, 2}));
  Scope scope;
  executor_.Run(startup_, {}, {}, &scope);
  const auto results = executor_.Run(
      program_,
      {{"x", Tensor::FromVector<float>({3, 1, 2}, {1, 0, 0, 0, 0, 1})},
       {"first", Tensor::FromVector<float>({1, 2}, {0, 1})}},
      {scan.carried[0]}, &scope);
  EXPECT_EQ(results[0].ToVector<float>(), Floats({8, 30}));
}

TEST_F(LayersTest, InitializersGiveWhatTheySay) {
  const auto first = [&](const DDim& dims, const nn::Initializer& initializer) {
    Program program;
    nn::Startup startup;
    nn::LayerHelper layer("test", program, "", SourceLocation::Here());
    const Var made =
        layer.Parameter({.initializer = initializer}, dims, DType::kFloat32);
    Scope scope;
    executor_.Run(startup, {}, {}, &scope);
    return scope.FindVar(made.name())->Get<Tensor>()->ToVector<float>();
  };
  const auto spread = [](const Floats& values) {
    double squares = 0;
    for (const float value : values) {
      squares += static_cast<double>(value) * value;
    }
    return squares / static_cast<double>(values.size());
  };
  EXPECT_EQ(first({3}, nn::Constant(2.5)), Floats({2.5F, 2.5F, 2.5F}));
  EXPECT_EQ(first({2}, nn::Values({1, -2})), Floats({1, -2}));
  const Floats uniform = first({50, 50}, nn::Uniform(2, 4, 7));
  EXPECT_EQ(first({50, 50}, nn::Uniform(2, 4, 7)), uniform);
  EXPECT_NE(first({50, 50}, nn::Uniform(2, 4, 8)), uniform);
  EXPECT_NEAR(spread(uniform), 9 + 4.0 / 12, 0.1);
  EXPECT_NEAR(spread(first({50, 150}, nn::Xavier({.seed = 7}))), 2.0 / 200,
              0.001);
  EXPECT_NEAR(spread(first({50, 150}, nn::Xavier({.uniform = false,
                                                  .fan_in = 10,
                                                  .fan_out = 30,
                                                  .seed = 7}))),
              2.0 / 40, 0.005);
  EXPECT_NEAR(spread(first({50, 10, 3, 3}, nn::Msra({.seed = 7}))), 2.0 / 90,
              0.002);
  EXPECT_NEAR(
      spread(
          first({9000}, nn::Msra({.uniform = false, .fan_in = 8, .seed = 7}))),
      2.0 / 8, 0.02);
  ExpectError(ErrorCode::kInvalidArgument, "nn.xavier_fans", {"-1 and 0"},
              [] { nn::Xavier({.fan_in = -1}); });
  ExpectError(ErrorCode::kInvalidArgument, "nn.msra_fan", {"got -2"},
              [] { nn::Msra({.fan_in = -2}); });
}

TEST_F(LayersTest, ErrorsNameTheLineOfTheLayer) {
  const Var image = Image();
  const Var unknown = program_.Data("unknown", DType::kFloat32, {-1, -1, 8, 8});
  EXPECT_REFUSED("nn.positive", "size must be above 0, got 0",
                 nn::Fc(image, 0));
  EXPECT_REFUSED("nn.num_flatten_dims", "got 4 for image [?, 4, 8, 8]",
                 nn::Fc(image, 3, {.num_flatten_dims = 4}));
  EXPECT_REFUSED("nn.inputs", "from dim 1 on must be known",
                 nn::Fc(unknown, 3));
  EXPECT_REFUSED("nn.channels", "must be known and above 0",
                 nn::Conv2d(unknown, 3, 3));
  EXPECT_REFUSED("nn.rank", "must have rank 4",
                 nn::Conv2d(nn::Fc(image, 3), 3, 3));
  EXPECT_REFUSED("nn.groups", "cannot be divided into 3 groups",
                 nn::Conv2d(image, 3, 3, {.groups = 3}));
  EXPECT_REFUSED("nn.filter_size", "got [3, 0]", nn::Conv2d(image, 3, {3, 0}));
  EXPECT_REFUSED("nn.lstm_input", "must have rank 3", nn::Lstm(image, 3));
  const Var steps = program_.Data("steps", DType::kFloat32, {-1, 2, 3});
  EXPECT_REFUSED("nn.lstm_sizes", "got 0 and 1", nn::Lstm(steps, 0));
  nn::LayerHelper layer("test", program_, "", {"mine.cc", 7});
  ExpectError(ErrorCode::kInvalidArgument, "nn.parameter_dims",
              {"test_0.w_0", "[?]", "mine.cc:7"},
              [&] { layer.Parameter({}, {-1}, DType::kFloat32); });
}

TEST_F(LayersTest, OpsRefuseWithTheLineOfTheLayer) {
  const Var image = Image();
  for (const auto& [fragment, layer] :
       std::vector<std::pair<std::string, std::function<void()>>>{
           {"9", [&] { nn::Conv2d(image, 3, 9); }},
           {"relux", [&] { nn::Fc(image, 3, {.act = "relux"}); }},
           {"2", [&] { nn::Dropout(image, 2.0); }}}) {
    try {
      layer();
      ADD_FAILURE() << fragment;
    } catch (const Error& error) {
      const std::string what = error.what();
      EXPECT_NE(what.find(fragment), std::string::npos) << what;
      EXPECT_NE(what.find("layers_test.cc:"), std::string::npos) << what;
    }
  }
}

TEST_F(LayersTest, AnInputNeedsAProgram) {
  EXPECT_THROW(nn::Fc(Var(), 3), Error);
  EXPECT_THROW(nn::Dropout(Var()), Error);
}

TEST(StartupTest, LayersNeedOne) {
  Program program;
  const Var x = program.Data("x", DType::kFloat32, {-1, 3});
  ExpectError(ErrorCode::kFailedPrecondition, "nn.startup",
              {"fc: this thread has no nn::Startup", "layers_test.cc:"},
              [&] { nn::Fc(x, 3); });
  EXPECT_EQ(program.block().vars().size(), 1u);
}

TEST(StartupTest, TheLatestCounts) {
  Program program;
  const Var x = program.Data("x", DType::kFloat32, {-1, 3});
  nn::Startup outer;
  {
    const nn::Startup inner;
    nn::Fc(x, 3);
    EXPECT_EQ(inner.block().ops.size(), 2u);
  }
  EXPECT_EQ(outer.block().ops.size(), 0u);
  nn::Fc(x, 3);
  EXPECT_EQ(outer.block().ops.size(), 2u);
  // They may end in another order.
  auto first = std::make_unique<nn::Startup>();
  auto second = std::make_unique<nn::Startup>();
  first.reset();
  nn::Fc(x, 3);
  EXPECT_EQ(second->block().ops.size(), 2u);
  second.reset();
  nn::Fc(x, 3);
  EXPECT_EQ(outer.block().ops.size(), 4u);
}

TEST(StartupTest, EachThreadHasItsOwn) {
  const nn::Startup here;
  std::thread([] {
    Program program;
    const Var x = program.Data("x", DType::kFloat32, {-1, 3});
    EXPECT_THROW(nn::Fc(x, 3), Error);
    const nn::Startup there;
    nn::Fc(x, 3);
    EXPECT_EQ(there.block().ops.size(), 2u);
    EXPECT_TRUE(program.HasVar("fc_0.w_0"));
  }).join();
  EXPECT_EQ(here.block().ops.size(), 0u);
}

}  // namespace
}  // namespace sluice
