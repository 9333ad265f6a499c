#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "sluice/operators/onednn/engine.h"

namespace sluice::operators::onednn {

// A primitive that is ready to run, and how it wants its memory. Immutable;
// any thread may run it.
struct Compiled {
  dnnl::primitive primitive;
  dnnl::primitive_desc_base description;
  std::string implementation;  // "brgconv:avx512_core"

  // The layouts that it wants; the key is DNNL_ARG_SRC and its like.
  Desc Wants(int argument) const {
    return description.query_md(dnnl::query::exec_arg_md, argument);
  }
};
using CompiledPtr = std::shared_ptr<const Compiled>;

// Those that keep NaN. oneDNN has no relu that does: see
// SequenceBuilder::Chain.
enum class Activation : uint8_t { kNone, kSigmoid, kTanh };

// What is applied to a primitive's output as it is written, in this order.
struct PostOps {
  double scale = 1;  // multiplies it
  Activation activation = Activation::kNone;

  dnnl::primitive_attr ToAttr() const;
};

// For whom a primitive is compiled.
struct CompileFor {
  std::string op;   // named in errors
  int threads = 1;  // oneDNN divides its work by this when it compiles
  PostOps post_ops = {};
  // Only the primitive_desc is made, which shows whether oneDNN takes the
  // arguments; no code is generated, and the result cannot be run.
  bool only_described = false;

  // The same without post_ops: for a copy beside the primitive.
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
  // The forward primitive that a backward one is for: made of the same.
  template <std::invocable Hint>
  void Add(const Hint& /*hint*/) {}

  const std::string& bytes() const { return bytes_; }

 private:
  void AddNumber(int64_t value);
  std::string bytes_;
};

// The primitives of the process, the least recently used of which go when
// there are many. Counts onednn.cache_hits, onednn.cache_misses and
// onednn.cache_evictions (platform/diagnostics/counters.h). Kernels keep
// theirs, so a run never looks here. Thread-safe.
class PrimitiveCache {
 public:
  explicit PrimitiveCache(size_t capacity);
  ~PrimitiveCache();
  static PrimitiveCache& Instance();

  // `make` runs without a lock: two threads may both make it. Unless `keep`,
  // what it makes is not kept.
  CompiledPtr Get(const PrimitiveKey& key,
                  bool keep,
                  platform::FunctionRef<CompiledPtr()> make);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

namespace internal {
// The primitive of this key from the cache; else makes it, where oneDNN sees
// the right number of threads. Raises Unimplemented when it has nothing but its
// slow reference code.
CompiledPtr Get(const PrimitiveKey& key,
                const CompileFor& compile_for,
                std::string_view primitive,
                platform::FunctionRef<Compiled()> make);
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

// The primitive with these arguments of its primitive_desc, from the cache.
// The forward primitive_desc that backward ones want is given as a lambda that
// makes it. Raises Unimplemented when oneDNN has none, which refuses the op
// when it comes out of a kernel's Prepare.
template <typename Primitive, typename... Args>
CompiledPtr Compile(const CompileFor& compile_for,
                    const char* name,
                    const Args&... args) {
  PrimitiveKey key(typeid(Primitive).name(), compile_for);
  (key.Add(args), ...);
  return internal::Get(key, compile_for, name, [&] {
    const typename Primitive::primitive_desc description(
        Engine(), internal::Given(args)..., compile_for.post_ops.ToAttr());
    return internal::CompiledOf<Primitive>(description, compile_for);
  });
}

// Copies from one layout (or type) to another.
CompiledPtr CompileReorder(const CompileFor& compile_for,
                           const Desc& from,
                           const Desc& to);

}  // namespace sluice::operators::onednn
