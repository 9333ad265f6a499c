#include <csignal>
#include <cstring>

#include "tools/conformance.h"
#include <sys/wait.h>
#include <unistd.h>

#include "sluice/platform/error.h"

namespace sluice::conformance {
namespace {

constexpr size_t kSizes[] = {1, 3, 17, 64, 4095, 65537};
constexpr size_t kOffsets[] = {0, 1, 13, 64};

std::string CheckRoundTrip(PluginDevice& device) {
  PluginDeviceContext context(device);
  Block block(device, 70000);
  for (const size_t bytes : kSizes) {
    for (const size_t offset : kOffsets) {
      // The offset of one byte makes host memory unaligned, too.
      const auto sent = Pattern(bytes + 1, static_cast<unsigned>(bytes));
      context.CopyFromHost(block.data() + offset, sent.data() + 1, bytes);
      context.Wait();
      const auto got = ReadBack(context, block.data() + offset, bytes);
      if (std::memcmp(got.data(), sent.data() + 1, bytes) != 0) {
        return Format("{} bytes at offset {} came back changed", bytes, offset);
      }
    }
  }
  return "";
}

std::string CheckBounds(PluginDevice& device) {
  PluginDeviceContext context(device);
  Block block(device, 1000);
  auto expected = Pattern(1000, 1);
  context.CopyFromHost(block.data(), expected.data(), 1000);
  context.Wait();
  const auto middle = Pattern(101, 2);
  context.CopyFromHost(block.data() + 333, middle.data(), middle.size());
  context.Wait();
  std::memcpy(expected.data() + 333, middle.data(), middle.size());
  return ReadBack(context, block.data(), 1000) == expected
             ? ""
             : "a copy of 101 bytes changed others than those";
}

std::string CheckWithin(PluginDevice& device) {
  PluginDeviceContext context(device);
  Block from(device, 70000);
  Block to(device, 70000);
  for (const size_t bytes : kSizes) {
    const auto sent = Pattern(bytes, static_cast<unsigned>(bytes) + 7);
    context.CopyFromHost(from.data() + 5, sent.data(), bytes);
    context.CopyOnDevice(to.data() + 11, from.data() + 5, bytes);
    context.Wait();
    if (ReadBack(context, to.data() + 11, bytes) != sent) {
      return Format("{} bytes came back changed", bytes);
    }
  }
  return "";
}

std::string CheckHostAccess(PluginDevice& device) {
  PluginDeviceContext context(device);
  Block block(device, 500);
  const auto sent = Pattern(500, 3);
  context.CopyFromHost(block.data(), sent.data(), 500);
  context.Wait();
  return std::memcmp(block.data(), sent.data(), 500) == 0
             ? ""
             : "the flag SLUICE_DEVICE_HOST_ACCESSIBLE is set, but the host "
               "reads something else than was copied";
}

// Describes what happens when the host accesses device memory.
std::string DescribeStrayAccess(PluginDevice& device) {
  Block block(device, 64);
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);
    volatile char* address = block.data();
    static_cast<void>(*address);
    _exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return "not tried";
  return WIFSIGNALED(status) ? "a stray access by the host faults"
                             : "a stray access by the host goes unnoticed";
}

}  // namespace

void CheckCopies(Report& report, PluginDevice& device) {
  report.Check("copies.round_trip", [&] { return CheckRoundTrip(device); });
  report.Check("copies.keep_to_their_bytes",
               [&] { return CheckBounds(device); });
  report.Check(device.table().copy_on_device == nullptr
                   ? "copies.within_by_way_of_the_host"
                   : "copies.within_the_device",
               [&] { return CheckWithin(device); });
  if (device.host_accessible()) {
    report.Check("memory.is_host_accessible",
                 [&] { return CheckHostAccess(device); });
  } else {
    report.Note("memory.is_private", DescribeStrayAccess(device));
  }
}

void CheckTwoDevices(Report& report,
                     PluginDevice& first,
                     PluginDevice& second) {
  report.Check("devices.are_separate", [&] {
    PluginDeviceContext here(first);
    PluginDeviceContext there(second);
    Block a(first, 3000);
    Block b(second, 3000);
    const auto sent_here = Pattern(3000, 4);
    const auto sent_there = Pattern(3000, 5);
    here.CopyFromHost(a.data(), sent_here.data(), 3000);
    there.CopyFromHost(b.data(), sent_there.data(), 3000);
    here.Wait();
    there.Wait();
    if (ReadBack(here, a.data(), 3000) != sent_here) return "device 0 forgot";
    if (ReadBack(there, b.data(), 3000) != sent_there) return "device 1 forgot";
    return "";
  });
}

}  // namespace sluice::conformance
