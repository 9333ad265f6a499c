// From exec to the first result of a small program, and the size of the
// libraries that it loads.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <set>
#include <string>

#include "benchmarks/bench_util.h"
#include <link.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sluice/sluice.h"

extern char** environ;

namespace {

namespace fs = std::filesystem;

constexpr const char* kFirstResult = "--first-result";

// The timed work: the child process does this and ends.
int FirstResult() {
  sluice::Program program;
  const auto x = program.Data("x", sluice::DType::kFloat32, {-1, 3});
  const auto y = program.Data("y", sluice::DType::kFloat32, {-1, 3});
  const auto distance = sluice::ops::ManhattanDistance(x, y);
  const auto nearest = sluice::ops::TopK(distance, {.k = 1, .largest = false});
  const auto points =
      sluice::Tensor::FromVector<float>({2, 3}, {0, 0, 0, 5, 5, 5});
  const auto known =
      sluice::Tensor::FromVector<float>({2, 3}, {4, 5, 6, 0, 1, 0});
  sluice::Executor executor;
  const auto results =
      executor.Run(program, {{"x", points}, {"y", known}}, {nearest.indices});
  return results[0].ToVector<int64_t>() == std::vector<int64_t>{1, 0} ? 0 : 1;
}

void RunChild(const char* self) {
  char* arguments[] = {const_cast<char*>(self), const_cast<char*>(kFirstResult),
                       nullptr};
  pid_t child = 0;
  int status = 1;
  if (posix_spawn(&child, self, nullptr, nullptr, arguments, environ) != 0 ||
      waitpid(child, &status, 0) != child || status != 0) {
    std::cerr << "the child process failed\n";
    std::exit(1);
  }
}

// Bytes that the dynamic linker maps: the file without symbols and debug
// information, as installed.
size_t StrippedBytes(const std::string& path) {
  const std::string copy =
      (fs::temp_directory_path() / ("sluice_" + std::to_string(getpid())))
          .string();
  const std::string command = "strip -o '" + copy + "' '" + path + "'";
  if (std::system(command.c_str()) != 0) return fs::file_size(path);
  const size_t bytes = fs::file_size(copy);
  fs::remove(copy);
  return bytes;
}

// libsluice and the libraries that it loads, except those of every C++ program:
// libc, libm, libstdc++, libgcc_s, libgomp and the dynamic linker.
size_t LibraryBytes() {
  static const std::set<std::string> kSystem = {
      "libc.so.6",    "libm.so.6",  "libstdc++.so.6",       "libgcc_s.so.1",
      "libgomp.so.1", "libdl.so.2", "ld-linux-x86-64.so.2", "libpthread.so.0"};
  size_t bytes = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* sum) {
        const std::string path = info->dlpi_name;
        const std::string name = fs::path(path).filename().string();
        if (name.empty() || !fs::exists(path) || kSystem.count(name) > 0) {
          return 0;
        }
        const size_t size = StrippedBytes(path);
        std::cout << "  " << name << ": " << size << " bytes\n";
        *static_cast<size_t*>(sum) += size;
        return 0;
      },
      &bytes);
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], kFirstResult) == 0) {
    return FirstResult();
  }
  const auto options = sluice::bench::ParseOptions(
      argc, argv, "Time to the first result, and the size of the library.");
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  const double seconds = sluice::bench::MedianSeconds(
      options.seconds, [&] { RunChild(self.c_str()); });
  sluice::bench::Report report;
  report.Add({"startup/first_result", "ms", seconds * 1e3});
  report.Add(
      {"startup/library_bytes", "bytes", static_cast<double>(LibraryBytes())});
  return report.Finish(options);
}
