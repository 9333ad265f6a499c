#pragma once

#include <string>

#include "sluice/platform/export.h"

namespace sluice {

// Identifies machines whose times are comparable: those with the same processor
// and instruction sets. Library versions are part of a kernel's version, and
// the number of CPUs is part of a record's key.
struct MachineName {
  // "AMD EPYC (family 25, model 17, stepping 1), sse4.2 avx2 fma avx512f"
  std::string text;
  std::string hash;  // 12 hexadecimal digits of the text's checksum
};

// This machine's; determined once, thread-safe.
SLUICE_API const MachineName& MachineId();

}  // namespace sluice
