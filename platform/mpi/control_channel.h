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

namespace sluice::platform::mpi {

// Raises Internal unless the MPI function was successful.
void Check(int status, const char* function);

// What a rank does that takes long: it waits, and asks the others whether they
// do, who then tell it, too; or it has named who is missing.
enum class WaitState { kGoesOn, kWaits, kAsks, kNamed };

// What the ranks tell each other besides data, on a communicator of its own.
// No function waits for other ranks, but Difference.
class ControlChannel {
 public:
  // A copy of `all`. Collective.
  explicit ControlChannel(MPI_Comm all);

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Whether all ranks go on with the same: each proposes a digest.
  void Propose(uint64_t digest);
  // Whether not all of them have done so yet.
  bool Pending();
  // Afterwards: whether theirs is another one.
  bool differs() const { return differs_; }
  // The first line in which the ranks' parts differ, as DescribeLines has it.
  // Collective: all ranks find that they differ. Calls `idle`, which may raise,
  // again and again while it waits.
  std::string Difference(const Part& part, const std::function<void()>& idle);

  // That this rank cannot go on, and why.
  void TellFailure(const std::string& why);
  // What a rank has told: "" while all is well.
  std::string HearFailure();

  // That this rank waits in `label`, or goes on.
  void TellWaiting(WaitState state, std::string_view label);
  // What another rank has told of that last.
  struct Waiting {
    WaitState state = WaitState::kGoesOn;
    std::string label;
  };
  // By rank.
  const std::vector<Waiting>& HearWaiting();

 private:
  // The larger of what the ranks give, element by element.
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
  std::list<std::vector<char>> told_;  // messages that may be on their way
};

}  // namespace sluice::platform::mpi
