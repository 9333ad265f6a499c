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

namespace sluice::framework {

enum class OpRole : uint8_t;  // see op_schema.h

// Says whether a kernel takes this op: "" for yes, else the reason for no, as
// it stands in Explain ("needs p >= 8, got 3").
using KernelPredicate = std::function<std::string(const KernelQuery& query)>;

// What a kernel exchanges with other processes while it runs.
enum class Exchanges : uint8_t {
  kNothing,
  kInputs,  // as they are: they have one shape everywhere
  kSums,    // what it has computed of them: batches may have other sizes
};

// What a registration may add: KernelTraits().Estimate(&Work).When(&Fits).
class KernelTraits {
 public:
  // What it does for an op of these sizes; DefaultKernelWork without one.
  KernelTraits& Estimate(KernelEstimate value) {
    estimate = std::move(value);
    return *this;
  }
  KernelTraits& When(KernelPredicate value) {
    predicate = std::move(value);
    return *this;
  }
  // Compute only starts what other processes take part in, on a queue of its
  // own (platform::CollectiveContext), and the ops after it run beside it.
  KernelTraits& Collective(Exchanges value = Exchanges::kInputs) {
    exchanges = value;
    return *this;
  }

  KernelEstimate estimate;
  KernelPredicate predicate;
  Exchanges exchanges = Exchanges::kNothing;
};

// One registered kernel. Several variants may share a key.
struct KernelDef {
  std::string op;
  OpKernelType key;
  std::string variant = "plain";
  KernelEstimate estimate;
  int version = 1;
  // What records of it say: its version and that of its library, "1" or
  // "1, oneDNN 3.2.1". The registry fills it in.
  std::string recorded_version;
  KernelPredicate predicate;
  Exchanges exchanges = Exchanges::kNothing;
  bool collective() const { return exchanges != Exchanges::kNothing; }
  std::function<std::unique_ptr<OpKernel>(const OpKernelConstruction&)> make;
};
// "manhattan_distance/blocked (cpu float32 any PLAIN)".
SLUICE_API std::string ToString(const KernelDef& kernel);

// A shared library beside libsluice.so with kernels of one library (see
// platform/plugin/kernel_module.h), which the resolver loads when it first
// looks for a kernel of one of `ops`.
struct KernelModule {
  std::string library;  // "ONEDNN"
  std::string name;     // "onednn"
  std::vector<std::string> ops;
};

class Graph;

// A rewrite of what is about to be prepared (framework/plan/graph.h): fusing,
// layouts. Returns how many places it changed.
struct PassDef {
  std::string name;
  int order = 0;  // smaller ones run first
  int (*run)(Graph& graph) = nullptr;
};

// All operators and kernels of the process. Filled on first use with those
// that libsluice was built with, later only by op libraries and plug-ins;
// nothing is ever removed, so what it hands out stays valid. Thread-safe.
class SLUICE_API Registry {
 public:
  static Registry& Global();

  // An empty registry, for tests and for staging a plug-in.
  Registry();
  ~Registry();

  // Raise InvalidArgument for a name, a role, or a kernel of the same key and
  // variant, that is there already; Internal for a schema that contradicts
  // itself. A kernel's op may be registered after it.
  void AddOperator(std::string_view name,
                   const std::function<void(OpSchema& op)>& fill);
  void AddKernel(KernelDef kernel);
  // Puts the kernel into the place of that of the same key and variant, for
  // plans that are prepared from then on; adds it where there is none.
  void ReplaceKernel(KernelDef kernel);
  void AddModule(KernelModule module);
  // What kernels of a library ("ONEDNN") that are added from then on have in
  // their recorded_version ("oneDNN 3.2.1").
  void SetLibraryVersion(std::string_view library, std::string_view version);
  // Raises InvalidArgument for a name that is there already.
  void AddPass(PassDef pass);

  // Raises NotFound and lists near names.
  const OpSchema& Schema(std::string_view op) const;
  // nullptr when it is unknown.
  const OpSchema* FindSchema(std::string_view op) const;
  // The op that serves `role`. Raises NotFound when none does.
  const OpSchema& OpFor(OpRole role) const;
  // In order of registration.
  std::vector<const KernelDef*> Kernels(std::string_view op) const;
  std::vector<std::string> OpNames() const;
  // In their order.
  std::vector<PassDef> Passes() const;
  // The modules that have kernels for an op, loaded or not.
  std::vector<const KernelModule*> Modules(std::string_view op) const;
  // The libraries that come in modules: "ONEDNN".
  std::vector<std::string> ModuleLibraries() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Defined in the file that the build writes: registers every operator and
// kernel of libsluice. Only Registry::Global calls it.
void RegisterBuiltins(Registry& registry);

}  // namespace sluice::framework
