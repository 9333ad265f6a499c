// Part 4: faults, endurance, several processes and threads.
#include "tools/gpu_kit/kit.h"
#include "tools/gpu_kit/test_programs.h"

namespace sluice::gpu_kit {

void RunEndurance(Kit& kit) {
  // Each test alone: some lose the device, and some look at its free memory.
  TestProgram program = {kit.ModeProgram("sluice_cuda_endurance_test")};
  program.one_process_each = true;
  program.seconds_each = 120;  // their own children have 90
  RunTestProgram(kit, program);
}

}  // namespace sluice::gpu_kit
