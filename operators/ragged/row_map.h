#pragma once

#include <span>
#include <string>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/framework/op/op_schema.h"
#include "sluice/operators/ragged/sequences.h"

// Ops whose output rows are rows of X, or filled: rows of a table. Each says
// which; one kernel copies them, and one adds up their gradients.
namespace sluice {

// A call of an op, as its map sees it. Rows may be parts or several of those of
// the tensors: what one index of the map means.
struct RowMapCall {
  const OpKernelContext& context;
  const AttributeMap& attributes;
  std::span<const DDim> x;     // the shapes of X
  std::span<const DDim> outs;  // the shapes of Out and further outputs
  std::span<int64_t> index;    // result: for each row of Out one of X, or -1
  // The op's second output, OutOffsets or Length; null in the gradient op.
  int64_t* second = nullptr;
  int64_t seconds = 0;  // its elements

  template <typename T>
  const T& Attr(std::string_view name) const {
    return std::get<T>(attributes.find(name)->second);
  }
  Sequences Cut(std::string_view name = "Offsets") const {
    return CheckedSequences(context, context.Input(name), x[0][0]);
  }
  void SetSecond(int64_t at, int64_t value) const {
    if (second != nullptr) second[at] = value;
  }
};

struct RowMapRow {
  const char* name;
  const char* doc;
  const char* x_doc;
  const char* out_doc;
  bool variadic;  // X
  bool gradient;
  std::vector<DType> (*dtypes)();
  // Declare the inputs after X and the attributes; the outputs after Out.
  void (*inputs)(OpSchema& op);
  void (*outputs)(OpSchema& op);
  // Returns Out's shape; sets that of the second output.
  DDim (*shape)(const InferShapeContext& context);
  DDim (*second_shape)(const InferShapeContext& context, const DDim& out);
  // The elements of one index of the map.
  int64_t (*width)(const DDim& x, const DDim& out);
  // Sets the index, and returns how many of it are no padding.
  int64_t (*map)(const RowMapCall& call);
  // How many indices make one row of Out, which padding repeats.
  int64_t (*rows_of_out)(const DDim& x, const DDim& out);
};

// Returns the row of an op or of its gradient op.
const RowMapRow& RowMapOf(std::string_view op);
std::span<const RowMapRow> RowMaps();

// The maps.
int64_t MapReverse(const RowMapCall& call);
int64_t MapExpandAs(const RowMapCall& call);
int64_t MapExpand(const RowMapCall& call);
int64_t MapRows(const RowMapCall& call);
int64_t MapSlice(const RowMapCall& call);
int64_t MapPad(const RowMapCall& call);
int64_t MapUnpad(const RowMapCall& call);
int64_t MapUnpadAs(const RowMapCall& call);
int64_t MapConcat(const RowMapCall& call);
int64_t MapContext(const RowMapCall& call);
int64_t MapEnumerate(const RowMapCall& call);
int64_t MapErase(const RowMapCall& call);
int64_t MapReshape(const RowMapCall& call);
int64_t MapImage(const RowMapCall& call);

// Returns the size of an image's axis in windows.
int64_t WindowCount(int64_t size, int64_t kernel, int64_t stride, int64_t pads);

}  // namespace sluice
