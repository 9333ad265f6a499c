#include "sluice/platform/cpu/cpu_info.h"

#include <hwy/targets.h>
#include <sched.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

namespace sluice {
namespace {

// One cgroup file system: where it is mounted and which cgroup is its root.
struct Mount {
  std::string root;
  std::string point;
  bool v2 = false;
  std::string controllers;  // of v1, "rw,cpu,cpuacct"
};

bool ListHas(const std::string& list, const std::string& word) {
  return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

// One line of mountinfo: id parent dev root point options... - type source
// super-options. False for other file systems.
bool ParseMount(const std::string& line, Mount* mount) {
  const size_t dash = line.find(" - cgroup");
  if (dash == std::string::npos) return false;
  std::istringstream left(line.substr(0, dash)), right(line.substr(dash + 3));
  std::string id, parent, device, type, source;
  left >> id >> parent >> device >> mount->root >> mount->point;
  right >> type >> source >> mount->controllers;
  mount->v2 = type == "cgroup2";
  return mount->v2 || type == "cgroup";
}

// Returns the folder of this process below a mount. In a container the mount's
// root may be the cgroup itself, or be unrelated to `path`.
std::string FolderIn(const Mount& mount, const std::string& path) {
  if (mount.root == "/") return mount.point + (path == "/" ? "" : path);
  const bool below = path.rfind(mount.root + "/", 0) == 0;
  return mount.point + (below ? path.substr(mount.root.size()) : "");
}

// Reads up to two words; "max", -1 and a missing file are read as -1.
void ReadPair(const std::string& file, double* first, double* second) {
  std::ifstream in(file);
  std::string word;
  *first = -1;
  if (!(in >> word)) return;
  char* end = nullptr;
  const double value = std::strtod(word.c_str(), &end);
  if (*end == '\0') *first = value;
  if (second != nullptr && !(in >> *second)) *second = -1;
}

void Lower(double value, double* limit) {
  if (value > 0 && (*limit < 0 || value < *limit)) *limit = value;
}

struct RawLimits {
  double cpus = -1;
  double memory = -1;
};

void ReadFolder(const std::string& folder, bool v2, RawLimits* limits) {
  double quota = -1, period = -1, memory = -1;
  if (v2) {
    ReadPair(folder + "/cpu.max", &quota, &period);
    ReadPair(folder + "/memory.max", &memory, nullptr);
  } else {
    ReadPair(folder + "/cpu.cfs_quota_us", &quota, nullptr);
    ReadPair(folder + "/cpu.cfs_period_us", &period, nullptr);
    ReadPair(folder + "/memory.limit_in_bytes", &memory, nullptr);
  }
  if (quota > 0 && period > 0) Lower(quota / period, &limits->cpus);
  // v1 stores the largest multiple of a page in an int64 for "no limit".
  if (memory < 9.2e18) Lower(memory, &limits->memory);
}

// Reads the folder and its parents up to the mount: the lowest limit counts.
void ReadUpwards(const std::string& root,
                 const Mount& mount,
                 const std::string& path,
                 RawLimits* limits) {
  std::string folder = FolderIn(mount, path);
  while (true) {
    ReadFolder(root + folder, mount.v2, limits);
    if (folder.size() <= mount.point.size()) return;
    folder.resize(folder.rfind('/'));
  }
}

std::string ReadCpuName() {
#if defined(__x86_64__)
  unsigned words[12];
  bool known = true;
  for (size_t i = 0; i < 3; ++i) {
    unsigned* w = words + 4 * i;
    known = known && __get_cpuid(0x80000002u + static_cast<unsigned>(i), &w[0],
                                 &w[1], &w[2], &w[3]) != 0;
  }
  if (known) {
    char text[sizeof(words) + 1] = {};
    std::memcpy(text, words, sizeof(words));
    const std::string name(text);
    const size_t first = name.find_first_not_of(' ');
    const size_t last = name.find_last_not_of(' ');
    if (first != std::string::npos) return name.substr(first, last - first + 1);
  }
#endif
  return "unknown";
}

int AffinityCpus() {
  // The kernel may know more CPUs than a cpu_set_t holds.
  for (int size = 1024; size <= 1 << 20; size *= 4) {
    cpu_set_t* set = CPU_ALLOC(size);
    if (set == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(size);
    const bool known = sched_getaffinity(0, bytes, set) == 0;
    const int count = known ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (known) return std::max(count, 1);
  }
  return std::max<int>(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
}

const CgroupLimits& Limits() {
  static const CgroupLimits kLimits = ReadCgroupLimits("");
  return kLimits;
}

}  // namespace

const std::string& CpuName() {
  static const std::string kName = ReadCpuName();
  return kName;
}

std::string_view CpuInstructionSet() {
  const int64_t targets = hwy::SupportedTargets();
  return hwy::TargetName(targets & -targets);
}

int AvailableCpus() {
  static const int kCount = [] {
    int cpus = AffinityCpus();
    if (Limits().cpus > 0) {
      cpus = std::min(cpus, static_cast<int>(std::ceil(Limits().cpus)));
    }
    return std::max(cpus, 1);
  }();
  return kCount;
}

int64_t HostMemoryBytes() {
  static const int64_t kBytes = [] {
    int64_t ram = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) *
                  static_cast<int64_t>(sysconf(_SC_PAGE_SIZE));
    const int64_t limit = Limits().memory_bytes;
    return limit > 0 ? std::min(ram, limit) : ram;
  }();
  return kBytes;
}

CgroupLimits ReadCgroupLimits(const std::string& root) {
  RawLimits limits;
  std::vector<std::string> groups;
  std::ifstream lines(root + "/proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {
    groups.push_back(line);
  }
  std::ifstream mounts(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    Mount mount;
    if (!ParseMount(line, &mount)) continue;
    // Lines of /proc/self/cgroup: "0::/path" for v2, "4:memory:/path" for v1.
    for (const std::string& group : groups) {
      const size_t first = group.find(':');
      const size_t second = group.find(':', first + 1);
      if (first == std::string::npos || second == std::string::npos) continue;
      const std::string names = group.substr(first + 1, second - first - 1);
      const bool matches =
          mount.v2
              ? names.empty()
              : (ListHas(names, "cpu") && ListHas(mount.controllers, "cpu")) ||
                    (ListHas(names, "memory") &&
                     ListHas(mount.controllers, "memory"));
      if (matches) ReadUpwards(root, mount, group.substr(second + 1), &limits);
    }
  }
  CgroupLimits result;
  result.cpus = limits.cpus;
  if (limits.memory > 0) {
    result.memory_bytes = static_cast<int64_t>(limits.memory);
  }
  return result;
}

}  // namespace sluice
