#pragma once

#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/platform/error.h"
#include "sluice/platform/ranks/world.h"

namespace sluice::testing {

// A world of two ranks, of which the other one does the same as this one.
// Results arrive as late as possible, in Wait: an earlier read finds NaN. For
// float32.
class TwinWorld final : public World {
 public:
  TwinWorld() { SetWorld(this); }
  ~TwinWorld() override { SetWorld(nullptr); }

  int rank() const override { return 0; }
  int size() const override { return 2; }
  std::string_view library() const override { return "twins"; }

  int64_t Start(Collective collective) override {
    Flight& flight = flights_.emplace_back();
    const auto* from = static_cast<const float*>(collective.from);
    flight.values.assign(from, from + collective.count);
    flight.label = label_;
    auto* to = static_cast<float*>(collective.to);
    for (int64_t i = 0; i < collective.count; ++i) {
      to[i] = std::numeric_limits<float>::quiet_NaN();
    }
    flight.what = std::move(collective);
    log.push_back(Format("start {}", flights_.size() - 1));
    counts.push_back(flight.what.count);
    return static_cast<int64_t>(flights_.size()) - 1;
  }
  void Advance() override { ++advances; }
  void Wait(int64_t number) override {
    log.push_back(Format("wait {}", number));
    if (!wait_fails.empty()) {
      Raise(ErrorCode::kFailedPrecondition, "test.wait", "{}", wait_fails);
    }
    Flight& flight = flights_.at(static_cast<size_t>(number));
    auto* to = static_cast<float*>(flight.what.to);
    const auto count = static_cast<size_t>(flight.what.count);
    const bool sums = flight.what.kind == CollectiveKind::kAllReduce &&
                      flight.what.reduction == Reduction::kSum;
    for (size_t i = 0; i < count; ++i) {
      to[i] = (sums ? 2 : 1) * flight.values[i];
      if (flight.what.kind == CollectiveKind::kAllGather) {
        to[count + i] = flight.values[i];
      }
    }
  }
  double WaitedSeconds() const override { return 0; }
  void BeginPart(std::shared_ptr<const Part> part) override {
    parts.push_back(std::move(part));
  }
  void BeginRun() override { ++runs; }
  void NoteFailedRun(std::string_view why) override {
    failed.emplace_back(why);
  }
  void SetLabel(std::string_view label) override { label_ = label; }
  void Fail(std::string_view why) noexcept override { failure = why; }

  const std::string& LabelOf(size_t number) const {
    return flights_.at(number).label;
  }

  std::vector<std::string> log;  // "start 0", "wait 0"
  std::vector<int64_t> counts;   // of what was started
  std::vector<std::shared_ptr<const Part>> parts;
  int runs = 0;
  std::vector<std::string> failed;  // why
  std::string failure;
  std::string wait_fails;  // with this message
  int advances = 0;

 private:
  struct Flight {
    Collective what;
    std::vector<float> values;
    std::string label;
  };

  std::vector<Flight> flights_;
  std::string_view label_;
};

}  // namespace sluice::testing
