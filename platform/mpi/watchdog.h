#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace sluice::platform::mpi {

// A thread that notices where a call of MPI does not come back: where a rank is
// stopped in the middle of handing over a message in shared memory, others wait
// for it inside of MPI, and can neither hear nor say anything any more. For the
// whole life of the process: it is never destroyed.
class Watchdog {
 public:
  // Warns after so many seconds without Beat in a Wait or a Call; with `aborts`
  // the process ends, and with it the job.
  Watchdog(int rank, double seconds, bool aborts);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // A call of MPI has come back.
  void Beat() { beats_.fetch_add(1, std::memory_order_relaxed); }

  // Calls that do not wait, as long as the object lives: cheaper than a Wait.
  class Call {
   public:
    explicit Call(Watchdog& watchdog) : watchdog_(watchdog) {
      watchdog_.inside_.store(true, std::memory_order_relaxed);
    }
    ~Call() {
      watchdog_.Beat();
      watchdog_.inside_.store(false, std::memory_order_relaxed);
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    Watchdog& watchdog_;
  };

  // A wait in `label`, as long as the object lives.
  class Wait {
   public:
    Wait(Watchdog& watchdog, std::string_view label) : watchdog_(watchdog) {
      watchdog_.SetLabel(label);
    }
    ~Wait() { watchdog_.SetLabel(""); }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    Watchdog& watchdog_;
  };

 private:
  void SetLabel(std::string_view label);
  [[noreturn]] void Watch();

  const int rank_;
  const double seconds_;
  const bool aborts_;
  std::atomic<uint64_t> beats_{0};
  std::atomic<bool> inside_{false};
  std::mutex mutex_;
  std::string label_;  // "" while nothing waits
};

}  // namespace sluice::platform::mpi
