#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "sluice/operators/onednn/engine.h"

namespace sluice::onednn {

// A primitive that is ready to run, and the memory layouts that it requires.
// Immutable; any thread may run it.
struct Compiled {
  dnnl::primitive primitive;
  dnnl::primitive_desc_base description;
  std::string implementation;  // "brgconv:avx512_core"

  // Returns a required layout; `argument` is DNNL_ARG_SRC or another of these.
  Desc Wants(int argument) const {
    return description.query_md(dnnl::query::exec_arg_md, argument);
  }
};
using CompiledPtr = std::shared_ptr<const Compiled>;

// Activations that keep NaN. oneDNN's relu does not: see
// SequenceBuilder::Chain.
enum class Activation : uint8_t { kNone, kSigmoid, kTanh };

// The operations that a primitive applies to its output, in this order.
struct PostOps {
  double scale = 1;  // multiplies it
  Activation activation = Activation::kNone;

  dnnl::primitive_attr ToAttr() const;
};

// The conditions that a primitive is compiled for.
struct CompileFor {
  std::string op;   // named in errors
  int threads = 1;  // oneDNN divides its work by this at compile time
  PostOps post_ops = {};
  // If true, only the primitive_desc is made. It shows whether oneDNN accepts
  // the arguments; no code is generated, and the result cannot be run.
  bool only_described = false;

  // Returns a copy without post_ops, for reorders before or after a primitive.
  CompileFor Plain() const { return {op, threads, {}, only_described}; }
};

// Everything that a primitive depends on, as bytes.
class PrimitiveKey {
 public:
  PrimitiveKey(const char* primitive, const CompileFor& compile_for);

  void Add(const Desc& desc);
  void Add(const Dims& dims);
  void Add(float value);
  template <typename T>
  requires std::is_enum_v<T> || std::integral<T>
  void Add(T value) { AddNumber(static_cast<int64_t>(value)); }
  // A forward primitive that a backward one requires has the same arguments.
  template <std::invocable Hint>
  void Add(const Hint& /*hint*/) {}

  const std::string& bytes() const { return bytes_; }

 private:
  void AddNumber(int64_t value);
  std::string bytes_;
};

// The process-wide cache of primitives. It evicts the least recently used ones.
// Counts onednn.cache_hits, onednn.cache_misses and onednn.cache_evictions
// (platform/diagnostics/counters.h). Kernels own their primitives, so that a
// run does not access the cache. Thread-safe.
class PrimitiveCache {
 public:
  explicit PrimitiveCache(size_t capacity);
  ~PrimitiveCache();
  static PrimitiveCache& Instance();

  // Calls `make` for a missing primitive, without a lock: two threads may both
  // do so. The result is cached only if `keep`.
  CompiledPtr Get(const PrimitiveKey& key,
                  bool keep,
                  FunctionRef<CompiledPtr()> make);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

namespace internal {
// Returns the primitive of this key from the cache or makes it, with the right
// number of threads set for oneDNN. Raises Unimplemented if oneDNN has only
// slow reference code for it.
CompiledPtr Get(const PrimitiveKey& key,
                const CompileFor& compile_for,
                std::string_view primitive,
                FunctionRef<Compiled()> make);
template <typename Primitive, typename Description>
Compiled CompiledOf(const Description& description,
                    const CompileFor& compile_for) {
  return {compile_for.only_described ? Primitive() : Primitive(description),
          description, description.impl_info_str()};
}
template <typename T>
const T& Given(const T& value) {
  return value;
}
template <std::invocable Hint>
auto Given(const Hint& hint) {
  return hint();
}
}  // namespace internal

// Returns the primitive with these arguments of its primitive_desc, from the
// cache. A forward primitive_desc that a backward one requires is passed as a
// lambda that makes it. Raises Unimplemented if oneDNN has no such primitive.
// Raised from a kernel's Prepare, that rejects the kernel for the op.
template <typename Primitive, typename... Args>
CompiledPtr Compile(const CompileFor& compile_for,
                    const char* name,
                    const Args&... args) {
  PrimitiveKey key(typeid(Primitive).name(), compile_for);
  (key.Add(args), ...);
  return onednn::internal::Get(key, compile_for, name, [&] {
    const typename Primitive::primitive_desc description(
        Engine(), onednn::internal::Given(args)...,
        compile_for.post_ops.ToAttr());
    return onednn::internal::CompiledOf<Primitive>(description, compile_for);
  });
}

// Compiles a copy from one layout (or type) to another.
CompiledPtr CompileReorder(const CompileFor& compile_for,
                           const Desc& from,
                           const Desc& to);

}  // namespace sluice::onednn
