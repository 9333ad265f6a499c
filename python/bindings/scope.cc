#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/values/scope_lock.h"
#include "sluice/platform/text.h"
#include "sluice/python/bindings/arguments.h"
#include "sluice/python/bindings/results.h"

namespace sluice::python {

namespace {

using VariableName = GivenText<"scope: the name of a variable">;

// Returns a copy of the tensor handle, taken while no run writes.
nb::object Get(const Scope& self, const std::string& name) {
  Tensor tensor;
  {
    const nb::gil_scoped_release release;
    const ScopeLock lock(&self, ScopeAccess::kRead);
    Variable* variable = self.FindVar(name);
    const Tensor* found =
        variable == nullptr ? nullptr : variable->Get<Tensor>();
    if (found == nullptr || !found->allocated()) return nb::object();
    tensor = found->CopyTo(found->place());
  }
  return nb::cast(tensor);
}

// Returns (name, dtype, shape, place) of each variable of the scope itself;
// None for the rest of one without a value.
nb::list Describe(const Scope& self) {
  std::vector<std::pair<std::string, Tensor>> found;
  {
    const nb::gil_scoped_release release;
    const ScopeLock lock(&self, ScopeAccess::kRead);
    for (const std::string& name : self.LocalVarNames()) {
      const Tensor* tensor = self.FindVar(name)->Get<Tensor>();
      const bool has_value = tensor != nullptr && tensor->allocated();
      found.emplace_back(name, has_value ? *tensor : Tensor());
    }
  }
  return ToList(found, [](const auto& variable) {
    const auto& [name, tensor] = variable;
    if (!tensor.allocated()) {
      return nb::make_tuple(name, nb::none(), nb::none(), nb::none());
    }
    return nb::make_tuple(name, tensor.dtype(), tensor.dims(), tensor.place());
  });
}

nb::object GetOrNone(const Scope& self, const VariableName& name) {
  nb::object tensor = Get(self, name);
  return tensor.is_valid() ? tensor : nb::none();
}

nb::object GetItem(const Scope& self, const VariableName& name) {
  nb::object tensor = Get(self, name);
  SLUICE_ENFORCE(tensor.is_valid(), ErrorCode::kNotFound,
                 "python.scope_variable",
                 "the scope has no variable {}: only parameters and other "
                 "persistables are kept, fetch anything else",
                 sluice::Shown(name));
  return tensor;
}

void Set(Scope& self, const VariableName& name, nb::object value, bool copy) {
  const Tensor tensor = copy ? nb::cast<Tensor>(nb::type<Tensor>()(
                                   value, nb::arg("place") = nb::none()))
                             : ImportArray(value);
  const nb::gil_scoped_release release;
  const ScopeLock lock(&self, ScopeAccess::kWrite);
  *self.Var(name).GetMutable<Tensor>() = tensor;
}

void SetItem(Scope& self, const VariableName& name, nb::object value) {
  Set(self, name, std::move(value), true);
}

// Waits for runs that use the variable.
bool Erase(Scope& self, const VariableName& name) {
  const nb::gil_scoped_release release;
  const ScopeLock lock(&self, ScopeAccess::kWrite);
  return self.EraseVar(name);
}

}  // namespace

Scope& ToScope(nb::handle value, std::string_view what) {
  auto* scope = ToObject<Scope>(value);
  if (scope == nullptr) {
    RaiseArgument(Format("{}: scope", what), "a sluice.Scope", value);
  }
  return *scope;
}

void BindScopes(nb::module_& m) {
  nb::class_<Scope>(m, "Scope",
                    "Variables that outlive a run: parameters, statistics.")
      .def("__init__", [](Scope* self) { new (self) Scope(); })
      .def("find_var", &GetOrNone, "name"_a,
           "A copy of the variable's tensor, here or in a parent; None when "
           "nobody has it.")
      .def("__getitem__", &GetItem, "name"_a)
      .def("__setitem__", &SetItem, "name"_a, "value"_a)
      .def("set", &Set, "name"_a, "value"_a, "copy"_a = true,
           "Gives a variable a copy of `value` (an array or a tensor), or, "
           "without copy, its memory, which runs may then write.")
      .def("erase", &Erase, "name"_a,
           "Ends a variable of this scope itself; False when it has none of "
           "that name. Waits for runs that use it.")
      .def("names", &Scope::LocalVarNames)
      .def("_describe", &Describe)
      .def("__contains__",
           [](const Scope& self, const VariableName& name) {
             return self.FindVar(name) != nullptr;
           })
      .def_prop_rw("step", &Scope::step, &Scope::set_step,
                   "Runs with random ops so far.")
      .def("new_scope", &Scope::NewScope, nb::rv_policy::reference_internal,
           "A scope that looks into this one for what it does not have.");
}

}  // namespace sluice::python
