#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace sluice::mpi {

// A thread that detects an MPI call that does not return. When a rank is
// stopped while it passes a message in shared memory, other ranks block inside
// MPI and can neither send nor receive messages. Lives as long as the process:
// it is never destroyed.
class Watchdog {
 public:
  // Warns after `seconds` without Beat in a Wait or a Call. With `aborts` it
  // then ends the process, and with it the job.
  Watchdog(int rank, double seconds, bool aborts);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Notes that an MPI call has returned.
  void Beat() { beats_.fetch_add(1, std::memory_order_relaxed); }

  // Marks a scope with MPI calls that do not wait; cheaper than a Wait.
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

  // Marks a scope that waits in `label`.
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
  std::string label_;  // "" outside of waits
};

}  // namespace sluice::mpi
