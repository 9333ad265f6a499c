// Part 6: benchmarks.
#include <filesystem>
#include <fstream>

#include "tools/gpu_kit/kit.h"
#include "tools/gpu_kit/python.h"
#include <fmt/format.h>

namespace sluice::gpu_kit {
namespace {

Item Outcome(const std::string& name, const ProcessResult& result) {
  return {name,
          result.ok() ? Status::kPassed : Status::kFailed,
          result.seconds,
          result.ok() ? "" : result.Ending() + "\n" + LastLines(result.output),
          {},
          result.command};
}

// What could not be measured, each with its reason.
void ReportLeftOut(Kit& kit, const Json& figures) {
  if (!figures.contains("left_out")) return;
  for (const auto& [what, reason] : figures["left_out"].items()) {
    kit.AddItem(
        {"bench_cuda: " + what, Status::kLeftOut, 0,
         reason.is_string() ? reason.get<std::string>() : reason.dump()});
  }
}

void RunTable1(Kit& kit) {
  std::vector<std::string> command = {kit.Path("bin/bench_table1"), "--json",
                                      kit.OutputPath("table1.json")};
  if (kit.on_gpu()) {
    command.insert(command.end(), {"--seconds", "0.2"});
  } else {
    command.emplace_back("--smoke");
  }
  Item item = Outcome("bench_table1", kit.Run(command, 120));
  std::ifstream file(kit.OutputPath("table1.json"));
  const Json figures = Json::parse(file, nullptr, false);
  if (figures.is_object()) item.figures = figures;
  kit.AddItem(item);
}

void WriteWorstKernels(Kit& kit,
                       const std::string& python,
                       const std::string& json) {
  const ProcessResult page =
      kit.Run({python, kit.Path("benchmarks/worst_kernels.py"), json}, 30);
  if (page.ok()) {
    std::ofstream(kit.OutputPath("worst_kernels.md")) << page.output;
  }
  kit.AddItem(Outcome("worst_kernels", page));
}

}  // namespace

void RunBenchmarks(Kit& kit) {
  RunTable1(kit);
  const std::string program = kit.ModeProgram("bench_cuda_kernels");
  const std::string json = kit.OutputPath("cuda.json");
  const std::string python = FindPython(kit);
  // It stops by itself before, with what it has.
  const double seconds = kit.SecondsLeft();
  const std::string limit = fmt::format("{:.0f}", std::max(seconds - 25, 1.0));
  std::vector<std::string> command = {program, "--json", json, "--limit",
                                      limit};
  if (!python.empty()) {
    command = {python,      kit.Path("benchmarks/bench_cuda.py"),
               "--program", program,
               "--json",    json,
               "--limit",   limit,
               "--peers"};
    if (!kit.options().python.empty()) {
      command.insert(command.end(), {"--python", python});
    }
  }
  const ProcessResult result = kit.Run(command, seconds);
  std::ifstream file(json);
  const Json figures = Json::parse(file, nullptr, false);
  Item item = Outcome("bench_cuda", result);
  if (figures.is_object()) item.figures = figures;
  kit.AddItem(item);
  if (!figures.is_object()) return;
  ReportLeftOut(kit, figures);
  if (!python.empty()) WriteWorstKernels(kit, python, json);
}

}  // namespace sluice::gpu_kit
