#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/op/kernel_work.h"
#include "sluice/framework/op/op_kernel.h"
#include "sluice/platform/export.h"

namespace sluice {

enum class OpRole : uint8_t;  // see op_schema.h

// Says whether a kernel supports this op: returns "", or the reason for Explain
// why not ("needs p >= 8, got 3").
using KernelPredicate = std::function<std::string(const KernelQuery& query)>;

// The data that a kernel exchanges with other processes, while later ops run.
enum class Exchanges : uint8_t {
  kNothing,
  kInputs,  // unchanged: their shapes are equal everywhere
  kSums,    // results computed from them: batch sizes may differ
};

// Makes the queue of one op.
using MakeQueue = std::unique_ptr<DeviceContext> (*)();

// Options of a registration: KernelTraits().Estimate(&Work).When(&Fits).
class KernelTraits {
 public:
  // Sets the estimate for an op's sizes; the default is DefaultKernelWork.
  KernelTraits& Estimate(KernelEstimate value) {
    estimate = std::move(value);
    return *this;
  }
  KernelTraits& When(KernelPredicate value) {
    predicate = std::move(value);
    return *this;
  }
  // Compute only starts an exchange with other processes, on a queue of its own
  // that `make` makes, by default the device; later ops run concurrently.
  KernelTraits& Exchange(Exchanges value, MakeQueue make = nullptr) {
    exchanges = value;
    make_queue = make;
    return *this;
  }

  KernelEstimate estimate;
  KernelPredicate predicate;
  Exchanges exchanges = Exchanges::kNothing;
  MakeQueue make_queue = nullptr;
};

// One registered kernel. Several variants may share a key.
struct KernelDef {
  std::string op;
  OpKernelType key;
  std::string variant = "plain";
  KernelEstimate estimate;
  // Without a record it comes after all other kernels of its place.
  bool comes_last = false;
  // Changes with its code: a hash of its sources for REGISTER_ macros.
  std::string version = "1";
  // The version in its records: its own and that of its library, "1f00c2a97b3e"
  // or "1f00c2a97b3e, oneDNN 3.2.1". Set by the registry.
  std::string recorded_version;
  KernelPredicate predicate;
  Exchanges exchanges = Exchanges::kNothing;
  MakeQueue make_queue = nullptr;
  bool has_own_queue() const { return exchanges != Exchanges::kNothing; }
  std::function<std::unique_ptr<OpKernel>(const OpKernelConstruction&)> make;
};
// "manhattan_distance/blocked (cpu float32 PLAIN)".
SLUICE_API std::string ToString(const KernelDef& kernel);

// The row of KernelCosts for a kernel's work: that of KernelWork::costs, else
// "manhattan_distance/PLAIN/blocked", or ".../cuda" for a kernel of CUDA.
SLUICE_API std::string CostRow(const KernelDef& kernel, const KernelWork& work);

// A shared library beside libsluice.so with kernels of one library (see
// platform/plugin/kernel_module.h). The resolver loads it when it first needs a
// kernel for one of `ops`.
struct KernelModule {
  std::string library;  // "ONEDNN"
  std::string name;     // "onednn"
  std::vector<std::string> ops;
};

class Graph;

// A rewrite of the graph before it is prepared (framework/plan/graph.h):
// fusing, layouts. `run` returns how many places it changed.
struct PassDef {
  std::string name;
  int order = 0;  // smaller ones run first
  int (*run)(Graph& graph) = nullptr;
};

// All operators and kernels of the process. First use adds those of libsluice;
// later, only op libraries and plug-ins add to it. Nothing is ever removed, so
// returned pointers and references stay valid. Thread-safe.
class SLUICE_API Registry {
 public:
  static Registry& Global();

  // An empty registry, for tests and for staging a plug-in.
  Registry();
  ~Registry();

  // These raise InvalidArgument for an existing name or role, or an existing
  // key and variant of a kernel; Internal for an inconsistent schema. A kernel
  // may be added before its op.
  void AddOperator(std::string_view name,
                   const std::function<void(OpSchema& op)>& fill);
  void AddKernel(KernelDef kernel);
  // Replaces the kernel of the same key and variant, for plans that are
  // prepared later; adds the kernel if there is none.
  void ReplaceKernel(KernelDef kernel);
  // Likewise the operator of the same name. Programs have ops of it, so both
  // must have the same arguments and attributes, and no role.
  void ReplaceOperator(const OpSchema& schema);
  void AddModule(KernelModule module);
  // Calls `add`, a function of the REGISTER_ macros. Its kernels get `version`;
  // its operators get `family`, unless their schemas say another one.
  void AddFrom(const char* version,
               const char* family,
               const std::function<void(Registry& registry)>& add);
  // Registers `add` lazily: AddFrom calls it when the operator `op` or its
  // kernels are first looked up. There are thousands, and a process needs few.
  // `add` adds the operator, or kernels of it only.
  void AddOperatorLater(std::string_view op,
                        const char* version,
                        const char* family,
                        void (*add)(Registry& registry));
  void AddKernelsLater(std::string_view op,
                       const char* version,
                       std::function<void(Registry& registry)> add);
  // Sets a library's version ("oneDNN 3.2.1") in the recorded_version of
  // kernels of `library` ("ONEDNN") that are added later.
  void SetLibraryVersion(std::string_view library, std::string_view version);
  // Raises InvalidArgument for an existing name.
  void AddPass(PassDef pass);

  // Raises NotFound, with similar names.
  const OpSchema& Schema(std::string_view op) const;
  // Returns nullptr for an unknown op.
  const OpSchema* FindSchema(std::string_view op) const;
  // Returns the op that serves `role`. Raises NotFound if there is none.
  const OpSchema& OpFor(OpRole role) const;
  // Returns kernels in order of registration.
  std::vector<const KernelDef*> Kernels(std::string_view op) const;
  // Returns those of all ops, in the order of the ops' names.
  std::vector<const KernelDef*> Kernels() const;
  // How many kernels and operators were replaced. Plans that were prepared
  // before the last of them may have its predecessor.
  uint64_t replacements() const;
  std::vector<std::string> OpNames() const;
  // Returns passes in the order in which they run.
  std::vector<PassDef> Passes() const;
  // Returns the modules that have kernels for an op, loaded or not.
  std::vector<const KernelModule*> Modules(std::string_view op) const;
  // Returns the libraries that have modules: "ONEDNN".
  std::vector<std::string> ModuleLibraries() const;

 private:
  void AddLate(std::string_view op) const;
  void AddAllLate() const;

  struct State;
  std::unique_ptr<State> state_;
  Registry* self_;  // what is late is added where it is looked up
};

// Defined in a generated file: registers every operator and kernel of
// libsluice. Only Registry::Global calls it.
void RegisterBuiltins(Registry& registry);

}  // namespace sluice
