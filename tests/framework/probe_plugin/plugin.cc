// A device plug-in with host memory. Its kernels of test_probe (see
// plugin_kernels_test.cc) fail unless all their arguments follow
// device_plugin.h.

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

#include "sluice/platform/device_plugin.h"

namespace {

const SluiceHost* host;
// The number of states that were not released; shown as the counter of kernels.
std::atomic<int> states{0};

SluiceStatus DeviceCount(int32_t* count, SluiceError*) {
  *count = 2;
  return SLUICE_OK;
}

SluiceStatus Allocate(int32_t, size_t bytes, void** memory, SluiceError*) {
  *memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  return *memory != nullptr ? SLUICE_OK : SLUICE_RESOURCE_EXHAUSTED;
}

SluiceStatus Deallocate(int32_t, void* memory, size_t, SluiceError*) {
  std::free(memory);
  return SLUICE_OK;
}

SluiceStatus Copy(const SluiceCopy* copy, SluiceError*) {
  std::memcpy(copy->to, copy->from, copy->bytes);
  return SLUICE_OK;
}

SluiceStatus Synchronise(int32_t, SluiceQueue, SluiceError*) {
  return SLUICE_OK;
}

SluiceStatus MemoryLimit(int32_t, size_t* bytes, SluiceError*) {
  *bytes = size_t{1} << 24;
  return SLUICE_OK;
}

SluiceStatus Counters(int32_t, SluiceDeviceCounters* counters, SluiceError*) {
  counters->kernels = static_cast<uint64_t>(states.load());
  return SLUICE_OK;
}

#define EXPECT(condition)                                                      \
  if (!(condition)) {                                                          \
    return host->fail(call->error, SLUICE_INTERNAL, "not so: %s", #condition); \
  }                                                                            \
  static_assert(true)

// test_probe with bool `flag` = true, int `count` = 7, float `ratio` = 0.5,
// string `mode` = "fast", ints `axes` = [2, 3], floats `weights` = [0.25],
// strings `names` = ["a", "bc"] and dtype `as` = int64.
SluiceStatus CheckAttributes(const SluiceKernelCall* call) {
  const SluiceAttributes* given = call->attributes;
  int32_t flag = 0;
  EXPECT(host->attr_bool(given, "flag", &flag) == SLUICE_OK && flag == 1);
  int64_t number = 0;
  EXPECT(host->attr_int(given, "count", &number) == SLUICE_OK && number == 7);
  EXPECT(host->attr_int(given, "as", &number) == SLUICE_OK);
  EXPECT(number == SLUICE_INT64);
  double real = 0;
  EXPECT(host->attr_float(given, "ratio", &real) == SLUICE_OK && real == 0.5);
  EXPECT(host->attr_float(given, "count", &real) == SLUICE_OK && real == 7);
  const char* text = nullptr;
  size_t size = 0;
  EXPECT(host->attr_string(given, "mode", &text, &size) == SLUICE_OK);
  EXPECT(std::string(text) == "fast" && size == 4);
  const int64_t* axes = nullptr;
  EXPECT(host->attr_ints(given, "axes", &axes, &size) == SLUICE_OK);
  EXPECT(size == 2 && axes[0] == 2 && axes[1] == 3);
  const double* weights = nullptr;
  EXPECT(host->attr_floats(given, "weights", &weights, &size) == SLUICE_OK);
  EXPECT(size == 1 && weights[0] == 0.25);
  EXPECT(host->attr_string_at(given, "names", 1, &text, &size) == SLUICE_OK);
  EXPECT(std::string(text) == "bc" && size == 2);
  EXPECT(host->attr_string_at(given, "names", 2, &text, &size) ==
         SLUICE_OUT_OF_RANGE);
  return SLUICE_OK;
}

SluiceStatus CheckWrongAttributes(const SluiceKernelCall* call) {
  const SluiceAttributes* given = call->attributes;
  int32_t flag = 9;
  int64_t number = 9;
  double real = 9;
  const char* text = nullptr;
  const int64_t* axes = nullptr;
  size_t size = 9;
  EXPECT(host->attr_bool(given, "none", &flag) == SLUICE_NOT_FOUND);
  EXPECT(host->attr_int(given, "none", &number) == SLUICE_NOT_FOUND);
  EXPECT(host->attr_float(given, "none", &real) == SLUICE_NOT_FOUND);
  EXPECT(host->attr_bool(given, "count", &flag) == SLUICE_INVALID_ARGUMENT);
  EXPECT(host->attr_int(given, "mode", &number) == SLUICE_INVALID_ARGUMENT);
  EXPECT(host->attr_float(given, "mode", &real) == SLUICE_INVALID_ARGUMENT);
  EXPECT(host->attr_string(given, "count", &text, &size) ==
         SLUICE_INVALID_ARGUMENT);
  EXPECT(host->attr_ints(given, "weights", &axes, &size) ==
         SLUICE_INVALID_ARGUMENT);
  EXPECT(flag == 9 && number == 9 && real == 9 && size == 9);
  return SLUICE_OK;
}

// X [n] of T, Extra of T (optional, never given), Sizes [1] of int64 on the
// host, Many of T (twice) -> Out [n] of T.
SluiceStatus CheckArguments(const SluiceKernelCall* call, bool has_data) {
  EXPECT(call->struct_size == sizeof(SluiceKernelCall));
  EXPECT(call->input_count == 5 && call->output_count == 1);
  const SluiceTensorView* x = call->inputs[0];
  EXPECT(std::string(x->name) == "X" && x->rank == 1 && x->on_host == 0);
  EXPECT(x->dtype == SLUICE_FLOAT32);
  EXPECT(x->bytes == static_cast<size_t>(x->dims[0]) * sizeof(float));
  EXPECT((x->data != nullptr) == has_data);
  EXPECT(call->inputs[1] == nullptr);
  EXPECT(std::string(call->inputs[2]->name) == "Sizes");
  EXPECT(call->inputs[2]->on_host == 1);
  EXPECT(call->inputs[2]->dtype == SLUICE_INT64);
  EXPECT(std::string(call->inputs[3]->name) == "Many");
  EXPECT(std::string(call->inputs[4]->name) == "Many");
  EXPECT(std::string(call->outputs[0]->name) == "Out");
  EXPECT(call->outputs[0]->dims[0] == x->dims[0]);
  EXPECT((call->outputs[0]->data != nullptr) == has_data);
  EXPECT(call->queue == nullptr && call->device == 1);
  EXPECT(std::string(static_cast<const char*>(call->user_data)) == "mine");
  return SLUICE_OK;
}

SluiceStatus Supports(const SluiceKernelCall* call) {
  if (call->inputs[0]->dims[0] == 13) {
    return host->fail(call->error, SLUICE_UNIMPLEMENTED, "13 is unlucky");
  }
  if (call->inputs[0]->dims[0] == 14) throw 14;
  if (call->inputs[0]->dims[0] == 15) return SLUICE_UNIMPLEMENTED;
  return SLUICE_OK;
}

SluiceStatus Prepare(const SluiceKernelCall* call,
                     void** state,
                     size_t* scratch_bytes) {
  const SluiceStatus status = CheckArguments(call, false);
  if (status != SLUICE_OK) return status;
  if (call->inputs[0]->dims[0] == 99) {
    return host->fail(call->error, SLUICE_RESOURCE_EXHAUSTED, "no beads left");
  }
  *state = new int64_t(call->inputs[0]->dims[0]);
  ++states;
  *scratch_bytes = 256;
  return SLUICE_OK;
}

void Release(int32_t, void* state) {
  delete static_cast<int64_t*>(state);
  --states;
}

// Out[i] = X[i] + n + Sizes[0] + Many[0][0] + Many[1][0].
SluiceStatus Compute(const SluiceKernelCall* call) {
  SluiceStatus status = CheckArguments(call, true);
  if (status == SLUICE_OK) status = CheckAttributes(call);
  if (status == SLUICE_OK) status = CheckWrongAttributes(call);
  if (status != SLUICE_OK) return status;
  EXPECT(call->op_index == 0);
  EXPECT(call->scratch != nullptr && call->scratch_bytes == 256);
  std::memset(call->scratch, 0, 256);
  const int64_t n = *static_cast<const int64_t*>(call->state);
  const auto first = [&](size_t index) {
    return *static_cast<const float*>(call->inputs[index]->data);
  };
  const float sum = static_cast<float>(
      n + *static_cast<const int64_t*>(call->inputs[2]->data));
  const float* x = static_cast<const float*>(call->inputs[0]->data);
  float* out = static_cast<float*>(call->outputs[0]->data);
  for (int64_t i = 0; i < n; ++i)
    out[i] = x[i] + sum + first(3) + first(4);
  return SLUICE_OK;
}

char user_data[] = "mine";

SluiceKernelDef MakeKernel() {
  SluiceKernelDef kernel{};
  kernel.struct_size = sizeof(kernel);
  kernel.op = "test_probe";
  kernel.dtype = SLUICE_FLOAT32;
  kernel.variant = "probing";
  kernel.priority = 3;
  kernel.user_data = user_data;
  kernel.supports = &Supports;
  kernel.prepare = &Prepare;
  kernel.compute = &Compute;
  kernel.release = &Release;
  return kernel;
}

SluiceDevicePlugin MakeTable() {
  static const SluiceKernelDef kKernel = MakeKernel();
  static const SluiceKernelDef* const kKernels[] = {&kKernel};
  SluiceDevicePlugin table{};
  table.struct_size = sizeof(table);
  table.abi_version = SLUICE_PLUGIN_ABI_VERSION;
  table.device_type = "probe";
  table.device_count = &DeviceCount;
  table.allocate = &Allocate;
  table.deallocate = &Deallocate;
  table.copy_to_device = &Copy;
  table.copy_from_device = &Copy;
  table.synchronise = &Synchronise;
  table.memory_limit = &MemoryLimit;
  table.counters = &Counters;
  table.kernel_count = 1;
  table.kernels = kKernels;
  return table;
}

}  // namespace

const SluiceDevicePlugin* SluicePluginInit(const SluiceHost* given,
                                           SluiceError*) {
  host = given;
  static const SluiceDevicePlugin kTable = MakeTable();
  return &kTable;
}
