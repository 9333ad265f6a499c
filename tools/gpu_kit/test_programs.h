#pragma once

#include <string>
#include <vector>

#include "tools/gpu_kit/kit.h"

namespace sluice::gpu_kit {

// A GoogleTest program and which of its tests to run.
struct TestProgram {
  std::string path;
  std::string filter = "*";  // as for --gtest_filter
  std::vector<std::string> options = {};
  // Each test in a process of its own: for tests that lose the device, which
  // stays lost until the process ends.
  bool one_process_each = false;
  double seconds_each = 60;  // limit of a process
};

// Runs the tests and reports each as an item, named `prefix` + its name. After
// a test that fails, dies or hangs the others go on in a new process: it may
// have lost the device.
void RunTestProgram(Kit& kit,
                    const TestProgram& program,
                    const std::string& prefix = "");

// The names of the tests that the filter leaves. Reports an item and returns
// none when the program cannot list them.
std::vector<std::string> ListTests(Kit& kit, const TestProgram& program);

// What GoogleTest prints of the tests that it ran: their results in order. The
// last one is kFailed without an end when the program died in it.
std::vector<Item> ParseTestOutput(const std::string& output);

}  // namespace sluice::gpu_kit
