#include "sluice/platform/diagnostics/version.h"

namespace sluice {

std::string_view SluiceVersion() {
  return SLUICE_VERSION;
}

}  // namespace sluice
