#pragma once

#include "sluice/framework/inspect/write_check.h"
#include "sluice/platform/export.h"

namespace sluice {

// Stops a run at the first op that makes NaN or an infinity of finite inputs,
// NaN of infinities, or reads a NaN that was fed or stored: raises Internal
// with the numbers of each kind, the first index, and the range of each input.
// An infinity may be fed, since masks use it, and be made of another one.
class SLUICE_API FiniteCheck : public WriteCheck {
 public:
  explicit FiniteCheck(const Plan& plan) : plan_(plan) {}

  void Before(const Plan& plan,
              const Instruction& instruction,
              const Tensor* tensors) override;
  void After(const Plan& plan,
             const Instruction& instruction,
             const Tensor* tensors) override;

  // The op of the plan that ran last, which has the block of the others.
  int op_index() const { return op_index_; }

 private:
  const Plan& plan_;
  int op_index_ = -1;
};

}  // namespace sluice
