#include <cstring>
#include <vector>

#include "benchmarks/cuda/measure.h"
#include <cuda_runtime.h>

#include "sluice/platform/cuda/cuda_check.h"

namespace sluice::bench {

namespace {

// Host memory; CUDA allocates pinned memory.
class HostMemory {
 public:
  HostMemory(size_t bytes, bool pinned) {
    if (pinned) {
      CheckCUDA(cudaHostAlloc(&pinned_, bytes, cudaHostAllocDefault),
                "allocating pinned memory");
    } else {
      pageable_.resize(bytes);
    }
  }
  ~HostMemory() {
    if (pinned_ != nullptr) static_cast<void>(cudaFreeHost(pinned_));
  }
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  unsigned char* data() {
    return pinned_ != nullptr ? static_cast<unsigned char*>(pinned_)
                              : pageable_.data();
  }

 private:
  void* pinned_ = nullptr;
  std::vector<unsigned char> pageable_;
};

void CopyAndWait(void* to, const void* from, size_t bytes) {
  CheckCUDA(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "copying");
}

}  // namespace

std::string NameOf(Direction direction) {
  constexpr const char* kNames[] = {"to_device", "to_host", "on_device"};
  return kNames[static_cast<int>(direction)];
}

std::vector<CopyRow> CopyRows() {
  std::vector<CopyRow> rows;
  for (const Direction direction :
       {Direction::kToDevice, Direction::kToHost, Direction::kOnDevice}) {
    for (const bool pinned : {false, true}) {
      if (direction == Direction::kOnDevice && pinned) continue;
      for (const NamedSize& size : Sizes()) {
        std::string id = "cuda/copy_" + NameOf(direction);
        if (direction != Direction::kOnDevice) {
          id += pinned ? ".pinned" : ".pageable";
        }
        rows.push_back({id + "/" + size.name, direction, pinned, size.bytes});
      }
    }
  }
  return rows;
}

Row MeasureCopy(const CopyRow& row, DeviceTimer& timer) {
  const auto bytes =
      static_cast<size_t>(timer.emulated() ? Sizes().front().bytes : row.bytes);
  const PlaceKey place(timer.context().GetPlace());
  Tensor first, second;
  for (Tensor* tensor : {&first, &second}) {
    tensor->Resize({static_cast<int64_t>(bytes)})
        .mutable_data(DType::kUInt8, place);
  }
  const bool on_device = row.direction == Direction::kOnDevice;
  HostMemory host(bytes, on_device || row.pinned);
  std::memset(host.data(), 7, bytes);
  CopyAndWait(first.raw_data(), host.data(), bytes);
  std::memset(host.data(), 1, bytes);

  void* to = host.data();
  const void* from = first.raw_data();
  if (on_device) to = second.raw_data();
  if (row.direction == Direction::kToDevice) {
    to = second.raw_data();
    from = host.data();
  }
  const auto copy = [&] {
    CheckCUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault,
                              timer.context().stream()),
              "copying");
  };
  Row figure{.id = row.id, .unit = "GB/s"};
  // Most of a copy from pageable memory happens on the host.
  figure.seconds = on_device || row.pinned ? timer.Median(copy, [] {})
                                           : timer.HostMedian([&] {
                                               copy();
                                               timer.context().Wait();
                                             });
  if (row.direction != Direction::kToHost) {
    CopyAndWait(host.data(), to, bytes);
  }
  const unsigned char expected = row.direction == Direction::kToDevice ? 1 : 7;
  if (host.data()[0] != expected || host.data()[bytes - 1] != expected) {
    Raise(ErrorCode::kInternal, "bench.wrong_copy",
          "{} copied other bytes than it was given", row.id);
  }
  figure.value = 1e-9 * (on_device ? 2.0 : 1.0) * static_cast<double>(bytes) /
                 *figure.seconds;
  return figure;
}

}  // namespace sluice::bench
