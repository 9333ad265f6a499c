#include "sluice/framework/plan/known_values.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "sluice/framework/op/kernel_call.h"
#include "sluice/framework/op/op_check.h"
#include "sluice/framework/op/operand.h"
#include "sluice/platform/device_context_pool.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

const KernelDef* PlainKernel(const PreparedOp& op) {
  const KernelQuery query = op.QueryAt(CPUPlace());
  for (const KernelDef* kernel : Registry::Global().Kernels(op.desc.type)) {
    if (kernel->key.place == PlaceKind::kCPU &&
        kernel->key.library == "PLAIN" && kernel->key.dtype == op.dtype &&
        Refusal(*kernel, query).empty()) {
      return kernel;
    }
  }
  return nullptr;
}

std::vector<Tensor> RunOnHost(const PreparedOp& op,
                              const KernelDef& def,
                              std::vector<Tensor> inputs) {
  const KernelQuery query = op.QueryAt(CPUPlace());
  KernelPreparation preparation{query};
  const std::unique_ptr<OpKernel> kernel =
      MakePrepared(def, {op.desc, def.key, op.id}, &preparation);
  std::vector<Tensor> outputs(op.outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i]
        .Resize(op.outputs[i])
        .mutable_data(op.output_dtypes[i], CPUPlace());
  }
  Tensor scratch;
  const auto bytes = static_cast<int64_t>(preparation.scratch_bytes);
  void* memory =
      scratch.Resize(DDim({bytes})).mutable_data(DType::kUInt8, CPUPlace());
  std::vector<Tensor*> pointers;
  pointers.reserve(inputs.size() + outputs.size());
  for (Tensor& tensor : inputs) {
    pointers.push_back(&tensor);
  }
  for (Tensor& tensor : outputs) {
    pointers.push_back(&tensor);
  }
  const ArgTable arguments = MakeArgTable(query);
  const RunState run;
  OpKernelContext context(
      arguments, CPUPlace(), DeviceContextPool::Instance().Get(CPUPlace()),
      pointers.data(), pointers.data() + inputs.size(), memory, &run);
  kernel->Compute(context);
  return outputs;
}

// Returns why an op cannot be computed while preparing; "" if it can.
std::string ReasonAgainst(const PreparedOp& op) {
  const std::string name = Format("op {} ({})", op.id, op.desc.type);
  if (op.schema->random()) return name + " draws random numbers";
  for (const DDim& dims : op.outputs) {
    if (KnownValues::IsSmall(dims)) continue;
    return Format("{} gives {}, more than {} elements", name, dims,
                  KnownValues::kMaxElements);
  }
  if (PlainKernel(op) == nullptr) {
    return Format("{} has no plain kernel for {} on the CPU", name, op.dtype);
  }
  return "";
}

// Returns the inputs whose contents an op reads, not only the shapes.
std::vector<std::string> ReadInputs(const PreparedOp& op) {
  std::vector<std::string> vars;
  for (const ArgDef& def : op.schema->inputs()) {
    if (def.traits.shape_only) continue;
    for (const std::string& var : op.desc.Input(def.name)) {
      vars.push_back(var);
    }
  }
  return vars;
}

}  // namespace

KnownValues::KnownValues(WriterOf writer, const std::vector<FeedSpec>& feeds)
    : writer_(std::move(writer)), feeds_(feeds) {}

// Returns a value that no op of the graph has written.
KnownValues::Value KnownValues::OfLeaf(const std::string& var) {
  Value value;
  const auto feed =
      std::find_if(feeds_.begin(), feeds_.end(),
                   [&](const FeedSpec& each) { return each.name == var; });
  if (feed == feeds_.end()) {
    value.reason = Format("{} is a parameter", var);
  } else if (!feed->value.allocated()) {
    value.reason =
        Format("feed {} ({} {} at {}) is not small or not on the CPU", var,
               feed->dtype, feed->dims, feed->place);
  } else {
    value.tensor = feed->value;
    used_feeds_.insert(var);
  }
  return value;
}

// Computes an op whose inputs' values are made; if it cannot, keeps the reason.
void KnownValues::Compute(const PreparedOp& op) {
  std::string reason = ReasonAgainst(op);
  bool from_shapes = false;
  std::vector<Tensor> inputs;
  size_t flat = 0;
  for (const ArgDef& def : op.schema->inputs()) {
    for (const std::string& var : op.desc.Input(def.name)) {
      const size_t index = flat++;
      if (def.traits.shape_only) {
        inputs.emplace_back().Resize(op.inputs[index]);
        used_shapes_ = from_shapes = true;
        continue;
      }
      const Value& value = values_.at({var, writer_(var, &op)});
      if (!value.reason.empty() && reason.empty()) reason = value.reason;
      from_shapes |= value.from_shapes;
      inputs.push_back(value.tensor);
    }
  }
  std::vector<Tensor> outputs;
  if (reason.empty()) {
    try {
      outputs = RunOnHost(op, *PlainKernel(op), std::move(inputs));
    } catch (Error& error) {
      error.AddContext(
          Format("in op {} ({}), computed while the plan was "
                 "prepared",
                 op.id, op.desc.type));
      error.AddContext(DescribeLocation(op.desc.location));
      throw;
    }
  }
  flat = 0;
  for (const auto& [argument, vars] : op.desc.outputs) {
    for (const std::string& var : vars) {
      const size_t index = flat++;
      values_[{var, &op}] = {reason.empty() ? outputs[index] : Tensor(), reason,
                             from_shapes};
    }
  }
}

const Tensor* KnownValues::Find(const std::string& var, std::string* reason) {
  const Version wanted = {var, writer_(var, nullptr)};
  // Depth first, without recursion, because chains may be long.
  std::vector<Version> stack = {wanted};
  while (!stack.empty()) {
    const auto [name, writer] = stack.back();
    if (values_.count(stack.back()) > 0) {
      stack.pop_back();
    } else if (writer == nullptr) {
      values_[stack.back()] = OfLeaf(name);
    } else if (const std::string why = ReasonAgainst(*writer); !why.empty()) {
      values_[stack.back()] = {Tensor(), why};
    } else {
      const size_t before = stack.size();
      for (const std::string& input : ReadInputs(*writer)) {
        Version version = {input, writer_(input, writer)};
        if (values_.count(version) == 0) stack.push_back(std::move(version));
      }
      if (stack.size() == before) Compute(*writer);
    }
  }
  const Value& value = values_.at(wanted);
  if (value.reason.empty()) return &value.tensor;
  *reason = value.reason;
  return nullptr;
}

bool KnownValues::IsFromShapes(const std::string& var) const {
  const auto value = values_.find({var, writer_(var, nullptr)});
  return value != values_.end() && value->second.from_shapes;
}

std::string OperandRemark(const KnownOperand& operand, const Attribute& value) {
  return Format("{} = {}, from {}", operand.attr->name, ToString(value),
                operand.var);
}

OpDesc WithKnownOperands(OpDesc op,
                         KnownValues* known,
                         const std::function<void(std::string)>& note,
                         std::vector<KnownOperand>* from_shapes) {
  const OpSchema& schema = Registry::Global().Schema(op.type);
  for (const ArgDef& def : schema.inputs()) {
    const AttrDef* attr = GivenByOperand(schema, op, def);
    if (attr == nullptr) continue;
    const std::string var = op.Input(def.name)[0];
    std::string reason;
    const Tensor* value = known->Find(var, &reason);
    SLUICE_ENFORCE(value != nullptr, ErrorCode::kUnimplemented,
                   "plan.operand_of_data",
                   "{}: input {} ({}) gives attribute {}, which must be known "
                   "when the plan is prepared: from shapes, constants and "
                   "small feeds; but {}",
                   op.type, def.name, var, attr->name, reason);
    Attribute attribute = OperandValue(op.type, def, *attr, *value);
    const KnownOperand operand = {&def, attr, var};
    note(OperandRemark(operand, attribute));
    if (known->IsFromShapes(var)) from_shapes->push_back(operand);
    op.attributes[attr->name] = std::move(attribute);
    std::erase_if(op.inputs,
                  [&](const auto& input) { return input.first == def.name; });
  }
  return op;
}

}  // namespace sluice
