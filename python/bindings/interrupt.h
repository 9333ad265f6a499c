#pragma once

namespace sluice::python {

// Makes Ctrl-C stop the run that the main thread is in, at its next
// instruction: while it lives, SIGINT also requests the cancellation of runs,
// before Python's own handler sees it. Does nothing in other threads.
class InterruptibleRun {
 public:
  InterruptibleRun();
  ~InterruptibleRun();
  InterruptibleRun(const InterruptibleRun&) = delete;
  InterruptibleRun& operator=(const InterruptibleRun&) = delete;

  // Whether SIGINT came in.
  bool interrupted() const;

  // To be called once, by the thread that imports the module.
  static void SetMainThread();

 private:
  bool installed_ = false;
};

}  // namespace sluice::python
