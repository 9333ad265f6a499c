#include "sluice/framework/op/infer_shape_context.h"

#include <algorithm>

#include "sluice/framework/op/op_check.h"
#include "sluice/framework/op/operand.h"
#include "sluice/platform/foreign.h"

namespace sluice {

InferShapeContext::InferShapeContext(const OpSchema& schema,
                                     const OpDesc& op,
                                     std::vector<DDim> inputs,
                                     std::vector<DType> input_dtypes)
    : schema_(schema),
      op_(op),
      shapes_(std::move(inputs)),
      dtypes_(std::move(input_dtypes)) {
  int begin = 0;
  for (const ArgDef& input : schema.inputs()) {
    const int count = static_cast<int>(op.Input(input.name).size());
    ranges_.push_back({begin, count});
    begin += count;
  }
  for (const ArgDef& output : schema.outputs()) {
    const size_t count = op.Output(output.name).size();
    outputs_.emplace_back(count, DDim::UnknownRank());
    set_.emplace_back(count, false);
  }
}

InferShapeContext::Range InferShapeContext::FindInput(
    std::string_view name) const {
  for (size_t i = 0; i < ranges_.size(); ++i) {
    if (schema_.inputs()[i].name == name) return ranges_[i];
  }
  Raise(ErrorCode::kInternal, "infer_shape.no_such_input",
        "{}: the shape function asks for input {}, which the schema "
        "does not have",
        op(), name);
}

bool InferShapeContext::HasInput(std::string_view name) const {
  return FindInput(name).count > 0;
}

ShapeHandle InferShapeContext::input(int index) const {
  SLUICE_ENFORCE(index >= 0 && index < num_inputs(), ErrorCode::kInternal,
                 "infer_shape.input_index",
                 "{}: the shape function asks for input {} of {}", op(), index,
                 num_inputs());
  return {shapes_[index], index};
}

ShapeHandle InferShapeContext::input(std::string_view name) const {
  const Range range = FindInput(name);
  SLUICE_ENFORCE(range.count > 0, ErrorCode::kInternal,
                 "infer_shape.input_left_out",
                 "{}: the shape function asks for optional input {}, which was "
                 "left out; ask HasInput first",
                 op(), name);
  return input(range.begin);
}

std::vector<ShapeHandle> InferShapeContext::inputs(
    std::string_view name) const {
  const Range range = FindInput(name);
  std::vector<ShapeHandle> handles;
  handles.reserve(range.count);
  for (int i = 0; i < range.count; ++i) {
    handles.push_back(input(range.begin + i));
  }
  return handles;
}

DType InferShapeContext::input_dtype(std::string_view name) const {
  return dtypes_[input(name).argument];
}

const Attribute& InferShapeContext::Attribute(std::string_view name) const {
  const auto found = op_.attributes.find(name);
  SLUICE_ENFORCE(found != op_.attributes.end(), ErrorCode::kInternal,
                 "infer_shape.no_such_attribute",
                 "{}: the shape function asks for attribute {}, which the "
                 "schema does not have",
                 op(), name);
  return found->second;
}

std::string InferShapeContext::Text(const ShapeHandle& shape) const {
  for (size_t i = 0; i < ranges_.size(); ++i) {
    const Range range = ranges_[i];
    const int element = shape.argument - range.begin;
    if (shape.argument < 0 || element < 0 || element >= range.count) continue;
    const ArgDef& def = schema_.inputs()[i];
    return Format("input {}{} {}", def.name,
                  def.traits.variadic ? Format("[{}]", element) : "",
                  shape.dims);
  }
  return Format("shape {}", shape.dims);
}

std::string InferShapeContext::Text(const DimHandle& dim) const {
  if (dim.argument < 0) return Format("a size of {}", dim.size);
  return Format("dim {} of {}", dim.axis, Text(input(dim.argument)));
}

void InferShapeContext::FailRequire(std::string_view check_id,
                                    const std::string& text) const {
  Fail(ErrorCode::kInvalidArgument, check_id, "{}: {}", op(), text);
}

ShapeHandle InferShapeContext::WithRank(const ShapeHandle& shape,
                                        int rank) const {
  if (!shape.dims.rank_known()) {
    return MakeShape(std::vector<int64_t>(rank, kUnknownDim));
  }
  Require(shape.rank() == rank, "infer_shape.rank",
          "{} must have rank {}, got rank {}", Describe(shape), rank,
          shape.rank());
  return shape;
}

ShapeHandle InferShapeContext::WithRankAtLeast(const ShapeHandle& shape,
                                               int rank) const {
  Require(!shape.dims.rank_known() || shape.rank() >= rank,
          "infer_shape.rank_at_least",
          "{} must have rank {} or more, got rank {}", Describe(shape), rank,
          shape.rank());
  return shape;
}

DimHandle InferShapeContext::WithValue(const DimHandle& dim,
                                       int64_t value) const {
  Require(dim.size == kUnknownDim || dim.size == value, "infer_shape.value",
          "{} must be {}, got {}", Describe(dim), value, dim.size);
  return {value, dim.argument, dim.axis};
}

DimHandle InferShapeContext::Dim(const ShapeHandle& shape, int axis) const {
  if (!shape.dims.rank_known()) return {kUnknownDim, -1, -1};
  const int index = axis < 0 ? axis + shape.rank() : axis;
  Require(index >= 0 && index < shape.rank(), "infer_shape.axis",
          "{} has no dim {}", Describe(shape), axis);
  return {shape.dims[index], shape.argument, index};
}

ShapeHandle InferShapeContext::Subshape(const ShapeHandle& shape,
                                        int start,
                                        int end) const {
  if (!shape.dims.rank_known()) return UnknownShape();
  const int rank = shape.rank();
  const int first = start < 0 ? start + rank : start;
  const int last = end < 0 ? end + rank : std::min(end, rank);
  Require(first >= 0 && first <= last, "infer_shape.subshape",
          "{} has no dims [{}, {})", Describe(shape), start, end);
  return {shape.dims.Subshape(first, last), -1};
}

ShapeHandle InferShapeContext::Subshape(const ShapeHandle& shape,
                                        int start) const {
  return Subshape(shape, start, DDim::kMaxRank);
}

DimHandle InferShapeContext::Merge(const DimHandle& a,
                                   const DimHandle& b) const {
  if (a.size == kUnknownDim) return b;
  Require(b.size == kUnknownDim || a.size == b.size, "infer_shape.merge_dim",
          "{} must equal {}, got {} and {}", Describe(a), Describe(b), a.size,
          b.size);
  return a;
}

ShapeHandle InferShapeContext::Merge(const ShapeHandle& a,
                                     const ShapeHandle& b) const {
  if (!a.dims.rank_known()) return b;
  if (!b.dims.rank_known()) return a;
  Require(a.rank() == b.rank(), "infer_shape.merge_rank",
          "{} and {} must have the same shape", Describe(a), Describe(b));
  ShapeHandle merged = a;
  for (int axis = 0; axis < a.rank(); ++axis) {
    merged.dims[axis] = Merge(Dim(a, axis), Dim(b, axis)).size;
  }
  return merged;
}

ShapeHandle InferShapeContext::Concatenate(const ShapeHandle& a,
                                           const ShapeHandle& b) const {
  if (!a.dims.rank_known() || !b.dims.rank_known()) return UnknownShape();
  std::vector<int64_t> sizes(a.dims.begin(), a.dims.end());
  sizes.insert(sizes.end(), b.dims.begin(), b.dims.end());
  Require(sizes.size() <= DDim::kMaxRank, "infer_shape.concatenate_rank",
          "{} and {} together have {} dimensions, at most {} are possible",
          Describe(a), Describe(b), sizes.size(), int{DDim::kMaxRank});
  return {DDim(sizes), -1};
}

void InferShapeContext::SetOutput(std::string_view name,
                                  const DDim& dims,
                                  int element) {
  for (size_t i = 0; i < schema_.outputs().size(); ++i) {
    if (schema_.outputs()[i].name == name) {
      return SetOutput(static_cast<int>(i), dims, element);
    }
  }
  Raise(ErrorCode::kInternal, "infer_shape.no_such_output",
        "{}: the shape function sets output {}, which the schema "
        "does not have",
        op(), name);
}

void InferShapeContext::SetOutput(int index, const DDim& dims, int element) {
  SLUICE_ENFORCE(index >= 0 && index < static_cast<int>(outputs_.size()),
                 ErrorCode::kInternal, "infer_shape.output_index",
                 "{}: the shape function sets output {} of {}", op(), index,
                 outputs_.size());
  // An optional output that was not requested has no variable.
  if (element >= 0 && element < static_cast<int>(outputs_[index].size())) {
    outputs_[index][element] = dims;
    set_[index][element] = true;
  }
}

void InferShapeContext::CheckOutputsSet() const {
  for (size_t i = 0; i < set_.size(); ++i) {
    for (size_t element = 0; element < set_[i].size(); ++element) {
      SLUICE_ENFORCE(set_[i][element], ErrorCode::kInternal,
                     "infer_shape.output_left_out",
                     "{}: the shape function did not set output {}, number {}",
                     op(), schema_.outputs()[i].name, element);
    }
  }
}

std::vector<std::vector<DDim>> InferShapes(const OpSchema& schema,
                                           const OpDesc& op,
                                           std::vector<DDim> inputs,
                                           std::vector<DType> input_dtypes) {
  InferShapeContext context(schema, op, std::move(inputs),
                            std::move(input_dtypes));
  bool late = false;
  for (const ArgDef& def : schema.inputs()) {
    const AttrDef* attr = GivenByOperand(schema, op, def);
    if (attr == nullptr) continue;
    CheckOperandShape(op.type, def, *attr, context.input(def.name));
    late = true;
  }
  if (late && schema.late_shape_fn() == nullptr) return context.output_shapes();
  try {
    (late ? schema.late_shape_fn() : schema.shape_fn())(context);
  } catch (Error& error) {
    // DDim raises errors, too, and they do not name the op.
    if (!std::string_view(error.what()).starts_with(op.type)) {
      error.AddContext(Format("in the shapes of {}", op.type));
    }
    throw;
  } catch (...) {
    RethrowForeign(Format("{}: its shape function", op.type));
  }
  context.CheckOutputsSet();
  return context.output_shapes();
}

}  // namespace sluice
