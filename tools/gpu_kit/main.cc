// Runs the GPU kit; run.sh starts it. See kit.h.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <thread>

#include "tools/gpu_kit/kit.h"
#include "tools/gpu_kit/probe.h"
#include <CLI/CLI.hpp>
#include <unistd.h>

namespace sluice::gpu_kit {
namespace {

constexpr int kCannotBegin = 101;

struct Part {
  const char* name;
  double seconds;
  void (*run)(Kit&);
};

// On an H100 with 16 cores all of them end well within 10 minutes.
constexpr Part kParts[] = {
    {"what is there", 60, &DescribeMachine},
    {"every CUDA test, and every kernel against the CPU's", 240, &RunTests},
    {"the same under compute-sanitizer", 150, &RunSanitizers},
    {"faults, endurance, several processes and threads", 150, &RunEndurance},
    {"networks trained from Python", 120, &RunTraining},
    {"benchmarks", 240, &RunBenchmarks},
};

// GoogleTest's variables, shards for one, are not meant for the tests here.
void ForgetTestVariables() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (text.starts_with("GTEST_"))
      names.push_back(text.substr(0, text.find('=')));
  }
  for (const std::string& name : names) {
    unsetenv(name.c_str());
  }
}

// On Ctrl-C and its like nothing may be left on the GPU. Before any thread is
// started, so that all of them leave these signals to the one that waits.
void EndOnSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    sigaddset(&signals, signal);
  }
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([signals] {
    int signal = 0;
    sigwait(&signals, &signal);
    KillAllProcesses();
    _exit(128 + signal);
  }).detach();
}

int Main(int argc, char** argv) {
  CLI::App app(
      "Tests and measures Sluice on this machine's GPU; without one, on the "
      "emulation.\nParts: 1 what is there, 2 tests and kernels, 3 "
      "compute-sanitizer, 4 faults and endurance, 5 training, 6 benchmarks.\n"
      "Exit status: the number of failures, at most 100; above: it could not "
      "begin.",
      "run.sh");
  Kit::Options options;
  options.output = "gpu_kit_results";
  options.seconds = 580;
  options.jobs =
      static_cast<int>(std::min(8U, std::thread::hardware_concurrency()));
  std::vector<int> parts;
  bool probe = false;
  bool need_gpu = false;
  app.add_option("--output", options.output,
                 "Folder for gpu_kit.json and gpu_kit.log")
      ->capture_default_str();
  app.add_option("--parts", parts, "Only these parts, e.g. 2,4 (1 always runs)")
      ->delimiter(',')
      ->check(CLI::Range(1, 6));
  app.add_option("--limit", options.seconds, "Seconds for everything")
      ->check(CLI::Range(1.0, 86400.0))
      ->capture_default_str();
  app.add_option("--jobs", options.jobs, "Processes at once")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--python", options.python,
                 "The Python with NumPy, and PyTorch for comparisons");
  app.add_option("--libraries", options.libraries,
                 "Folders with libcublas.so.13 and libcuda.so.1, with :")
      ->take_last();
  app.add_flag("--gpu", need_gpu, "End with status 101 where there is no GPU");
  // In a process of its own: only tries cuda:0.
  app.add_flag("--probe", probe)->group("");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kCannotBegin;
  }
  if (probe) return Probe();
  if (options.output.empty()) {
    throw std::runtime_error("--output is empty: expected a folder");
  }
  const std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe");
  options.folder = program.parent_path().parent_path().string();

  EndOnSignals();
  ForgetTestVariables();
  std::error_code error;
  options.output =
      std::filesystem::absolute(options.output).lexically_normal().string();
  std::filesystem::create_directories(options.output, error);
  Kit kit(options);
  const std::set<int> wanted(parts.begin(), parts.end());
  for (int number = 1; number <= 6; ++number) {
    if (number > 1 && !wanted.empty() && wanted.count(number) == 0) continue;
    const Part& part = kParts[number - 1];
    kit.RunPart(number, part.name, part.seconds, [&] { part.run(kit); });
    if (kit.mode() == "none" || (need_gpu && !kit.on_gpu())) {
      kit.Print("nothing can be run, see part 1");
      return kCannotBegin;
    }
  }
  return std::min(kit.Finish(), 100);
}

}  // namespace
}  // namespace sluice::gpu_kit

int main(int argc, char** argv) {
  try {
    return sluice::gpu_kit::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return sluice::gpu_kit::kCannotBegin;
  }
}
