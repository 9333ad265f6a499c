#include <thread>

#include "tests/operators/onednn/onednn_fixture.h"

#include "sluice/framework/values/scope.h"

namespace sluice {
namespace {

// An inference convolution with a parameter: products of the pixels with a
// filter that oneDNN needs in blocks on every CPU.
class PackedWeightsTest : public testing::OneDnnTest {
 protected:
  PackedWeightsTest() {
    Data("x", Ramp({1, 1, 3, 40}));
    program_.Persistable("w", DType::kFloat32, {33, 40, 1, 1});
    out_ = Append("conv2d", {{"Input", {"x"}}, {"Filter", {"w"}}}, "Output",
                  {{"data_format", std::string("NHWC")}});
    *scope_.Var("w").GetMutable<Tensor>() = Ramp({33, 40, 1, 1});
  }

  std::vector<float> Run() {
    return executor_.Prepare(program_, feeds_, {out_})
        ->Run(feeds_, &scope_)[0]
        .ToVector<float>();
  }

  std::vector<float> Expected() {
    const Tensor w = *scope_.Var("w").Get<Tensor>();
    const std::vector<float> a = feeds_[0].second.ToVector<float>();
    const std::vector<float> b = w.ToVector<float>();
    std::vector<float> out(3 * 33, 0);
    for (size_t i = 0; i < out.size(); ++i) {
      for (size_t k = 0; k < 40; ++k)
        out[i] += a[i / 33 * 40 + k] * b[i % 33 * 40 + k];
    }
    return out;
  }

  Scope scope_;
  std::string out_;
};

void ExpectClose(const std::vector<float>& got,
                 const std::vector<float>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], want[i], 1e-4);
}

TEST_F(PackedWeightsTest, ArePackedOnce) {
  const int64_t packed = Count("weights.packed");
  ExpectClose(Run(), Expected());
  EXPECT_EQ(Count("weights.packed"), packed + 1);
  for (int run = 0; run < 3; ++run)
    Run();
  EXPECT_EQ(Count("weights.packed"), packed + 1);
}

TEST_F(PackedWeightsTest, AChangedParameterIsPackedAgain) {
  Run();
  const int64_t packed = Count("weights.packed");
  scope_.Var("w").GetMutable<Tensor>()->data<float>()[7] = 5;
  ExpectClose(Run(), Expected());
  *scope_.Var("w").GetMutable<Tensor>() = Tensor::FromVector<float>(
      {33, 40, 1, 1}, std::vector<float>(33 * 40, 0.5F));
  ExpectClose(Run(), Expected());
  EXPECT_EQ(Count("weights.packed"), packed + 2);
}

TEST_F(PackedWeightsTest, ThreadsShareThem) {
  const auto plan = executor_.Prepare(program_, feeds_, {out_});
  const int64_t packed = Count("weights.packed");
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int run = 0; run < 50; ++run)
        plan->Run(feeds_, &scope_);
    });
  }
  for (std::thread& caller : callers)
    caller.join();
  EXPECT_EQ(Count("weights.packed"), packed + 1);
}

}  // namespace
}  // namespace sluice
