#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "sluice/platform/export.h"

namespace sluice::cuda_emulation {

// The arguments of a collective, which must be the same on all ranks.
struct RankCall {
  int32_t kind = 0;
  int32_t type = 0;
  int32_t reduction = 0;
  int32_t root = 0;
  uint64_t count = 0;
  bool operator==(const RankCall&) const = default;
};

// The ranks of one communicator, which are processes of one machine: a block of
// shared memory with a chunk for each rank. It does not use the program's
// World, because NCCL has its own channels, too: a late stream would start its
// collectives between those of the host, at another place on each rank. Owned
// by a communicator. One thread at a time may call Meet, any may call GiveUp.
class SLUICE_API RankGroup {
 public:
  static constexpr int kMostRanks = 64;
  static constexpr size_t kChunkBytes = size_t{64} << 10;

  // Returns a unique name.
  static std::string NewName();

  // Joins the other ranks; returns once all have joined. Raises
  // std::invalid_argument for a rank that has already joined, and
  // std::runtime_error if the system has no shared memory left.
  RankGroup(const std::string& name, int ranks, int rank);
  ~RankGroup();
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  int ranks() const { return ranks_; }
  int rank() const { return rank_; }

  enum class Outcome : uint8_t { kMet, kGivenUp, kLeft };
  // Returns kMet once all ranks have called it as often as this one, kGivenUp
  // if this rank has given up, and kLeft if another one has, or has died.
  Outcome Meet();
  // Makes Meet return, in other threads of this process and on other ranks.
  void GiveUp();
  bool given_up() const { return given_up_; }

  // Between meetings a rank writes its own entry and reads those of others.
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
