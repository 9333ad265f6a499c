#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/program/program.h"
#include "sluice/framework/values/tensor.h"
#include "sluice/onnx/export/graph_writer.h"
#include "sluice/platform/error.h"

namespace sluice::onnx {

using framework::AttributeMap;
using framework::DDim;
using framework::Tensor;
using platform::DType;
using Ints = std::vector<int64_t>;
using Doubles = std::vector<double>;

// Which floats are computed in float32, and rounded at the end, as Sluice's
// kernels do it.
enum class Widened : uint8_t {
  kNone,
  kBFloat16,  // ONNX's operator does not take it
  kHalves,    // bfloat16 and float16: what is several nodes rounds once
};

// One op of a program while a function writes it as nodes of ONNX. Lives for
// one call of that function; used by one thread. Arguments and attributes are
// those of the op's schema.
class OpExport {
 public:
  OpExport(const framework::OpDesc& op, Widened widened, GraphWriter* graph);

  const std::string& type() const { return op_.type; }
  const framework::OpSchema& schema() const { return schema_; }
  int64_t opset() const { return graph_.opset(); }

  bool Has(std::string_view input) const;
  // The value of an input, for nodes to read; "" for one that was left out.
  std::string In(std::string_view input);
  Names All(std::string_view input);
  DDim Dims(std::string_view input) const;
  DDim OutDims(std::string_view output = "Out") const;
  // Raises Unimplemented while it is unknown.
  int Rank(std::string_view input) const;
  // The dtype that nodes read it in.
  DType TypeOf(std::string_view input) const;
  // That of an output, as nodes give it.
  DType OutType(std::string_view output = "Out") const;

  bool Bool(std::string_view attribute) const;
  int64_t Int(std::string_view attribute) const;
  double Float(std::string_view attribute) const;
  const std::string& String(std::string_view attribute) const;
  const Ints& List(std::string_view attribute) const;
  const framework::Attribute& Attr(std::string_view attribute) const;

  // Whether something reads the output.
  bool IsRead(std::string_view output) const;
  // Raises Unimplemented where one of them is read.
  void AllowOnly(std::initializer_list<std::string_view> outputs) const;

  // Adds a node; the name of its output.
  std::string Append(const std::string& type,
                     const Names& inputs,
                     const AttributeMap& attributes = {});
  // Adds the node that makes this output of the op.
  void Finish(const std::string& type,
              const Names& inputs,
              const AttributeMap& attributes = {},
              std::string_view output = "Out");
  // The same for several of them, in their order; optional ones may be left
  // out of the op.
  void FinishAll(const std::string& type,
                 const Names& inputs,
                 const AttributeMap& attributes,
                 std::initializer_list<std::string_view> outputs);

  // The same for a reshape to sizes that are sizes, also where they are 0.
  void FinishReshape(const std::string& x, const Ints& sizes);

  std::string Constant(const Tensor& value);
  // int64: a vector, and one number of rank 0.
  std::string Vector(const Ints& values);
  std::string Whole(int64_t value);
  // One number of rank 0, converted as by op cast.
  std::string Number(double value, DType dtype);
  std::string Cast(const std::string& x, DType dtype);
  std::string Reshape(const std::string& x, const Ints& shape);
  std::string Transpose(const std::string& x, const Ints& order);

  // int64: the operand, a vector or one number of rank 0 as its attribute is,
  // or a constant of the attribute.
  std::string Operand(std::string_view operand);

  // Raises: the op is listed with this reason.
  template <typename... Args>
  [[noreturn]] static void Unsupported(fmt::string_view format,
                                       const Args&... args) {
    // Becomes a line of onnx.no_counterpart.
    platform::Raise(platform::ErrorCode::kUnimplemented, kFormId, format,
                    args...);
  }
  static constexpr const char* kFormId = "onnx.op_form";

 private:
  const std::string& Variable(std::string_view input) const;
  DType Computed(DType dtype) const;
  // Adds the node with outputs as the program has them.
  void AddFinal(const std::string& type,
                const Names& inputs,
                const AttributeMap& attributes,
                const Names& variables);

  const framework::OpDesc& op_;
  const framework::OpSchema& schema_;
  const Widened widened_;
  GraphWriter& graph_;
  std::map<std::string, std::string> casts_;  // by value
};

// The order of dims that moves the channels of an image last, or back to 1.
Ints ChannelsLast(int rank);
Ints ChannelsSecond(int rank);

}  // namespace sluice::onnx
