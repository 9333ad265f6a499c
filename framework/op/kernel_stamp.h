#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "sluice/build_stamp.h"

// The stamp of a kernel library's build, in a note of its ELF file. It is
// compared before the library is opened, so that no code of an incompatible
// library ever runs. The text has the form "version=0.1.0 headers=1f00c2a97b3e
// fmt=90100 strings=1 cuda=OFF".

namespace sluice {

inline constexpr std::string_view kKernelNoteName = "Sluice";
inline constexpr uint32_t kKernelNoteType = 1;

// An ELF note with a text of `Size` bytes, its zero included.
template <size_t Size>
struct KernelLibraryNote {
  uint32_t name_size = kKernelNoteName.size() + 1;
  uint32_t text_size = Size;
  uint32_t type = kKernelNoteType;
  char name[8] = "Sluice";
  char text[Size];
};

}  // namespace sluice

#define SLUICE_STAMP_TEXT_OF(value) #value
#define SLUICE_STAMP_TEXT(value) SLUICE_STAMP_TEXT_OF(value)

// The values that must be equal in a library and in Sluice: version, headers,
// and the versions that determine type names of fmt and the standard library.
#define SLUICE_KERNEL_STAMP                     \
  SLUICE_BUILD_STAMP " fmt=" SLUICE_STAMP_TEXT( \
      FMT_VERSION) " strings=" SLUICE_STAMP_TEXT(_GLIBCXX_USE_CXX11_ABI)

// Must be used once in each kernel library, outside of namespaces; the build
// writes it. `cuda` is the target of its CUDA kernels: "ON", "EMULATE", or
// "OFF" without any.
#define SLUICE_KERNEL_LIBRARY(cuda)                                          \
  __attribute__((section(".note.sluice"), used, aligned(4))) static const :: \
      sluice::KernelLibraryNote<sizeof(SLUICE_KERNEL_STAMP " cuda=" cuda)>   \
          sluice_kernel_library_note = {.text =                              \
                                            SLUICE_KERNEL_STAMP " cuda=" cuda}
