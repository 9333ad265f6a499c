#include "sluice/framework/op/plugin_kernels.h"

#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/framework/op/plugin_call.h"
#include "sluice/framework/op/registry.h"
#include "sluice/platform/device.h"
#include "sluice/platform/error.h"
#include "sluice/platform/plugin/plugin_device.h"

namespace sluice {
namespace {

PluginDevice& DeviceAt(PlaceKey place) {
  return static_cast<PluginDevice&>(DeviceManager::Instance().Get(place));
}

// A plug-in's kernel for one op of a plan. The definition lives for ever.
class PluginKernel final : public OpKernel {
 public:
  explicit PluginKernel(const SluiceKernelDef& def) : def_(def) {}

  ~PluginKernel() override {
    if (state_ == nullptr || def_.release == nullptr) return;
    DeviceAt(place_).Try([&](SluiceError*) {
      def_.release(place_.index, state_);
      return SLUICE_OK;
    });
  }

  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    place_ = query.place;
    attributes_ = query.op.attributes;
    arguments_.emplace(query);
    if (def_.prepare == nullptr) return;
    PluginCall call(*arguments_, shown_attributes_);
    Do("prepare", DeviceAt(place_), &call, [&](const SluiceKernelCall* raw) {
      return def_.prepare(raw, &state_, &scratch_bytes_);
    });
    preparation.scratch_bytes = scratch_bytes_;
  }

  void Compute(OpKernelContext& context) const override {
    auto& device_context = context.device_context<PluginDeviceContext>();
    PluginCall call(*arguments_, shown_attributes_);
    for (size_t i = 0; i < call.inputs().size(); ++i) {
      const Tensor& input = context.Input(static_cast<int>(i));
      call.inputs()[i].data = const_cast<void*>(input.raw_data());
    }
    for (size_t i = 0; i < call.outputs().size(); ++i) {
      const int index = static_cast<int>(i);
      call.outputs()[i].data =
          context.AllocateOutput(index, arguments_->output_dims(index))
              .raw_data();
    }
    call.raw().op_index = device_context.op_index();
    call.raw().queue = device_context.queue();
    call.raw().scratch = context.scratch();
    call.raw().scratch_bytes = scratch_bytes_;
    call.raw().state = state_;
    Do("compute", device_context.device(), &call, def_.compute);
  }

 private:
  template <typename Callback>
  void Do(const char* what,
          const PluginDevice& device,
          PluginCall* call,
          Callback callback) const {
    call->raw().device = device.index();
    call->raw().user_data = def_.user_data;
    const auto result = device.Try([&](SluiceError* error) {
      call->raw().error = error;
      return callback(&call->raw());
    });
    if (result.status == SLUICE_OK) return;
    EnforcePluginOk(ToString(device.place()),
                    Format("{} of kernel {}/{}", what, def_.op, def_.variant),
                    result);
  }

  const SluiceKernelDef& def_;
  PlaceKey place_;
  AttributeMap attributes_;
  PluginAttributes shown_attributes_{attributes_};
  std::optional<PluginArguments> arguments_;
  void* state_ = nullptr;
  size_t scratch_bytes_ = 0;
};

// Returns the reason why the plug-in rejects the op; "" if it accepts it.
std::string Refusal(const SluiceKernelDef& def, const KernelQuery& query) {
  const auto wanted = static_cast<Layout>(def.layout);
  const Layout layout = LayoutOf(query.op);
  if (wanted != Layout::kAny && layout != Layout::kAny && wanted != layout) {
    return Format("is for layout {}, this op is {}", wanted, layout);
  }
  if (def.supports == nullptr) return "";
  const PluginDevice& device = DeviceAt(query.place);
  const PluginArguments arguments(query);
  const PluginAttributes attributes(query.op.attributes);
  PluginCall call(arguments, attributes);
  call.raw().device = device.index();
  call.raw().user_data = def.user_data;
  const PluginResult result = device.Try([&](SluiceError* error) {
    call.raw().error = error;
    return def.supports(&call.raw());
  });
  if (result.status == SLUICE_OK) return "";
  if (result.threw) return "its predicate threw: " + result.text;
  return result.text.empty() ? "its plug-in refuses without a reason"
                             : result.text;
}

// Plug-ins state priorities instead of times: a kernel of higher priority is
// assumed to be faster.
KernelWork PluginWork(int32_t priority, const KernelQuery& query) {
  KernelWork work = DefaultKernelWork(query);
  const double share = std::exp2(-priority / 8.0);
  work.flops *= share;
  work.bytes *= share;
  return work;
}

KernelDef Convert(const DevicePlugin& plugin, const SluiceKernelDef& def) {
  KernelDef kernel;
  kernel.op = def.op;
  kernel.key.place = plugin.kind;
  kernel.key.dtype = static_cast<DType>(def.dtype);
  kernel.variant = def.variant;
  kernel.estimate = [priority = def.priority](const KernelQuery& query) {
    return PluginWork(priority, query);
  };
  kernel.predicate = [&def](const KernelQuery& query) {
    return Refusal(def, query);
  };
  kernel.make = [&def](const OpKernelConstruction&) {
    return std::make_unique<PluginKernel>(def);
  };
  return kernel;
}

}  // namespace

void AddPluginKernels(const DevicePlugin& plugin, Registry& registry) {
  std::vector<KernelDef> kernels;
  for (const SluiceKernelDef& def : plugin.kernels) {
    kernels.push_back(Convert(plugin, def));
    for (const KernelDef* other : registry.Kernels(def.op)) {
      SLUICE_ENFORCE(ToString(*other) != ToString(kernels.back()),
                     ErrorCode::kInvalidArgument, "plugin.kernel_taken",
                     "plug-in {}: kernel {} is registered already", plugin.path,
                     *other);
    }
  }
  for (KernelDef& kernel : kernels) {
    registry.AddKernel(std::move(kernel));
  }
}

const DevicePlugin& LoadDevicePlugin(const std::string& path) {
  Registry::Global();  // registers its kernels
  return LoadPlugin(path);
}

}  // namespace sluice
