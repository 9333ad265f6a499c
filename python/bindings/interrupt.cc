#include "sluice/python/bindings/interrupt.h"

#include <atomic>
#include <csignal>
#include <thread>

#include "sluice/framework/plan/plan.h"

namespace sluice::python {

namespace {

std::thread::id g_main_thread;
std::atomic<bool> g_interrupted{false};
struct sigaction g_previous;
int g_depth = 0;  // of runs in one another; the main thread's

void OnInterrupt(int signal, siginfo_t* info, void* context) {
  g_interrupted = true;
  framework::SetCancelRequested(true);
  if ((g_previous.sa_flags & SA_SIGINFO) != 0) {
    g_previous.sa_sigaction(signal, info, context);
  } else {
    g_previous.sa_handler(signal);
  }
}

}  // namespace

void InterruptibleRun::SetMainThread() {
  g_main_thread = std::this_thread::get_id();
}

InterruptibleRun::InterruptibleRun() {
  if (std::this_thread::get_id() != g_main_thread) return;
  if (g_depth > 0) {
    ++g_depth;
    counted_ = true;
    return;
  }
  if (sigaction(SIGINT, nullptr, &g_previous) != 0) return;
  // Whoever ignores the signal, or dies of it, shall do so still.
  if ((g_previous.sa_flags & SA_SIGINFO) == 0 &&
      (g_previous.sa_handler == SIG_IGN || g_previous.sa_handler == SIG_DFL)) {
    return;
  }
  g_interrupted = false;
  struct sigaction action {};
  action.sa_sigaction = &OnInterrupt;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  action.sa_mask = g_previous.sa_mask;
  counted_ = sigaction(SIGINT, &action, nullptr) == 0;
  if (counted_) g_depth = 1;
}

InterruptibleRun::~InterruptibleRun() {
  if (!counted_ || --g_depth > 0) return;
  // Python code that ran meanwhile may have set a handler of its own.
  struct sigaction present {};
  sigaction(SIGINT, nullptr, &present);
  if ((present.sa_flags & SA_SIGINFO) != 0 &&
      present.sa_sigaction == &OnInterrupt) {
    sigaction(SIGINT, &g_previous, nullptr);
  }
  if (g_interrupted) framework::SetCancelRequested(false);
}

bool InterruptibleRun::interrupted() const {
  return counted_ && g_interrupted;
}

}  // namespace sluice::python
