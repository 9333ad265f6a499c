#pragma once

#include <string_view>

#include "sluice/framework/checkpoint/checkpoint_header.h"

namespace sluice {

// Reads the header of a safetensors file that Sluice did not write, by the
// format's own rules (github.com/huggingface/safetensors, README): any order of
// keys and tensors, spaces, other metadata; tensors fill the data without gaps.
// `text` is the text between the 8 bytes and the data. Returns the tensors in
// the order of the data, without checksums and step. Raises DataLoss for an
// invalid header, Unimplemented for a dtype that Sluice lacks; errors name the
// tensor.
CheckpointHeader ReadForeignHeader(std::string_view text);

}  // namespace sluice
