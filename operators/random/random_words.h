#pragma once

#include <cstdint>

#include "sluice/operators/random/philox.h"
#include "sluice/platform/export.h"

namespace sluice {

// Sets words[4 i + l] = stream.Block(first + i).word[l] for `blocks` blocks, on
// the calling thread.
SLUICE_API void RandomWords(const RandomStream& stream,
                            uint64_t first,
                            int64_t blocks,
                            uint32_t* words);

}  // namespace sluice
