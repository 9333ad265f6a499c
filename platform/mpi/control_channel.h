#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <vector>

#include <mpi.h>

#include "sluice/platform/ranks/world.h"

namespace sluice::mpi {

// Raises Internal unless the MPI function was successful.
void Check(int status, const char* function);

// A rank's state in a long operation: it waits; it also requests the states of
// the others; or it has named the missing ranks.
enum class WaitState { kGoesOn, kWaits, kAsks, kNamed };

// Control messages between ranks, on a separate communicator. Only Difference
// waits for other ranks.
class ControlChannel {
 public:
  // Duplicates `all`. Collective.
  explicit ControlChannel(MPI_Comm all);

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Starts the comparison of the ranks' digests.
  void Propose(uint64_t digest);
  // Returns whether some rank has not proposed yet.
  bool Pending();
  // After Pending returned false: whether the digests differ.
  bool differs() const { return differs_; }
  // Returns the first line in which the ranks' parts differ, formatted by
  // DescribeLines. Collective. Calls `idle`, which may raise, repeatedly while
  // it waits.
  std::string Difference(const Part& part, const std::function<void()>& idle);

  // Tells all other ranks that this one has failed, and why.
  void TellFailure(const std::string& why);
  // Returns a rank's failure message, or "" if there is none.
  std::string HearFailure();

  // Tells all other ranks that this one waits in `label`, or continues.
  void TellWaiting(WaitState state, std::string_view label);
  // The last wait state that another rank reported.
  struct Waiting {
    WaitState state = WaitState::kGoesOn;
    std::string label;
  };
  // Receives wait states; returns the last one of each rank.
  const std::vector<Waiting>& HearWaiting();

 private:
  // Returns the element-wise maximum over the ranks.
  template <size_t kCount>
  std::array<uint64_t, kCount> Largest(const std::array<uint64_t, kCount>& own,
                                       const std::function<void()>& idle);
  bool SameOnAll(uint64_t digest, const std::function<void()>& idle);
  std::vector<std::string> Gather(const std::string& own,
                                  const std::function<void()>& idle);
  static void Finish(MPI_Request* request, const std::function<void()>& idle);
  // Sends a text to all other ranks; does not wait for them to read it.
  void Tell(int tag, const std::string& text);
  bool Hear(int tag, std::string* text, int* from);

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  std::array<uint64_t, 2> proposed_{};
  std::array<uint64_t, 2> largest_{};
  MPI_Request proposal_ = MPI_REQUEST_NULL;
  bool differs_ = false;
  std::vector<Waiting> waiting_;       // by rank
  std::list<std::vector<char>> told_;  // sent messages, maybe still in use
};

}  // namespace sluice::mpi
