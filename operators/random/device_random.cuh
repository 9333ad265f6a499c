#pragma once

#include "sluice/operators/random/philox.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice {

// Calls body(words, first, elements) on the device for each block of four
// elements of a tensor. Element first + i has word i of `words`.
template <typename Body>
void ForEachRandomBlock(const CUDADeviceContext& device,
                        const RandomStream& stream,
                        int64_t count,
                        const Body& body) {
  ForEach(device, count / 4 + (count % 4 != 0 ? 1 : 0),
          [=] __device__(int64_t block) {
            const int64_t left = count - 4 * block;
            body(stream.Block(static_cast<uint64_t>(block)), 4 * block,
                 static_cast<int>(left < 4 ? left : 4));
          });
}

}  // namespace sluice
