#include "sluice/framework/values/scope.h"

#include <algorithm>

namespace sluice {

Tensor Variable::TensorAt(PlaceKey place) const {
  const auto& tensor = *Get<Tensor>();
  if (tensor.place() == place) return tensor;
  const auto version = tensor.storage_version();
  const std::lock_guard lock(copies_mutex_);
  const auto same_place = std::find_if(
      copies_.begin(), copies_.end(),
      [&](const Copy& copy) { return copy.tensor.place() == place; });
  if (same_place != copies_.end()) {
    const Tensor& source = same_place->source;
    if (same_place->version == version &&
        source.raw_data() == tensor.raw_data() &&
        source.dims() == tensor.dims() && source.dtype() == tensor.dtype()) {
      return same_place->tensor;
    }
    copies_.erase(same_place);
  }
  // Copies between devices go through the host.
  const PlaceKey host = CPUPlace();
  const bool over_host = tensor.place() != host && place != host;
  copies_.push_back(
      {version, tensor,
       over_host ? tensor.CopyTo(host).CopyTo(place) : tensor.CopyTo(place)});
  return copies_.back().tensor;
}

namespace {
uint64_t NewUid() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}
}  // namespace

Scope::Scope(const Scope* parent) : parent_(parent), uid_(NewUid()) {}
Scope::~Scope() = default;

Variable& Scope::Var(std::string_view name) {
  const std::lock_guard lock(mutex_);
  auto& variable = vars_[std::string(name)];
  if (variable == nullptr) {
    variable = std::make_unique<Variable>();
    ++changes_;
  }
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
  ++changes_;
  return true;
}

bool Scope::marked(uint64_t number) const {
  const std::lock_guard lock(mutex_);
  return marks_.count(number) > 0;
}

void Scope::Mark(uint64_t number) {
  const std::lock_guard lock(mutex_);
  marks_.insert(number);
}

std::pair<uint64_t, uint64_t> Scope::layout() const {
  uint64_t changes = 0;
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
    changes += scope->changes_;
  }
  return {uid_, changes};
}

std::vector<std::string> Scope::LocalVarNames() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  names.reserve(vars_.size());
  for (const auto& [name, variable] : vars_) {
    names.push_back(name);
  }
  return names;
}

Scope& Scope::NewScope() {
  const std::lock_guard lock(mutex_);
  return *children_.emplace_back(std::make_unique<Scope>(this));
}

}  // namespace sluice
