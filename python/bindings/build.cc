#include <filesystem>
#include <optional>
#include <string>

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include "sluice/framework/op/registry.h"
#include "sluice/platform/cpu/cpu_info.h"
#include "sluice/platform/device.h"
#include "sluice/platform/diagnostics/counters.h"
#include "sluice/platform/parallel_for.h"
#include "sluice/platform/plugin/kernel_module.h"
#include "sluice/platform/plugin/plugin_loader.h"
#include "sluice/python/bindings/arguments.h"
#include "sluice/python/bindings/bindings.h"

namespace sluice::python {

namespace {

// The optional modules in the folder of libsluice.so.
nb::list Modules() {
  const std::filesystem::path folder = LibraryFolder();
  nb::list result;
  for (const char* name : {"cuda", "onednn"}) {
    std::error_code error;
    const auto file = folder / Format("libsluice_{}.so", name);
    if (std::filesystem::exists(file, error)) result.append(name);
  }
  return result;
}

nb::dict Config() {
  nb::list places;
  for (const PlaceKey place : DeviceManager::Instance().Places()) {
    places.append(ToString(place));
  }
  nb::list folders;
  for (const std::string& folder : PluginFolders()) {
    folders.append(folder);
  }
  nb::dict result;
  result["version"] = SLUICE_PYTHON_VERSION;
  result["compiler"] = SLUICE_PYTHON_COMPILER;
  result["cuda"] = SLUICE_PYTHON_CUDA;
  result["modules"] = Modules();
  result["cpu"] = CpuName();
  result["instruction_set"] = std::string(CpuInstructionSet());
  result["threads"] = NumThreads();
  result["places"] = places;
  result["plugin_folders"] = folders;
  return result;
}

// `with _ThreadCount(n):` sets the number of threads for runs of this Python
// thread; 0 changes nothing.
class ThreadCount {
 public:
  explicit ThreadCount(int count) : count_(count) {}
  void Enter() {
    if (count_ > 0) guard_.emplace(count_);
  }
  void Exit() { guard_.reset(); }

 private:
  int count_;
  std::optional<ThreadCountGuard> guard_;
};

}  // namespace

void BindBuild(nb::module_& m) {
  m.attr("__version__") = SLUICE_PYTHON_VERSION;
  m.def("_config", &Config);
  m.def(
      "_shown", [](nb::handle value) { return Shown(value); },
      nb::arg("value").none());
  m.def(
      "set_num_threads",
      [](IntArg count) {
        SetNumThreads(ToInt(count, "set_num_threads: count"));
      },
      nb::arg("count").none(),
      "Threads of programs that are prepared from now on; 0 means all CPUs.");
  m.def("counters", &Counters,
        "Counters of modules by name, such as \"onednn.cache_hits\".");
  m.def("num_threads", &NumThreads, "The threads of plans from now on.");
  nb::class_<ThreadCount>(m, "_ThreadCount")
      .def(nb::init<int>())
      .def("__enter__", &ThreadCount::Enter)
      .def("__exit__",
           [](ThreadCount& self, const nb::args& /*error*/) { self.Exit(); });
}

}  // namespace sluice::python
