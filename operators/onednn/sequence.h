#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "sluice/operators/onednn/primitive_cache.h"
#include "sluice/operators/packed_weights.h"
#include "sluice/operators/registration.h"

namespace sluice::onednn {

using FloatAndBFloat16 = DTypeSet<float, bfloat16>;

// The primitives that compute one op, in order, and the memory of their
// arguments. Immutable; many threads may run it at once. A call has little
// overhead, as its oneDNN objects are kept for later calls.
class Sequence {
 public:
  ~Sequence();
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  // Raises what LibraryCall and CheckStack raise, and Internal if a primitive
  // fails.
  void Run(OpKernelContext& context) const;

  // Returns e.g. "reorder (jit:uni), convolution (brgconv:avx512_core)".
  const std::string& description() const { return description_; }

 private:
  friend class SequenceBuilder;
  enum class Where : uint8_t { kInput, kOutput, kScratch, kPacked };
  struct Tensor {
    Where where = Where::kScratch;
    int index = 0;  // the input's or output's
    size_t offset = 0;
    Desc desc;
    DDim dims;                 // the output's
    PackingPtr packing;        // kPacked: how to pack it
    std::vector<int> sources;  // kPacked: the inputs that are packed
  };
  struct Step {
    CompiledPtr compiled;
    std::string name;
    std::vector<std::pair<int, int>> arguments;  // DNNL_ARG_*, tensor
  };
  struct Call;
  static constexpr size_t kIdleCalls = 32;

  Sequence() = default;
  std::unique_ptr<Call> TakeCall() const;
  void KeepCall(std::unique_ptr<Call> call) const;
  void Bind(OpKernelContext& context, Call& call) const;
  void* Packed(OpKernelContext& context, size_t tensor, Call& call) const;

  std::string op_;
  int threads_ = 1;
  std::vector<Tensor> tensors_;
  std::vector<Step> steps_;
  // Applied after the steps; may be empty.
  std::function<void(const OpKernelContext& context, void* output)> chain_;
  int chained_ = -1;  // the tensor it is applied to
  std::string description_;
  mutable std::array<std::atomic<Call*>, kIdleCalls> idle_{};
};

// Constructs a Sequence in a kernel's Prepare.
class SequenceBuilder {
 public:
  // A tensor of the sequence.
  using Value = int;

  explicit SequenceBuilder(KernelPreparation& preparation);

  // The op and the number of threads that primitives are compiled for.
  const CompileFor& compile_for() const { return compile_for_; }
  const KernelQuery& query() const { return preparation_.query; }

  bool HasInput(std::string_view name) const;
  bool HasOutput(std::string_view name) const;
  // Whether the plan never changes the input, so that In may keep a copy.
  bool IsConstant(int input) const;
  // Return an existing argument, described by `desc`.
  Value Input(std::string_view name, const Desc& desc);
  Value Output(std::string_view name, const Desc& desc);
  // Return an argument by its index in KernelQuery.
  Value Input(int index, const Desc& desc);
  Value Output(int index, const Desc& desc);
  // Returns memory that exists during a call.
  Value Temporary(const Desc& desc);

  void Add(std::string name,
           CompiledPtr compiled,
           std::vector<std::pair<int, Value>> arguments);
  // Returns `value` in layout `wanted`: itself, or a copy. The copy of a
  // parameter that the plan does not write is kept until its contents change.
  Value In(Value value, const Desc& wanted);
  // Returns the result of `packing` for these inputs, described by `desc`. It
  // is packed again when one has changed. With an input that is no parameter,
  // or that the plan writes, each run packs.
  Value Packed(PackingPtr packing,
               const std::vector<std::string_view>& inputs,
               const Desc& desc);
  // Applies the op's chain (chain/chain_steps.h), without its first `skipped`
  // steps, after all primitives to an output in the op's layout. Does nothing
  // if there is no chain. T is float or bfloat16.
  template <typename T>
  void Chain(Value output, size_t skipped);
  // Returns the memory that a primitive with layout `wanted` writes: `output`
  // itself or a temporary. Deliver then copies it to `output` if necessary.
  Value For(Value output, const Desc& wanted);
  void Deliver(Value from, Value output);

  // Requests the scratch memory. Call it once, last.
  std::unique_ptr<const Sequence> Finish();

 private:
  int Find(const std::vector<ArgDef>& defs,
           std::string_view name,
           bool output) const;
  Value AddTensor(Sequence::Tensor tensor);
  Value AddPacked(PackingPtr packing,
                  std::vector<int> sources,
                  const Desc& desc);
  // Returns the same memory with another description.
  Value SeenAs(Value value, const Desc& desc);
  size_t Reserve(size_t bytes);

  KernelPreparation& preparation_;
  CompileFor compile_for_;
  std::unique_ptr<Sequence> sequence_;
  size_t scratch_bytes_ = 0;
};

// Returns a fused op's first step if oneDNN can apply it while the output is in
// registers; none for an op that is not fused.
Activation FirstActivation(const OpDesc& op);

// A kernel that runs a sequence. Prepare calls `Build` once, but never for
// empty arguments, as FitsOneDnn rejects these ops.
class SequenceKernel : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) final;
  void Compute(OpKernelContext& context) const final {
    sequence_->Run(context);
    Correct(context);
  }

 protected:
  virtual void Build(SequenceBuilder& builder) = 0;
  // Corrects outputs for which oneDNN's range of numbers is too small.
  virtual void Correct(OpKernelContext& /*context*/) const {}

 private:
  std::unique_ptr<const Sequence> sequence_;
};

// A predicate for KernelTraits::When. It rejects ops with an empty argument,
// which plain kernels compute without oneDNN. It rejects sizes past 32 bits:
// some of oneDNN's code divides by the truncated size.
std::string FitsOneDnn(const KernelQuery& query);

}  // namespace sluice::onednn
