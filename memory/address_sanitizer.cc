#include "sluice/memory/address_sanitizer.h"

#if defined(__SANITIZE_ADDRESS__)
#define SLUICE_HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLUICE_HAS_ASAN 1
#endif
#endif

#ifdef SLUICE_HAS_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace sluice {

#ifdef SLUICE_HAS_ASAN
void PoisonForSanitizer(void* pointer, size_t bytes) noexcept {
  __asan_poison_memory_region(pointer, bytes);
}
void UnpoisonForSanitizer(void* pointer, size_t bytes) noexcept {
  __asan_unpoison_memory_region(pointer, bytes);
}
#else
void PoisonForSanitizer(void*, size_t) noexcept {}
void UnpoisonForSanitizer(void*, size_t) noexcept {}
#endif

}  // namespace sluice
