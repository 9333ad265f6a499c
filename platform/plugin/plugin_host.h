#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sluice/platform/device_plugin.h"
#include "sluice/platform/error.h"
#include "sluice/platform/export.h"
#include "sluice/platform/function_ref.h"

// The interface of plug-ins to an op's attributes. The framework implements it;
// each function is the host function of that name.
struct SLUICE_API SluiceAttributes {
  virtual SluiceStatus Bool(const char* name, int32_t* value) const = 0;
  virtual SluiceStatus Int(const char* name, int64_t* value) const = 0;
  virtual SluiceStatus Float(const char* name, double* value) const = 0;
  virtual SluiceStatus String(const char* name,
                              const char** value,
                              size_t* size) const = 0;
  virtual SluiceStatus Ints(const char* name,
                            const int64_t** values,
                            size_t* size) const = 0;
  virtual SluiceStatus Floats(const char* name,
                              const double** values,
                              size_t* size) const = 0;
  virtual SluiceStatus StringAt(const char* name,
                                size_t index,
                                const char** value,
                                size_t* size) const = 0;

 protected:
  SluiceAttributes() = default;
  ~SluiceAttributes() = default;
};

namespace sluice {

// Returns the host's table, which is passed to every plug-in.
SLUICE_API const SluiceHost* PluginHost();

// Returns the code of a plug-in's status; kInternal for an unknown one.
SLUICE_API ErrorCode ErrorCodeOf(SluiceStatus status);

// The result of a call into a plug-in.
struct PluginResult {
  SluiceStatus status = SLUICE_OK;
  bool threw = false;
  std::string text;  // the plug-in's message; may be empty
  int32_t op_index = -1;
};

// Calls into a plug-in and catches all exceptions. The callback gets the buffer
// for the message.
SLUICE_API PluginResult
CallPlugin(FunctionRef<SluiceStatus(SluiceError*)> callback);

// Raises the error that `callback` reported, if any; `who` is the device or the
// plug-in's file.
SLUICE_API void EnforcePluginOk(std::string_view who,
                                std::string_view callback,
                                const PluginResult& result);

}  // namespace sluice
