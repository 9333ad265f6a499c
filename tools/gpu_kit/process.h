#pragma once

#include <map>
#include <string>
#include <vector>

namespace sluice::gpu_kit {

// Environment variables that a process gets besides those of this one.
using Environment = std::map<std::string, std::string>;

// How a process ended.
struct ProcessResult {
  int exit_status = -1;  // of exit(); -1 where it did not get there
  int signal = 0;        // that ended it
  bool timed_out = false;
  double seconds = 0;
  std::string output;  // standard output and error, in the order written
  // Why it could not be started; empty where it was.
  std::string not_started;
  // To do it again from a shell; only Kit::Run knows.
  std::string command;

  bool ok() const { return exit_status == 0; }
  // "exit status 3", "ended by signal 11 (Segmentation fault)",
  // "stopped after its limit of 60 s".
  std::string Ending() const;
};

// Runs `command` (a path or a name on PATH, and its arguments) and waits for
// it. After `limit_seconds` it is killed; what it started and left running is
// killed with it. Standard input is empty. Called from any thread.
// Of a long output the beginning and the end are kept.
ProcessResult RunProcess(const std::vector<std::string>& command,
                         const Environment& environment,
                         double limit_seconds);

// Kills all that RunProcess has started and that still run. For a program that
// is about to end.
void KillAllProcesses();

}  // namespace sluice::gpu_kit
