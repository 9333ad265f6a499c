#pragma once

#include <cstddef>
#include <vector>

namespace sluice::cuda_emulation {

inline constexpr size_t kStaticSharedBytes = size_t{48} << 10;
inline constexpr size_t kDefaultDynamicShared = size_t{48} << 10;
inline constexpr size_t kMaxDynamicShared = size_t{227} << 10;

// The shared memory of the running block. Static arrays follow one another with
// a red zone between them. The dynamic array ends at a page without access. All
// of it is NaN when a block begins.
class SharedMemory {
 public:
  SharedMemory();

  // Called before a grid: forgets the arrays of the last one.
  void BeginGrid(size_t dynamic_bytes);
  // Called before and after each block; EndBlock faults for a damaged red zone.
  void BeginBlock();
  void EndBlock();

  // Faults if the arrays exceed kStaticSharedBytes in all.
  void* Array(const void* key,
              const char* name,
              size_t bytes,
              size_t alignment);
  void* dynamic() const { return dynamic_; }
  // Returns whether `address` is in the page after the dynamic array.
  bool IsGuard(const void* address) const;

 private:
  struct StaticArray {
    const void* key;
    const char* name;
    size_t offset;
    size_t bytes;
  };

  char* memory_ = nullptr;
  char* dynamic_ = nullptr;
  size_t dynamic_bytes_ = 0;
  std::vector<StaticArray> arrays_;
  size_t used_ = 0;
};

}  // namespace sluice::cuda_emulation
