#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "sluice/build_stamp.h"

// What a library of kernels says about how it was built, in a note of its ELF
// file: it is read and compared before the library is opened, so that no code
// of a library that does not fit is ever called. The text looks like
// "version=0.1.0 headers=1f00c2a97b3e fmt=90100 strings=1 cuda=OFF".

namespace sluice::framework {

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

}  // namespace sluice::framework

#define SLUICE_STAMP_TEXT_OF(value) #value
#define SLUICE_STAMP_TEXT(value) SLUICE_STAMP_TEXT_OF(value)

// What has to be equal in a library and in Sluice: the version and the headers,
// and what the names of fmt's and the standard library's types depend on.
#define SLUICE_KERNEL_STAMP                     \
  SLUICE_BUILD_STAMP " fmt=" SLUICE_STAMP_TEXT( \
      FMT_VERSION) " strings=" SLUICE_STAMP_TEXT(_GLIBCXX_USE_CXX11_ABI)

// Once in each library of kernels, outside of namespaces; the build writes it.
// `cuda` says what its CUDA kernels are compiled for: "ON", "EMULATE", or "OFF"
// where it has none.
#define SLUICE_KERNEL_LIBRARY(cuda)                                \
  __attribute__((section(".note.sluice"), used,                    \
                 aligned(4))) static const ::sluice::framework::   \
      KernelLibraryNote<sizeof(SLUICE_KERNEL_STAMP " cuda=" cuda)> \
          sluice_kernel_library_note = {.text =                    \
                                            SLUICE_KERNEL_STAMP " cuda=" cuda}
