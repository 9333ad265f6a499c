#include "sluice/operators/onednn/primitive_cache.h"

#include <cstring>
#include <list>
#include <mutex>
#include <unordered_map>

#include "sluice/platform/diagnostics/counters.h"
#include "sluice/platform/error.h"
#include "sluice/platform/library_call.h"

namespace sluice::onednn {

dnnl::primitive_attr PostOps::ToAttr() const {
  dnnl::primitive_attr attributes;
  // With the library's own scratchpad, concurrent runs would share it.
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::post_ops ops;
  if (scale != 1) {
    ops.append_eltwise(dnnl::algorithm::eltwise_linear,
                       static_cast<float>(scale), 0);
  }
  switch (activation) {
    case Activation::kNone:
      break;
    case Activation::kSigmoid:
      ops.append_eltwise(dnnl::algorithm::eltwise_logistic, 0, 0);
      break;
    case Activation::kTanh:
      ops.append_eltwise(dnnl::algorithm::eltwise_tanh, 0, 0);
      break;
  }
  attributes.set_post_ops(ops);
  return attributes;
}

PrimitiveKey::PrimitiveKey(const char* primitive,
                           const CompileFor& compile_for) {
  const PostOps& post = compile_for.post_ops;
  bytes_ = Format("{}|{}|{}|{}|", primitive, compile_for.threads,
                  static_cast<int>(post.activation), post.scale);
}

void PrimitiveKey::AddNumber(int64_t value) {
  bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void PrimitiveKey::Add(float value) {
  int32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  AddNumber(bits);
}

void PrimitiveKey::Add(const Dims& dims) {
  AddNumber(static_cast<int64_t>(dims.size()));
  for (const auto size : dims) {
    AddNumber(size);
  }
}

void PrimitiveKey::Add(const Desc& desc) {
  Add(desc.get_dims());
  Add(desc.get_data_type());
  const auto kind = desc.get_format_kind();
  Add(kind);
  if (kind != Memory::format_kind::blocked) return;
  Add(desc.get_strides());
  Add(desc.get_padded_dims());
  Add(desc.get_inner_blks());
  Add(desc.get_inner_idxs());
}

struct PrimitiveCache::State {
  struct Entry {
    std::string key;
    CompiledPtr compiled;
  };
  explicit State(size_t entries) : capacity(entries) {}

  CompiledPtr Find(const std::string& key) {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = by_key.find(key);
    if (found == by_key.end()) return nullptr;
    entries.splice(entries.begin(), entries, found->second);
    return found->second->compiled;
  }

  void Insert(const std::string& key, const CompiledPtr& compiled) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (by_key.count(key) > 0) return;  // another thread added it first
    entries.push_front({key, compiled});
    by_key[key] = entries.begin();
    if (entries.size() <= capacity) return;
    by_key.erase(entries.back().key);
    entries.pop_back();
    ++evictions;
  }

  std::mutex mutex;
  size_t capacity;
  std::list<Entry> entries;  // most recently used first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_key;
  std::atomic<int64_t>& hits = Counter("onednn.cache_hits");
  std::atomic<int64_t>& misses = Counter("onednn.cache_misses");
  std::atomic<int64_t>& evictions = Counter("onednn.cache_evictions");
};

PrimitiveCache::PrimitiveCache(size_t capacity)
    : state_(std::make_unique<State>(capacity)) {}

PrimitiveCache::~PrimitiveCache() = default;

PrimitiveCache& PrimitiveCache::Instance() {
  static auto* cache = new PrimitiveCache(1024);
  return *cache;
}

CompiledPtr PrimitiveCache::Get(const PrimitiveKey& key,
                                bool keep,
                                FunctionRef<CompiledPtr()> make) {
  if (CompiledPtr known = state_->Find(key.bytes())) {
    ++state_->hits;
    return known;
  }
  if (!keep) return make();
  ++state_->misses;
  CompiledPtr compiled = make();
  state_->Insert(key.bytes(), compiled);
  return compiled;
}

namespace internal {
namespace {

CompiledPtr Make(const CompileFor& compile_for,
                 std::string_view primitive,
                 FunctionRef<Compiled()> make) {
  CheckStack(compile_for.op);
  const LibraryCall call(compile_for.threads);
  CompiledPtr compiled;
  Guarded(compile_for.op, primitive,
          [&] { compiled = std::make_shared<const Compiled>(make()); });
  if (compiled->implementation.rfind("ref", 0) == 0) {
    RaiseFailure(ErrorCode::kUnimplemented, compile_for.op, primitive,
                 "only its reference code takes this");
  }
  return compiled;
}

}  // namespace

CompiledPtr Get(const PrimitiveKey& key,
                const CompileFor& compile_for,
                std::string_view primitive,
                FunctionRef<Compiled()> make) {
  return PrimitiveCache::Instance().Get(key, !compile_for.only_described, [&] {
    return Make(compile_for, primitive, make);
  });
}

}  // namespace internal

CompiledPtr CompileReorder(const CompileFor& compile_for,
                           const Desc& from,
                           const Desc& to) {
  PrimitiveKey key("reorder", compile_for);
  key.Add(from);
  key.Add(to);
  return onednn::internal::Get(key, compile_for, "reorder", [&] {
    const dnnl::reorder::primitive_desc description(
        Engine(), from, Engine(), to, compile_for.post_ops.ToAttr());
    return onednn::internal::CompiledOf<dnnl::reorder>(description,
                                                       compile_for);
  });
}

}  // namespace sluice::onednn
