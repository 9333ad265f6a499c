// sluice-conformance FILE.so: checks that a device plug-in follows
// sluice/platform/device_plugin.h, or compares the kernels of a kernel library
// with others of their ops. Prints one line a check. Exits with 0 if all pass.

#include "tools/conformance.h"

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sluice/framework/op/kernel_library.h"
#include "sluice/framework/op/plugin_kernels.h"
#include "sluice/platform/device.h"
#include "sluice/platform/error.h"

namespace sluice::conformance {
namespace {

PluginDevice& DeviceAt(const DevicePlugin& plugin, int index) {
  return static_cast<PluginDevice&>(
      DeviceManager::Instance().Get(PlaceKey(plugin.kind, index)));
}

void CheckDevice(Report& report, const DevicePlugin& plugin, int index) {
  PluginDevice& device = DeviceAt(plugin, index);
  std::printf("on %s\n", ToString(device.place()).c_str());
  CheckMemory(report, device);
  CheckCopies(report, device);
  CheckQueues(report, device);
  CheckEvents(report, device);
  std::vector<CheckedKernel> kernels;
  for (const SluiceKernelDef& kernel : plugin.kernels) {
    kernels.push_back({kernel.op, static_cast<DType>(kernel.dtype),
                       kernel.variant, device.place()});
  }
  CheckKernels(report, kernels);
}

void CheckPlugin(Report& report, const std::string& path, int only) {
  const DevicePlugin* plugin = nullptr;
  report.Check("plugin.loads", [&] {
    plugin = &LoadDevicePlugin(path);
    return std::string();
  });
  if (plugin == nullptr) return;
  report.Check("plugin.describes_itself", [&] {
    const char* text = plugin->table.description;
    return text != nullptr && *text != '\0' ? "" : "the description is empty";
  });
  report.Check("plugin.has_devices", [&] {
    return plugin->device_count > 0 ? "" : "device_count said 0";
  });
  for (int index = 0; index < plugin->device_count; ++index) {
    if (only < 0 || only == index) CheckDevice(report, *plugin, index);
  }
  if (plugin->device_count < 2) {
    report.Skip("devices.are_separate", "there is one device");
  } else if (only < 0) {
    CheckTwoDevices(report, DeviceAt(*plugin, 0), DeviceAt(*plugin, 1));
  }
}

void CheckLibrary(Report& report, const std::string& path) {
  const KernelLibrary* library = nullptr;
  report.Check("library.loads", [&] {
    library = &LoadKernelLibrary(path);
    return std::string();
  });
  if (library == nullptr) return;
  std::vector<CheckedKernel> kernels;
  for (const KernelDef* kernel : library->kernels) {
    kernels.push_back({kernel->op, kernel->key.dtype, kernel->variant,
                       PlaceKey(kernel->key.place, 0)});
  }
  CheckKernels(report, kernels);
}

void CheckFile(Report& report,
               const std::string& path,
               const std::vector<std::string>& libraries,
               int only) {
  for (const std::string& library : libraries) {
    report.Check("library.loads", [&] {
      LoadKernelLibrary(library);
      return std::string();
    });
  }
  if (IsKernelLibrary(path)) {
    CheckLibrary(report, path);
  } else {
    CheckPlugin(report, path, only);
  }
}

// Runs in a separate process, so that a crash of the file is reported.
int RunChecks(const std::string& path,
              const std::vector<std::string>& libraries,
              int only) {
  void* shared = mmap(nullptr, Report::kNameBytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const pid_t child = shared == MAP_FAILED ? -1 : fork();
  if (child == 0) {
    // Restores default actions, so that a sanitizer does not catch the signal.
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
      std::signal(signal, SIG_DFL);
    }
    Report report(static_cast<char*>(shared));
    CheckFile(report, path, libraries, only);
    std::printf("%d %s, %d failed\n", report.checks(),
                report.checks() == 1 ? "check" : "checks", report.failures());
    std::fflush(stdout);
    _exit(report.failures() == 0 ? 0 : 1);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) {
    std::fprintf(stderr, "sluice-conformance: no second process\n");
    return 2;
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  std::printf("FAIL  %s: the process ended by signal %d\n",
              static_cast<char*>(shared), WTERMSIG(status));
  return 1;
}

}  // namespace
}  // namespace sluice::conformance

int main(int argc, char** argv) {
  CLI::App app("Checks a device plug-in, or a library of kernels.");
  std::string path;
  int only = -1;
  std::vector<std::string> libraries;
  app.add_option("file", path, "the plug-in or kernel library, a .so file")
      ->required();
  app.add_option("--library", libraries,
                 "libraries of ops and kernels to load before it");
  app.add_option("--device", only, "check only the device of this index");
  CLI11_PARSE(app, argc, argv);
  return sluice::conformance::RunChecks(path, libraries, only);
}
