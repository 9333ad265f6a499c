#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/status.h"
#include "sluice/platform/error.h"

namespace sluice {

// A shape, and the argument that it came from, so that messages can name it.
struct ShapeHandle {
  DDim dims;
  int argument = -1;  // index of the op's input; -1 for a computed shape

  operator const DDim&() const { return dims; }  // NOLINT
  int rank() const { return dims.rank(); }
};

// One dimension's size (-1 while unknown), and the axis that it came from.
struct DimHandle {
  int64_t size = kUnknownDim;
  int argument = -1;
  int axis = -1;

  operator int64_t() const { return size; }  // NOLINT
};
using DimensionHandle = DimHandle;  // TensorFlow's name

// The view of a shape function: the shapes, dtypes and attributes of one op.
// Unknown ranks and sizes pass every check, and are checked again when the
// feeds are known. Every failure raises InvalidArgument and names the op, the
// argument, what was expected and what came. Lives for one call.
class SLUICE_API InferShapeContext {
 public:
  // `inputs` are the shapes in the order of the schema's inputs, flattened;
  // omitted optional inputs have no entry.
  InferShapeContext(const OpSchema& schema,
                    const OpDesc& op,
                    std::vector<DDim> inputs,
                    std::vector<DType> input_dtypes);

  const std::string& op() const { return op_.type; }

  // Inputs by name, or by index among the present ones.
  bool HasInput(std::string_view name) const;
  ShapeHandle input(int index) const;
  ShapeHandle input(std::string_view name) const;
  std::vector<ShapeHandle> inputs(std::string_view name) const;
  int num_inputs() const { return static_cast<int>(shapes_.size()); }
  DType input_dtype(std::string_view name) const;

  template <typename T>
  const T& Attr(std::string_view name) const {
    return std::get<T>(Attribute(name));
  }

  // Returns `shape` with rank `rank`; raises if the rank is another one.
  ShapeHandle WithRank(const ShapeHandle& shape, int rank) const;
  ShapeHandle WithRankAtLeast(const ShapeHandle& shape, int rank) const;
  // Returns `dim` with size `value`; raises if the size is another one.
  DimHandle WithValue(const DimHandle& dim, int64_t value) const;
  // Returns one size; a negative axis counts from the end.
  DimHandle Dim(const ShapeHandle& shape, int axis) const;
  // Returns axes [start, end); negative ones count from the end.
  ShapeHandle Subshape(const ShapeHandle& shape, int start, int end) const;
  ShapeHandle Subshape(const ShapeHandle& shape, int start) const;
  // Returns the common value; raises when the two contradict each other.
  DimHandle Merge(const DimHandle& a, const DimHandle& b) const;
  ShapeHandle Merge(const ShapeHandle& a, const ShapeHandle& b) const;
  ShapeHandle Concatenate(const ShapeHandle& a, const ShapeHandle& b) const;

  // Variants in TensorFlow's style: the result is stored in `out`, and the
  // error is returned.
  Status WithRank(const ShapeHandle& shape, int rank, ShapeHandle* out) const {
    return Try([&] { *out = WithRank(shape, rank); });
  }
  Status WithRankAtLeast(const ShapeHandle& shape,
                         int rank,
                         ShapeHandle* out) const {
    return Try([&] { *out = WithRankAtLeast(shape, rank); });
  }
  Status WithValue(const DimHandle& dim, int64_t value, DimHandle* out) const {
    return Try([&] { *out = WithValue(dim, value); });
  }
  Status Subshape(const ShapeHandle& shape, int start, ShapeHandle* out) const {
    return Try([&] { *out = Subshape(shape, start); });
  }
  Status Subshape(const ShapeHandle& shape,
                  int start,
                  int end,
                  ShapeHandle* out) const {
    return Try([&] { *out = Subshape(shape, start, end); });
  }
  Status Merge(const DimHandle& a, const DimHandle& b, DimHandle* out) const {
    return Try([&] { *out = Merge(a, b); });
  }
  Status Merge(const ShapeHandle& a,
               const ShapeHandle& b,
               ShapeHandle* out) const {
    return Try([&] { *out = Merge(a, b); });
  }
  Status Concatenate(const ShapeHandle& a,
                     const ShapeHandle& b,
                     ShapeHandle* out) const {
    return Try([&] { *out = Concatenate(a, b); });
  }

  static ShapeHandle Scalar() { return {DDim(), -1}; }
  static ShapeHandle Vector(int64_t size) { return {DDim({size}), -1}; }
  static ShapeHandle Matrix(int64_t rows, int64_t columns) {
    return {DDim({rows, columns}), -1};
  }
  static ShapeHandle MakeShape(const std::vector<int64_t>& sizes) {
    return {DDim(sizes), -1};
  }
  static ShapeHandle UnknownShape() { return {DDim::UnknownRank(), -1}; }

  // By name or by schema index; `element` is the index in a variadic output.
  void SetOutput(std::string_view name, const DDim& dims, int element = 0);
  void SetOutput(int index, const DDim& dims, int element = 0);
  void set_output(int index, const DDim& dims) { SetOutput(index, dims); }

  // Raises Internal when an output's shape was not set, not even as unknown.
  void CheckOutputsSet() const;
  // Returns the shape of each output variable, in the order of the schema.
  const std::vector<std::vector<DDim>>& output_shapes() const {
    return outputs_;
  }

  // Raises InvalidArgument when `condition` is false; the message begins with
  // the op's name. `check_id` as for SLUICE_ENFORCE.
  template <typename... Args>
  void Require(bool condition,
               std::string_view check_id,
               fmt::string_view format,
               const Args&... args) const {
    if (!condition) FailRequire(check_id, Format(format, args...));
  }

 private:
  const sluice::Attribute& Attribute(std::string_view name) const;
  // Formatted only if a message has it.
  template <typename Handle>
  struct Description {
    const InferShapeContext& context;
    const Handle& handle;
    std::string Text() const { return context.Text(handle); }
    friend std::string ToString(const Description& description) {
      return description.Text();
    }
  };
  template <typename Handle>
  Description<Handle> Describe(const Handle& handle) const {
    return {*this, handle};
  }
  std::string Text(const ShapeHandle& shape) const;
  std::string Text(const DimHandle& dim) const;
  void FailRequire(std::string_view check_id, const std::string& text) const;

  struct Range {
    int begin = 0;
    int count = 0;
  };
  Range FindInput(std::string_view name) const;

  const OpSchema& schema_;
  const OpDesc& op_;
  std::vector<DDim> shapes_;
  std::vector<DType> dtypes_;
  std::vector<Range> ranges_;  // one for each input of the schema
  std::vector<std::vector<DDim>> outputs_;
  std::vector<std::vector<bool>> set_;  // by output
};

// Returns the shapes of the op's outputs in schema order; unknown while
// operands (OpSchema::Operand) lack values. Raises what the shape function
// raises, and Internal when it set no shape for an output.
SLUICE_API std::vector<std::vector<DDim>> InferShapes(
    const OpSchema& schema,
    const OpDesc& op,
    std::vector<DDim> inputs,
    std::vector<DType> input_dtypes);

}  // namespace sluice
