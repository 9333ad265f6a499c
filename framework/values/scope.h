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

namespace sluice::framework {

// A named value of any type; mostly a Tensor. Owned by its scope.
class Variable {
 public:
  // The value as T; made first if the variable holds nothing, or another type.
  template <typename T>
  T* GetMutable() {
    copies_.clear();
    if (!IsType<T>()) value_.emplace<T>();
    return std::any_cast<T>(&value_);
  }
  // nullptr when it holds nothing, or another type.
  template <typename T>
  const T* Get() const {
    return std::any_cast<T>(&value_);
  }
  template <typename T>
  bool IsType() const {
    return std::any_cast<T>(&value_) != nullptr;
  }
  // The Tensor that it holds, at a place. A copy for another place than its own
  // is kept until the value changes (Tensor::storage_version) or GetMutable is
  // called. May be called by several readers at once; must not be called
  // for a variable that holds no allocated Tensor.
  SLUICE_API Tensor TensorAt(platform::PlaceKey place) const;

 private:
  struct Copy {
    std::pair<uint64_t, uint64_t> version;
    Tensor source;  // its dims, dtype and memory
    Tensor tensor;
  };

  std::any value_;
  mutable std::mutex copies_mutex_;
  mutable std::vector<Copy> copies_;  // one a place
};

// Variables that outlive a run: parameters, statistics, random states. A scope
// looks into its parent for what it does not have. Looking up and creating is
// thread-safe. Values are guarded by a ScopeLock, which runs take; users who
// touch values or erase variables while programs run in other threads take one
// as well.
class SLUICE_API Scope {
 public:
  explicit Scope(const Scope* parent = nullptr);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // The variable of this scope, made if it is not there.
  Variable& Var(std::string_view name);
  // Here or in a parent; nullptr when nobody has it.
  Variable* FindVar(std::string_view name) const;
  // False when this scope itself has no such variable. Ends the variable.
  bool EraseVar(std::string_view name);
  std::vector<std::string> LocalVarNames() const;

  const Scope* parent() const { return parent_; }

  // A child that this scope owns.
  Scope& NewScope();

  // Runs with random ops so far, of this scope alone: see
  // OpKernelContext::step. TakeStep returns the number and counts one more.
  uint64_t step() const { return step_; }
  void set_step(uint64_t step) { step_ = step; }
  uint64_t TakeStep() { return step_++; }

  // Whether ranks have compared what they started with: the values of a list
  // of variables, by its digest.
  bool compared(uint64_t digest) const;
  void NoteCompared(uint64_t digest);

  std::shared_mutex& lock() const { return value_lock_; }

 private:
  const Scope* parent_;
  mutable std::mutex mutex_;
  mutable std::shared_mutex value_lock_;
  std::map<std::string, std::unique_ptr<Variable>, std::less<>> vars_;
  std::vector<std::unique_ptr<Scope>> children_;
  std::atomic<uint64_t> step_{0};
  std::set<uint64_t> compared_;
};

}  // namespace sluice::framework
