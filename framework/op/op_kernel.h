#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/op/op_desc.h"
#include "sluice/framework/op/op_kernel_context.h"
#include "sluice/framework/values/tensor.h"
#include "sluice/platform/export.h"

namespace sluice {

class OpSchema;

// The dimension order of an op's images: its attribute data_format. kAny for
// ops without one.
enum class Layout : uint8_t { kAny, kNCHW, kNHWC };
SLUICE_API std::string_view ToString(Layout layout);
SLUICE_API Layout LayoutOf(const OpDesc& op);

// The key of a kernel. Fluid's OpKernelType.
struct OpKernelType {
  PlaceKind place = PlaceKind::kCPU;
  DType dtype = DType::kFloat32;
  std::string library = "PLAIN";

  bool operator==(const OpKernelType&) const = default;
};
// "cpu float32 PLAIN".
SLUICE_API std::string ToString(const OpKernelType& key);

// One op as seen by a kernel's predicate and its Prepare: shapes and dtypes are
// known, data is not. Lives for one call.
struct KernelQuery {
  const OpSchema& schema;
  const OpDesc& op;
  std::span<const DDim> inputs;  // flattened in schema order
  std::span<const DType> input_dtypes;
  std::span<const DDim> outputs;
  std::span<const DType> output_dtypes;
  PlaceKey place;
  // For each input: true for a persistable variable that this plan does not
  // write. Data derived from it may be cached while its storage and version
  // stay the same (Tensor::storage_version).
  std::span<const uint8_t> input_constant = {};

  template <typename T>
  const T& Attr(std::string_view name) const {
    return std::get<T>(op.attributes.find(name)->second);
  }
};

// Returns the indices of a kernel's arguments for an op.
SLUICE_API ArgTable MakeArgTable(const KernelQuery& query);

// The argument of a kernel's constructor. Lives for one call.
class SLUICE_API OpKernelConstruction {
 public:
  OpKernelConstruction(const OpDesc& op,
                       const OpKernelType& key,
                       int op_index = 0)
      : op_(op), key_(key), op_index_(op_index) {}
  // Makes a kernel of another key for the op of `other`.
  OpKernelConstruction(const OpKernelConstruction& other,
                       const OpKernelType& key)
      : OpKernelConstruction(other.op_, key, other.op_index_) {}

  const std::string& op() const { return op_.type; }
  const OpKernelType& key() const { return key_; }
  // The op's index in the user's program. With the attribute `seed` and
  // OpKernelContext::step() it identifies a stream of random numbers.
  int op_index() const { return op_index_; }

  // Raises Internal when the schema has no such attribute of that type.
  template <typename T>
  const T& Attr(std::string_view name) const {
    const T* value = std::get_if<T>(&FindAttr(name));
    if (value == nullptr) FailAttr(name, AttrTypeOf<T>());
    return *value;
  }

 private:
  const Attribute& FindAttr(std::string_view name) const;
  [[noreturn]] void FailAttr(std::string_view name, AttrType type) const;

  const OpDesc& op_;
  const OpKernelType& key_;
  int op_index_;
};

// The argument of Prepare.
struct KernelPreparation {
  const KernelQuery& query;
  size_t scratch_bytes = 0;  // output: memory for each call, at the place
  int num_threads = 1;       // the number that ParallelFor will use
  // True: the kernel is deleted after Prepare and never run; the caller only
  // tests whether Prepare refuses the op. Prepare may skip slow work that
  // cannot refuse, such as generating code.
  bool probe = false;
};

// Computes one op. Made once for each op of a plan, and when a pass probes it
// (KernelPreparation::probe). Many threads may call `Compute` at once, so
// it is const, and the data of a call is in the context. It only computes:
// attributes are read in the constructor, shapes in Prepare. A constructor or
// Prepare that raises Unimplemented refuses the op: the plan uses the next
// kernel, and Explain shows the message.
class SLUICE_API OpKernel {
 public:
  explicit OpKernel(const OpKernelConstruction& /*construction*/) {}
  OpKernel() = default;
  virtual ~OpKernel();
  OpKernel(const OpKernel&) = delete;
  OpKernel& operator=(const OpKernel&) = delete;

  virtual void Prepare(KernelPreparation& /*preparation*/) {}
  virtual void Compute(OpKernelContext& context) const = 0;
};

}  // namespace sluice
