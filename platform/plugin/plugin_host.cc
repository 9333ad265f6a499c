#include "sluice/platform/plugin/plugin_host.h"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <exception>

#include "sluice/platform/diagnostics/logging.h"

namespace sluice {
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

// A function of the attributes as one of the table.
template <auto kGet, typename... Args>
SluiceStatus HostAttribute(const SluiceAttributes* attributes,
                           const char* name,
                           Args... args) {
  return (attributes->*kGet)(name, args...);
}

}  // namespace

const SluiceHost* PluginHost() {
  static const SluiceHost kHost = {
      .struct_size = sizeof(SluiceHost),
      .abi_oldest = SLUICE_PLUGIN_ABI_VERSION,
      .abi_newest = SLUICE_PLUGIN_ABI_VERSION,
      .fail = &HostFail,
      .log = &HostLog,
      .attr_bool = &HostAttribute<&SluiceAttributes::Bool>,
      .attr_int = &HostAttribute<&SluiceAttributes::Int>,
      .attr_float = &HostAttribute<&SluiceAttributes::Float>,
      .attr_string = &HostAttribute<&SluiceAttributes::String>,
      .attr_ints = &HostAttribute<&SluiceAttributes::Ints>,
      .attr_floats = &HostAttribute<&SluiceAttributes::Floats>,
      .attr_string_at = &HostAttribute<&SluiceAttributes::StringAt>,
  };
  return &kHost;
}

// The codes of both are in the same order.
static_assert(SLUICE_DEVICE_LOST - SLUICE_INVALID_ARGUMENT ==
              static_cast<int>(ErrorCode::kDeviceLost) -
                  static_cast<int>(ErrorCode::kInvalidArgument));

ErrorCode ErrorCodeOf(SluiceStatus status) {
  const bool known =
      status >= SLUICE_INVALID_ARGUMENT && status <= SLUICE_DEVICE_LOST;
  return known ? static_cast<ErrorCode>(status - SLUICE_INVALID_ARGUMENT)
               : ErrorCode::kInternal;
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

}  // namespace sluice
