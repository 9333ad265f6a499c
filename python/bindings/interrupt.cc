#include "sluice/python/bindings/interrupt.h"

#include <atomic>
#include <csignal>
#include <thread>

#include "sluice/platform/cancel.h"

namespace sluice::python {

namespace {

std::thread::id g_main_thread;
std::atomic<bool> g_interrupted{false};
struct sigaction g_previous;
int g_depth = 0;  // nested runs of the main thread

void OnInterrupt(int signal, siginfo_t* info, void* context) {
  g_interrupted = true;
  SetCancelRequested(true);
  if ((g_previous.sa_flags & SA_SIGINFO) != 0) {
    g_previous.sa_sigaction(signal, info, context);
  } else {
    g_previous.sa_handler(signal);
  }
}

// Returns false if the handler was not changed.
bool InstallHandler() {
  if (sigaction(SIGINT, nullptr, &g_previous) != 0) return false;
  // Handlers that ignore the signal or end the process are kept.
  if ((g_previous.sa_flags & SA_SIGINFO) == 0 &&
      (g_previous.sa_handler == SIG_IGN || g_previous.sa_handler == SIG_DFL)) {
    return false;
  }
  g_interrupted = false;
  struct sigaction action {};
  action.sa_sigaction = &OnInterrupt;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  action.sa_mask = g_previous.sa_mask;
  return sigaction(SIGINT, &action, nullptr) == 0;
}

// Keeps a handler that Python code set during the run.
void RestoreHandler() {
  struct sigaction current {};
  sigaction(SIGINT, &g_previous, &current);
  const bool ours = (current.sa_flags & SA_SIGINFO) != 0 &&
                    current.sa_sigaction == &OnInterrupt;
  if (!ours) sigaction(SIGINT, &current, nullptr);
}

}  // namespace

void InterruptibleRun::SetMainThread() {
  g_main_thread = std::this_thread::get_id();
}

InterruptibleRun::InterruptibleRun() {
  if (std::this_thread::get_id() != g_main_thread) return;
  if (g_depth == 0 && !InstallHandler()) return;
  ++g_depth;
  counted_ = true;
}

InterruptibleRun::~InterruptibleRun() {
  if (!counted_ || --g_depth > 0) return;
  RestoreHandler();
  if (g_interrupted) SetCancelRequested(false);
}

bool InterruptibleRun::interrupted() const {
  return counted_ && g_interrupted;
}

}  // namespace sluice::python
