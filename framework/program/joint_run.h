#pragma once

#include <exception>
#include <string_view>

#include "sluice/framework/program/program.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// A run of a program with collective ops by its user, from beginning to end;
// for other programs, and with one rank, it does nothing. All ranks have to
// begin equally many: an error before data moves, which one rank catches, would
// shift its runs against the others'. So they are counted, and the World
// compares the counts.
class SLUICE_API JointRun {
 public:
  explicit JointRun(const Program& program);
  ~JointRun();
  JointRun(const JointRun&) = delete;
  JointRun& operator=(const JointRun&) = delete;

  // Why it has ended without a result: others are told where counts differ.
  void Failed(std::string_view why) noexcept;
  // Whether this thread is in one: the blocks and stretches of the program.
  static bool InOne();

 private:
  const bool joint_;
  const bool outer_;
};

// What `run` returns, in a JointRun.
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
