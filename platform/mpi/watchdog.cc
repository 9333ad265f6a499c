#include "sluice/platform/mpi/watchdog.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "sluice/platform/diagnostics/logging.h"

namespace sluice::mpi {

Watchdog::Watchdog(int rank, double seconds, bool aborts)
    : rank_(rank), seconds_(seconds), aborts_(aborts) {
  std::thread([this] { Watch(); }).detach();
}

void Watchdog::SetLabel(std::string_view label) {
  const std::lock_guard lock(mutex_);
  label_ = label;
}

void Watchdog::Watch() {
  constexpr double kLooks = 10;  // looks in `seconds_`
  const std::chrono::duration<double> pause(seconds_ / kLooks);
  uint64_t seen = 0;
  double still = 0;
  for (;;) {
    std::this_thread::sleep_for(pause);
    const uint64_t beats = beats_.load(std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    const bool calls = !label_.empty() || inside_.load();
    const bool moves = !calls || beats != seen;
    seen = beats;
    const double before = still;
    still = moves ? 0 : still + pause.count();
    if (before >= seconds_ || still < seconds_) continue;
    Log(aborts_ ? LogLevel::kError : LogLevel::kWarning,
        "rank {} has been in one call of MPI for {:.0f} s, in {}: another rank "
        "may have been stopped in the middle of a message",
        rank_, still, label_.empty() ? "the middle of a run" : label_);
    // This process would hang otherwise.
    if (aborts_) std::_Exit(EXIT_FAILURE);
  }
}

}  // namespace sluice::mpi
