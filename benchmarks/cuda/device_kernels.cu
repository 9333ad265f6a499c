#include "benchmarks/cuda/device_kernels.h"

#include "sluice/platform/cuda/launch.h"

namespace sluice::bench {

namespace {

__device__ double UnitAt(int64_t i, uint32_t seed) {
  uint32_t hash = static_cast<uint32_t>(i) * 2654435761U + seed * 40503U;
  hash ^= hash >> 16;
  hash *= 0x45d9f3bU;
  hash ^= hash >> 16;
  return static_cast<double>(hash >> 8) / 16777216.0;
}

template <typename T>
__global__ void FillKernel(T* out, int64_t n, Fill fill) {
  for (int64_t i = ThreadIndex(); i < n; i += ThreadCount()) {
    const double unit = UnitAt(i, fill.seed);
    switch (fill.kind) {
      case Fill::Kind::kUniform:
        out[i] = static_cast<T>(fill.low + (fill.high - fill.low) * unit);
        break;
      case Fill::Kind::kIndex:
        out[i] =
            static_cast<T>(fill.low + floor((fill.high - fill.low) * unit));
        break;
      case Fill::Kind::kRuns: {
        const double start = i % 2 == 0 ? 0.0 : ceil(fill.high / 2);
        out[i] = static_cast<T>(start + floor(fill.high / 2 * unit));
        break;
      }
    }
  }
}

__global__ void CountNotFiniteKernel(const float* x,
                                     int64_t n,
                                     unsigned* count) {
  unsigned bad = 0;
  for (int64_t i = ThreadIndex(); i < n; i += ThreadCount()) {
    // True for NaN and the infinities, whose difference is NaN.
    if (!(x[i] - x[i] == 0)) ++bad;
  }
  if (bad != 0) atomicAdd(count, bad);
}

// A thread's independent sums, so that their latencies overlap.
constexpr int kSums = 16;

__global__ void PairsKernel(float x, float y, int rounds, float* out) {
  float sums[kSums];
#pragma unroll
  for (int i = 0; i < kSums; ++i) {
    sums[i] = static_cast<float>(threadIdx.x + i);
  }
  // The loop itself costs issue slots, so it is unrolled.
#pragma unroll 8
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < kSums; ++i) {
      sums[i] = fabsf(sums[i] - x) + y;
    }
  }
  float total = 0;
#pragma unroll
  for (int i = 0; i < kSums; ++i) {
    total += sums[i];
  }
  if (total == -1) *out = total;  // never true, unknown to the compiler
}

template <typename T>
void FillAs(const CUDADeviceContext& device, const Fill& fill, Tensor* tensor) {
  if (tensor->numel() == 0) return;
  Launch<FillKernel<T>>(
      {device, GridFor(tensor->numel()), dim3(kThreadsPerBlock)},
      tensor->data<T>(), tensor->numel(), fill);
}

}  // namespace

void FillTensor(const CUDADeviceContext& device,
                const Fill& fill,
                Tensor* tensor) {
  switch (tensor->dtype()) {
    case DType::kFloat32:
      return FillAs<float>(device, fill, tensor);
    case DType::kFloat64:
      return FillAs<double>(device, fill, tensor);
    case DType::kInt32:
      return FillAs<int32_t>(device, fill, tensor);
    case DType::kInt64:
      return FillAs<int64_t>(device, fill, tensor);
    default:
      Raise(ErrorCode::kUnimplemented, "bench.fill_dtype",
            "cannot fill a tensor of {}; expected float32, float64, "
            "int32 or int64",
            tensor->dtype());
  }
}

int64_t CountNotFinite(CUDADeviceContext& device, const Tensor& tensor) {
  if (tensor.numel() == 0) return 0;
  Tensor count;
  auto* counted = static_cast<unsigned*>(
      count.Resize({1}).mutable_data(DType::kInt32, tensor.place()));
  FillZero(device, counted, sizeof(unsigned));
  Launch<CountNotFiniteKernel>(
      {device, GridFor(tensor.numel()), dim3(kThreadsPerBlock)},
      tensor.data<float>(), tensor.numel(), counted);
  unsigned bad = 0;
  device.CopyToHost(&bad, counted, sizeof(bad));
  device.Wait();
  return bad;
}

double EnqueuePairs(const CUDADeviceContext& device,
                    int multiprocessors,
                    bool small,
                    float* out) {
  const int threads = small ? 32 : 256;
  const int blocks = small ? 1 : 8 * multiprocessors;
  const int rounds = small ? 8 : 4096;
  Launch<PairsKernel>({device, dim3(blocks), dim3(threads)}, 1.5F, 0.5F, rounds,
                      out);
  return static_cast<double>(threads) * blocks * rounds * kSums;
}

}  // namespace sluice::bench
