#pragma once

#include <type_traits>

#include "sluice/python/bindings/bindings.h"

namespace sluice::python {

// Makes Ctrl-C stop the run that the main thread is in, at its next
// instruction: while it lives, SIGINT also requests the cancellation of runs,
// before Python's own handler sees it. Does nothing in other threads. One may
// live inside of another: a kernel or a callback in Python runs a program, too.
class InterruptibleRun {
 public:
  InterruptibleRun();
  ~InterruptibleRun();
  InterruptibleRun(const InterruptibleRun&) = delete;
  InterruptibleRun& operator=(const InterruptibleRun&) = delete;

  // Whether SIGINT came in, since the outermost of them began.
  bool interrupted() const;

  // To be called once, by the thread that imports the module.
  static void SetMainThread();

 private:
  bool counted_ = false;
};

// Runs without the GIL; Ctrl-C raises what Python's own handler raises.
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
