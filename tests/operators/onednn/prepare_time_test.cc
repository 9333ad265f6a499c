#include <algorithm>
#include <chrono>

#include "tests/operators/onednn/onednn_fixture.h"

namespace sluice {
namespace {

class PrepareTimeTest : public testing::OneDnnTest {
 protected:
  // Appends tanh(x * w + b) `count` times: three ops each, which passes fuse
  // into one.
  std::string Layers(std::string x, int count) {
    for (int i = 0; i < count; ++i) {
      x = Append("mul", {{"X", {x}}, {"Y", {"w"}}}, "Out");
      x = Append("elementwise_add", {{"X", {x}}, {"Y", {"b"}}}, "Out");
      x = Append("tanh", {{"X", {x}}}, "Out");
    }
    return x;
  }
  // The shortest of three.
  double PrepareSeconds(const std::string& out) {
    double best = 1e9;
    for (int round = 0; round < 3; ++round) {
      using Clock = std::chrono::steady_clock;
      Executor executor;
      const auto start = Clock::now();
      const auto plan = executor.Prepare(program_, feeds_, {out});
      const std::chrono::duration<double> spent = Clock::now() - start;
      best = std::min(best, spent.count());
    }
    return best;
  }
};

// A quadratic step would take sixteen times as long.
TEST_F(PrepareTimeTest, SlowGrowsWithTheNumberOfOpsAndNotFaster) {
  hint_.reset();
  hint_.emplace("mul: prefer library=ONEDNN; allow library=ONEDNN");
  Data("x", Ramp({2, 4}));
  Data("w", Ramp({4, 4}));
  Data("b", Ramp({4}));
  const std::string few = Layers("x", 900);
  const std::string many = Layers(few, 2700);  // 10,800 ops in all
  const auto plan = executor_.Prepare(program_, feeds_, {many});
  EXPECT_EQ(plan->decisions().size(), 3600U);
  const double seconds = PrepareSeconds(many);
  const double ratio = seconds / PrepareSeconds(few);
  RecordProperty("milliseconds", static_cast<int>(seconds * 1e3));
  EXPECT_LT(ratio, 8) << seconds << " s";
}

}  // namespace
}  // namespace sluice
