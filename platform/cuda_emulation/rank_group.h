#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "sluice/platform/export.h"

namespace sluice::cuda_emulation {

// What one rank does in a collective: all ranks must do the same.
struct RankCall {
  int32_t kind = 0;
  int32_t type = 0;
  int32_t reduction = 0;
  int32_t root = 0;
  uint64_t count = 0;
  bool operator==(const RankCall&) const = default;
};

// The ranks of one communicator, which are processes of one machine: a block
// of shared memory with a chunk for each of them. Shared memory and not the
// program's World, because NCCL, too, has ways of its own: a stream that runs
// late would start its collectives between those of the host, at another place
// on each rank. Owned by a communicator; one thread at a time meets, any may
// give up.
class SLUICE_API RankGroup {
 public:
  static constexpr int kMostRanks = 64;
  static constexpr size_t kChunkBytes = size_t{64} << 10;

  // A name that nobody else has.
  static std::string NewName();

  // Joins the others; returns once all have come. Raises std::invalid_argument
  // for a rank that is there already, and std::runtime_error where the system
  // gives no shared memory.
  RankGroup(const std::string& name, int ranks, int rank);
  ~RankGroup();
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  int ranks() const { return ranks_; }
  int rank() const { return rank_; }

  enum class Outcome : uint8_t { kMet, kGivenUp, kLeft };
  // Returns once all ranks have called it as often as this one: kMet; kGivenUp
  // where this rank has given up, kLeft where another one has, or has died.
  Outcome Meet();
  // What another thread of this process, or another rank, waits for in Meet
  // does not come.
  void GiveUp();
  bool given_up() const { return given_up_; }

  // Between two meetings a rank writes what is its own, and reads what is not.
  RankCall& call(int rank);
  std::byte* chunk(int rank);

 private:
  struct Shared;
  bool OthersLive() const;

  int ranks_;
  int rank_;
  size_t bytes_ = 0;
  Shared* shared_ = nullptr;
  uint64_t meetings_ = 0;
  std::atomic<bool> given_up_ = false;
};

}  // namespace sluice::cuda_emulation
