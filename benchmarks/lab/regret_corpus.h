#pragma once

#include <string>
#include <vector>

#include "sluice/framework/tuning/kernel_run.h"

namespace sluice::bench {

// One op of a network with the shapes that a batch gives it.
struct CorpusCase {
  std::string network;  // "ResNet-50", or "odd sizes"
  framework::OpFacts facts;
};

// So many ops that are drawn at random: layers of ten well-known networks, and
// sizes that no network has; forward and backward, channels first and last,
// parameters that are constant and parameters that are trained, batches of 1
// to 32, those above 1 with a billion operations at most. Equal arguments give
// equal cases.
std::vector<CorpusCase> DrawCorpus(unsigned seed, int cases);

// The op with random values for its inputs.
framework::IsolatedOp WithValues(const CorpusCase& drawn);

}  // namespace sluice::bench
