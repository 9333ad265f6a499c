#include "sluice/laboratory/example_op.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/run/run_op.h"
#include "sluice/framework/values/tensor_values.h"
#include "sluice/platform/alignment.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

// A generator that draws the same numbers in every process.
class Numbers {
 public:
  // Multiples of 1/192 of the range. Between -1.5 and 1.5 they are exact in
  // every dtype, and many are equal.
  std::vector<double> Draw(const ExampleInput& input, DType dtype) {
    std::vector<double> values(static_cast<size_t>(input.dims.numel()));
    const bool floating = IsFloating(dtype);
    const double range = input.high - input.low;
    // Offsets of ragged rows (OpSchema::Ragged) rise from the first row to the
    // last.
    if (input.argument.ends_with("Offsets")) {
      for (size_t i = 1; i < values.size(); ++i) {
        values[i] = std::floor(range * static_cast<double>(i) /
                               static_cast<double>(values.size() - 1));
      }
      return values;
    }
    for (double& value : values) {
      value = floating
                  ? input.low + range * static_cast<double>(Below(193)) / 192
                  : input.low + static_cast<double>(
                                    Below(static_cast<uint64_t>(range) + 1));
    }
    return values;
  }

 private:
  uint64_t Below(uint64_t limit) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return (state_ >> 33) % limit;
  }

  uint64_t state_ = 20261121;
};

const Tensor* Find(const NamedInputs& inputs, const std::string& argument) {
  for (const auto& [name, tensor] : inputs) {
    if (name == argument) return &tensor;
  }
  return nullptr;
}

// The op whose gradient `op` is, if all its inputs are there.
const OpSchema* ForwardOf(const std::string& op, const NamedInputs& inputs) {
  const size_t end = op.rfind("_grad");
  if (end == std::string::npos || end == 0) return nullptr;
  const OpSchema* forward = Registry::Global().FindSchema(op.substr(0, end));
  if (forward == nullptr) return nullptr;
  for (const ArgDef& input : forward->inputs()) {
    if (!input.traits.optional && Find(inputs, input.name) == nullptr) {
      return nullptr;
    }
  }
  return forward;
}

AttributeMap AttributesOf(const OpExample& example, DType dtype) {
  AttributeMap attributes = example.attributes;
  for (const std::string& name : example.dtype_attributes) {
    attributes[name] = dtype;
  }
  return attributes;
}

}  // namespace

std::vector<std::string> ComputeForward(const std::string& op,
                                        const AttributeMap& attributes,
                                        NamedInputs* inputs) {
  const OpSchema* forward = ForwardOf(op, *inputs);
  if (forward == nullptr) return {};
  RunOpOptions options{.hint = "require place=cpu, library=PLAIN"};
  for (const ArgDef& output : forward->outputs()) {
    if (Find(*inputs, output.name) != nullptr) {
      options.outputs.push_back(output.name);
    }
  }
  if (options.outputs.empty()) return {};
  NamedInputs before;
  for (const auto& [name, tensor] : *inputs) {
    if (forward->FindInput(name) != nullptr) before.emplace_back(name, tensor);
  }
  const auto outputs = RunOp(forward->name(), before, attributes, options);
  for (auto& [name, tensor] : *inputs) {
    const auto output = outputs.find(name);
    if (output != outputs.end()) tensor = output->second;
  }
  return options.outputs;
}

// Memory pages with the elements at their end.
class ExampleOp::Memory {
 public:
  explicit Memory(const Tensor& values) {
    const size_t bytes = values.bytes();
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t room = AlignUp(bytes);
    const size_t open = (room + kAlignment + page - 1) / page * page;
    size_ = open + page;
    pages_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SLUICE_ENFORCE(pages_ != MAP_FAILED, ErrorCode::kResourceExhausted,
                   "example_op.memory", "no room for an example of {} bytes",
                   size_);
    auto* begin = static_cast<uint8_t*>(pages_);
    std::memset(begin, 0xFF, open);
    mprotect(begin + open, page, PROT_NONE);
    data_ = begin + open - room;
    if (bytes > 0) std::memcpy(data_, values.raw_data(), bytes);
  }
  ~Memory() { munmap(pages_, size_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void* data() const { return data_; }

 private:
  void* pages_ = nullptr;
  size_t size_ = 0;
  uint8_t* data_ = nullptr;
};

ExampleOp::ExampleOp(const OpExample& example,
                     DType dtype,
                     bool required_only) {
  const OpSchema& schema = Registry::Global().Schema(example.op);
  Numbers numbers;
  NamedInputs inputs;
  for (const ExampleInput& input : example.inputs) {
    const DType its = input.of_kernel ? dtype : input.dtype;
    inputs.emplace_back(input.argument,
                        FromDoubles(its, input.dims, numbers.Draw(input, its)));
  }
  const AttributeMap attributes = AttributesOf(example, dtype);
  ComputeForward(example.op, attributes, &inputs);
  std::vector<std::string> outputs;
  for (const ArgDef& def : schema.outputs()) {
    if (!required_only || !def.traits.optional) outputs.push_back(def.name);
  }
  const OneOp made = MakeOneOp(example.op, inputs, attributes, outputs);

  op_ = Isolate(made);
  for (Tensor& input : op_.inputs) {
    memory_.push_back(std::make_unique<Memory>(input));
    input = Tensor::Borrow(CPUPlace(), input.dtype(), input.dims(),
                           memory_.back()->data());
  }
  for (size_t i = 0; i < op_.facts.outputs.size(); ++i) {
    SLUICE_ENFORCE(op_.facts.outputs[i].known(), ErrorCode::kInvalidArgument,
                   "example_op.unknown_size",
                   "{}: the shape of {} follows from data only", example.op,
                   OutputName(op_.facts, i));
  }
}

ExampleOp::~ExampleOp() = default;

}  // namespace sluice
