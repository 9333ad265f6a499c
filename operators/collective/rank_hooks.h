#pragma once

#include <string_view>

#include "sluice/framework/plan/run_hooks.h"
#include "sluice/framework/program/program.h"
#include "sluice/platform/export.h"

// The run hooks of ranks: before data moves, all ranks agree on the program and
// on what its collective ops exchange; a rank that fails tells the others.
namespace sluice {

// Whether the program has collective ops: those that have a kernel which
// exchanges data (KernelTraits::Exchange). Each thread caches the result.
SLUICE_API bool HasCollectives(const Program& program);

// A complete run of a program with collective ops by the user; for other
// programs, and with one rank, it does nothing. All ranks must begin equally
// many: if one rank catches an error before data moves, its later runs would no
// longer match those of the others. So the runs are counted, and the World
// compares the counts. A run in a JointRun of the same thread is a part of it.
class SLUICE_API JointRun final : public ProgramRun {
 public:
  explicit JointRun(const Program& program);
  ~JointRun() override;
  JointRun(const JointRun&) = delete;
  JointRun& operator=(const JointRun&) = delete;

  // Notes why the run failed, for the error of ranks with other counts.
  void Failed(std::string_view why) noexcept override;

 private:
  const bool joint_;
  const bool outer_;
};

}  // namespace sluice
