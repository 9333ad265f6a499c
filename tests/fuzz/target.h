#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// The functions of a fuzzer. With libFuzzer, its main calls the first;
// otherwise that of fuzz_main.cc calls it with inputs of the second.

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace sluice::fuzz {

// The input for these random bytes, based on the known input `seed` unless that
// is empty.
std::string MakeInput(std::string_view random, const std::string& seed);

}  // namespace sluice::fuzz
