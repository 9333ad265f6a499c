#include "sluice/operators/onednn/sequence.h"

#include <algorithm>
#include <limits>

#include "sluice/framework/op/op_schema.h"
#include "sluice/operators/chain/chain_steps.h"
#include "sluice/operators/onednn/packed_reorder.h"
#include "sluice/platform/alignment.h"
#include "sluice/platform/error.h"
#include "sluice/platform/library_call.h"

namespace sluice::onednn {

// The oneDNN objects of one call: memory handles and lists of arguments. Used
// by one thread at a time.
struct Sequence::Call {
  explicit Call(const Sequence& sequence)
      : stream(Engine()),
        pointers(sequence.tensors_.size(), nullptr),
        packed(sequence.tensors_.size()) {
    for (const Tensor& tensor : sequence.tensors_) {
      memories.emplace_back(tensor.desc, Engine(), nullptr);
    }
    for (const Step& step : sequence.steps_) {
      auto& list = arguments.emplace_back();
      for (const auto& [argument, tensor] : step.arguments) {
        list.push_back({argument, memories[tensor].get()});
      }
    }
  }

  dnnl::stream stream;
  std::vector<Memory> memories;  // by tensor
  std::vector<void*> pointers;   // the addresses in `memories`
  std::vector<std::shared_ptr<const PackedWeights>> packed;  // by tensor
  std::vector<std::vector<dnnl_exec_arg_t>> arguments;       // by step
};

Sequence::~Sequence() {
  for (auto& idle : idle_) {
    delete idle.load();
  }
}

namespace {

// Each thread starts its search elsewhere, so that threads seldom contend.
size_t FirstIdle() {
  static std::atomic<size_t> threads{0};
  // NOLINTNEXTLINE(readability-identifier-naming)
  thread_local const size_t first = threads++;
  return first;
}

}  // namespace

std::unique_ptr<Sequence::Call> Sequence::TakeCall() const {
  const size_t first = FirstIdle();
  for (size_t i = 0; i < kIdleCalls; ++i) {
    std::atomic<Call*>& idle = idle_[(first + i) % kIdleCalls];
    if (idle.load(std::memory_order_relaxed) == nullptr) continue;
    if (Call* call = idle.exchange(nullptr, std::memory_order_acquire)) {
      return std::unique_ptr<Call>(call);
    }
  }
  std::unique_ptr<Call> call;
  Guarded(op_, "memory", [&] { call = std::make_unique<Call>(*this); });
  return call;
}

void Sequence::KeepCall(std::unique_ptr<Call> call) const {
  const size_t first = FirstIdle();
  for (size_t i = 0; i < kIdleCalls; ++i) {
    Call* none = nullptr;
    std::atomic<Call*>& idle = idle_[(first + i) % kIdleCalls];
    if (idle.compare_exchange_strong(none, call.get(),
                                     std::memory_order_release,
                                     std::memory_order_relaxed)) {
      static_cast<void>(call.release());
      return;
    }
  }
}

void* Sequence::Packed(OpKernelContext& context,
                       size_t tensor,
                       Call& call) const {
  const std::vector<int>& sources = tensors_[tensor].sources;
  std::array<const sluice::Tensor*, kMaxPackedParameters> parameters = {};
  for (size_t i = 0; i < sources.size(); ++i) {
    parameters[i] = &context.Input(sources[i]);
  }
  auto& packed = call.packed[tensor];
  PackedWeights::Renew({parameters.data(), sources.size()},
                       tensors_[tensor].packing, threads_, &packed);
  return packed->data();
}

void Sequence::Bind(OpKernelContext& context, Call& call) const {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& tensor = tensors_[i];
    void* pointer = nullptr;
    switch (tensor.where) {
      case Where::kInput:
        // oneDNN has no type for read-only memory.
        pointer = const_cast<void*>(context.Input(tensor.index).raw_data());
        break;
      case Where::kOutput:
        pointer = context.AllocateOutput(tensor.index, tensor.dims).raw_data();
        break;
      case Where::kScratch:
        pointer = static_cast<char*>(context.scratch()) + tensor.offset;
        break;
      case Where::kPacked:
        pointer = Packed(context, i, call);
    }
    if (pointer == call.pointers[i]) continue;
    const dnnl_status_t status =
        dnnl_memory_set_data_handle(call.memories[i].get(), pointer);
    if (status != dnnl_success) RaiseStatus(op_, "memory", status);
    call.pointers[i] = pointer;
  }
}

void Sequence::Run(OpKernelContext& context) const {
  CheckStack(op_);
  std::unique_ptr<Call> call = TakeCall();
  Bind(context, *call);
  {
    const LibraryCall library_call(threads_);
    for (size_t i = 0; i < steps_.size(); ++i) {
      const auto& arguments = call->arguments[i];
      const dnnl_status_t status = dnnl_primitive_execute(
          steps_[i].compiled->primitive.get(), call->stream.get(),
          static_cast<int>(arguments.size()), arguments.data());
      if (status != dnnl_success) RaiseStatus(op_, steps_[i].name, status);
    }
  }
  if (chain_) chain_(context, call->pointers[chained_]);
  KeepCall(std::move(call));
}

SequenceBuilder::SequenceBuilder(KernelPreparation& preparation)
    : preparation_(preparation), sequence_(new Sequence()) {
  compile_for_.op = preparation.query.op.type;
  compile_for_.threads = LibraryThreads(preparation.num_threads);
  compile_for_.only_described = preparation.probe;
  sequence_->op_ = compile_for_.op;
  sequence_->threads_ = compile_for_.threads;
}

// Returns the flat index of an argument, or -1.
int SequenceBuilder::Find(const std::vector<ArgDef>& defs,
                          std::string_view name,
                          bool output) const {
  const OpDesc& op = query().op;
  int index = 0;
  for (const ArgDef& def : defs) {
    const size_t count =
        output ? op.Output(def.name).size() : op.Input(def.name).size();
    if (def.name == name) return count > 0 ? index : -1;
    index += static_cast<int>(count);
  }
  return -1;
}

bool SequenceBuilder::HasInput(std::string_view name) const {
  return Find(query().schema.inputs(), name, false) >= 0;
}

bool SequenceBuilder::HasOutput(std::string_view name) const {
  return Find(query().schema.outputs(), name, true) >= 0;
}

bool SequenceBuilder::IsConstant(int input) const {
  const auto& constant = query().input_constant;
  return static_cast<size_t>(input) < constant.size() && constant[input] != 0;
}

SequenceBuilder::Value SequenceBuilder::AddTensor(Sequence::Tensor tensor) {
  sequence_->tensors_.push_back(std::move(tensor));
  return static_cast<Value>(sequence_->tensors_.size()) - 1;
}

SequenceBuilder::Value SequenceBuilder::Input(std::string_view name,
                                              const Desc& desc) {
  return Input(Find(query().schema.inputs(), name, false), desc);
}

SequenceBuilder::Value SequenceBuilder::Output(std::string_view name,
                                               const Desc& desc) {
  return Output(Find(query().schema.outputs(), name, true), desc);
}

SequenceBuilder::Value SequenceBuilder::Input(int index, const Desc& desc) {
  Sequence::Tensor tensor;
  tensor.where = Sequence::Where::kInput;
  tensor.index = index;
  tensor.desc = desc;
  return AddTensor(std::move(tensor));
}

SequenceBuilder::Value SequenceBuilder::Output(int index, const Desc& desc) {
  Sequence::Tensor tensor;
  tensor.where = Sequence::Where::kOutput;
  tensor.index = index;
  tensor.dims = query().outputs[tensor.index];
  tensor.desc = desc;
  return AddTensor(std::move(tensor));
}

size_t SequenceBuilder::Reserve(size_t bytes) {
  const size_t offset = scratch_bytes_;
  scratch_bytes_ += AlignUp(bytes);
  return offset;
}

SequenceBuilder::Value SequenceBuilder::Temporary(const Desc& desc) {
  Sequence::Tensor tensor;
  tensor.desc = desc;
  tensor.offset = Reserve(desc.get_size());
  return AddTensor(std::move(tensor));
}

void SequenceBuilder::Add(std::string name,
                          CompiledPtr compiled,
                          std::vector<std::pair<int, Value>> arguments) {
  auto& description = sequence_->description_;
  if (!description.empty()) description += ", ";
  description += Format("{} ({})", name, compiled->implementation);
  sequence_->steps_.push_back(
      {std::move(compiled), std::move(name), std::move(arguments)});
}

namespace {

// Whether both describe the same memory. Strides of sizes of 1 are ignored.
bool LieAlike(const Desc& a, const Desc& b) {
  if (a == b) return true;
  const auto blocked = Memory::format_kind::blocked;
  if (a.get_format_kind() != blocked || b.get_format_kind() != blocked ||
      a.get_inner_nblks() != 0 || b.get_inner_nblks() != 0 ||
      a.get_data_type() != b.get_data_type() || a.get_dims() != b.get_dims()) {
    return false;
  }
  const Dims sizes = a.get_dims();
  const Dims a_steps = a.get_strides(), b_steps = b.get_strides();
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] > 1 && a_steps[axis] != b_steps[axis]) return false;
  }
  return true;
}

}  // namespace

SequenceBuilder::Value SequenceBuilder::SeenAs(Value value, const Desc& desc) {
  if (sequence_->tensors_[value].desc == desc) return value;
  Sequence::Tensor tensor = sequence_->tensors_[value];
  tensor.desc = desc;
  return AddTensor(std::move(tensor));
}

SequenceBuilder::Value SequenceBuilder::In(Value value, const Desc& wanted) {
  if (LieAlike(sequence_->tensors_[value].desc, wanted)) {
    return SeenAs(value, wanted);
  }
  const Sequence::Tensor& tensor = sequence_->tensors_[value];
  if (tensor.where == Sequence::Where::kInput && IsConstant(tensor.index)) {
    return AddPacked(PackByReorder(CompileReorder(compile_for_.Plain(),
                                                  tensor.desc, wanted)),
                     {tensor.index}, wanted);
  }
  const Value copy = Temporary(wanted);
  Deliver(value, copy);
  return copy;
}

SequenceBuilder::Value SequenceBuilder::AddPacked(PackingPtr packing,
                                                  std::vector<int> sources,
                                                  const Desc& desc) {
  Sequence::Tensor packed;
  packed.where = Sequence::Where::kPacked;
  packed.desc = desc;
  packed.packing = std::move(packing);
  packed.sources = std::move(sources);
  return AddTensor(std::move(packed));
}

SequenceBuilder::Value SequenceBuilder::Packed(
    PackingPtr packing,
    const std::vector<std::string_view>& inputs,
    const Desc& desc) {
  std::vector<int> sources;
  sources.reserve(inputs.size());
  for (const std::string_view input : inputs) {
    sources.push_back(Find(query().schema.inputs(), input, false));
  }
  return AddPacked(std::move(packing), std::move(sources), desc);
}

SequenceBuilder::Value SequenceBuilder::For(Value output, const Desc& wanted) {
  return LieAlike(sequence_->tensors_[output].desc, wanted)
             ? SeenAs(output, wanted)
             : Temporary(wanted);
}

void SequenceBuilder::Deliver(Value from, Value output) {
  const auto& tensors = sequence_->tensors_;
  if (tensors[from].where == tensors[output].where &&
      tensors[from].index == tensors[output].index &&
      tensors[from].offset == tensors[output].offset) {
    return;
  }
  Add("reorder",
      CompileReorder(compile_for_.Plain(), tensors[from].desc,
                     tensors[output].desc),
      {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, output}});
}

template <typename T>
void SequenceBuilder::Chain(Value output, size_t skipped) {
  const auto& steps = StepsOf(query().op);
  if (steps.size() <= skipped) return;
  sequence_->chained_ = output;
  sequence_->chain_ = [chain = ReadChain<T>(query(), skipped),
                       first = query().inputs.size() -
                               query().op.Input("Operands").size(),
                       count = query().outputs[0].numel()](
                          const OpKernelContext& context, void* values) {
    const auto operands = ChainOperandsOf<T>(context, first, chain.operands());
    auto* data = static_cast<T*>(values);
    chain.Run(data, operands, count, data);
  };
  for (size_t i = skipped; i < steps.size(); ++i) {
    sequence_->description_ += ", " + steps[i];
  }
}

template void SequenceBuilder::Chain<float>(Value, size_t);
template void SequenceBuilder::Chain<bfloat16>(Value, size_t);

std::unique_ptr<const Sequence> SequenceBuilder::Finish() {
  // Steps run one after the other and share a scratchpad.
  size_t bytes = 0;
  for (const auto& step : sequence_->steps_) {
    bytes =
        std::max(bytes, step.compiled->Wants(DNNL_ARG_SCRATCHPAD).get_size());
  }
  const size_t offset = Reserve(bytes);
  for (auto& step : sequence_->steps_) {
    const Desc desc = step.compiled->Wants(DNNL_ARG_SCRATCHPAD);
    if (desc.get_size() == 0) continue;
    Sequence::Tensor scratchpad;
    scratchpad.desc = desc;
    scratchpad.offset = offset;
    step.arguments.emplace_back(DNNL_ARG_SCRATCHPAD,
                                AddTensor(std::move(scratchpad)));
  }
  preparation_.scratch_bytes = scratch_bytes_;
  return std::move(sequence_);
}

Activation FirstActivation(const OpDesc& op) {
  const auto& steps = StepsOf(op);
  if (steps.empty()) return Activation::kNone;
  return steps[0] == "sigmoid" ? Activation::kSigmoid
         : steps[0] == "tanh"  ? Activation::kTanh
                               : Activation::kNone;
}

void SequenceKernel::Prepare(KernelPreparation& preparation) {
  SequenceBuilder builder(preparation);
  Guarded(preparation.query.op.type, "layouts", [&] { Build(builder); });
  sequence_ = builder.Finish();
}

std::string FitsOneDnn(const KernelQuery& query) {
  constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
  for (const auto* shapes : {&query.inputs, &query.outputs}) {
    for (const DDim& dims : *shapes) {
      if (dims.numel() == 0) return "takes no empty arguments";
      for (const int64_t size : dims) {
        if (size > kLargest) return "takes no sizes past 32 bits";
      }
    }
  }
  for (const auto& [name, value] : query.op.attributes) {
    const auto* numbers = std::get_if<std::vector<int64_t>>(&value);
    if (numbers == nullptr) continue;
    for (const int64_t number : *numbers) {
      if (number > kLargest) return "takes no attributes past 32 bits";
    }
  }
  return "";
}

}  // namespace sluice::onednn
