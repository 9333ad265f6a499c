#pragma once

#include <string_view>

#include "sluice/framework/checkpoint/checkpoint_header.h"

namespace sluice::framework {

// Reads the header of a safetensors file that something else than Sluice wrote,
// by the format's own rules (github.com/huggingface/safetensors, README):
// any order of keys and tensors, spaces, other metadata; tensors fill the data
// without gaps. `text` is what is between the 8 bytes and the data. The tensors
// come in the order of the data, without checksums; there is no step. Raises
// DataLoss for what is no such header, Unimplemented for a dtype that Sluice
// lacks; errors name the tensor.
CheckpointHeader ReadForeignHeader(std::string_view text);

}  // namespace sluice::framework
