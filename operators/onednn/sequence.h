#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/framework/op/op_schema.h"
#include "sluice/operators/onednn/primitive_cache.h"
#include "sluice/operators/packed_weights.h"

namespace sluice::operators::onednn {

// The primitives that compute one op, one after the other, and where their
// arguments lie. Immutable; many threads run it at once. A call costs little
// more than its primitives: what oneDNN needs of a call is kept for the next.
class Sequence {
 public:
  ~Sequence();
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  // Raises what LibraryCall and CheckStack do, and Internal when a primitive
  // fails.
  void Run(framework::OpKernelContext& context) const;

  // "reorder (jit:uni), convolution (brgconv:avx512_core)".
  const std::string& description() const { return description_; }

 private:
  friend class SequenceBuilder;
  enum class Where : uint8_t { kInput, kOutput, kScratch, kPacked };
  struct Tensor {
    Where where = Where::kScratch;
    int index = 0;  // of the input or output
    size_t offset = 0;
    Desc desc;
    framework::DDim dims;      // of the output
    PackingPtr packing;        // kPacked: what makes it
    std::vector<int> sources;  // and the inputs that it is made of
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
  void Bind(framework::OpKernelContext& context, Call& call) const;
  void* Packed(framework::OpKernelContext& context,
               size_t tensor,
               Call& call) const;

  std::string op_;
  int threads_ = 1;
  std::vector<Tensor> tensors_;
  std::vector<Step> steps_;
  // Applied after the steps, or empty.
  std::function<void(const framework::OpKernelContext& context, void* output)>
      chain_;
  int chained_ = -1;  // the tensor that it is applied to
  std::string description_;
  mutable std::array<std::atomic<Call*>, kIdleCalls> idle_{};
};

// Puts a Sequence together in a kernel's Prepare.
class SequenceBuilder {
 public:
  // A tensor of the sequence.
  using Value = int;

  explicit SequenceBuilder(framework::KernelPreparation& preparation);

  // For whom to compile: the op, and as many threads as there will be.
  const CompileFor& compile_for() const { return compile_for_; }
  const framework::KernelQuery& query() const { return preparation_.query; }

  bool HasInput(std::string_view name) const;
  bool HasOutput(std::string_view name) const;
  // Whether the plan leaves the input as it is, so that In keeps its copy.
  bool IsConstant(int input) const;
  // An argument that is there, seen as `desc`.
  Value Input(std::string_view name, const Desc& desc);
  Value Output(std::string_view name, const Desc& desc);
  // The same by their index in KernelQuery.
  Value Input(int index, const Desc& desc);
  Value Output(int index, const Desc& desc);
  // Memory for the length of a call.
  Value Temporary(const Desc& desc);

  void Add(std::string name,
           CompiledPtr compiled,
           std::vector<std::pair<int, Value>> arguments);
  // `value` in the layout `wanted`: itself, or a copy. That of a parameter
  // which the plan does not change is kept until somebody else does.
  Value In(Value value, const Desc& wanted);
  // What `packing` makes of these inputs, which lies as `desc` says; made again
  // when one of them has changed. Where one is no parameter, or the plan writes
  // it, that is noticed as well, but then each run packs.
  Value Packed(PackingPtr packing,
               const std::vector<std::string_view>& inputs,
               const Desc& desc);
  // After all primitives, the op's chain (chain/chain_steps.h) but for its
  // first `skipped` steps is applied to an output in the layout that the op
  // gives it. Nothing where there is none. T is float or bfloat16.
  template <typename T>
  void Chain(Value output, size_t skipped);
  // Where a primitive that wants `wanted` may write, so that Deliver brings it
  // to `output`: the output itself, or a temporary.
  Value For(Value output, const Desc& wanted);
  void Deliver(Value from, Value output);

  // Asks for the scratch memory. Call it once, last.
  std::unique_ptr<const Sequence> Finish();

 private:
  int Find(const std::vector<framework::ArgDef>& defs,
           std::string_view name,
           bool output) const;
  Value AddTensor(Sequence::Tensor tensor);
  Value AddPacked(PackingPtr packing,
                  std::vector<int> sources,
                  const Desc& desc);
  // The same memory with another description.
  Value SeenAs(Value value, const Desc& desc);
  size_t Reserve(size_t bytes);

  framework::KernelPreparation& preparation_;
  CompileFor compile_for_;
  std::unique_ptr<Sequence> sequence_;
  size_t scratch_bytes_ = 0;
};

// The first step of a fused op where that is an activation which oneDNN applies
// while the output is still in registers; none for an op that is not fused.
Activation FirstActivation(const framework::OpDesc& op);

// A kernel that is a sequence. `Build` is called once, in Prepare; it is not
// called when an argument is empty: those ops are refused.
class SequenceKernel : public framework::OpKernel {
 public:
  void Prepare(framework::KernelPreparation& preparation) final;
  void Compute(framework::OpKernelContext& context) const final {
    sequence_->Run(context);
    Correct(context);
  }

 protected:
  virtual void Build(SequenceBuilder& builder) = 0;
  // Changes outputs for which oneDNN's range of numbers is too small.
  virtual void Correct(framework::OpKernelContext& /*context*/) const {}

 private:
  std::unique_ptr<const Sequence> sequence_;
};

// A predicate for KernelTraits::When: refuses ops with an argument of no
// elements, which plain kernels finish without oneDNN, and sizes past 32 bits,
// at which some of its code divides by what is left of them.
std::string FitsOneDnn(const framework::KernelQuery& query);

}  // namespace sluice::operators::onednn
