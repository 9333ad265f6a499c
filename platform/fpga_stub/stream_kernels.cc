// Ops that read one tensor and write one with as many elements, in order.

#include <cstddef>
#include <cstring>

#include "sluice/platform/fpga_stub/device.h"
#include "sluice/platform/fpga_stub/kernels.h"

namespace sluice::fpga_stub {
namespace {

// Enqueues body(x, out, n), with the device's pointers to input and output.
template <typename T, typename Body>
SluiceStatus Stream(const SluiceKernelCall* call, const char* name, Body body) {
  const void* x = call->inputs[0]->data;
  void* out = call->outputs[0]->data;
  const size_t bytes = call->outputs[0]->bytes;
  if (bytes == 0) return SLUICE_OK;
  Device& device = GetDevice(call->device);
  device.EnqueueKernel(
      call->queue, call->op_index, name, [&device, x, out, bytes, body] {
        const char* from = device.Memory(x, bytes);
        char* to = device.Memory(out, bytes);
        if (from == nullptr || to == nullptr) {
          return Outcome{SLUICE_INVALID_ARGUMENT,
                         "an argument is not in device memory (freed before "
                         "the queue was waited for?)"};
        }
        body(reinterpret_cast<const T*>(from), reinterpret_cast<T*>(to),
             bytes / sizeof(T));
        return Outcome();
      });
  return SLUICE_OK;
}

template <typename T>
SluiceStatus Reshape(const SluiceKernelCall* call) {
  return Stream<T>(call, "reshape/stream", [](const T* x, T* out, size_t n) {
    // The plan may let the output alias the input.
    std::memmove(out, x, n * sizeof(T));
  });
}

template <typename T>
SluiceStatus Scale(const SluiceKernelCall* call) {
  const SluiceHost& host = Host();
  double scale = 1;
  double bias = 0;
  int32_t after = 1;
  if (host.attr_float(call->attributes, "scale", &scale) != SLUICE_OK ||
      host.attr_float(call->attributes, "bias", &bias) != SLUICE_OK ||
      host.attr_bool(call->attributes, "bias_after_scale", &after) !=
          SLUICE_OK) {
    return host.fail(call->error, SLUICE_INVALID_ARGUMENT,
                     "cannot read scale, bias and bias_after_scale");
  }
  const auto factor = static_cast<T>(scale);
  const auto before = static_cast<T>(after != 0 ? 0 : bias);
  const auto behind = static_cast<T>(after != 0 ? bias : 0);
  return Stream<T>(call, "scale/stream", [=](const T* x, T* out, size_t n) {
    for (size_t i = 0; i < n; ++i) {
      out[i] = (x[i] + before) * factor + behind;
    }
  });
}

SluiceKernelDef Define(const char* op,
                       int32_t dtype,
                       SluiceStatus (*compute)(const SluiceKernelCall*)) {
  SluiceKernelDef kernel{};
  kernel.struct_size = sizeof(kernel);
  kernel.op = op;
  kernel.dtype = dtype;
  kernel.layout = SLUICE_LAYOUT_ANY;
  kernel.variant = "stream";
  kernel.compute = compute;
  return kernel;
}

}  // namespace

const KernelList& StreamKernels() {
  static const SluiceKernelDef kDefs[] = {
      Define("reshape", SLUICE_FLOAT32, &Reshape<float>),
      Define("reshape", SLUICE_FLOAT64, &Reshape<double>),
      Define("scale", SLUICE_FLOAT32, &Scale<float>),
      Define("scale", SLUICE_FLOAT64, &Scale<double>),
  };
  static const KernelList kAll = {&kDefs[0], &kDefs[1], &kDefs[2], &kDefs[3]};
  return kAll;
}

}  // namespace sluice::fpga_stub
