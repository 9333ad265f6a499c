#include "sluice/framework/choice/hint_names.h"

#include <algorithm>
#include <set>
#include <string>

#include "sluice/framework/choice/resolver.h"
#include "sluice/framework/op/near_names.h"
#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/program/program.h"
#include "sluice/platform/device.h"
#include "sluice/platform/error.h"
#include "sluice/platform/plugin/plugin_loader.h"
#include "sluice/platform/text.h"

namespace sluice {

namespace {

std::vector<std::string> InOrder(const std::set<std::string>& names) {
  return {names.begin(), names.end()};
}

bool HasVariant(const std::string& variant,
                const std::vector<std::string>& ops,
                const Registry& registry) {
  for (const std::string& op : ops) {
    for (const KernelDef* kernel : registry.Kernels(op)) {
      if (NamesKernel(variant, *kernel)) return true;
    }
  }
  return false;
}

// Returns the ops that a hint may match: `op`, if the hint is its own, else the
// selected one or all of them.
std::vector<std::string> OpsOf(const KernelHint& hint,
                               const std::string& op,
                               const Registry& registry) {
  if (!op.empty()) return {op};
  if (registry.FindSchema(hint.selector) != nullptr) return {hint.selector};
  return registry.OpNames();
}

std::set<std::string> Variants(const std::vector<std::string>& ops,
                               const Registry& registry) {
  std::set<std::string> variants;
  for (const std::string& op : ops) {
    for (const KernelDef* kernel : registry.Kernels(op)) {
      variants.insert(kernel->variant);
    }
  }
  return variants;
}

bool HasLibrary(const std::string& library, const Registry& registry) {
  for (const std::string& op : registry.OpNames()) {
    for (const KernelDef* kernel : registry.Kernels(op)) {
      if (SameName(kernel->key.library, library)) return true;
    }
  }
  const auto modules = registry.ModuleLibraries();
  return std::any_of(
      modules.begin(), modules.end(),
      [&](const std::string& name) { return SameName(name, library); });
}

std::set<std::string> Libraries(const Registry& registry) {
  std::set<std::string> libraries;
  for (const std::string& library : registry.ModuleLibraries()) {
    libraries.insert(library);
  }
  for (const std::string& op : registry.OpNames()) {
    for (const KernelDef* kernel : registry.Kernels(op)) {
      libraries.insert(kernel->key.library);
    }
  }
  return libraries;
}

// Loads everything that may have kernels for `ops`. A module that cannot be
// loaded has none.
void LoadAll(const std::vector<std::string>& ops, const Registry& registry) {
  for (const std::string& op : ops) {
    LoadLibraries(op, {}, registry);
  }
  LoadAllDevices();
}

void CheckSelector(const KernelHint& hint, const Registry& registry) {
  const std::string& selector = hint.selector;
  if (selector == "*" || selector[0] == '#' || selector[0] == '@' ||
      registry.FindSchema(selector) != nullptr) {
    return;
  }
  // "conv2d+bn+relu": the ops of one call.
  std::string_view rest = selector;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find('+'));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    if (registry.FindSchema(name) != nullptr) continue;
    const auto ops = registry.OpNames();
    const bool is_short = name.data() != selector.data() &&
                          std::ranges::any_of(ops, [&](const std::string& op) {
                            return registry.Schema(op).short_name() == name;
                          });
    if (is_short) continue;
    Fail(ErrorCode::kNotFound, "hint.unknown_op", "hint \"{}: {}\": {}",
         Shown(selector), hint, NoOperator(name, ops));
  }
}

void CheckPlace(const KernelHint& hint) {
  if (hint.place.empty()) return;
  try {
    ParsePlaceKey(hint.place);
  } catch (Error& error) {
    const auto plugins = PluginKinds();
    std::set<std::string> kinds(plugins.begin(), plugins.end());
    kinds.insert({"cpu", "cuda", "fpga"});
    const std::string kind = hint.place.substr(0, hint.place.find(':'));
    if (error.code() != ErrorCode::kNotFound) {
      error.AddContext(Format("asked for by hint {}", hint));
      throw;
    }
    Fail(ErrorCode::kNotFound, "hint.unknown_device",
         "hint \"{}\": there is no kind of device {}{} ({})", hint, Shown(kind),
         SuggestNames(kind, InOrder(kinds)), DescribePluginSearch(kind));
  }
}

void CheckLibrary(const KernelHint& hint, const Registry& registry) {
  if (hint.library.empty() || HasLibrary(hint.library, registry)) return;
  LoadAll({}, registry);  // a plug-in may add libraries
  SLUICE_ENFORCE(HasLibrary(hint.library, registry), ErrorCode::kNotFound,
                 "hint.unknown_library",
                 "hint \"{}\": there is no library {}{}", hint,
                 Shown(hint.library),
                 SuggestNames(hint.library, InOrder(Libraries(registry))));
}

void CheckVariant(const KernelHint& hint,
                  const std::string& op,
                  const Registry& registry) {
  if (hint.variant.empty()) return;
  const std::vector<std::string> ops = OpsOf(hint, op, registry);
  if (HasVariant(hint.variant, ops, registry)) return;
  LoadAll(ops, registry);
  SLUICE_ENFORCE(HasVariant(hint.variant, ops, registry), ErrorCode::kNotFound,
                 "hint.unknown_variant",
                 "hint \"{}\": no kernel of {} is called {}{}", hint,
                 ops.size() == 1 ? ops[0] : "any operator", Shown(hint.variant),
                 SuggestNames(hint.variant, InOrder(Variants(ops, registry))));
}

void CheckLayout(const KernelHint& hint) {
  std::vector<std::string> layouts;
  for (const Layout layout : {Layout::kAny, Layout::kNCHW, Layout::kNHWC}) {
    layouts.emplace_back(ToString(layout));
  }
  const bool known = std::any_of(
      layouts.begin(), layouts.end(),
      [&](const std::string& name) { return SameName(name, hint.layout); });
  SLUICE_ENFORCE(hint.layout.empty() || known, ErrorCode::kNotFound,
                 "hint.unknown_layout", "hint \"{}\": there is no layout {}{}",
                 hint, Shown(hint.layout), SuggestNames(hint.layout, layouts));
}

void CheckPass(const KernelHint& hint, const Registry& registry) {
  if (hint.pass.empty()) return;
  const auto names = [&registry] {
    std::vector<std::string> names;
    for (const PassDef& pass : registry.Passes()) {
      names.push_back(pass.name);
    }
    return names;
  };
  const auto known = [&] {
    const auto all = names();
    return std::find(all.begin(), all.end(), hint.pass) != all.end();
  };
  if (known()) return;
  LoadAll(registry.OpNames(), registry);  // libraries have passes
  SLUICE_ENFORCE(known(), ErrorCode::kNotFound, "hint.unknown_pass",
                 "hint \"{}\": there is no pass {}{}", hint, Shown(hint.pass),
                 SuggestNames(hint.pass, names()));
}

void Check(const KernelHint& hint,
           const std::string& op,
           const Registry& registry) {
  CheckSelector(hint, registry);
  CheckPlace(hint);
  CheckLibrary(hint, registry);
  CheckVariant(hint, op, registry);
  CheckLayout(hint);
  CheckPass(hint, registry);
}

}  // namespace

std::string KernelName(const KernelDef& kernel) {
  if (kernel.key.library == OpKernelType().library) return kernel.variant;
  const std::string name = Lower(kernel.key.library);
  return name == kernel.variant ? name : Format("{}/{}", name, kernel.variant);
}

std::string CallName(const std::vector<std::string>& ops) {
  std::string name;
  for (const std::string& op : ops) {
    const OpSchema* schema =
        name.empty() ? nullptr : Registry::Global().FindSchema(op);
    name += name.empty() ? "" : "+";
    name += schema == nullptr ? op : schema->short_name();
  }
  return name;
}

bool SameName(std::string_view a, std::string_view b) {
  return a.size() == b.size() && Lower(a) == Lower(b);
}

bool NamesKernel(std::string_view text, const KernelDef& kernel) {
  const bool own = kernel.key.library == OpKernelType().library;
  return SameName(text, kernel.variant) || SameName(text, KernelName(kernel)) ||
         (!own && SameName(text, kernel.key.library));
}

void CheckHintNames(const std::vector<KernelHint>& hints,
                    const Registry& registry) {
  for (const KernelHint& hint : hints) {
    Check(hint, "", registry);
  }
}

void CheckHintNamesOf(const OpDesc& op,
                      int op_index,
                      const std::vector<KernelHint>& hints,
                      const Registry& registry) {
  try {
    for (const KernelHint& hint : hints) {
      const bool of_op = hint.Matches(op, op_index) ||
                         registry.FindSchema(hint.selector) == nullptr;
      Check(hint, of_op ? op.type : "", registry);
    }
  } catch (Error& error) {
    error.AddContext(Format("in op {} ({})", op_index, op.type));
    error.AddContext(DescribeLocation(op.location));
    throw;
  }
}

}  // namespace sluice
