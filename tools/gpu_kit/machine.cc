// Part 1: what is there.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "tools/gpu_kit/kit.h"
#include <fmt/format.h>
#include <sys/utsname.h>

namespace sluice::gpu_kit {
namespace {

constexpr const char* kQueries =
    "name,driver_version,compute_cap,memory.total,memory.free,clocks.sm,"
    "clocks.max.sm,clocks.mem,clocks.max.mem,temperature.gpu,power.draw,"
    "pstate,compute_mode,mig.mode.current";

std::vector<std::string> Split(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, ',');) {
    field.erase(0, field.find_first_not_of(' '));
    fields.push_back(field);
  }
  return fields;
}

std::string FirstLine(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// What the driver says of the first GPU, and who else uses it.
void AskDriver(Kit& kit) {
  const ProcessResult result =
      kit.Run({"nvidia-smi", "-i", "0", "--format=csv,noheader",
               fmt::format("--query-gpu={}", kQueries)},
              30);
  if (!result.ok()) {
    kit.AddItem({"nvidia-smi", Status::kLeftOut, result.seconds,
                 result.not_started.empty() ? LastLines(result.output)
                                            : result.not_started});
    return;
  }
  const std::vector<std::string> names = Split(kQueries);
  const std::vector<std::string> values = Split(FirstLine(result.output));
  Json figures;
  for (size_t i = 0; i < std::min(names.size(), values.size()); ++i) {
    figures[names[i]] = values[i];
  }
  const ProcessResult others =
      kit.Run({"nvidia-smi", "-i", "0", "--format=csv,noheader",
               "--query-compute-apps=pid,name,used_memory"},
              30);
  if (others.ok() && !others.output.empty()) {
    figures["used_by"] = others.output;
    kit.Print("  the GPU is in use, times will suffer:\n" + others.output);
  }
  kit.AddItem({"nvidia-smi", Status::kPassed, result.seconds, "", figures});
}

// The last line of what the probe printed; null where that is no JSON.
Json ProbeResult(const ProcessResult& result) {
  std::string line;
  std::istringstream lines(result.output);
  for (std::string next; std::getline(lines, next);) {
    if (next.starts_with('{')) line = next;
  }
  const Json found = Json::parse(line, nullptr, false);
  return found.is_object() ? found : Json();
}

// Also where only one of them shows, as in containers and under Windows.
bool HasDriver(Kit& kit) {
  for (const char* sign : {"/dev/nvidia0", "/dev/nvidiactl", "/dev/dxg",
                           "/proc/driver/nvidia/version"}) {
    if (std::filesystem::exists(sign)) return true;
  }
  return kit.Run({"nvidia-smi", "-L"}, 30).ok();
}

// Opens the device with the libraries of `mode`.
bool Usable(Kit& kit, const std::string& mode) {
  const std::string name = "cuda:0, " + mode;
  if (!std::filesystem::exists(kit.Path(mode + "/lib"))) {
    kit.AddItem({name, Status::kFailed, 0,
                 kit.Path(mode + "/lib") + " is missing: copy the whole kit"});
    return false;
  }
  const ProcessResult result =
      kit.Run({kit.Path("bin/sluice-gpu-kit"), "--probe"}, 60, mode);
  Json found = ProbeResult(result);
  const bool usable = !found.is_null() && found.value("usable", false);
  if (usable && !result.ok()) {
    // It computes, and dies when its process ends.
    kit.AddItem({name + ", the end of the process",
                 Status::kFailed,
                 result.seconds,
                 result.Ending() + "\n" + LastLines(result.output),
                 {},
                 result.command});
  }
  if (usable) {
    kit.Print("  " + name + ": " + found["device"].get<std::string>());
    kit.about()[mode == "gpu" ? "gpu" : "emulation"] = found["device"];
    kit.AddItem({name, Status::kPassed, result.seconds, "", found});
    return true;
  }
  const std::string reason =
      found.is_null() ? result.Ending() + "\n" + LastLines(result.output)
                      : found.value("reason", result.Ending());
  // A machine without a GPU is no failure; a GPU that cannot be used is.
  const bool expected = mode == "gpu" && !HasDriver(kit);
  kit.AddItem({name, expected ? Status::kLeftOut : Status::kFailed,
               result.seconds,
               expected ? "there is no NVIDIA driver on this machine: " + reason
                        : reason,
               found, result.command});
  return false;
}

std::string Contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string CpuName() {
  std::istringstream lines(Contents("/proc/cpuinfo"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::string OsName() {
  std::istringstream lines(Contents("/etc/os-release"));
  constexpr std::string_view kName = "PRETTY_NAME=";
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kName)) return line.substr(kName.size());
  }
  return "unknown";
}

}  // namespace

void DescribeMachine(Kit& kit) {
  const Json built =
      Json::parse(Contents(kit.Path("kit.json")), nullptr, false);
  if (built.is_object()) kit.about().update(built);
  utsname system = {};
  uname(&system);
  const auto cores = std::thread::hardware_concurrency();
  kit.about()["machine"] = {{"cpu", CpuName()},
                            {"cores", cores},
                            {"kernel", system.release},
                            {"os", OsName()}};
  AskDriver(kit);
  const bool gpu = Usable(kit, "gpu");
  const bool emulated = Usable(kit, "emulated");
  kit.SetMode(gpu ? "gpu" : emulated ? "emulated" : "none");
  kit.Print(gpu        ? "  the parts run on the GPU"
            : emulated ? "  no GPU: the parts run on the emulation, on this CPU"
                       : "  no GPU, and the emulation does not work either");
}

}  // namespace sluice::gpu_kit
