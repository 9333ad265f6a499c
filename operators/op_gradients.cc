#include "sluice/operators/op_gradients.h"

#include <algorithm>
#include <set>
#include <span>
#include <string_view>

namespace sluice {
namespace {

std::vector<std::string> NamesOf(const GradientOp::Names& names) {
  return {names.begin(), std::ranges::find(names, nullptr)};
}

std::span<const GradientInput> InputsOf(const GradientOp& gradient) {
  return {gradient.inputs.begin(),
          std::ranges::find(gradient.inputs, nullptr, &GradientInput::name)};
}

bool Contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Returns the definition of an argument of forward op `type`.
const ArgDef& Argument(std::string_view type,
                       const ArgDef* def,
                       std::string_view name) {
  SLUICE_ENFORCE(def != nullptr, ErrorCode::kInternal,
                 "op_gradients.no_argument",
                 "the gradient of {} is declared with argument {}, which the "
                 "op does not have",
                 type, name);
  return *def;
}

// Adds the arguments; returns the type variables of gradients.
std::set<std::string> AddArguments(const OpSchema& forward,
                                   const GradientOp& gradient,
                                   OpSchema& op) {
  const size_t suffix = std::string_view(gradient.suffix).size();
  const auto type = op.name().substr(0, op.name().size() - suffix);
  const auto input = [&](const std::string& name) -> const ArgDef& {
    return Argument(type, forward.FindInput(name), name);
  };
  const auto output = [&](const std::string& name) -> const ArgDef& {
    return Argument(type, forward.FindOutput(name), name);
  };
  const auto doc = [&](const ArgDef& def) {
    return def.name + " of " + type + ". " + def.doc;
  };
  std::set<std::string> floats;
  const auto gradient_of = [&](const ArgDef& def, bool alone) {
    floats.insert(def.dtype);
    return ArgTraits{.optional = !alone,
                     .variadic = def.traits.variadic,
                     .keeps_layout = def.traits.keeps_layout};
  };
  for (const GradientInput& read : InputsOf(gradient)) {
    const ArgDef& def = input(read.name);
    ArgTraits traits = def.traits;
    traits.shape_only = traits.shape_only || read.shape_only;
    op.Input(def.name, def.dtype, doc(def), traits);
  }
  for (const std::string& name : NamesOf(gradient.outputs)) {
    const ArgDef& def = output(name);
    op.Input(name, def.dtype, doc(def), def.traits);
  }
  const auto output_grads = NamesOf(gradient.output_grads);
  for (const std::string& name : output_grads) {
    const ArgTraits traits =
        gradient_of(output(name), output_grads.size() == 1);
    op.Input(GradName(name), output(name).dtype,
             "The gradient of " + name + ", in its shape" +
                 (traits.optional ? "; 0 if left out." : "."),
             traits);
  }
  const auto wanted = NamesOf(gradient.wanted);
  for (const std::string& name : wanted) {
    op.Output(GradName(name), input(name).dtype,
              "The gradient of " + name + ", in its shape.",
              gradient_of(input(name), wanted.size() == 1));
  }
  return floats;
}

// X@GRAD has the shape of X while operands are unknown.
void GradientLateShape(InferShapeContext& context) {
  context.SetOutput("X@GRAD", context.input("X"));
}

// Adds the attributes and their operands.
void AddAttributes(const OpSchema& forward,
                   const GradientOp& gradient,
                   OpSchema& op) {
  const auto without = NamesOf(gradient.without);
  for (const AttrDef& attribute : forward.attributes()) {
    if (Contains(without, attribute.name)) continue;
    op.Attr<bool>(attribute.name, attribute.doc) = attribute;
  }
  for (const ArgDef& def : forward.inputs()) {
    if (def.attribute.empty() || Contains(without, def.attribute)) continue;
    op.Operand(def.name, def.attribute, def.dtype, def.doc);
    op.InferLateShape(GradientLateShape);
  }
  for (const std::string& name : forward.dim_attributes()) {
    if (!Contains(without, name)) op.DimAttribute(name);
  }
}

// Adds the type variables that the arguments have.
void AddTypeVars(const OpSchema& forward,
                 const std::set<std::string>& floats,
                 OpSchema& op) {
  std::set<std::string> used;
  for (const auto* arguments : {&op.inputs(), &op.outputs()}) {
    for (const ArgDef& def : *arguments) {
      used.insert(def.dtype);
    }
  }
  for (const TypeVarDef& var : forward.type_vars()) {
    if (!used.contains(var.name)) continue;
    std::vector<DType> allowed = var.allowed;
    if (floats.contains(var.name)) {
      const std::vector<DType> all = FloatDTypes();
      std::erase_if(allowed, [&](DType dtype) {
        return std::ranges::find(all, dtype) == all.end();
      });
    }
    if (op.FindAttr(var.from_attribute) != nullptr) {
      op.TypeVarFromAttr(var.name, var.from_attribute, allowed);
    } else {
      op.TypeVar(var.name, allowed);
    }
  }
}

// Adds which offsets cut the rows of inputs.
void AddRows(const OpSchema& forward, OpSchema& op) {
  for (const ArgDef& def : op.inputs()) {
    const RowTraits& rows = forward.rows(def.name);
    if (rows.offsets.empty() || forward.FindInput(def.name) == nullptr ||
        op.FindInput(rows.offsets) == nullptr) {
      continue;
    }
    if (rows.per_sequence) {
      op.PerSequence(def.name, rows.offsets);
    } else {
      op.Ragged(def.name, rows.offsets);
    }
  }
}

}  // namespace

void DeriveGradient(const OpSchema& forward,
                    const GradientOp& gradient,
                    OpSchema& op) {
  op.Doc(gradient.doc);
  op.Family(forward.family());
  const std::set<std::string> floats = AddArguments(forward, gradient, op);
  AddAttributes(forward, gradient, op);
  AddTypeVars(forward, floats, op);
  AddRows(forward, op);
  if (gradient.shape != nullptr) op.InferShape(gradient.shape);
  if (gradient.add != nullptr) gradient.add(op);
}

void InferGradientShapes(const GradientOp& gradient,
                         InferShapeContext& context) {
  const auto output_grads = NamesOf(gradient.output_grads);
  const auto wanted = NamesOf(gradient.wanted);
  if (gradient.dims == nullptr) {
    const ShapeHandle grad = context.input(GradName(output_grads[0]));
    context.SetOutput(GradName(wanted[0]),
                      context.Merge(context.input(wanted[0]), grad));
    return;
  }
  const ShapeHandle dims{gradient.dims(context), -1};
  const auto check = [&](const std::string& name) {
    if (context.HasInput(name)) context.Merge(context.input(name), dims);
  };
  for (const std::string& name : NamesOf(gradient.outputs)) {
    check(name);
  }
  for (const std::string& name : output_grads) {
    check(GradName(name));
  }
  for (const std::string& name : wanted) {
    const auto inputs = context.inputs(name);
    for (size_t i = 0; i < inputs.size(); ++i) {
      context.SetOutput(GradName(name), inputs[i], static_cast<int>(i));
    }
  }
}

OpDesc MakeGradient(const OpDesc& forward, const GradientOp& gradient) {
  GradOpArgs arguments = {.outputs = NamesOf(gradient.outputs),
                          .output_grads = NamesOf(gradient.output_grads),
                          .wanted = NamesOf(gradient.wanted)};
  for (const GradientInput& input : InputsOf(gradient)) {
    arguments.inputs.emplace_back(input.name);
  }
  OpDesc grad = MakeGradOp(forward, forward.type + gradient.suffix, arguments);
  for (const std::string& name : NamesOf(gradient.without)) {
    grad.attributes.erase(name);
  }
  return grad;
}

}  // namespace sluice
