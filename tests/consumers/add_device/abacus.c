/* A device in one file: host memory, no queues, one kernel. */
#include <stdlib.h>
#include <string.h>

#include "sluice/platform/device_plugin.h"

static const SluiceHost* host;
static const size_t most_bytes = (size_t)1 << 30; /* at a time */

static SluiceStatus device_count(int32_t* count, SluiceError* error) {
  (void)error;
  *count = 1;
  return SLUICE_OK;
}

static SluiceStatus allocate(int32_t device,
                             size_t bytes,
                             void** memory,
                             SluiceError* error) {
  *memory = NULL;
  if (bytes == 0) return SLUICE_OK;
  if (bytes <= most_bytes) *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (*memory != NULL) return SLUICE_OK;
  return host->fail(error, SLUICE_RESOURCE_EXHAUSTED,
                    "abacus:%d has no %zu bytes left", device, bytes);
}

static SluiceStatus deallocate(int32_t device,
                               void* memory,
                               size_t bytes,
                               SluiceError* error) {
  (void)device, (void)bytes, (void)error;
  free(memory);
  return SLUICE_OK;
}

static SluiceStatus copy(const SluiceCopy* what, SluiceError* error) {
  (void)error;
  memcpy(what->to, what->from, what->bytes);
  return SLUICE_OK;
}

static SluiceStatus synchronise(int32_t device,
                                SluiceQueue queue,
                                SluiceError* error) {
  (void)device, (void)queue, (void)error;
  return SLUICE_OK; /* every call was done when it returned */
}

/* scale: Out = scale * X + bias, for float32. */
static SluiceStatus scale_supports(const SluiceKernelCall* call) {
  int32_t after = 1;
  host->attr_bool(call->attributes, "bias_after_scale", &after);
  if (after) return SLUICE_OK;
  return host->fail(call->error, SLUICE_UNIMPLEMENTED,
                    "needs bias_after_scale = true");
}

static SluiceStatus scale_compute(const SluiceKernelCall* call) {
  const SluiceTensorView* in = call->inputs[0];
  const float* x = (const float*)in->data;
  float* out = (float*)call->outputs[0]->data;
  double scale = 1, bias = 0;
  SluiceStatus status = host->attr_float(call->attributes, "scale", &scale);
  if (status == SLUICE_OK) {
    status = host->attr_float(call->attributes, "bias", &bias);
  }
  if (status != SLUICE_OK) {
    return host->fail(call->error, status, "cannot read scale and bias");
  }
  for (size_t i = 0; i < in->bytes / sizeof(float); ++i) {
    out[i] = (float)scale * x[i] + (float)bias;
  }
  return SLUICE_OK;
}

static const SluiceKernelDef scale_kernel = {
    .struct_size = sizeof(SluiceKernelDef),
    .op = "scale",
    .dtype = SLUICE_FLOAT32,
    .layout = SLUICE_LAYOUT_ANY,
    .variant = "loop",
    .supports = scale_supports,
    .compute = scale_compute,
};
static const SluiceKernelDef* const kernels[] = {&scale_kernel};

static const SluiceDevicePlugin plugin = {
    .struct_size = sizeof(SluiceDevicePlugin),
    .abi_version = SLUICE_PLUGIN_ABI_VERSION,
    .flags = SLUICE_DEVICE_HOST_ACCESSIBLE,
    .device_type = "abacus",
    .description = "abacus: float32 in host memory",
    .device_count = device_count,
    .allocate = allocate,
    .deallocate = deallocate,
    .copy_to_device = copy,
    .copy_from_device = copy,
    .synchronise = synchronise,
    .kernel_count = 1,
    .kernels = kernels,
};

const SluiceDevicePlugin* SluicePluginInit(const SluiceHost* the_host,
                                           SluiceError* error) {
  (void)error;
  host = the_host;
  return &plugin;
}
