#include "sluice/platform/plugin/plugin_host.h"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <exception>

#include "sluice/platform/diagnostics/logging.h"

namespace sluice::platform {
namespace {

SluiceStatus HostFail(SluiceError* error,
                      SluiceStatus status,
                      const char* format,
                      ...) {
  if (error != nullptr && error->text != nullptr && error->capacity > 0) {
    va_list args;
    va_start(args, format);
    std::vsnprintf(error->text, error->capacity, format, args);
    va_end(args);
  }
  return status;
}

void HostLog(int32_t level, const char* message) {
  const LogLevel as = level <= SLUICE_LOG_INFO      ? LogLevel::kInfo
                      : level == SLUICE_LOG_WARNING ? LogLevel::kWarning
                                                    : LogLevel::kError;
  Log(as, "{}", message);
}

SluiceStatus HostBool(const SluiceAttributes* attributes,
                      const char* name,
                      int32_t* value) {
  return attributes->Bool(name, value);
}

SluiceStatus HostInt(const SluiceAttributes* attributes,
                     const char* name,
                     int64_t* value) {
  return attributes->Int(name, value);
}

SluiceStatus HostFloat(const SluiceAttributes* attributes,
                       const char* name,
                       double* value) {
  return attributes->Float(name, value);
}

SluiceStatus HostString(const SluiceAttributes* attributes,
                        const char* name,
                        const char** value,
                        size_t* size) {
  return attributes->String(name, value, size);
}

SluiceStatus HostInts(const SluiceAttributes* attributes,
                      const char* name,
                      const int64_t** values,
                      size_t* size) {
  return attributes->Ints(name, values, size);
}

SluiceStatus HostFloats(const SluiceAttributes* attributes,
                        const char* name,
                        const double** values,
                        size_t* size) {
  return attributes->Floats(name, values, size);
}

SluiceStatus HostStringAt(const SluiceAttributes* attributes,
                          const char* name,
                          size_t index,
                          const char** value,
                          size_t* size) {
  return attributes->StringAt(name, index, value, size);
}

}  // namespace

const SluiceHost* PluginHost() {
  static const SluiceHost kHost = {
      .struct_size = sizeof(SluiceHost),
      .abi_oldest = SLUICE_PLUGIN_ABI_VERSION,
      .abi_newest = SLUICE_PLUGIN_ABI_VERSION,
      .fail = &HostFail,
      .log = &HostLog,
      .attr_bool = &HostBool,
      .attr_int = &HostInt,
      .attr_float = &HostFloat,
      .attr_string = &HostString,
      .attr_ints = &HostInts,
      .attr_floats = &HostFloats,
      .attr_string_at = &HostStringAt,
  };
  return &kHost;
}

ErrorCode ErrorCodeOf(SluiceStatus status) {
  switch (status) {
    case SLUICE_INVALID_ARGUMENT:
      return ErrorCode::kInvalidArgument;
    case SLUICE_OUT_OF_RANGE:
      return ErrorCode::kOutOfRange;
    case SLUICE_NOT_FOUND:
      return ErrorCode::kNotFound;
    case SLUICE_FAILED_PRECONDITION:
      return ErrorCode::kFailedPrecondition;
    case SLUICE_UNIMPLEMENTED:
      return ErrorCode::kUnimplemented;
    case SLUICE_RESOURCE_EXHAUSTED:
      return ErrorCode::kResourceExhausted;
    case SLUICE_DATA_LOSS:
      return ErrorCode::kDataLoss;
    case SLUICE_DEVICE_LOST:
      return ErrorCode::kDeviceLost;
    default:
      return ErrorCode::kInternal;
  }
}

PluginResult CallPlugin(FunctionRef<SluiceStatus(SluiceError*)> callback) {
  std::array<char, 1024> text;
  text[0] = '\0';
  SluiceError error{sizeof(SluiceError), text.data(), text.size(), -1};
  PluginResult result;
  try {
    result.status = callback(&error);
    text.back() = '\0';
    result.text = text.data();
  } catch (const std::exception& thrown) {
    result.threw = true;
    result.text = thrown.what();
  } catch (...) {
    result.threw = true;
    result.text = "not a std::exception";
  }
  if (result.threw) result.status = SLUICE_INTERNAL;
  result.op_index = error.op_index;
  return result;
}

void EnforcePluginOk(std::string_view who,
                     std::string_view callback,
                     const PluginResult& result) {
  SLUICE_ENFORCE(!result.threw, ErrorCode::kInternal, "plugin.threw",
                 "{}: the plug-in's {} threw an exception ({}); expected a "
                 "status",
                 who, callback, result.text);
  if (result.status == SLUICE_OK) return;
  std::string text = result.text;
  if (text.empty()) text = Format("status {} without a reason", result.status);
  if (result.op_index >= 0) {
    text += Format(" (in the queued work of op {})", result.op_index);
  }
  Fail(ErrorCodeOf(result.status), "plugin.callback_failed",
       "{}: the plug-in's {} failed: {}", who, callback, text);
}

}  // namespace sluice::platform
