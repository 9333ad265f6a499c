#include "sluice/laboratory/measure/cpu_waits.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <dirent.h>

namespace sluice {
namespace {

// The scheduler makes threads wait for milliseconds.
constexpr double kLongEnoughToTell = 0.5e-3;
constexpr double kShareThatDisturbs = 0.5;

struct Close {
  void operator()(DIR* folder) const { closedir(folder); }
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

int64_t CpuWaits::Read() {
  const std::unique_ptr<DIR, Close> folder(opendir("/proc/self/task"));
  if (folder == nullptr) return 0;
  int64_t more = 0;
  while (const dirent* entry = readdir(folder.get())) {
    const int thread = std::atoi(entry->d_name);
    if (thread <= 0) continue;
    const std::string path =
        "/proc/self/task/" + std::to_string(thread) + "/schedstat";
    const std::unique_ptr<std::FILE, Close> file(
        std::fopen(path.c_str(), "re"));
    long long ran = 0, waited = 0;
    // The thread may have ended meanwhile.
    if (file == nullptr ||
        std::fscanf(file.get(), "%lld %lld", &ran, &waited) != 2) {
      continue;
    }
    int64_t& before = waited_[thread];
    more += std::max<int64_t>(waited - before, 0);
    before = waited;
  }
  return more;
}

bool CpuWaits::Disturbed(double seconds) {
  return seconds >= kLongEnoughToTell &&
         SinceLast() > kShareThatDisturbs * seconds;
}

}  // namespace sluice
