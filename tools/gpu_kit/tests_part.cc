// Part 2: every CUDA test, and every CUDA kernel against the CPU's.
#include <map>

#include "tools/gpu_kit/kernel_list.h"
#include "tools/gpu_kit/kit.h"
#include "tools/gpu_kit/test_programs.h"
#include <fmt/format.h>

namespace sluice::gpu_kit {
namespace {

// The harness, a process for each op: a kernel that loses the device takes the
// other tests of its op with it, and no more.
void RunHarness(Kit& kit, const Ops& ops) {
  kit.Parallel("harness", ops.size(), [&](size_t i) {
    TestProgram harness = {kit.Path("bin/sluice_operators_test"),
                           "Ops/OpHarness.*/" + ops[i]};
    harness.options = {"--kernels=cuda"};
    RunTestProgram(kit, harness);
  });
}

// Differing bits between this device and the emulation, op by op.
void CompareWithEmulation(Kit& kit, const Ops& ops) {
  const std::string program = kit.Path("bin/sluice_kernel_outputs");
  const std::string folder = kit.ScratchPath("emulated_outputs");
  const ProcessResult written =
      kit.Run({program, "--write", folder}, 120, "emulated");
  kit.AddItem(
      {"outputs of the emulation",
       written.ok() ? Status::kPassed : Status::kFailed, written.seconds,
       written.ok() ? ""
                    : written.Ending() + "\n" + LastLines(written.output)});
  if (!written.ok()) return;
  std::map<std::string, int64_t> differing;
  kit.Parallel("bits", ops.size(), [&](size_t i) {
    const ProcessResult result =
        kit.Run({program, "--compare", folder, "--ops", ops[i]}, 60);
    const Json figures = Json::parse(result.output, nullptr, false);
    kit.AddItem(
        {"bits/" + ops[i], result.ok() ? Status::kPassed : Status::kFailed,
         result.seconds,
         result.ok() ? "" : result.Ending() + "\n" + LastLines(result.output),
         figures.is_discarded() ? Json() : figures});
  });
}

void RunConformance(Kit& kit) {
  const std::string plugin =
      kit.mode() + "/lib/sluice_plugins/libsluice_fpga.so";
  const ProcessResult result =
      kit.Run({kit.Path("bin/sluice-conformance"), kit.Path(plugin)}, 60);
  kit.AddItem(
      {"conformance of the FPGA stub",
       result.ok() ? Status::kPassed : Status::kFailed, result.seconds,
       result.ok() ? "" : result.Ending() + "\n" + LastLines(result.output)});
}

}  // namespace

void RunTests(Kit& kit) {
  const std::string loss = "*CUDALoss*";
  RunTestProgram(kit, {kit.ModeProgram("sluice_cuda_test"), "-" + loss});
  TestProgram losses = {kit.ModeProgram("sluice_cuda_test"), loss};
  losses.one_process_each = true;
  RunTestProgram(kit, losses);
  RunTestProgram(kit, {kit.Path("bin/sluice_framework_test"),
                       "CudaPlan*:Executor*:Plan*:Persistable*:RunOp*:"
                       "Concurrency*:DebugRun*:Profile*"});
  RunTestProgram(kit, {kit.Path("bin/sluice_examples_test"), "CUDA*"});
  RunTestProgram(kit, {kit.Path("bin/sluice_operators_test"), "CUDA*"});
  RunConformance(kit);
  const Ops ops = OpsWithKernels(kit, kit.mode());
  // A kernel that only one of the two builds has would be compared with
  // nothing.
  if (OpsWithKernels(kit, "emulated") != ops) {
    kit.AddItem({"list of the CUDA kernels", Status::kFailed, 0,
                 "the emulation has kernels for other ops: compare the lists "
                 "of sluice_kernel_outputs --list"});
  }
  RunHarness(kit, ops);
  CompareWithEmulation(kit, ops);
}

}  // namespace sluice::gpu_kit
