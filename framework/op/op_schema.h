#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/op/op_desc.h"
#include "sluice/framework/values/attribute.h"
#include "sluice/platform/dtype.h"
#include "sluice/platform/export.h"

namespace sluice {

class InferShapeContext;
class Status;

// Special properties of an argument.
struct ArgTraits {
  bool optional = false;
  bool variadic = false;    // any number of variables
  bool host = false;        // read on the host, wherever the kernel runs
  bool shape_only = false;  // only its shape is used; its data need not exist
  // Its layout does not depend on data_format, although it has the rank of an
  // image: a filter.
  bool keeps_layout = false;
};

// One input or output of an op. `dtype` is a type variable ("T"), the name of a
// dtype ("int64"), or "any": for an op with blocks, each variable has its own.
inline constexpr std::string_view kAnyDType = "any";
struct ArgDef {
  std::string name;
  std::string dtype;
  std::string doc;
  ArgTraits traits;
  // Outputs: the input that this output may alias (the same bytes in another
  // shape), or must overwrite in place (an update).
  std::string aliases = {};
  std::string updates = {};
  // Outputs: the input whose memory this output may overwrite if no other op
  // reads it; variadic arguments pair up variable by variable.
  std::string overwrites = {};
  // Outputs: the optional input whose presence means that an update changes few
  // rows (OpSchema::UpdateRows); the output with the rows of this sparse
  // gradient (OpSchema::SparseRows).
  std::string few_rows = {};
  std::string sparse_rows = {};
  // Inputs: the attribute that the value sets (OpSchema::Operand).
  std::string attribute = {};
};

// The rows of one argument of an op over ragged rows.
struct RowTraits {
  std::string argument;
  // The argument with the offsets of its rows (OpSchema::Ragged). With
  // `per_sequence` it has a row for each sequence of those offsets instead.
  std::string offsets = {};
  bool per_sequence = false;
  // Outputs: the inputs that have the same rows (OpSchema::SharesRows).
  std::vector<std::string> rows_of = {};
};

// One attribute: type, default, limits and doc.
struct SLUICE_API AttrDef {
  std::string name;
  AttrType type = AttrType::kInt;
  std::string doc;
  std::optional<Attribute> default_value;  // none: the user must set it
  std::optional<double> minimum;
  std::optional<double> maximum;
  std::vector<std::string> choices;

  AttrDef& Default(Attribute value);
  AttrDef& AtLeast(double limit);
  AttrDef& AtMost(double limit);
  AttrDef& OneOf(std::vector<std::string> names);
};

// A set of dtypes that arguments share. Bound by the first input that has it,
// or by an attribute of type dtype.
struct TypeVarDef {
  std::string name;
  std::vector<DType> allowed;
  std::string from_attribute;
};

// Roles of ops that the framework itself uses, so that it names no op: autodiff
// starts from a filled tensor and adds up gradients.
enum class OpRole : uint8_t {
  kNone,
  kFill,   // no input; attributes shape, dtype, value; output Out
  kShape,  // input X; output Out: its sizes, int64
  kSum,    // variadic X of one shape; output Out: their sum
  kJoin,   // variadic X; attribute axis; output Out: one after the other
  kDense,  // sparse X with Rows; output Out: X added up in the shape of Like
  kIf,     // runs one of two blocks (framework/program/block_ops.h)
  kLoop,   // runs a block repeatedly
};
SLUICE_API std::string_view ToString(OpRole role);

// The equivalent op of ONNX: its type ("" for none), and Sluice's names of its
// attributes if they differ.
struct OnnxCounterpart {
  std::string op_type;
  std::map<std::string, std::string> attributes;  // ONNX name to Sluice name
};

// Describes an op except for its computation: arguments, attributes, allowed
// dtypes, the shape function and the gradient. The C++ builders, the Python
// functions, their docs and the checks are all derived from it. The function
// passed to REGISTER_OPERATOR fills it; it is then immutable:
//
//   void CropSchema(OpSchema& op) {
//     op.Doc("Cuts a box out of X.");
//     op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
//     op.Input("X", "T", "The tensor to cut from, of any rank.");
//     op.Output("Out", "T", "The box.");
//     op.Attr<std::vector<int64_t>>("offsets", "First element of the box.");
//     op.InferShape(CropShape).Gradient(CropGradient);
//   }
class SLUICE_API OpSchema {
 public:
  // Shape functions raise errors, or return a Status in TensorFlow's style
  // (SLUICE_RETURN_IF_ERROR in status.h).
  using ShapeFn = void (*)(InferShapeContext& context);
  using StatusShapeFn = Status (*)(InferShapeContext* context);
  using AnyShapeFn = std::function<void(InferShapeContext& context)>;
  // Returns the ops that compute the gradients of `forward`'s inputs. The
  // gradient of variable v is named GradName(v).
  using GradientFn = std::vector<OpDesc> (*)(const OpDesc& forward);

  explicit OpSchema(std::string name) : name_(std::move(name)) {}

  OpSchema& Doc(std::string text);
  OpSchema& TypeVar(std::string name, std::vector<DType> allowed);
  OpSchema& TypeVarFromAttr(std::string name,
                            std::string attribute,
                            std::vector<DType> allowed);
  OpSchema& Input(std::string name,
                  std::string dtype,
                  std::string doc,
                  ArgTraits traits = {});
  OpSchema& Output(std::string name,
                   std::string dtype,
                   std::string doc,
                   ArgTraits traits = {});
  // An optional input that sets attribute `attribute`, for values that are
  // known late, e.g. computed shapes. The value must be known when the op is
  // prepared, from shapes, constants and small feeds. The attribute is then set
  // and the input dropped, so the kernel sees only the attribute. `dtype` must
  // be an integer type for attributes of int64, any numeric one for double. A
  // list needs a vector, one number a tensor of one element.
  OpSchema& Operand(std::string name,
                    std::string attribute,
                    std::string dtype,
                    std::string doc);
  // The returned definition is valid until the next Attr.
  template <typename T>
  AttrDef& Attr(std::string_view name, std::string_view doc) {
    return AddAttr(std::string(name), AttrTypeOf<T>(), std::string(doc));
  }
  OpSchema& InferShape(ShapeFn function);
  OpSchema& InferShape(StatusShapeFn function);
  // Infers shapes while operands have no values and attributes are missing:
  // mostly ranks. Without this function, such shapes are unknown.
  OpSchema& InferLateShape(ShapeFn function);
  OpSchema& InferLateShape(StatusShapeFn function);
  OpSchema& Gradient(GradientFn function);
  // Why the op has no gradient, as the end of a sentence ("it counts"), where
  // NoGradientReason() cannot tell from the arguments.
  OpSchema& NoGradient(std::string reason);
  // Output `output` is input `input` in another shape. A plan lets both alias
  // one buffer, and the kernel then has nothing to copy.
  OpSchema& Alias(std::string_view output, std::string_view input);
  // Output `output` may overwrite input `input`: a plan gives both the same
  // memory if no other op reads the input and their shapes are equal.
  OpSchema& Overwrite(std::string_view output, std::string_view input);
  // Row r of `output` depends on row r of these inputs alone, where `when`
  // holds, so that it has the offsets of the first ragged one, and padding
  // stays apart. Element-wise ops share rows anyway. An op refuses a ragged
  // input that neither shares its rows nor has offsets.
  using RowWiseFn = bool (*)(const OpDesc& op, const DDim& input);
  OpSchema& SharesRows(std::string_view output,
                       std::vector<std::string> inputs,
                       RowWiseFn when = nullptr);
  // The rows of `argument` are the sequences that int64 argument `offsets`
  // cuts. If `offsets` is an input that is omitted, it is that of `argument`'s
  // variable. PerSequence: `argument` has one row for each of the sequences.
  OpSchema& Ragged(std::string_view argument, std::string_view offsets);
  OpSchema& PerSequence(std::string_view argument, std::string_view offsets);
  // Output `output` replaces persistable input `input`.
  OpSchema& Update(std::string_view output, std::string_view input);
  // As Update; and where the op has the optional input `rows`, its kernels on
  // the CPU change few rows, by OpKernelContext::UpdateRows.
  OpSchema& UpdateRows(std::string_view output,
                       std::string_view input,
                       std::string_view rows);
  // Output `output` is a sparse gradient (VarDesc::rows), output `rows` says to
  // which rows of the parameter its rows are added.
  OpSchema& SparseRows(std::string_view output, std::string_view rows);
  // Copies everything from `base` except names, gradient, role, and the ops
  // that replace it: for an op that extends another one.
  OpSchema& Extends(const OpSchema& base);
  // The op that the framework uses for `role`; each role has one op.
  OpSchema& Serves(OpRole role);
  // The op draws random numbers: runs with such an op count the scope's steps.
  OpSchema& Random();
  // Each element of the outputs depends only on the inputs' elements at the
  // same position, so that the op is the same in every layout.
  OpSchema& Elementwise();
  // Attribute `attribute` refers to dims, which all inputs and outputs share:
  // an integer names one, a list has entries for all, or none. In another
  // layout the op permutes the attribute as the dims. Call it for each such
  // attribute.
  OpSchema& DimAttribute(std::string attribute);
  // The output has the elements of the input, with the dims in the order that
  // `attribute` lists.
  OpSchema& Permutes(std::string attribute);
  // Each element of the first output is a sum of products.
  OpSchema& Product();
  // The output is a sum over the rows of the inputs, except shape_only ones. If
  // the inputs of several calls are stacked along a new first axis, one call
  // then gives the sum of their outputs. This must hold for inputs whose rank
  // is at least the output's. Attribute `leading_dims`, if named, is increased
  // by 1 in that call.
  OpSchema& AddsUp(std::string leading_dims = "");
  // The internal op that computes this one and then element-wise ops; passes
  // replace the op by it.
  OpSchema& FusedAs(std::string type);
  // Sizes to measure the op with, in terms of a number n, by input or
  // attribute: "8, 16, n, n". Inputs that are not there have [64, n].
  OpSchema& Sizes(std::map<std::string, std::string> sizes);
  // What the op belongs to in lists and drawings: "conv", "activation". By
  // default the folder below operators/ that its source is in, for an op that
  // Extends another that one's; "" outside of such a folder. An empty `name`
  // changes nothing.
  OpSchema& Family(std::string name);
  // Its name after the first op of a call: "bn" in "conv2d+bn+relu". By default
  // its name.
  OpSchema& ShortName(std::string name);
  // The equivalents of the op: in ONNX, and as an expression of PyTorch over
  // the inputs and attributes by name ("torch.relu(X)"; `functional` is
  // torch.nn.functional), "" for none.
  OpSchema& Onnx(OnnxCounterpart counterpart);
  OpSchema& Torch(std::string expression);
  // In a program cloned for testing, the op becomes `type`, which has the same
  // arguments and attributes.
  OpSchema& ForTest(std::string type);
  // Only passes create this op: it is in no program, file, builder or layer.
  OpSchema& Internal();

  const std::string& name() const { return name_; }
  const std::string& doc() const { return doc_; }
  const std::vector<TypeVarDef>& type_vars() const { return type_vars_; }
  const std::vector<ArgDef>& inputs() const { return inputs_; }
  const std::vector<ArgDef>& outputs() const { return outputs_; }
  const std::vector<AttrDef>& attributes() const { return attributes_; }
  RowWiseFn row_wise() const { return row_wise_; }
  // Returns empty traits for an argument without.
  const RowTraits& rows(std::string_view argument) const;
  const AnyShapeFn& shape_fn() const { return shape_fn_; }
  const AnyShapeFn& late_shape_fn() const { return late_shape_fn_; }
  GradientFn gradient_fn() const { return gradient_fn_; }
  // Why the op has no gradient; "" if it has one, or if no reason is known.
  std::string NoGradientReason() const;
  OpRole role() const { return role_; }
  // Whether the op runs blocks of the program: it has no kernel, and
  // framework/program/control_flow.h creates it.
  bool holds_blocks() const {
    return role_ == OpRole::kIf || role_ == OpRole::kLoop;
  }
  bool random() const { return random_; }
  bool internal() const { return internal_; }
  bool elementwise() const { return elementwise_; }
  const std::vector<std::string>& dim_attributes() const {
    return dim_attributes_;
  }
  const std::string& permutes() const { return permutes_; }
  bool product() const { return product_; }
  bool adds_up() const { return adds_up_; }
  const std::string& leading_dims() const { return leading_dims_; }
  const std::string& fused_type() const { return fused_type_; }
  const std::map<std::string, std::string>& sizes() const { return sizes_; }
  const std::string& family() const { return family_; }
  // Returns name() without one.
  const std::string& short_name() const {
    return short_name_.empty() ? name_ : short_name_;
  }
  const OnnxCounterpart& onnx() const { return onnx_; }
  const std::string& torch() const { return torch_; }
  const std::string& test_type() const { return test_type_; }

  // These return nullptr for an unknown name.
  const AttrDef* FindAttr(std::string_view name) const;
  const ArgDef* FindInput(std::string_view name) const;
  const ArgDef* FindOutput(std::string_view name) const;
  // Whether an argument of these dims is an image, whose channels are where
  // attribute data_format says, if the op has it.
  bool IsImage(std::string_view argument, const DDim& dims) const;

  // Raises Internal when the schema is inconsistent (an argument of an
  // undeclared type variable, no shape function, a name twice).
  void Validate() const;

 private:
  AttrDef& AddAttr(std::string name, AttrType type, std::string doc);
  ArgDef& MutableOutput(std::string_view name);
  RowTraits& MutableRows(std::string_view argument);
  void ValidateRows() const;

  std::string name_;
  std::string doc_;
  std::vector<TypeVarDef> type_vars_;
  std::vector<ArgDef> inputs_;
  std::vector<ArgDef> outputs_;
  std::vector<AttrDef> attributes_;
  AnyShapeFn shape_fn_;
  AnyShapeFn late_shape_fn_;
  GradientFn gradient_fn_ = nullptr;
  OpRole role_ = OpRole::kNone;
  bool random_ = false;
  bool internal_ = false;
  bool elementwise_ = false;
  std::vector<std::string> dim_attributes_;
  std::string permutes_;
  bool product_ = false;
  bool adds_up_ = false;
  std::string leading_dims_;
  std::string fused_type_;
  std::map<std::string, std::string> sizes_;
  std::string family_;
  std::string short_name_;
  OnnxCounterpart onnx_;
  std::string torch_;
  std::string test_type_;
  std::string no_gradient_;
  RowWiseFn row_wise_ = nullptr;
  std::vector<RowTraits> rows_;
};

// Returns "x@GRAD", the variable of the gradient of `variable` "x".
SLUICE_API std::string GradName(std::string_view variable);

// Makes the usual gradient op: `<type>_grad`, with the forward op's inputs, the
// gradients of its outputs as `<Out>@GRAD`, its attributes, and the gradients
// of `wanted` inputs as outputs `<X>@GRAD`.
SLUICE_API std::vector<OpDesc> MakeGradOp(
    const OpDesc& forward, const std::vector<std::string>& wanted);

// The arguments of a gradient op, by argument of the forward op, in this order.
// Inputs of the gradient op: `inputs` and `outputs` under their own names, then
// `<Out>@GRAD` for each of `output_grads`; outputs: `<X>@GRAD` for each of
// `wanted`.
struct GradOpArgs {
  std::vector<std::string> inputs = {};
  std::vector<std::string> outputs = {};
  std::vector<std::string> output_grads = {};
  std::vector<std::string> wanted = {};
};

// Makes a gradient op of type `type` that reads only what it needs, so that
// nothing else is kept until the backward pass. It has the forward op's
// attributes.
SLUICE_API OpDesc MakeGradOp(const OpDesc& forward,
                             std::string type,
                             const GradOpArgs& arguments);

}  // namespace sluice
