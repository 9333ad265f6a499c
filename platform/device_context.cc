#include "sluice/platform/device_context.h"

namespace sluice {

DeviceContext::~DeviceContext() = default;

}  // namespace sluice
