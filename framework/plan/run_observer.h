#pragma once

#include "sluice/framework/plan/plan.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// Watches a run instruction by instruction; the plain loop knows nothing of
// it. Called by the thread that runs. An observer may raise an Error, which
// ends the run as a kernel's would.
class SLUICE_API RunObserver {
 public:
  virtual ~RunObserver();

  // Wait for the device after every instruction, so that times and errors
  // belong to the instruction and values can be looked at?
  virtual bool synchronise() const { return true; }

  // `tensors` are the frame's, by slot.
  virtual void Before(const Plan& /*plan*/,
                      const Instruction& /*instruction*/,
                      const Tensor* /*tensors*/) {}
  virtual void After(const Plan& /*plan*/,
                     const Instruction& /*instruction*/,
                     const Tensor* /*tensors*/) {}
};

// Whether SetCancelRequested(true) holds: for whoever works for long between
// two instructions.
SLUICE_API bool CancelRequested();

}  // namespace sluice::framework
