#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sluice/framework/op/registry.h"
#include "sluice/platform/cancel.h"
#include "sluice/platform/cpu/cpu_info.h"
#include "sluice/platform/device.h"
#include "sluice/platform/diagnostics/counters.h"
#include "sluice/platform/parallel_for.h"
#include "sluice/platform/plugin/kernel_module.h"
#include "sluice/platform/plugin/plugin_loader.h"
#include "sluice/python/bindings/arguments.h"
#include "sluice/python/bindings/results.h"

namespace sluice::python {

namespace {

bool HasModule(const char* name) {
  const std::filesystem::path folder = LibraryFolder();
  std::error_code error;
  return std::filesystem::exists(folder / Format("libsluice_{}.so", name),
                                 error);
}

// The optional modules in the folder of libsluice.so.
nb::list Modules() {
  nb::list result;
  for (const char* name : {"cuda", "onednn"}) {
    if (HasModule(name)) result.append(name);
  }
  return result;
}

// Kinds of places whose module or plug-in is there and not loaded yet.
std::vector<std::string> KindsToLoad() {
  std::vector<std::string> kinds = PluginKinds();
  if (HasModule("cuda")) kinds.insert(kinds.begin(), "cuda");
  for (const PlaceKey place : DeviceManager::Instance().Places()) {
    std::erase(kinds, ToString(place.kind));
  }
  return kinds;
}

nb::dict Config() {
  const auto text = [](PlaceKey place) { return ToString(place); };
  return DictOf({
      {"version", SLUICE_PYTHON_VERSION},
      {"compiler", SLUICE_PYTHON_COMPILER},
      {"cuda", SLUICE_PYTHON_CUDA},
      {"modules", Modules()},
      {"cpu", CpuName()},
      {"instruction_set", CpuInstructionSet()},
      {"threads", NumThreads()},
      {"places", ToList(DeviceManager::Instance().Places(), text)},
      {"loaded_when_used", KindsToLoad()},
      {"plugin_folders", PluginFolders()},
  });
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

// `with _CancelBlock(flag):` lets a flag stop the runs of this Python thread.
class CancelBlock {
 public:
  explicit CancelBlock(const CancelFlag* flag) : flag_(flag) {}
  void Enter() { guard_.emplace(flag_); }
  void Exit() { guard_.reset(); }

 private:
  const CancelFlag* flag_;
  std::optional<CancelGuard> guard_;
};

}  // namespace

void BindBuild(nb::module_& m) {
  m.attr("__version__") = SLUICE_PYTHON_VERSION;
  m.def("_config", &Config);
  m.def("_shown", &Shown);
  m.def(
      "set_num_threads",
      [](GivenInt<"set_num_threads: count"> count) { SetNumThreads(count); },
      "count"_a,
      "Threads of programs that are prepared from now on; 0 means all CPUs.");
  m.def("counters", &Counters,
        "Counters of modules by name, such as \"onednn.cache_hits\".");
  m.def(
      "num_threads", &NumThreads,
      "The threads of plans from now on: set_num_threads, or all CPUs, within "
      "what OpenMP allows (OMP_THREAD_LIMIT).");
  nb::class_<ThreadCount>(m, "_ThreadCount")
      .def(nb::init<int>())
      .def("__enter__", &ThreadCount::Enter)
      .def("__exit__",
           [](ThreadCount& self, const nb::args& /*error*/) { self.Exit(); });
  nb::class_<CancelFlag>(m, "_CancelFlag")
      .def(nb::init<>())
      .def("set", &CancelFlag::Set)
      .def("requested", &CancelFlag::requested);
  nb::class_<CancelBlock>(m, "_CancelBlock")
      .def(nb::init<const CancelFlag*>(), nb::keep_alive<1, 2>())
      .def("__enter__", &CancelBlock::Enter)
      .def("__exit__",
           [](CancelBlock& self, const nb::args& /*error*/) { self.Exit(); });
}

}  // namespace sluice::python
