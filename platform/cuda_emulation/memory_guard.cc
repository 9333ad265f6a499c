#include "sluice/platform/cuda_emulation/memory_guard.h"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>

#include <sys/ucontext.h>
#include <unistd.h>

#include "sluice/platform/cuda_emulation/device_memory.h"
#include "sluice/platform/cuda_emulation/fault.h"
#include "sluice/platform/cuda_emulation/grid.h"

namespace sluice::cuda_emulation {
namespace {

struct sigaction previous;
// The thread that runs device work; 0 for none.
std::atomic<pid_t> worker{0};
alignas(64) char handler_stack[size_t{64} << 10];
stack_t stack_before;

bool IsWrite(const void* context) {
#ifdef __x86_64__
  const auto* state = static_cast<const ucontext_t*>(context);
  return (state->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
  static_cast<void>(context);
  return true;
#endif
}

void ReportHostAccess(const void* address, bool write) {
  char where[160];
  Memory().Describe(address, where, sizeof(where));
  char text[320];
  const int length = std::snprintf(
      text, sizeof(text),
      "sluice: the host %s device memory, which it must copy: %s\n",
      write ? "writes to" : "reads from", where);
  if (length > 0) {
    [[maybe_unused]] const auto written =
        ::write(STDERR_FILENO, text, static_cast<size_t>(length));
  }
}

void OnFault(int /*signal*/, siginfo_t* info, void* context) {
  const void* address = info->si_addr;
  const bool device = Memory().Contains(address);
  if (worker.load() == gettid()) {
    if (device) return Memory().Touch(address, IsWrite(context));
    if (InGrid()) {
      const char* what = "use of host memory, or of none";
      if (IsStackGuard(address)) what = "stack overflow";
      if (IsSharedGuard(address)) what = "out of dynamic shared memory";
      Fault(cudaErrorIllegalAddress, "%s, at %p", what, address);
    }
  } else if (device) {
    ReportHostAccess(address, IsWrite(context));
  }
  // Restores the previous handler; the access is retried and reaches it.
  sigaction(SIGSEGV, &previous, nullptr);
}

}  // namespace

void InstallMemoryGuard() {
  [[maybe_unused]] static const bool installed = [] {
    struct sigaction action {};
    action.sa_sigaction = &OnFault;
    // Abandoned work never returns from the handler.
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGSEGV, &action, &previous) == 0;
  }();
}

DeviceWork::DeviceWork(const char* name) {
  running = {name, -1};
  worker = gettid();
  // A fiber with a full stack cannot run the handler on it.
  stack_t stack{};
  stack.ss_sp = handler_stack;
  stack.ss_size = sizeof(handler_stack);
  sigaltstack(&stack, &stack_before);
}

DeviceWork::~DeviceWork() {
  sigaltstack(&stack_before, nullptr);
  worker = 0;
  running = {};
}

}  // namespace sluice::cuda_emulation
