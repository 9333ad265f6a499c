#include "sluice/framework/scope.h"

namespace sluice::framework {

Scope::Scope(const Scope* parent) : parent_(parent) {}
Scope::~Scope() = default;

Variable& Scope::Var(std::string_view name) {
  const std::lock_guard lock(mutex_);
  auto& variable = vars_[std::string(name)];
  if (variable == nullptr) variable = std::make_unique<Variable>();
  return *variable;
}

Variable* Scope::FindVar(std::string_view name) const {
  {
    const std::lock_guard lock(mutex_);
    const auto found = vars_.find(name);
    if (found != vars_.end()) return found->second.get();
  }
  return parent_ == nullptr ? nullptr : parent_->FindVar(name);
}

bool Scope::EraseVar(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto found = vars_.find(name);
  if (found == vars_.end()) return false;
  vars_.erase(found);
  return true;
}

std::vector<std::string> Scope::LocalVarNames() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, variable] : vars_) {
    names.push_back(name);
  }
  return names;
}

Scope& Scope::NewScope() {
  const std::lock_guard lock(mutex_);
  return *children_.emplace_back(std::make_unique<Scope>(this));
}

}  // namespace sluice::framework
