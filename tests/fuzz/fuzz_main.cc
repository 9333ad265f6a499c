// Runs a fuzzer without libFuzzer, on random inputs: run i of seed s is the
// same everywhere. An input that crashes, takes 10 s of CPU time or more than 2
// GiB of memory, or that the target reports, ends the process with status 1,
// and is written to a file.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"
#include "tests/testing/resource_limit.h"
#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "sluice/platform/parallel_for.h"

namespace sluice::fuzz {
namespace {

constexpr rlim_t kMemory = rlim_t{2} << 30;
constexpr int kSeconds = 10;
constexpr size_t kRandomBytes = 2048;

// The current run, for the signal handler.
const std::string* g_input = nullptr;
char g_file[256] = "";

void OnFault(int signal) {
  const char* what = signal == SIGPROF ? "it takes more than 10 s: " : "";
  const int file = creat(g_file, 0666);
  if (file >= 0 && g_input != nullptr) {
    static_cast<void>(!write(file, g_input->data(), g_input->size()));
    close(file);
  }
  std::fprintf(stderr, "fault: %ssignal %d; the input is in %s\n", what, signal,
               g_file);
  _exit(1);
}

void WatchFaults() {
  static char stack[1 << 16];
  stack_t alternate{};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof(stack);
  sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_handler = OnFault;
  action.sa_flags = SA_ONSTACK | SA_RESETHAND;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF}) {
    sigaction(signal, &action, nullptr);
  }
}

void Try(const std::string& input, const std::string& name) {
  g_input = &input;
  std::snprintf(g_file, sizeof(g_file), "fault-%s", name.c_str());
  const itimerval limit{{0, 0}, {kSeconds, 0}};
  setitimer(ITIMER_PROF, &limit, nullptr);
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()),
                         input.size());
  const itimerval none{};
  setitimer(ITIMER_PROF, &none, nullptr);
}

std::string InputOf(uint64_t seed,
                    uint64_t run,
                    const std::vector<std::string>& known) {
  std::seed_seq sequence{
      static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32),
      static_cast<uint32_t>(run), static_cast<uint32_t>(run >> 32)};
  std::mt19937_64 random(sequence);
  std::string bytes(kRandomBytes, '\0');
  std::generate(bytes.begin(), bytes.end(),
                [&random] { return static_cast<char>(random()); });
  // Every second input is a changed known one.
  const bool changed = !known.empty() && run % 2 == 1;
  return MakeInput(bytes, changed ? known[random() % known.size()] : "");
}

std::string ContentsOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// The files of a folder, by name.
std::vector<std::string> InputsIn(const std::string& folder) {
  if (folder.empty()) return {};
  std::vector<std::string> paths, inputs;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    inputs.push_back(ContentsOf(path));
  }
  return inputs;
}

struct Options {
  uint64_t seed = 1;
  uint64_t first = 0;
  uint64_t runs = UINT64_MAX;
  double seconds = 1e9;
  std::string corpus;
  std::string known;
  std::vector<std::string> files;
};

void RunFiles(const Options& options) {
  for (const std::string& path : options.files) {
    Try(ContentsOf(path), "again");
  }
}

void RunSeed(const Options& options) {
  const std::vector<std::string> known = InputsIn(options.known);
  const std::time_t begin = std::time(nullptr);
  uint64_t run = options.first;
  const uint64_t end =
      options.runs > UINT64_MAX - run ? UINT64_MAX : run + options.runs;
  for (; run < end; ++run) {
    if (std::difftime(std::time(nullptr), begin) >= options.seconds) break;
    const std::string input = InputOf(options.seed, run, known);
    const std::string name =
        std::to_string(options.seed) + "-" + std::to_string(run);
    if (options.corpus.empty()) {
      Try(input, name);
    } else {
      std::ofstream(options.corpus + "/" + name, std::ios::binary) << input;
    }
  }
  std::printf("seed %llu: runs %llu to %llu\n",
              static_cast<unsigned long long>(options.seed),
              static_cast<unsigned long long>(options.first),
              static_cast<unsigned long long>(run));
}

}  // namespace
}  // namespace sluice::fuzz

int main(int argc, char** argv) {
  using namespace sluice::fuzz;  // NOLINT(google-build-using-namespace)
  Options options;
  CLI::App app("Runs a fuzzer on inputs that numbers make");
  app.add_option("--seed", options.seed, "Of all inputs")
      ->capture_default_str();
  app.add_option("--first", options.first, "The first run")
      ->capture_default_str();
  app.add_option("--runs", options.runs, "How many; all unless given");
  app.add_option("--seconds", options.seconds, "When to end");
  app.add_option("--known", options.known,
                 "A folder of inputs; each other run changes one of them");
  app.add_option("--write-corpus", options.corpus,
                 "Write the inputs to this folder, for libFuzzer");
  app.add_option("files", options.files, "Inputs to try instead");
  CLI11_PARSE(app, argc, argv);
  sluice::SetNumThreads(1);
  WatchFaults();
  if (sluice::testing::AddressSpaceCanBeLimited()) {
    const rlim_t most = sluice::testing::AddressSpace() + kMemory;
    const rlimit limit{most, most};
    setrlimit(RLIMIT_AS, &limit);
  }
  if (options.files.empty()) {
    RunSeed(options);
  } else {
    RunFiles(options);
  }
  return 0;
}
