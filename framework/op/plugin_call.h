#pragma once

#include <string>
#include <vector>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/framework/values/attribute.h"
#include "sluice/platform/device_plugin.h"
#include "sluice/platform/plugin/plugin_host.h"

namespace sluice {

// An op's attributes for plug-ins. It owns the data of the pointers it returns,
// so it must not be copied during a call.
class PluginAttributes final : public SluiceAttributes {
 public:
  // `attributes` must outlive it.
  explicit PluginAttributes(const AttributeMap& attributes)
      : attributes_(attributes) {}

  SluiceStatus Bool(const char* name, int32_t* value) const override;
  SluiceStatus Int(const char* name, int64_t* value) const override;
  SluiceStatus Float(const char* name, double* value) const override;
  SluiceStatus String(const char* name,
                      const char** value,
                      size_t* size) const override;
  SluiceStatus Ints(const char* name,
                    const int64_t** values,
                    size_t* size) const override;
  SluiceStatus Floats(const char* name,
                      const double** values,
                      size_t* size) const override;
  SluiceStatus StringAt(const char* name,
                        size_t index,
                        const char** value,
                        size_t* size) const override;

 private:
  const AttributeMap& attributes_;
};

// The arguments of one op for plug-ins, without data; made once for each
// kernel. Immutable; the schema must outlive it.
class PluginArguments {
 public:
  explicit PluginArguments(const KernelQuery& query);
  PluginArguments(const PluginArguments&) = delete;
  PluginArguments& operator=(const PluginArguments&) = delete;

  const DDim& output_dims(int index) const { return output_dims_[index]; }

 private:
  friend class PluginCall;
  // For each argument: the flattened index of its tensor, or -1 for an omitted
  // optional one.
  using Order = std::vector<int>;

  std::vector<DDim> input_dims_;
  std::vector<DDim> output_dims_;
  std::vector<SluiceTensorView> inputs_;
  std::vector<SluiceTensorView> outputs_;
  Order input_order_;
  Order output_order_;
};

// One call of a plug-in's kernel. Here the views are flattened, as kernels
// index them; the plug-in gets them in the order of the schema, with null for
// omitted ones.
class PluginCall {
 public:
  // Both must outlive it.
  PluginCall(const PluginArguments& arguments, const SluiceAttributes& given);
  PluginCall(const PluginCall&) = delete;
  PluginCall& operator=(const PluginCall&) = delete;

  std::vector<SluiceTensorView>& inputs() { return inputs_; }
  std::vector<SluiceTensorView>& outputs() { return outputs_; }
  // The plug-in's struct; the caller fills in the remaining members.
  SluiceKernelCall& raw() { return raw_; }

 private:
  std::vector<SluiceTensorView> inputs_;
  std::vector<SluiceTensorView> outputs_;
  std::vector<const SluiceTensorView*> shown_inputs_;
  std::vector<const SluiceTensorView*> shown_outputs_;
  SluiceKernelCall raw_{};
};

}  // namespace sluice
