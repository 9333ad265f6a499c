#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/op/status.h"
#include "sluice/framework/values/tensor.h"
#include "sluice/platform/export.h"

namespace sluice {
class DeviceContext;
template <typename EigenDevice>
struct ContextOfEigen;

// The names of an op's arguments and the indices of their first tensors. One
// for each op of a plan, shared by its calls.
struct SLUICE_API ArgTable {
  struct Entry {
    std::string name;
    int begin = 0;
    int count = 0;  // 0: optional and omitted

    // Inline and without memcmp: names are short, and each kernel call looks up
    // two or three.
    bool Is(std::string_view wanted) const {
      if (count == 0 || name.size() != wanted.size()) return false;
      for (size_t i = 0; i < wanted.size(); ++i) {
        if (name[i] != wanted[i]) return false;
      }
      return true;
    }
  };
  std::string op;
  std::vector<Entry> inputs;
  std::vector<Entry> outputs;
  // The planned shape of each output; the kernel sets unknown sizes.
  std::vector<DDim> output_dims;
  std::vector<DType> output_dtypes;
};

class RowLog;
class RunObserver;
class Scope;

// The run that a kernel call belongs to.
struct RunState {
  uint64_t step = 0;  // see OpKernelContext::step
  Scope* scope = nullptr;
  RunObserver* observer = nullptr;
  RowLog* changed = nullptr;  // rows that the run changed in the scope
};

// The argument of Compute: inputs, outputs, temporaries and the device. Built
// with the frame, so that a call has no overhead; used by one thread at a time.
class SLUICE_API OpKernelContext {
 public:
  OpKernelContext(const ArgTable& table,
                  PlaceKey place,
                  DeviceContext& device,
                  Tensor* const* inputs,
                  Tensor* const* outputs,
                  void* scratch,
                  const RunState* run)
      : table_(&table),
        inputs_(inputs),
        outputs_(outputs),
        device_(&device),
        scratch_(scratch),
        run_(run),
        place_(place) {}

  // The context of a kernel that another one runs in `call`, with its own
  // tensors. It may use the first bytes of the scratch memory.
  OpKernelContext(OpKernelContext& call,
                  const ArgTable& table,
                  Tensor* const* inputs,
                  Tensor* const* outputs)
      : OpKernelContext(call) {
    table_ = &table;
    inputs_ = inputs;
    outputs_ = outputs;
    outer_ = &call;
  }

  // Raises NotFound for an unknown name and for an omitted optional input;
  // check HasInput first.
  const Tensor& Input(std::string_view name) const {
    return *inputs_[Find(table_->inputs, name).begin];
  }
  const Tensor& Input(int index) const { return *inputs_[index]; }
  bool HasInput(std::string_view name) const;
  // Returns the tensors of a variadic input.
  std::vector<const Tensor*> Inputs(std::string_view name) const;

  // Returns an output as planned: not allocated if its shape was not known.
  Tensor& PlannedOutput(int index) { return *outputs_[index]; }
  // Returns the planned buffer. `dims` must equal the planned shape if it is
  // known, or Internal is raised. Contents are undefined.
  Tensor& AllocateOutput(std::string_view name, const DDim& dims) {
    return AllocateOutput(Find(table_->outputs, name).begin, dims);
  }
  Tensor& AllocateOutput(int index, const DDim& dims) {
    Tensor& output = *outputs_[index];
    const bool planned = output.allocated() && output.dims() == dims;
    if (__builtin_expect(planned, true)) return output;
    return AllocateUnplanned(index, dims);
  }
  // On the CPU: returns an output of OpSchema::UpdateRows with the values of
  // input `input`, of which the kernel then changes these rows only. It may be
  // the input itself, in the scope; a run that fails takes the changes back.
  Tensor& UpdateRows(int output, int input, std::span<const int64_t> rows);
  // Returns false for an optional output that was not requested.
  bool HasOutput(std::string_view name) const;

  // Allocates memory at the kernel's place for this call (on a device: until
  // the queue has been waited for). Raises ResourceExhausted.
  Tensor AllocateTemp(DType dtype, const DDim& dims);
  // Keeps the tensor's memory for as long as AllocateTemp does.
  void Keep(const Tensor& tensor);

  // Variants for kernels in TensorFlow's style (op_requires.h): errors are
  // returned.
  Status Input(std::string_view name, const Tensor** tensor) const;
  Status AllocateOutput(std::string_view name,
                        const DDim& dims,
                        Tensor** tensor);
  Status AllocateOutput(int index, const DDim& dims, Tensor** tensor);
  Status AllocateTemp(DType dtype, const DDim& dims, Tensor* tensor);

  // The scratch memory that Prepare requested; 64-byte aligned.
  void* scratch() const { return scratch_; }

  // The number of earlier runs with random ops in the scope. Each run draws
  // other numbers; equal steps draw equal numbers.
  uint64_t step() const { return run_->step; }
  // For block ops, which run plans inside of this run.
  const RunState& run() const { return *run_; }

  // Called by the frame after a wait for the queue.
  void ReleaseTemporaries() { temporaries_.clear(); }

  PlaceKey place() const { return place_; }
  const std::string& op() const { return table_->op; }
  DeviceContext& device_context() const { return *device_; }
  template <typename Context>
  Context& device_context() const {
    return static_cast<Context&>(*device_);
  }
  // The device that evaluates Eigen's expressions: `Device` is
  // Eigen::DefaultDevice at the CPU, with platform/cpu_device_context.h, and
  // Eigen::GpuDevice at CUDA, with platform/cuda_device_context.h.
  template <typename Device>
  const Device& eigen_device() const {
    using Context = typename ContextOfEigen<Device>::Type;
    return device_context<Context>().eigen_device();
  }

 private:
  static const ArgTable::Entry& Find(
      const std::vector<ArgTable::Entry>& entries, std::string_view name) {
    for (const ArgTable::Entry& entry : entries) {
      if (entry.Is(name)) return entry;
    }
    FailFind(name);
  }
  [[noreturn]] static void FailFind(std::string_view name);
  Tensor& AllocateUnplanned(int index, const DDim& dims);

  const ArgTable* table_;
  Tensor* const* inputs_;
  Tensor* const* outputs_;
  DeviceContext* device_;
  void* scratch_;
  const RunState* run_;
  PlaceKey place_;
  std::vector<Tensor> temporaries_;  // a device's queue may still use them
  OpKernelContext* outer_ = nullptr;
};

}  // namespace sluice
