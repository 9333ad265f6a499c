#pragma once

#include <type_traits>

#include "sluice/python/bindings/bindings.h"

namespace sluice::python {

// Makes Ctrl-C stop the current run of the main thread at its next instruction.
// While it exists, SIGINT also requests the cancellation of runs, before
// Python's own handler sees it. Does nothing in other threads. It may be
// nested: a kernel or callback in Python may run a program.
class SLUICE_API InterruptibleRun {
 public:
  InterruptibleRun();
  ~InterruptibleRun();
  InterruptibleRun(const InterruptibleRun&) = delete;
  InterruptibleRun& operator=(const InterruptibleRun&) = delete;

  // Whether SIGINT arrived since the outermost one was created.
  bool interrupted() const;

  // Must be called once, by the thread that imports the module.
  static void SetMainThread();

 private:
  bool counted_ = false;
};

// Returns run(), without the GIL.
template <typename Run>
std::invoke_result_t<Run> WithoutGil(Run run) {
  const nb::gil_scoped_release release;
  return run();
}

// Runs without the GIL. After Ctrl-C, raises what Python's handler raises.
template <typename Run>
std::invoke_result_t<Run> RunInterruptibly(Run run) {
  bool interrupted = false;
  try {
    const nb::gil_scoped_release release;
    const InterruptibleRun interruptible;
    try {
      return run();
    } catch (...) {
      interrupted = interruptible.interrupted();
      throw;
    }
  } catch (...) {
    if (interrupted && PyErr_CheckSignals() != 0) throw nb::python_error();
    throw;
  }
}

}  // namespace sluice::python
