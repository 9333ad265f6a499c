#pragma once

#include "sluice/framework/plan/plan.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// Observes a run instruction by instruction; the plain loop has no such calls.
// Called by the running thread. An observer may raise an Error, which ends the
// run like a kernel's error.
class SLUICE_API RunObserver {
 public:
  virtual ~RunObserver();

  // Whether the run waits for the device after every instruction, so that times
  // and errors belong to the instruction and values can be read.
  virtual bool synchronise() const { return true; }

  // `tensors` are the frame's, by slot.
  virtual void Before(const Plan& /*plan*/,
                      const Instruction& /*instruction*/,
                      const Tensor* /*tensors*/) {}
  virtual void After(const Plan& /*plan*/,
                     const Instruction& /*instruction*/,
                     const Tensor* /*tensors*/) {}
};

// Whether SetCancelRequested(true) holds: for long work between two
// instructions.
SLUICE_API bool CancelRequested();

}  // namespace sluice::framework
