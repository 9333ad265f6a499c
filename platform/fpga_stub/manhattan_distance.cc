#include <cinttypes>
#include <cmath>
#include <cstddef>

#include "sluice/platform/fpga_stub/device.h"
#include "sluice/platform/fpga_stub/kernels.h"

namespace sluice::fpga_stub {
namespace {

// The number of columns that the simulated array has cells for.
constexpr int64_t kMaxColumns = 65536;

// Distances of n rows of x to m rows of y, p columns each.
struct Problem {
  const void* x;
  const void* y;
  void* out;
  int64_t n;
  int64_t m;
  int64_t p;
};

// Sums in float64, so that the order of the columns hardly matters.
template <typename T>
void ManhattanDistance(const T* x, const T* y, T* out, const Problem& size) {
  for (int64_t i = 0; i < size.n; ++i) {
    for (int64_t j = 0; j < size.m; ++j) {
      const T* a = x + i * size.p;
      const T* b = y + j * size.p;
      double sum = 0;
      for (int64_t k = 0; k < size.p; ++k) {
        sum += std::abs(static_cast<double>(a[k]) - static_cast<double>(b[k]));
      }
      out[i * size.m + j] = static_cast<T>(sum);
    }
  }
}

template <typename T>
Outcome RunManhattan(const Device& device, const Problem& size) {
  const auto find = [&](const void* address, int64_t rows, int64_t columns) {
    return device.Memory(address,
                         static_cast<size_t>(rows * columns) * sizeof(T));
  };
  const char* x = find(size.x, size.n, size.p);
  const char* y = find(size.y, size.m, size.p);
  char* out = find(size.out, size.n, size.m);
  // Without columns the sums are empty and the inputs have no memory.
  if (out == nullptr || (size.p > 0 && (x == nullptr || y == nullptr))) {
    return {SLUICE_INVALID_ARGUMENT,
            "an argument is not in device memory (freed before the queue was "
            "waited for?)"};
  }
  ManhattanDistance(reinterpret_cast<const T*>(x),
                    reinterpret_cast<const T*>(y), reinterpret_cast<T*>(out),
                    size);
  return {};
}

SluiceStatus Supports(const SluiceKernelCall* call) {
  const SluiceTensorView& x = *call->inputs[0];
  if (x.rank == 2 && x.dims[1] > kMaxColumns) {
    return Host().fail(call->error, SLUICE_UNIMPLEMENTED,
                       "needs at most %" PRId64 " columns, got %" PRId64,
                       kMaxColumns, x.dims[1]);
  }
  return SLUICE_OK;
}

template <typename T>
SluiceStatus Compute(const SluiceKernelCall* call) {
  const SluiceTensorView& x = *call->inputs[0];
  const SluiceTensorView& y = *call->inputs[1];
  const SluiceTensorView& out = *call->outputs[0];
  const Problem problem{x.data,    y.data,    out.data,
                        x.dims[0], y.dims[0], x.dims[1]};
  if (out.bytes == 0) return SLUICE_OK;
  Device& device = GetDevice(call->device);
  device.EnqueueKernel(
      call->queue, call->op_index, "manhattan_distance/systolic",
      [&device, problem] { return RunManhattan<T>(device, problem); });
  return SLUICE_OK;
}

template <typename T>
SluiceKernelDef Define(int32_t dtype) {
  SluiceKernelDef kernel{};
  kernel.struct_size = sizeof(kernel);
  kernel.op = "manhattan_distance";
  kernel.dtype = dtype;
  kernel.layout = SLUICE_LAYOUT_ANY;
  kernel.variant = "systolic";
  kernel.supports = &Supports;
  kernel.compute = &Compute<T>;
  return kernel;
}

}  // namespace

const KernelList& ManhattanKernels() {
  static const SluiceKernelDef kFloat32 = Define<float>(SLUICE_FLOAT32);
  static const SluiceKernelDef kFloat64 = Define<double>(SLUICE_FLOAT64);
  static const KernelList kAll = {&kFloat32, &kFloat64};
  return kAll;
}

}  // namespace sluice::fpga_stub
