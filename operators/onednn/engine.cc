#include "sluice/operators/onednn/engine.h"

#include <cstddef>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include "sluice/framework/op/registry.h"
#include "sluice/platform/error.h"

namespace sluice::onednn {

namespace {

// The bounds of the calling thread's stack.
struct Stack {
  Stack() {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
    void* address = nullptr;
    size_t size = 0;
    if (pthread_attr_getstack(&attributes, &address, &size) == 0) {
      low = reinterpret_cast<uintptr_t>(address);
      high = low + size;
    }
    pthread_attr_destroy(&attributes);
  }
  uintptr_t low = 0;
  uintptr_t high = 0;
};

std::string_view Reason(dnnl_status_t status) {
  switch (status) {
    case dnnl_out_of_memory:
      return "out of memory";
    case dnnl_invalid_arguments:
      return "invalid arguments";
    case dnnl_unimplemented:
      return "not implemented";
    default:
      return "a run-time error";
  }
}

}  // namespace

// Returns the library's path if it is in a folder in which the loader looks for
// this module; "" if it may be elsewhere.
static std::string PathInFolders() {
  Dl_info own;
  if (dladdr(reinterpret_cast<void*>(&LateFunction), &own) == 0) return "";
  void* module = dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  Dl_serinfo size;
  if (module == nullptr || dlinfo(module, RTLD_DI_SERINFOSIZE, &size) != 0) {
    return "";
  }
  std::vector<std::byte> memory(size.dls_size);
  auto* folders = reinterpret_cast<Dl_serinfo*>(memory.data());
  folders->dls_size = size.dls_size;
  folders->dls_cnt = size.dls_cnt;
  if (dlinfo(module, RTLD_DI_SERINFO, folders) != 0) return "";
  for (unsigned i = 0; i < size.dls_cnt; ++i) {
    std::string path = folders->dls_serpath[i].dls_name;
    path += "/" SLUICE_ONEDNN_FILE;
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  return "";
}

// Returns the handle of the library, which stays loaded. By its path: where the
// address sanitizer calls dlopen, the loader looks into its folders.
static void* Library() {
  const std::string path = PathInFolders();
  void* handle = dlopen(path.empty() ? SLUICE_ONEDNN_FILE : path.c_str(),
                        RTLD_NOW | RTLD_LOCAL);
  SLUICE_ENFORCE(handle != nullptr, ErrorCode::kUnimplemented, "onednn.missing",
                 "{}", dlerror());
  auto* version =
      reinterpret_cast<decltype(&dnnl_version)>(dlsym(handle, "dnnl_version"));
  SLUICE_ENFORCE(version != nullptr && version()->major == DNNL_VERSION_MAJOR &&
                     version()->minor >= DNNL_VERSION_MINOR,
                 ErrorCode::kUnimplemented, "onednn.version",
                 "{} is not the oneDNN {}.{} that these kernels are for",
                 SLUICE_ONEDNN_FILE, DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR);
  return handle;
}

void* LateFunction(const char* name) {
  static void* const kLibrary = Library();
  void* function = dlsym(kLibrary, name);
  SLUICE_ENFORCE(function != nullptr, ErrorCode::kUnimplemented,
                 "onednn.function", "oneDNN has no function {}", name);
  return function;
}

const dnnl::engine& Engine() {
  static const auto* engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

Memory::data_type ToDnnl(DType dtype) {
  switch (dtype) {
    // NOLINTBEGIN(bugprone-branch-clone)
#define SLUICE_ROW(dtype, number, type, onnx_type, mpi, nccl, onednn, ...) \
  case DType::dtype:                                                       \
    return Memory::data_type::onednn;
    SLUICE_DTYPES(SLUICE_ROW)
#undef SLUICE_ROW
    // NOLINTEND(bugprone-branch-clone)
  }
  return Memory::data_type::undef;
}

Desc RowMajor(const DDim& dims, DType dtype) {
  if (dims.rank() == 0) return {{1}, ToDnnl(dtype), Dims{1}};
  Dims strides;
  for (int axis = 0; axis < dims.rank(); ++axis) {
    strides.push_back(dims.Product(axis + 1, dims.rank()));
  }
  return {ToDims(dims), ToDnnl(dtype), strides};
}

Desc Image(const Dims& nchw, DType dtype, bool channels_last) {
  return {nchw, ToDnnl(dtype), channels_last ? Tag::nhwc : Tag::nchw};
}

void RaiseFailure(ErrorCode code,
                  std::string_view op,
                  std::string_view what,
                  std::string_view reason) {
  Raise(code, "onednn.failed", "{}: oneDNN's {}: {}", op, what, reason);
}

void RaiseStatus(std::string_view op,
                 std::string_view what,
                 dnnl_status_t status) {
  ErrorCode code = ErrorCode::kInternal;
  if (status == dnnl_out_of_memory) code = ErrorCode::kResourceExhausted;
  // oneDNN reports its own limits as invalid arguments.
  if (status == dnnl_unimplemented || status == dnnl_invalid_arguments) {
    code = ErrorCode::kUnimplemented;
  }
  RaiseFailure(code, op, what, Reason(status));
}

void Guarded(std::string_view op,
             std::string_view what,
             FunctionRef<void()> work) {
  try {
    work();
  } catch (const dnnl::error& error) {
    RaiseStatus(op, what, error.status);
  }
}

void CheckStack(std::string_view op) {
  // NOLINTNEXTLINE(readability-identifier-naming)
  thread_local const Stack stack;
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  // On a fiber, the bounds of the stack are unknown to pthreads.
  if (here < stack.low || here >= stack.high) return;
  SLUICE_ENFORCE(here - stack.low >= kStackBytes, ErrorCode::kResourceExhausted,
                 "onednn.stack",
                 "{}: oneDNN may need {} KiB of stack, this thread has {} KiB "
                 "left",
                 op, kStackBytes >> 10, (here - stack.low) >> 10);
}

}  // namespace sluice::onednn

extern "C" void SluiceStartModule();

// Recorded times of the kernels are valid for this version only. Raises
// Unimplemented if there is no oneDNN to be loaded later.
void SluiceStartModule() {
  if (sluice::onednn::PathInFolders().empty()) sluice::onednn::Library();
  sluice::Registry::Global().SetLibraryVersion(
      "ONEDNN", sluice::Format("oneDNN {}.{}.{}", DNNL_VERSION_MAJOR,
                               DNNL_VERSION_MINOR, DNNL_VERSION_PATCH));
}
