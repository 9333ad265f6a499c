// Part 6: benchmarks.
#include <fstream>

#include "tools/gpu_kit/kit.h"
#include "tools/gpu_kit/python.h"
#include <fmt/format.h>

namespace sluice::gpu_kit {

void RunBenchmarks(Kit& kit) {
  const std::string program = kit.ModeProgram("bench_cuda_kernels");
  const std::string json = kit.OutputPath("cuda.json");
  const std::string python = FindPython(kit);
  // It stops by itself before, with what it has.
  const double seconds = kit.SecondsLeft();
  const std::string limit = fmt::format("{:.0f}", seconds - 25);
  std::vector<std::string> command = {program, "--json", json, "--limit",
                                      limit};
  if (!python.empty()) {
    command = {python,      kit.Path("benchmarks/bench_cuda.py"),
               "--program", program,
               "--json",    json,
               "--limit",   limit,
               "--peers"};
  }
  const ProcessResult result = kit.Run(command, seconds);
  std::ifstream file(json);
  const Json figures = Json::parse(file, nullptr, false);
  kit.AddItem(
      {"bench_cuda", result.ok() ? Status::kPassed : Status::kFailed,
       result.seconds,
       result.ok() ? "" : result.Ending() + "\n" + LastLines(result.output),
       figures.is_discarded() ? Json() : figures});
}

}  // namespace sluice::gpu_kit
