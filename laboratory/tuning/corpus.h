#pragma once

#include <string>
#include <vector>

#include "sluice/laboratory/tuning/kernel_run.h"
#include "sluice/platform/export.h"

namespace sluice {

// One op of a network with its shapes for a batch.
struct CorpusCase {
  std::string network;  // "ResNet-50", or "odd sizes"
  OpFacts facts;
};

// `cases` random ops: layers of ten well-known networks, and sizes that no
// network has; forward and backward, channels first and last, constant and
// trained parameters, batches of 1 to 32, with at most a billion operations if
// above 1. Equal arguments return equal cases.
SLUICE_API std::vector<CorpusCase> DrawCorpus(unsigned seed, int cases);

// Likewise, convolutions and poolings of volumes. They have one kernel each, so
// that no choice depends on what they cost.
SLUICE_API std::vector<CorpusCase> DrawVolumes(unsigned seed, int cases);

// The op with random values of its inputs.
SLUICE_API IsolatedOp WithValues(const CorpusCase& drawn);

}  // namespace sluice
