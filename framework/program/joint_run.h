#pragma once

#include <exception>
#include <string_view>

#include "sluice/framework/program/program.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// A complete run of a program with collective ops by the user; for other
// programs, and with one rank, it does nothing. All ranks must begin equally
// many: if one rank catches an error before data moves, its later runs would no
// longer match those of the others. So the runs are counted, and the World
// compares the counts.
class SLUICE_API JointRun {
 public:
  explicit JointRun(const Program& program);
  ~JointRun();
  JointRun(const JointRun&) = delete;
  JointRun& operator=(const JointRun&) = delete;

  // Notes why the run failed, for the error of ranks with other counts.
  void Failed(std::string_view why) noexcept;
  // Whether this thread is in one, e.g. in a block or stretch of the program.
  static bool InOne();

 private:
  const bool joint_;
  const bool outer_;
};

// Returns the result of `run`, called in a JointRun.
template <typename Run>
auto RunJointly(const Program& program, Run run) {
  JointRun joint(program);
  try {
    return run();
  } catch (const std::exception& error) {
    joint.Failed(error.what());
    throw;
  }
}

}  // namespace sluice::framework
