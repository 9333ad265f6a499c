#pragma once

#include <string>
#include <vector>

#include "sluice/framework/run/executor.h"

namespace sluice::bench {

// A whole network with random inputs and parameters.
struct Network {
  std::string name;  // "lenet_train"
  Program program;
  Feeds feeds;
  Fetches fetches;
};

// LeNet for 16 digits of 28 x 28, an MLP of 784, 256, 128 and 10 units for 64,
// and ResNet-18 and MobileNet (v1) with a quarter of their channels for 4
// images of 64 x 64; each as inference (batch_norm with is_test), and as a
// training step with momentum. The parameters are added to `scope`, with unique
// names.
std::vector<Network> LabNetworks(Scope* scope);

}  // namespace sluice::bench
