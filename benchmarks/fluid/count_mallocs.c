// Counts allocations of a process that has this library in LD_PRELOAD, for
// worker.py. Needs glibc, whose internal names these are.
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* pointer, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

static atomic_long count;

long sluice_mallocs(void) {
  return count;
}

void* malloc(size_t bytes) {
  ++count;
  return __libc_malloc(bytes);
}

void* calloc(size_t number, size_t bytes) {
  ++count;
  return __libc_calloc(number, bytes);
}

void* realloc(void* pointer, size_t bytes) {
  ++count;
  return __libc_realloc(pointer, bytes);
}

void* memalign(size_t alignment, size_t bytes) {
  ++count;
  return __libc_memalign(alignment, bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes) {
  return memalign(alignment, bytes);
}

int posix_memalign(void** pointer, size_t alignment, size_t bytes) {
  void* const found = memalign(alignment, bytes);
  if (found == NULL) return ENOMEM;
  *pointer = found;
  return 0;
}
