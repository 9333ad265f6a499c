#include "sluice/platform/cpu/cpu_info.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/testing/temp_folder.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

namespace fs = std::filesystem;

// A folder that replaces / for ReadCgroupLimits.
class CgroupTest : public ::testing::Test {
 protected:
  void Write(const std::string& file, const std::string& text) {
    const fs::path path = root_ + file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  void Mount(const std::string& text) {
    Write("/proc/self/mountinfo",
          "22 1 8:1 / / rw - ext4 /dev/vda rw\n" + text);
  }

  CgroupLimits Read() { return ReadCgroupLimits(root_); }

  testing::TempFolder temp_;
  std::string root_ = temp_.path();
};

TEST_F(CgroupTest, NothingThereIsNoLimit) {
  EXPECT_EQ(Read().cpus, -1);
  EXPECT_EQ(Read().memory_bytes, -1);
}

TEST_F(CgroupTest, ReadsVersion2) {
  Mount("30 22 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n");
  Write("/proc/self/cgroup", "0::/app\n");
  Write("/sys/fs/cgroup/app/cpu.max", "150000 100000\n");
  Write("/sys/fs/cgroup/app/memory.max", "1073741824\n");
  EXPECT_EQ(Read().cpus, 1.5);
  EXPECT_EQ(Read().memory_bytes, 1073741824);
}

TEST_F(CgroupTest, MaxIsNoLimit) {
  Mount("30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  Write("/proc/self/cgroup", "0::/app\n");
  Write("/sys/fs/cgroup/app/cpu.max", "max 100000\n");
  Write("/sys/fs/cgroup/app/memory.max", "max\n");
  EXPECT_EQ(Read().cpus, -1);
  EXPECT_EQ(Read().memory_bytes, -1);
}

TEST_F(CgroupTest, ALowerLimitOfAParentCounts) {
  Mount("30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  Write("/proc/self/cgroup", "0::/slice/app\n");
  Write("/sys/fs/cgroup/slice/app/cpu.max", "800000 100000\n");
  Write("/sys/fs/cgroup/slice/cpu.max", "300000 100000\n");
  Write("/sys/fs/cgroup/slice/memory.max", "4096\n");
  EXPECT_EQ(Read().cpus, 3);
  EXPECT_EQ(Read().memory_bytes, 4096);
}

TEST_F(CgroupTest, ReadsVersion1) {
  Mount(
      "31 22 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
      "32 22 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  Write("/proc/self/cgroup", "4:memory:/m\n3:cpu,cpuacct:/c\n0::/\n");
  Write("/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "250000\n");
  Write("/sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n");
  Write("/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "2048\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(Read().cpus, 2.5);
  EXPECT_EQ(Read().memory_bytes, 2048);
}

TEST_F(CgroupTest, Version1WithoutLimits) {
  Mount(
      "31 22 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
      "32 22 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  Write("/proc/self/cgroup", "4:memory:/\n3:cpu:/\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(Read().cpus, -1);
  EXPECT_EQ(Read().memory_bytes, -1);
}

TEST_F(CgroupTest, AContainersMountMayBeTheGroupItself) {
  Mount("30 22 0:26 /docker/4f /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  Write("/proc/self/cgroup", "0::/docker/4f\n");
  Write("/sys/fs/cgroup/cpu.max", "100000 100000\n");
  EXPECT_EQ(Read().cpus, 1);
}

TEST_F(CgroupTest, DamagedFilesAreNoLimit) {
  Mount("30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\nrubbish\n - \n");
  Write("/proc/self/cgroup", "0:\n\n0::/app\n");
  Write("/sys/fs/cgroup/app/cpu.max", "many threads\n");
  Write("/sys/fs/cgroup/app/memory.max", "");
  EXPECT_EQ(Read().cpus, -1);
  EXPECT_EQ(Read().memory_bytes, -1);
}

TEST(CpuInfoTest, CpusAreWithinTheMachine) {
  EXPECT_GE(AvailableCpus(), 1);
  EXPECT_LE(AvailableCpus(), sysconf(_SC_NPROCESSORS_CONF));
}

TEST(CpuInfoTest, MemoryIsWithinTheMachine) {
  EXPECT_GT(HostMemoryBytes(), int64_t{1} << 20);
  EXPECT_LE(HostMemoryBytes(),
            int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE));
}

TEST(CpuInfoTest, NamesAreThere) {
  EXPECT_FALSE(CpuName().empty());
  EXPECT_FALSE(CpuInstructionSet().empty());
  EXPECT_EQ(CpuInstructionSet().find("nknown"), std::string_view::npos);
}

}  // namespace
}  // namespace sluice
