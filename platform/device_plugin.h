#pragma once

// The interface between Sluice and a device plug-in: a shared library that
// adds one type of device and the kernels that run on it. This header is all
// that a plug-in needs; it compiles as C99 and as C++ and includes nothing of
// Sluice. `docs/adding_a_device.md` builds a whole plug-in in one file.
//
// A plug-in exports one function, SluicePluginInit, which returns a table of
// callbacks. Sluice checks the table completely before it uses any of it: a
// refused plug-in changes nothing. A loaded plug-in is never unloaded.
//
// Rules for every callback
// - It returns SLUICE_OK or another status. On failure it also writes one
//   sentence for the user into `error`, most easily with
//   `return host->fail(error, SLUICE_..., "expected %d, got %d", a, b);`.
// - It should not throw. If a C++ plug-in throws all the same, the host turns
//   that into an error which names the callback and the exception.
// - Pointers that the host passes are valid until the callback returns, except
//   `host` (for ever), device memory and host memory that is being copied
//   (until the next `synchronise` of the queue returns).
// - A plug-in with `create_queue` may be called from several threads at once;
//   each queue is used by one thread at a time. A plug-in without it is never
//   called from two threads at once for the same device, so it needs no locks.
//
// Growing: every struct starts with its own size. New members are added at the
// end only. A reader ignores everything after the size that the writer stated.
// Structs in lists are passed as arrays of pointers.

#include <stddef.h>
#include <stdint.h>

// NOLINTBEGIN(modernize-use-using): this header is C as well.

#ifdef __cplusplus
extern "C" {
#endif

// The version of this header. The host accepts plug-ins that were built for
// any version from `abi_oldest` to `abi_newest` of its SluiceHost.
#define SLUICE_PLUGIN_ABI_VERSION 1u

#define SLUICE_PLUGIN_EXPORT __attribute__((visibility("default")))
#define SLUICE_PLUGIN_PRINTF(text, first) \
  __attribute__((__format__(__printf__, text, first)))

// The result of a callback.
typedef int32_t SluiceStatus;
enum {
  SLUICE_OK = 0,
  SLUICE_INVALID_ARGUMENT = 1,     // can never work
  SLUICE_OUT_OF_RANGE = 2,         // an index or offset beyond its bounds
  SLUICE_NOT_FOUND = 3,            // an unknown name
  SLUICE_FAILED_PRECONDITION = 4,  // the right call at the wrong moment
  SLUICE_UNIMPLEMENTED = 5,        // known, but not offered
  SLUICE_RESOURCE_EXHAUSTED = 6,   // no memory left, no queue left
  SLUICE_DATA_LOSS = 7,            // damaged data
  SLUICE_DEVICE_LOST = 8,          // the device is gone until a restart
  SLUICE_INTERNAL = 9              // a bug in the plug-in
};

// Element types, with Sluice's own numbers.
enum {
  SLUICE_FLOAT32 = 1,
  SLUICE_FLOAT64 = 2,
  SLUICE_FLOAT16 = 3,
  SLUICE_BFLOAT16 = 4,
  SLUICE_INT8 = 5,
  SLUICE_UINT8 = 6,
  SLUICE_INT32 = 7,
  SLUICE_INT64 = 8,
  SLUICE_BOOL = 9,
  SLUICE_INT16 = 10,
  SLUICE_UINT16 = 11,
  SLUICE_UINT32 = 12,
  SLUICE_UINT64 = 13,
  // One element takes a byte; types of 4 and 2 bits use its lowest bits.
  SLUICE_FLOAT8_E4M3FN = 14,
  SLUICE_FLOAT8_E4M3FNUZ = 15,
  SLUICE_FLOAT8_E5M2 = 16,
  SLUICE_FLOAT8_E5M2FNUZ = 17,
  SLUICE_FLOAT8_E8M0FNU = 18,
  SLUICE_FLOAT4_E2M1FN = 19,
  SLUICE_INT4 = 20,
  SLUICE_UINT4 = 21,
  SLUICE_INT2 = 22,
  SLUICE_UINT2 = 23
};

// The dimension order that a kernel expects: Sluice refuses it for ops with
// another data_format. Kernels of an op for both orders are two variants. Use
// ANY for kernels that take both, and for ops that are not about images.
enum { SLUICE_LAYOUT_ANY = 0, SLUICE_LAYOUT_NCHW = 1, SLUICE_LAYOUT_NHWC = 2 };

enum { SLUICE_LOG_INFO = 0, SLUICE_LOG_WARNING = 1, SLUICE_LOG_ERROR = 2 };

// The message buffer of a callback. `text` has room for `capacity` bytes with
// the final zero and is empty at first. `op_index` is -1 at first; a queue that
// fails late sets it to the op index of the entry that failed.
typedef struct SluiceError {
  size_t struct_size;
  char* text;
  size_t capacity;
  int32_t op_index;
} SluiceError;

// A queue and an event of the plug-in; they are opaque to Sluice.
typedef struct SluiceQueueData* SluiceQueue;
typedef struct SluiceEventData* SluiceEvent;

// The attributes of one op; read them through the host's attr_ functions.
typedef struct SluiceAttributes SluiceAttributes;

// Functions of the host for the plug-in. The table lives as long as the
// process, so the pointer may be kept. Every function may be called from any
// thread.
typedef struct SluiceHost {
  size_t struct_size;
  uint32_t abi_oldest;
  uint32_t abi_newest;

  // Formats the sentence into `error`, truncating it if needed, and returns
  // `status`, for one-line returns.
  SluiceStatus (*fail)(SluiceError* error,
                       SluiceStatus status,
                       const char* format,
                       ...) SLUICE_PLUGIN_PRINTF(3, 4);

  // Writes one line to Sluice's log. `level` is SLUICE_LOG_...
  void (*log)(int32_t level, const char* message);

  // These read an attribute by its name in the op's schema. They return
  // SLUICE_OK, SLUICE_NOT_FOUND when the op has no such attribute, or
  // SLUICE_INVALID_ARGUMENT when it has another type; in both cases the value
  // is unchanged. attr_int also reads a dtype (SLUICE_FLOAT32 and so on) and
  // attr_float an integer. Strings end in a zero byte that `size` does not
  // count. Arrays and strings stay valid until the callback returns.
  SluiceStatus (*attr_bool)(const SluiceAttributes* attributes,
                            const char* name,
                            int32_t* value);
  SluiceStatus (*attr_int)(const SluiceAttributes* attributes,
                           const char* name,
                           int64_t* value);
  SluiceStatus (*attr_float)(const SluiceAttributes* attributes,
                             const char* name,
                             double* value);
  SluiceStatus (*attr_string)(const SluiceAttributes* attributes,
                              const char* name,
                              const char** value,
                              size_t* size);
  SluiceStatus (*attr_ints)(const SluiceAttributes* attributes,
                            const char* name,
                            const int64_t** values,
                            size_t* size);
  SluiceStatus (*attr_floats)(const SluiceAttributes* attributes,
                              const char* name,
                              const double** values,
                              size_t* size);
  // Returns one string of a list, or SLUICE_OUT_OF_RANGE after the last.
  SluiceStatus (*attr_string_at)(const SluiceAttributes* attributes,
                                 const char* name,
                                 size_t index,
                                 const char** value,
                                 size_t* size);
} SluiceHost;

// One input or output of a kernel: dense, row-major.
typedef struct SluiceTensorView {
  size_t struct_size;
  // The name in the op's schema, such as "X".
  const char* name;
  // Null in `supports` and `prepare`, and for a tensor without elements.
  void* data;
  // `rank` sizes. In `supports`, a size may be -1 (not known yet) and the rank
  // itself may be -1.
  const int64_t* dims;
  int32_t rank;
  // SLUICE_FLOAT32 and so on.
  int32_t dtype;
  // The size of `data` in bytes; 0 while a dimension is unknown.
  size_t bytes;
  // 1 when `data` is host memory (a host input or output in the schema), 0 when
  // it is memory of the call's device.
  int32_t on_host;
} SluiceTensorView;

// The arguments of a kernel callback.
typedef struct SluiceKernelCall {
  size_t struct_size;
  int32_t device;
  // The op's index in the program, for errors that come late.
  int32_t op_index;
  // Null in `supports` and `prepare`, and when the plug-in has no queues.
  SluiceQueue queue;
  // In the order of the op's schema; a variadic argument has one entry for each
  // tensor. The entry of an omitted optional argument is null. Outputs have
  // their final shapes and, in `compute`, their memory. Inputs must not be
  // written.
  size_t input_count;
  const SluiceTensorView* const* inputs;
  size_t output_count;
  const SluiceTensorView* const* outputs;
  const SluiceAttributes* attributes;
  // In `compute`: device memory of the size that `prepare` requested, aligned
  // to 64 bytes. Later work on the same queue may get the same bytes.
  void* scratch;
  size_t scratch_bytes;
  // In `compute`: the state that `prepare` set.
  void* state;
  // The `user_data` of the kernel definition.
  void* user_data;
  SluiceError* error;
} SluiceKernelCall;

// One kernel: an implementation of one op for one element type on the
// plug-in's devices. Several kernels may differ in `variant` only.
typedef struct SluiceKernelDef {
  size_t struct_size;
  // The op's name, such as "manhattan_distance".
  const char* op;
  // The op's type variable T: SLUICE_FLOAT32 and so on.
  int32_t dtype;
  // SLUICE_LAYOUT_...
  int32_t layout;
  // A name of [a-z][a-z0-9_]* by which users prefer or require the kernel.
  const char* variant;
  // Until kernels are measured, the plan assumes that the supported kernel with
  // the highest priority is the fastest. The usual priority is 0.
  int32_t priority;
  void* user_data;

  // Optional. SLUICE_OK when the kernel can do this call; otherwise any other
  // status, with the reason in `call->error`, which Explain prints.
  SluiceStatus (*supports)(const SluiceKernelCall* call);

  // Optional; called once when a program is prepared, with every shape known.
  // May set `*state` to data for `compute`, and `*scratch_bytes` to the device
  // memory that each call needs. Several threads may use one state at once, so
  // `compute` must not write to it.
  SluiceStatus (*prepare)(const SluiceKernelCall* call,
                          void** state,
                          size_t* scratch_bytes);

  // Required. Enqueues the work on `call->queue` (or does it, when the device
  // has no queues) and returns without waiting for it. Views, dims and
  // attributes are valid until it returns; memory stays valid.
  SluiceStatus (*compute)(const SluiceKernelCall* call);

  // Optional; frees a state that `prepare` made.
  void (*release)(int32_t device, void* state);
} SluiceKernelDef;

// One copy. `to` and `from` may be any address inside an allocation (base plus
// offset); `bytes` is at least 1. The ranges do not overlap.
typedef struct SluiceCopy {
  size_t struct_size;
  int32_t device;
  int32_t op_index;
  SluiceQueue queue;
  void* to;
  const void* from;
  size_t bytes;
} SluiceCopy;

// The kernel call that is about to begin or has ended.
typedef struct SluiceKernelScope {
  size_t struct_size;
  int32_t device;
  int32_t op_index;
  SluiceQueue queue;
} SluiceKernelScope;

// Counters of a device since it was made, kept by the device itself.
typedef struct SluiceDeviceCounters {
  size_t struct_size;
  uint64_t copies_to_device;
  uint64_t bytes_to_device;
  uint64_t copies_from_device;
  uint64_t bytes_from_device;
  uint64_t kernels;
} SluiceDeviceCounters;

// For SluiceDevicePlugin::flags. The host may read and write device memory
// through its own pointers. Sluice still copies through the callbacks.
enum { SLUICE_DEVICE_HOST_ACCESSIBLE = 1 };

// The plug-in's table, returned by SluicePluginInit. It, the kernel
// definitions and all text must stay valid as long as the process. Devices of
// one type are numbered from 0. Leave optional callbacks null.
typedef struct SluiceDevicePlugin {
  size_t struct_size;
  // SLUICE_PLUGIN_ABI_VERSION of the header that the plug-in was built with.
  uint32_t abi_version;
  // SLUICE_DEVICE_... or 0.
  uint32_t flags;
  // A name of [a-z][a-z0-9_]*; places are then called "name:0". No two loaded
  // plug-ins may have the same.
  const char* device_type;
  // One line for people.
  const char* description;

  // Required: returns the number of devices; called once, at load time.
  SluiceStatus (*device_count)(int32_t* count, SluiceError* error);

  // Required: returns memory aligned to 64 bytes, or SLUICE_RESOURCE_EXHAUSTED
  // when there is not enough; that must not disturb anything else. For 0 bytes
  // it returns null or an address that `deallocate` accepts.
  SluiceStatus (*allocate)(int32_t device,
                           size_t bytes,
                           void** memory,
                           SluiceError* error);
  // Required: frees what `allocate` returned; `bytes` is the same. No enqueued
  // work uses the memory any more.
  SluiceStatus (*deallocate)(int32_t device,
                             void* memory,
                             size_t bytes,
                             SluiceError* error);

  // Required: copy between host and device in the queue's order. They may
  // return before the copy is done. Host memory has any alignment.
  SluiceStatus (*copy_to_device)(const SluiceCopy* copy, SluiceError* error);
  SluiceStatus (*copy_from_device)(const SluiceCopy* copy, SluiceError* error);

  // Required: returns when everything enqueued on `queue` so far is done; a
  // null queue means the whole device. Reports the first failure of the queued
  // work since the last call, and drops the work after it. The queue can then
  // be used again (not after SLUICE_DEVICE_LOST).
  SluiceStatus (*synchronise)(int32_t device,
                              SluiceQueue queue,
                              SluiceError* error);

  // Optional, both or none: queues that work independently. Sluice creates one
  // for each context. It calls `synchronise` before `destroy_queue`.
  SluiceStatus (*create_queue)(int32_t device,
                               SluiceQueue* queue,
                               SluiceError* error);
  void (*destroy_queue)(int32_t device, SluiceQueue queue);

  // Optional: copies within the device in the queue's order. Without it Sluice
  // copies through host memory.
  SluiceStatus (*copy_on_device)(const SluiceCopy* copy, SluiceError* error);

  // Optional, all four or none, and only with queues. Work enqueued on `queue`
  // after `wait_event` starts when everything that was enqueued on the other
  // queue before its `record_event` is done. Neither blocks the host.
  SluiceStatus (*create_event)(int32_t device,
                               SluiceEvent* event,
                               SluiceError* error);
  SluiceStatus (*record_event)(int32_t device,
                               SluiceEvent event,
                               SluiceQueue queue,
                               SluiceError* error);
  SluiceStatus (*wait_event)(int32_t device,
                             SluiceQueue queue,
                             SluiceEvent event,
                             SluiceError* error);
  void (*destroy_event)(int32_t device, SluiceEvent event);

  // Optional: the most bytes that Sluice may allocate. Without it the only
  // limit is that `allocate` fails.
  SluiceStatus (*memory_limit)(int32_t device,
                               size_t* bytes,
                               SluiceError* error);

  // Optional: called before and after each kernel's `compute`, on its thread,
  // to prepare the device and to tidy up. `after_kernel` is also called when
  // `compute` failed, but not when `before_kernel` did.
  SluiceStatus (*before_kernel)(const SluiceKernelScope* scope,
                                SluiceError* error);
  SluiceStatus (*after_kernel)(const SluiceKernelScope* scope,
                               SluiceError* error);

  // Optional: writes the device's counters, within `struct_size`.
  SluiceStatus (*counters)(int32_t device,
                           SluiceDeviceCounters* counters,
                           SluiceError* error);

  // Optional: changes a setting of the device, for its tools and tests.
  // SLUICE_NOT_FOUND for an unknown name.
  SluiceStatus (*set_option)(int32_t device,
                             const char* name,
                             const char* value,
                             SluiceError* error);

  // The kernels: an array of `kernel_count` pointers.
  size_t kernel_count;
  const SluiceKernelDef* const* kernels;
} SluiceDevicePlugin;

// The one function that a plug-in exports, called once. Returns its table, or
// null with the reason in `error`, for instance when there is no driver.
SLUICE_PLUGIN_EXPORT const SluiceDevicePlugin* SluicePluginInit(
    const SluiceHost* host, SluiceError* error);

#ifdef __cplusplus
}  // extern "C"
#endif

// NOLINTEND(modernize-use-using)
