#include "sluice/platform/cuda_emulation/nccl_run.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include <Eigen/Core>

#include "sluice/platform/cuda_emulation/device_memory.h"
#include "sluice/platform/cuda_emulation/fault.h"

namespace sluice::cuda_emulation {
namespace {

template <typename T>
T Add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    // Adds unsigned: signed overflow would be undefined.
    using Bits = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Bits>(a) + static_cast<Bits>(b));
  } else {
    return static_cast<T>(a + b);
  }
}

// Same as the device's fmax: a NaN only if both are.
template <typename T>
T Larger(T a, T b) {
  return a != a || a < b ? b : a;
}

// Adds the elements at `from` to those at `to`, or keeps the larger ones.
template <typename T>
void Reduce(ncclRedOp_t reduction,
            const std::byte* from,
            std::byte* to,
            size_t count) {
  for (size_t i = 0; i < count; ++i) {
    T a;
    T b;
    std::memcpy(&a, to + i * sizeof(T), sizeof(T));
    std::memcpy(&b, from + i * sizeof(T), sizeof(T));
    const T result = reduction == ncclSum ? Add(a, b) : Larger(a, b);
    std::memcpy(to + i * sizeof(T), &result, sizeof(T));
  }
}

void ReduceOf(ncclDataType_t type,
              ncclRedOp_t reduction,
              const std::byte* from,
              std::byte* to,
              size_t count) {
  switch (type) {
    case ncclInt8:
      return Reduce<int8_t>(reduction, from, to, count);
    case ncclUint8:
      return Reduce<uint8_t>(reduction, from, to, count);
    case ncclInt32:
      return Reduce<int32_t>(reduction, from, to, count);
    case ncclUint32:
      return Reduce<uint32_t>(reduction, from, to, count);
    case ncclInt64:
      return Reduce<int64_t>(reduction, from, to, count);
    case ncclUint64:
      return Reduce<uint64_t>(reduction, from, to, count);
    case ncclFloat16:
      return Reduce<Eigen::half>(reduction, from, to, count);
    case ncclFloat32:
      return Reduce<float>(reduction, from, to, count);
    case ncclFloat64:
      return Reduce<double>(reduction, from, to, count);
    case ncclBfloat16:
      return Reduce<Eigen::bfloat16>(reduction, from, to, count);
    case ncclNumTypes:
      return;
  }
}

// The exchange of data for one call.
class Exchange {
 public:
  Exchange(const NcclCall& call, RankGroup& group)
      : call_(call),
        group_(group),
        size_(NcclSizeOf(call.type)),
        bytes_(call.count * size_),
        from_(static_cast<const std::byte*>(call.from)),
        to_(static_cast<std::byte*>(call.to)) {}

  void Run() {
    OpenMemory();
    if (!TellCall() || !CompareCalls() || !Met()) return;
    const size_t step = RankGroup::kChunkBytes / size_ * size_;
    // `from` and `to` may overlap: each round reads and writes the same
    // elements on all ranks.
    for (int part = 0; part < Parts(); ++part) {
      for (size_t done = 0; done < bytes_; done += step) {
        if (!Round(part, done, std::min(step, bytes_ - done))) return;
      }
    }
  }

 private:
  // A reduce-scatter reduces the shares of the ranks one after the other.
  int Parts() const {
    return call_.kind == NcclKind::kReduceScatter ? group_.ranks() : 1;
  }

  void OpenMemory() {
    const auto ranks = static_cast<size_t>(group_.ranks());
    const bool reads =
        call_.kind != NcclKind::kBroadcast || group_.rank() == call_.root;
    const bool scatters = call_.kind == NcclKind::kReduceScatter;
    const bool gathers = call_.kind == NcclKind::kAllGather;
    try {
      if (reads)
        Memory().Open(from_, scatters ? bytes_ * ranks : bytes_, false);
      Memory().Open(to_, gathers ? bytes_ * ranks : bytes_, true);
    } catch (const FaultRaised&) {
      group_.GiveUp();
      throw;
    }
  }

  // Publishes this rank's call, and waits for the other ranks.
  bool TellCall() {
    group_.call(group_.rank()) = {static_cast<int32_t>(call_.kind), call_.type,
                                  call_.reduction, call_.root, call_.count};
    return Met();
  }

  bool Met() {
    switch (group_.Meet()) {
      case RankGroup::Outcome::kMet:
        return true;
      case RankGroup::Outcome::kGivenUp:
        return false;
      case RankGroup::Outcome::kLeft:
        break;
    }
    Fault(cudaErrorLaunchFailure,
          "another rank has given up the communicator, or has ended");
  }

  bool CompareCalls() {
    const RankCall& own = group_.call(group_.rank());
    for (int rank = 0; rank < group_.ranks(); ++rank) {
      const RankCall& other = group_.call(rank);
      if (other == own) continue;
      group_.GiveUp();
      Fault(cudaErrorLaunchFailure,
            "rank %d is in the %s of %zu elements of type %d, rank %d in the "
            "%s of %zu of type %d",
            group_.rank(), NameOf(call_.kind), call_.count, call_.type, rank,
            NameOf(static_cast<NcclKind>(other.kind)),
            static_cast<size_t>(other.count), other.type);
    }
    return true;
  }

  // Exchanges some elements of one share between all ranks.
  bool Round(int part, size_t done, size_t bytes) {
    const size_t sent = static_cast<size_t>(part) * bytes_ + done;
    const bool sends =
        call_.kind != NcclKind::kBroadcast || group_.rank() == call_.root;
    if (sends) {
      std::memcpy(group_.chunk(group_.rank()), from_ + sent, bytes);
    }
    if (!Met()) return false;
    switch (call_.kind) {
      case NcclKind::kAllReduce:
        Sum(done, bytes);
        break;
      case NcclKind::kBroadcast:
        std::memcpy(to_ + done, group_.chunk(call_.root), bytes);
        break;
      case NcclKind::kAllGather:
        for (int rank = 0; rank < group_.ranks(); ++rank) {
          std::memcpy(to_ + static_cast<size_t>(rank) * bytes_ + done,
                      group_.chunk(rank), bytes);
        }
        break;
      case NcclKind::kReduceScatter:
        if (part == group_.rank()) Sum(done, bytes);
        break;
    }
    return Met();
  }

  void Sum(size_t done, size_t bytes) {
    std::vector<std::byte> sum(group_.chunk(0), group_.chunk(0) + bytes);
    for (int rank = 1; rank < group_.ranks(); ++rank) {
      ReduceOf(call_.type, call_.reduction, group_.chunk(rank), sum.data(),
               bytes / size_);
    }
    std::memcpy(to_ + done, sum.data(), bytes);
  }

  const NcclCall& call_;
  RankGroup& group_;
  size_t size_;
  size_t bytes_;
  const std::byte* from_;
  std::byte* to_;
};

}  // namespace

const char* NameOf(NcclKind kind) {
  constexpr const char* kNames[] = {"all-reduce", "broadcast", "all-gather",
                                    "reduce-scatter"};
  return kNames[static_cast<int>(kind)];
}

size_t NcclSizeOf(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    case ncclNumTypes:
      break;
  }
  return 0;
}

void RunNcclCall(const NcclCall& call, RankGroup& group) {
  if (group.given_up()) return;
  Exchange(call, group).Run();
}

}  // namespace sluice::cuda_emulation
