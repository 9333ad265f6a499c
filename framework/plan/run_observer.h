#pragma once

#include "sluice/framework/plan/plan.h"
#include "sluice/platform/export.h"

namespace sluice {

// Observes a run instruction by instruction; the plain loop has no such calls.
// Called by the running thread. An observer may raise an Error, which ends the
// run like a kernel's error.
class SLUICE_API RunObserver {
 public:
  virtual ~RunObserver();

  // Whether the run waits for the device after every instruction, so that times
  // and errors belong to the instruction and values can be read.
  virtual bool synchronise() const { return true; }

  // Whether the instructions of blocks that run inside of an op are observed,
  // too; otherwise the op is one instruction.
  virtual bool enters_blocks() const { return false; }
  // Called before each run of such a block.
  virtual void BeforeBlock(const Plan& /*block*/,
                           const Feeds& /*feeds*/,
                           Scope* /*scope*/) {}

  // `tensors` are the frame's, by slot.
  virtual void Before(const Plan& /*plan*/,
                      const Instruction& /*instruction*/,
                      const Tensor* /*tensors*/) {}
  virtual void After(const Plan& /*plan*/,
                     const Instruction& /*instruction*/,
                     const Tensor* /*tensors*/) {}
};

}  // namespace sluice
