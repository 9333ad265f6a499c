// The kernels for several ranks. Each starts a transfer that World completes.
#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "sluice/framework/op/kernel_work.h"
#include "sluice/operators/collective/collective_kernel.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/alignment.h"
#include "sluice/platform/ranks/collective_context.h"

namespace sluice {
namespace {

// The most elements of one collective: MPI counts them in an int.
constexpr int64_t kMaxCount = int64_t{1} << 30;

// Reductions have kernels for fewer dtypes than data movement.
constexpr std::span<const DType> DTypesOf(CollectiveKind kind) {
  const bool reduces = kind == CollectiveKind::kAllReduce ||
                       kind == CollectiveKind::kReduceScatter;
  if (reduces) return kReducedDTypes;
  return kAllDTypes;
}

void Begin(OpKernelContext& context,
           const Collective& collective,
           int64_t count) {
  auto& queue = context.device_context<CollectiveContext>();
  const size_t size = SizeOf(collective.dtype);
  for (int64_t done = 0; done < count; done += kMaxCount) {
    Collective piece = collective;
    const size_t offset = static_cast<size_t>(done) * size;
    piece.from = static_cast<const std::byte*>(collective.from) + offset;
    piece.to = static_cast<std::byte*>(collective.to) + offset;
    piece.count = std::min(count - done, kMaxCount);
    queue.Start(std::move(piece));
  }
}

// Ops whose outputs have the shapes of their inputs. Tensors that are
// contiguous in memory share one collective.
template <CollectiveKind kKind, Reduction kReduction = Reduction::kSum>
class ElementsKernel final : public OpKernel {
 public:
  static constexpr std::span<const DType> kDTypes = DTypesOf(kKind);

  explicit ElementsKernel(const OpKernelConstruction& construction)
      : OpKernel(construction) {
    collective_.kind = kKind;
    collective_.reduction = kReduction;
    collective_.dtype = construction.key().dtype;
    if (construction.op() == "c_allreduce_sum") {
      collective_.ordered = construction.Attr<bool>("ordered");
    }
    if (kKind == CollectiveKind::kBroadcast) {
      collective_.root = static_cast<int>(construction.Attr<int64_t>("root"));
    }
  }

  void Prepare(KernelPreparation& preparation) override {
    dims_.assign(preparation.query.outputs.begin(),
                 preparation.query.outputs.end());
    CheckRoot(preparation.query.op.type, collective_.root);
  }

  void Compute(OpKernelContext& context) const override {
    Run run;
    for (int i = 0; i < static_cast<int>(dims_.size()); ++i) {
      const Tensor& x = context.Input(i);
      Tensor& out = context.AllocateOutput(i, dims_[i]);
      if (out.numel() == 0) continue;
      if (run.count > 0 && !run.TakeIn(x, out)) {
        Finish(context, run);
        run = Run();
      }
      if (run.count == 0) run = Run(x, out);
    }
    if (run.count > 0) Finish(context, run);
    if (kKind == CollectiveKind::kBarrier) {
      context.device_context<CollectiveContext>().Start(collective_);
    }
  }

 private:
  // A run of tensors that follow each other in memory.
  struct Run {
    Run() = default;
    Run(const Tensor& x, Tensor& out)
        : from_owner(x.holder()),
          to_owner(out.holder()),
          from(static_cast<const std::byte*>(x.raw_data())),
          to(static_cast<std::byte*>(out.raw_data())),
          count(out.numel()),
          size(SizeOf(out.dtype())) {}

    // Appends the tensor and returns true if it follows the last one in memory
    // and is in place like the others. Padding between two tensors, less than
    // 64 bytes, is zeroed and transferred.
    bool TakeIn(const Tensor& x, Tensor& out) {
      auto* begin = static_cast<std::byte*>(out.raw_data());
      std::byte* const end = to + static_cast<size_t>(count) * size;
      const bool next = begin >= end && begin < end + kAlignment &&
                        (begin - to) % static_cast<int64_t>(kAlignment) == 0;
      if (!next || to_owner != out.holder() || from != to ||
          x.raw_data() != begin) {
        return false;
      }
      std::memset(end, 0, static_cast<size_t>(begin - end));
      count = (begin - to) / static_cast<int64_t>(size) + out.numel();
      return true;
    }

    std::shared_ptr<const void> from_owner;
    std::shared_ptr<const void> to_owner;
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    int64_t count = 0;
    size_t size = 1;
  };

  void Finish(OpKernelContext& context, const Run& run) const {
    if (kKind == CollectiveKind::kBarrier) {
      if (run.from != run.to) {
        std::memcpy(run.to, run.from,
                    static_cast<size_t>(run.count) * run.size);
      }
      return;
    }
    Collective collective = collective_;
    collective.from = run.from;
    collective.to = run.to;
    collective.from_owner = run.from_owner;
    collective.to_owner = run.to_owner;
    Begin(context, collective, run.count);
  }

  Collective collective_;
  std::vector<DDim> dims_;
};

// Ops that concatenate or split tensors along dim 0.
template <CollectiveKind kKind>
class PartsKernel final : public OpKernel {
 public:
  static constexpr std::span<const DType> kDTypes = DTypesOf(kKind);

  explicit PartsKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), ranks_(construction.Attr<int64_t>("nranks")) {
    collective_.kind = kKind;
    collective_.dtype = construction.key().dtype;
  }

  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    CheckRanks(query.op.type, ranks_);
    const DDim& part = kKind == CollectiveKind::kAllGather ? query.inputs[0]
                                                           : query.outputs[0];
    SLUICE_ENFORCE(part.numel() <= kMaxCount, ErrorCode::kUnimplemented,
                   "collective.part_size",
                   "{}: a part of {} elements; at most {} are moved at once",
                   query.op.type, part.numel(), kMaxCount);
    collective_.count = part.numel();
    out_ = query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    Collective collective = collective_;
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, out_);
    if (collective.count == 0) return;
    collective.from = x.raw_data();
    collective.to = out.raw_data();
    collective.from_owner = x.holder();
    collective.to_owner = out.holder();
    context.device_context<CollectiveContext>().Start(collective);
  }

 private:
  int64_t ranks_;
  Collective collective_;
  DDim out_;
};

// The cost of a ring of ranks on one machine. Each rank sends (ranks - 1) /
// ranks of its data once to reduce it and once to distribute the results. All
// bytes sent are written, read and added in memory. (Patarasuk and Yuan,
// "Bandwidth optimal all-reduce algorithms", JPDC 69, 2009.)
KernelWork Work(const KernelQuery& query) {
  constexpr double kBytesTouched = 3;  // for each byte sent
  constexpr double kCallsAMessage = 4;
  const double ranks = World::Get().size();
  const bool reduces_all = query.op.type.starts_with("c_allreduce");
  const double turns = (reduces_all ? 2 : 1) * (ranks - 1);
  double bytes = 0;
  for (size_t i = 0; i < query.inputs.size(); ++i) {
    bytes += static_cast<double>(query.inputs[i].numel()) *
             static_cast<double>(SizeOf(query.input_dtypes[i]));
  }
  if (query.op.type == "c_allgather") bytes *= ranks;
  if (query.op.type == "barrier") bytes = 0;
  KernelWork work;
  work.extra_bytes = bytes * turns / ranks * kBytesTouched;
  work.library_calls = turns * kCallsAMessage;
  work.max_threads = 1;
  return work;
}

KernelTraits MPITraits() {
  return KernelTraits()
      .When(&SeveralRanks)
      .Estimate(&Work)
      .Exchange(Exchanges::kInputs, &NewCollectiveContext);
}

using AllReduceSum = ElementsKernel<CollectiveKind::kAllReduce>;
using AllReduceMax =
    ElementsKernel<CollectiveKind::kAllReduce, Reduction::kMax>;
using Broadcast = ElementsKernel<CollectiveKind::kBroadcast>;
using Barrier = ElementsKernel<CollectiveKind::kBarrier>;
using AllGather = PartsKernel<CollectiveKind::kAllGather>;
using ReduceScatter = PartsKernel<CollectiveKind::kReduceScatter>;

}  // namespace

REGISTER_OP_KERNEL(
    c_allreduce_sum, MPI, CPUPlace, mpi, MPITraits(), AllReduceSum);
REGISTER_OP_KERNEL(
    c_allreduce_max, MPI, CPUPlace, mpi, MPITraits(), AllReduceMax);
REGISTER_OP_KERNEL(c_broadcast, MPI, CPUPlace, mpi, MPITraits(), Broadcast);
REGISTER_OP_KERNEL(c_allgather, MPI, CPUPlace, mpi, MPITraits(), AllGather);
REGISTER_OP_KERNEL(
    c_reducescatter, MPI, CPUPlace, mpi, MPITraits(), ReduceScatter);
REGISTER_OP_KERNEL(barrier, MPI, CPUPlace, mpi, MPITraits(), Barrier);

}  // namespace sluice
