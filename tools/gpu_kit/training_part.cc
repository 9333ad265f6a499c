// Part 5: networks trained from Python, beside the CPU; the digits in C++.
#include "tools/gpu_kit/kit.h"
#include "tools/gpu_kit/python.h"
#include <fmt/format.h>

namespace sluice::gpu_kit {
namespace {

void RunExample(Kit& kit,
                const std::string& name,
                const std::vector<std::string>& command,
                double seconds) {
  const ProcessResult result = kit.Run(command, seconds);
  kit.AddItem(
      {name, result.ok() ? Status::kPassed : Status::kFailed, result.seconds,
       result.ok() ? "" : result.Ending() + "\n" + LastLines(result.output),
       Json{{"printed", LastLines(result.output, 3000)}}, result.command});
}

}  // namespace

void RunTraining(Kit& kit) {
  RunExample(kit, "digits",
             {kit.Path("bin/digits"), kit.Path("examples/data"), "cuda:0"}, 60);
  const std::string python = FindPython(kit);
  if (python.empty()) return;
  RunExample(kit, "crf_tagging", {python, kit.Path("examples/crf_tagging.py")},
             60);
  RunExample(kit, "train_digits",
             {python, kit.Path("examples/train_digits.py"), "--only-cuda",
              "--cuda-epochs", kit.on_gpu() ? "5" : "1", "--output",
              kit.ScratchPath("demo")},
             110);
}

}  // namespace sluice::gpu_kit
