#pragma once

#include <cstddef>
#include <vector>

namespace sluice::cuda_emulation {

inline constexpr size_t kStaticSharedBytes = size_t{48} << 10;
inline constexpr size_t kDefaultDynamicShared = size_t{48} << 10;
inline constexpr size_t kMaxDynamicShared = size_t{227} << 10;

// The shared memory of the block that runs. Static arrays lie behind one
// another with a red zone between them, the dynamic one ends at a page that
// nobody may touch. All of it is NaN when a block begins.
class SharedMemory {
 public:
  SharedMemory();

  // Before a grid: forgets the arrays of the one before.
  void BeginGrid(size_t dynamic_bytes);
  // Before and after each block; EndBlock faults for a damaged red zone.
  void BeginBlock();
  void EndBlock();

  // Faults for more than kStaticSharedBytes in all.
  void* Array(const void* key,
              const char* name,
              size_t bytes,
              size_t alignment);
  void* dynamic() const { return dynamic_; }
  // True for the page behind the dynamic array.
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
