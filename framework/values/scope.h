#pragma once

#include <any>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/framework/values/tensor.h"
#include "sluice/platform/export.h"

namespace sluice {

// A named value of any type; mostly a Tensor. Owned by its scope.
class Variable {
 public:
  // Returns the value as T; replaces an empty value or one of another type.
  template <typename T>
  T* GetMutable() {
    copies_.clear();
    if (!IsType<T>()) value_.emplace<T>();
    return std::any_cast<T>(&value_);
  }
  // Returns nullptr for an empty value or one of another type.
  template <typename T>
  const T* Get() const {
    return std::any_cast<T>(&value_);
  }
  template <typename T>
  bool IsType() const {
    return std::any_cast<T>(&value_) != nullptr;
  }
  // Returns its Tensor at a place. A copy at another place is cached until the
  // value changes (Tensor::storage_version) or GetMutable is called. Several
  // readers may call it at once; the variable must hold an allocated Tensor.
  SLUICE_API Tensor TensorAt(PlaceKey place) const;

 private:
  struct Copy {
    std::pair<uint64_t, uint64_t> version;
    Tensor source;  // its dims, dtype and memory
    Tensor tensor;
  };

  std::any value_;
  mutable std::mutex copies_mutex_;
  mutable std::vector<Copy> copies_;  // one for each place
};

// Variables that outlive a run: parameters, statistics, random states. A scope
// also finds the variables of its parents. Lookup and creation are thread-safe.
// A ScopeLock guards the values; runs acquire it. A caller that accesses values
// or erases variables while other threads run programs must acquire it, too.
class SLUICE_API Scope {
 public:
  explicit Scope(const Scope* parent = nullptr);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // Returns the variable of this scope; creates it if it does not exist.
  Variable& Var(std::string_view name);
  // Finds a variable here or in a parent; returns nullptr if there is none.
  Variable* FindVar(std::string_view name) const;
  // Destroys a variable of this scope; returns false if there is none.
  bool EraseVar(std::string_view name);
  std::vector<std::string> LocalVarNames() const;

  const Scope* parent() const { return parent_; }

  // Equal for one scope as long as FindVar finds the same variables: no two
  // scopes of a process share the first number, and the second increases when
  // one is created or erased here or in a parent.
  std::pair<uint64_t, uint64_t> layout() const;

  // Creates a child that this scope owns.
  Scope& NewScope();

  // The number of runs with random ops in this scope (not its parents): see
  // OpKernelContext::step. TakeStep returns it and then adds one.
  uint64_t step() const { return step_; }
  void set_step(uint64_t step) { step_ = step; }
  uint64_t TakeStep() { return step_++; }

  // Whether Mark was called with this number, for what is done once in a scope.
  bool marked(uint64_t number) const;
  void Mark(uint64_t number);

  std::shared_mutex& lock() const { return value_lock_; }

 private:
  const Scope* parent_;
  const uint64_t uid_;
  std::atomic<uint64_t> changes_{0};  // variables created and erased
  mutable std::mutex mutex_;
  mutable std::shared_mutex value_lock_;
  std::map<std::string, std::unique_ptr<Variable>, std::less<>> vars_;
  std::vector<std::unique_ptr<Scope>> children_;
  std::atomic<uint64_t> step_{0};
  std::set<uint64_t> marks_;
};

}  // namespace sluice
