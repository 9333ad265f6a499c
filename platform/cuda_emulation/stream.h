#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "sluice/platform/cuda_emulation/control.h"

namespace sluice::cuda_emulation {

struct Stream;

// A point in a stream: reached once its first `sequence` pieces have run.
struct Mark {
  std::shared_ptr<Stream> stream;
  uint64_t sequence = 0;
};

// A piece of enqueued work.
struct Work {
  const char* name;
  std::function<void()> run;
  bool on_device;           // else a function of the host
  std::vector<Mark> after;  // marks that must be reached first
};

struct Stream {
  bool blocking = true;  // waits for the default stream, and vice versa
  uint64_t enqueued = 0;
  uint64_t finished = 0;
  std::deque<Work> work;
  std::vector<Mark> waits;  // for the next enqueued work
};

// All streams of the device. Work runs only when a call waits, unless
// Options::streams says otherwise. The runtime's lock must be held.
class Streams {
 public:
  Streams();

  const std::shared_ptr<Stream>& Default() const { return default_; }
  std::shared_ptr<Stream> Create(bool blocking);
  void Destroy(Stream* stream);

  void Enqueue(const std::shared_ptr<Stream>& stream, Work work);
  Mark Last(const std::shared_ptr<Stream>& stream) const;

  // Runs all work that `mark` depends on; raises FaultRaised.
  void WaitFor(const Mark& mark);
  void WaitForAll();
  // Drops all work that has not run.
  void Clear();

 private:
  void RunUpTo(Stream& stream, uint64_t sequence);

  std::shared_ptr<Stream> default_;
  std::vector<std::shared_ptr<Stream>> streams_;
};

Streams& AllStreams();

// Every API call holds it while it reads streams and memory, and while work
// runs.
std::recursive_mutex& RuntimeLock();

}  // namespace sluice::cuda_emulation

struct CUstream_st {
  std::shared_ptr<sluice::cuda_emulation::Stream> stream;
};

struct CUevent_st {
  using Time = std::chrono::steady_clock::time_point;

  sluice::cuda_emulation::Mark mark;  // without a stream: never recorded
  bool timed = true;
  std::shared_ptr<Time> reached{};  // also the stream's, which writes it
};
