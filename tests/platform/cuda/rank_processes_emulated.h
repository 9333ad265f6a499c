#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sluice/platform/cuda_emulation/rank_group.h"
#include "sluice/platform/ranks/world.h"

namespace sluice::testing {

// Starts this program for each of several ranks, as the child `body`
// (ChildBody), which must return 0 in time. Returns their concatenated output.
std::string RunRanks(int ranks, const std::string& body);

// For use in such a child.
int ChildRank();
int ChildRanks();
// A name that the ranks share; `purpose` distinguishes several.
std::string CommonName(const std::string& purpose);
// The exit status of a body: 0 if no expectation has failed.
int ChildStatus();

// The ranks as a World, without MPI: it broadcasts small data, waits at
// barriers and knows whether another rank has failed.
class RankWorld final : public World {
 public:
  RankWorld();
  int rank() const override { return ChildRank(); }
  int size() const override { return ChildRanks(); }
  std::string_view library() const override { return "the test's"; }
  int64_t Start(Collective collective) override;
  void Advance() override {}
  void Wait(int64_t /*number*/) override {}
  double WaitedSeconds() const override { return 0; }
  void BeginPart(std::shared_ptr<const Part> /*part*/) override {}
  void BeginRun() override {}
  void NoteFailedRun(std::string_view /*why*/) override {}
  void SetLabel(std::string_view /*label*/) override {}
  void Fail(std::string_view /*why*/) noexcept override { group_.GiveUp(); }

 private:
  void Meet();

  cuda_emulation::RankGroup group_;
};

// One of two ranks without the other, to inspect a plan.
class TwoRanks final : public World {
 public:
  TwoRanks() { SetWorld(this); }
  ~TwoRanks() override { SetWorld(nullptr); }
  int rank() const override { return 0; }
  int size() const override { return 2; }
  std::string_view library() const override { return "none"; }
  int64_t Start(Collective /*collective*/) override { return 0; }
  void Advance() override {}
  void Wait(int64_t /*number*/) override {}
  double WaitedSeconds() const override { return 0; }
  void BeginPart(std::shared_ptr<const Part> /*part*/) override {}
  void BeginRun() override {}
  void NoteFailedRun(std::string_view /*why*/) override {}
  void SetLabel(std::string_view /*label*/) override {}
  void Fail(std::string_view /*why*/) noexcept override {}
};

}  // namespace sluice::testing
