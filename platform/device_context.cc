#include "sluice/platform/device_context.h"

namespace sluice::platform {

DeviceContext::~DeviceContext() = default;

}  // namespace sluice::platform
