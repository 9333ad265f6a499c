// The collective ops on GPUs with several ranks. Each is enqueued on the stream
// of its queue.
#include "sluice/operators/collective/collective_kernel.h"

#include <algorithm>

#include <nccl.h>

#include "sluice/framework/op/kernel_work.h"
#include "sluice/operators/nccl/communicator.h"
#include "sluice/operators/nccl/max_keys.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/alignment.h"

namespace sluice::nccl {
namespace {

// Returns the NCCL type for a reduction.
ncclDataType_t ReducedType(DType dtype) {
  switch (dtype) {
    // NOLINTBEGIN(bugprone-branch-clone)
#define SLUICE_ROW(dtype, number, type, onnx_type, mpi, nccl, ...) \
  case DType::dtype:                                               \
    return nccl;
    SLUICE_DTYPES(SLUICE_ROW)
#undef SLUICE_ROW
    // NOLINTEND(bugprone-branch-clone)
  }
  return ncclNumTypes;
}

// Contiguous elements of one tensor or of several.
struct Message {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  size_t bytes = 0;

  // Appends `next` and returns true if it is the next tensor and is in place
  // like this one. The padding between them, less than 64 bytes, belongs to no
  // tensor and may have any value.
  bool TakeIn(const Message& next) {
    const std::byte* const end = to + bytes;
    const bool follows = from == to && next.from == next.to && next.to >= end &&
                         next.to < end + kAlignment &&
                         static_cast<size_t>(next.to - to) % kAlignment == 0;
    if (follows) bytes = static_cast<size_t>(next.to - to) + next.bytes;
    return follows;
  }
};

struct Queue {
  explicit Queue(OpKernelContext& context)
      : device(context.device_context<CUDADeviceContext>()),
        communicator(Communicator(CUDAPlace{context.place().index})),
        stream(device.stream()) {}

  const CUDADeviceContext& device;
  ncclComm_t communicator;
  cudaStream_t stream;
};

// Ops whose outputs have the shapes of their inputs.
class ElementsKernel : public OpKernel {
 public:
  explicit ElementsKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        op_(construction.op()),
        dtype_(construction.key().dtype) {}

  void Prepare(KernelPreparation& preparation) override {
    dims_.assign(preparation.query.outputs.begin(),
                 preparation.query.outputs.end());
  }

  void Compute(OpKernelContext& context) const final {
    std::vector<Message> messages;
    for (int i = 0; i < static_cast<int>(dims_.size()); ++i) {
      const Tensor& x = context.Input(i);
      Tensor& out = context.AllocateOutput(i, dims_[i]);
      if (out.numel() == 0) continue;
      const Message next = {static_cast<const std::byte*>(x.raw_data()),
                            static_cast<std::byte*>(out.raw_data()),
                            out.bytes()};
      if (messages.empty() || !messages.back().TakeIn(next)) {
        messages.push_back(next);
      }
    }
    SendAll(Queue(context), messages, context.scratch());
  }

 protected:
  virtual void SendAll(const Queue& queue,
                       const std::vector<Message>& messages,
                       void* /*scratch*/) const {
    // NCCL starts the calls of a group together.
    CheckNccl(ncclGroupStart(), op_);
    ncclResult_t result = ncclSuccess;
    for (const Message& message : messages) {
      if (result == ncclSuccess) result = Send(queue, message);
    }
    const ncclResult_t end = ncclGroupEnd();
    CheckNccl(result, op_);
    CheckNccl(end, op_);
  }
  virtual ncclResult_t Send(const Queue& /*queue*/,
                            const Message& /*message*/) const {
    return ncclSuccess;
  }

  const std::string& op() const { return op_; }
  DType dtype() const { return dtype_; }
  int64_t CountOf(const Message& message) const {
    return static_cast<int64_t>(message.bytes / SizeOf(dtype_));
  }

 private:
  std::string op_;
  DType dtype_;
  std::vector<DDim> dims_;
};

class AllReduceSum final : public ElementsKernel {
 public:
  static constexpr DType kDTypes[] = {
      DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16,
      DType::kInt8,    DType::kUInt8,   DType::kInt32,   DType::kUInt32,
      DType::kInt64,   DType::kUInt64};
  using ElementsKernel::ElementsKernel;

 private:
  ncclResult_t Send(const Queue& queue, const Message& message) const override {
    return ncclAllReduce(
        message.from, message.to, static_cast<size_t>(CountOf(message)),
        ReducedType(dtype()), ncclSum, queue.communicator, queue.stream);
  }
};

class AllReduceMax final : public ElementsKernel {
 public:
  static constexpr DType kDTypes[] = {
      DType::kFloat32, DType::kFloat64, DType::kInt8,  DType::kUInt8,
      DType::kInt32,   DType::kUInt32,  DType::kInt64, DType::kUInt64};
  using ElementsKernel::ElementsKernel;

 private:
  bool by_keys() const {
    return dtype() == DType::kFloat32 || dtype() == DType::kFloat64;
  }

  void SendAll(const Queue& queue,
               const std::vector<Message>& messages,
               void* scratch) const override {
    if (!by_keys()) {
      return ElementsKernel::SendAll(queue, messages, scratch);
    }
    std::vector<Message> keys;
    for (const Message& message : messages) {
      ToKeys(queue.device, dtype(), message.from, message.to, CountOf(message));
      keys.push_back({message.to, message.to, message.bytes});
    }
    ElementsKernel::SendAll(queue, keys, scratch);
    for (const Message& message : messages) {
      FromKeys(queue.device, dtype(), message.to, CountOf(message));
    }
  }

  ncclResult_t Send(const Queue& queue, const Message& message) const override {
    const ncclDataType_t type = dtype() == DType::kFloat32 ? ncclInt32
                                : dtype() == DType::kFloat64
                                    ? ncclInt64
                                    : ReducedType(dtype());
    return ncclAllReduce(message.from, message.to,
                         static_cast<size_t>(CountOf(message)), type, ncclMax,
                         queue.communicator, queue.stream);
  }
};

class Broadcast final : public ElementsKernel {
 public:
  explicit Broadcast(const OpKernelConstruction& construction)
      : ElementsKernel(construction),
        root_(construction.Attr<int64_t>("root")) {}

  void Prepare(KernelPreparation& preparation) override {
    ElementsKernel::Prepare(preparation);
    CheckRoot(op(), root_);
  }

 private:
  ncclResult_t Send(const Queue& queue, const Message& message) const override {
    return ncclBroadcast(message.from, message.to, message.bytes, ncclUint8,
                         static_cast<int>(root_), queue.communicator,
                         queue.stream);
  }

  int64_t root_;
};

// NCCL has no barrier. The ranks reduce a number that is not used.
class Barrier final : public ElementsKernel {
 public:
  using ElementsKernel::ElementsKernel;

  void Prepare(KernelPreparation& preparation) override {
    ElementsKernel::Prepare(preparation);
    preparation.scratch_bytes = sizeof(int32_t);
  }

 private:
  void SendAll(const Queue& queue,
               const std::vector<Message>& messages,
               void* scratch) const override {
    CheckNccl(ncclAllReduce(scratch, scratch, 1, ncclInt32, ncclMax,
                            queue.communicator, queue.stream),
              op());
    for (const Message& message : messages) {
      if (message.from == message.to) continue;
      const_cast<CUDADeviceContext&>(queue.device)
          .CopyOnDevice(message.to, message.from, message.bytes);
    }
  }
};

// Ops that concatenate or split tensors along dim 0.
class PartsKernel : public OpKernel {
 public:
  explicit PartsKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        op_(construction.op()),
        dtype_(construction.key().dtype),
        ranks_(construction.Attr<int64_t>("nranks")) {}

  void Prepare(KernelPreparation& preparation) override {
    CheckRanks(op_, ranks_);
    out_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const final {
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, out_);
    const auto part = static_cast<size_t>(std::min(x.numel(), out.numel()));
    if (part == 0) return;
    CheckNccl(Send(Queue(context), x.raw_data(), out.raw_data(), part), op_);
  }

 protected:
  virtual ncclResult_t Send(const Queue& queue,
                            const void* from,
                            void* to,
                            size_t part) const = 0;
  DType dtype() const { return dtype_; }

 private:
  std::string op_;
  DType dtype_;
  int64_t ranks_;
  DDim out_;
};

class AllGather final : public PartsKernel {
 public:
  using PartsKernel::PartsKernel;

 private:
  ncclResult_t Send(const Queue& queue,
                    const void* from,
                    void* to,
                    size_t part) const override {
    return ncclAllGather(from, to, part * SizeOf(dtype()), ncclUint8,
                         queue.communicator, queue.stream);
  }
};

class ReduceScatter final : public PartsKernel {
 public:
  static constexpr auto& kDTypes = AllReduceSum::kDTypes;
  using PartsKernel::PartsKernel;

 private:
  ncclResult_t Send(const Queue& queue,
                    const void* from,
                    void* to,
                    size_t part) const override {
    return ncclReduceScatter(from, to, part, ReducedType(dtype()), ncclSum,
                             queue.communicator, queue.stream);
  }
};

// The cost of a ring, as explained at the MPI kernels.
KernelWork Work(const KernelQuery& query) {
  KernelWork work = DefaultKernelWork(query);
  const double ranks = World::Get().size();
  const bool reduces_all = query.op.type.starts_with("c_allreduce");
  work.extra_bytes = work.bytes * (reduces_all ? 2 : 1) * (ranks - 1) / ranks;
  work.library_calls = 1;
  return work;
}

std::string InAnyOrder(const KernelQuery& query) {
  std::string refusal = SeveralRanks(query);
  if (!refusal.empty()) return refusal;
  return query.Attr<bool>("ordered")
             ? "adds up in an order that depends on the number of ranks "
               "(ordered = true)"
             : "";
}

KernelTraits Traits() {
  return KernelTraits()
      .When(&SeveralRanks)
      .Estimate(&Work)
      .Exchange(Exchanges::kInputs);
}

}  // namespace

REGISTER_OP_KERNEL(c_allreduce_sum,
                   NCCL,
                   CUDAPlace,
                   nccl,
                   Traits().When(&InAnyOrder),
                   AllReduceSum);
REGISTER_OP_KERNEL(
    c_allreduce_max, NCCL, CUDAPlace, nccl, Traits(), AllReduceMax);
REGISTER_OP_KERNEL(c_broadcast, NCCL, CUDAPlace, nccl, Traits(), Broadcast);
REGISTER_OP_KERNEL(c_allgather, NCCL, CUDAPlace, nccl, Traits(), AllGather);
REGISTER_OP_KERNEL(
    c_reducescatter, NCCL, CUDAPlace, nccl, Traits(), ReduceScatter);
REGISTER_OP_KERNEL(barrier, NCCL, CUDAPlace, nccl, Traits(), Barrier);

}  // namespace sluice::nccl
