#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace sluice::testing {

// The function that a test program runs instead of its tests with --child=NAME.
// Created before main, as a static variable.
class ChildBody {
 public:
  // `body` returns the exit status; an exception is printed, and the status is
  // 1.
  ChildBody(const char* name, int (*body)());
};

// The status of the body that --child names; nothing without --child.
std::optional<int> RunChildBody();

// This program in a separate process, for tests that a process does not
// survive. It starts a fresh process, because CUDA does not survive a fork.
// Used by one thread. The destructor kills it if it still runs.
class ChildProcess {
 public:
  using Seconds = std::chrono::seconds;
  // Long enough for what tests start, and shorter than a test's limit.
  static constexpr Seconds kLimit{90};

  // `environment`, NAME=VALUE, is added to this process's.
  explicit ChildProcess(std::vector<std::string> arguments,
                        const std::vector<std::string>& environment = {});
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Writes a line to its standard input.
  void Say(std::string_view line);
  // Reads until the output contains `text`; false when the process ends or the
  // time is over before.
  bool WaitFor(std::string_view text, Seconds limit = kLimit);
  // Waits for the end: "exit 0", "signal 9" or, when the time was over and it
  // had to be killed, "no end after 90 s".
  std::string Finish(Seconds limit = kLimit);
  // kill -9, and waits for the end.
  void Kill();

  // Its output to stdout and stderr that was read so far.
  const std::string& output() const { return output_; }

 private:
  using Clock = std::chrono::steady_clock;
  // Reads output until `deadline`; returns false at the end of the output.
  bool Read(Clock::time_point deadline);
  std::string Reap();

  pid_t process_ = -1;
  int to_child_ = -1;
  int from_child_ = -1;
  std::string output_;
};

// Whether the system can start this program again; if QEMU runs a test program
// of another architecture, it may not.
bool CanStartItself();

}  // namespace sluice::testing
