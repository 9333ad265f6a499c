#pragma once

#include <string>

#include "sluice/platform/export.h"

namespace sluice::framework {

// On which machines a time means the same: those with the same processor and
// the same instruction sets. What a library contributes is part of the version
// of its kernels, and how many CPUs take part is part of a record's key.
struct MachineName {
  // "AMD EPYC (family 25, model 17, stepping 1), sse4.2 avx2 fma avx512f"
  std::string text;
  std::string hash;  // 12 hexadecimal digits of the text's checksum
};

// This machine's; found once, for any thread.
SLUICE_API const MachineName& MachineId();

}  // namespace sluice::framework
