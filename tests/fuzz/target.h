#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// What a fuzzer is made of. With libFuzzer, its main calls the first; else that
// of fuzz_main.cc, with inputs of the second.

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace sluice::fuzz {

// The input that these random bytes make: of `seed`, an input that is known,
// where it is not empty.
std::string MakeInput(std::string_view random, const std::string& seed);

}  // namespace sluice::fuzz
