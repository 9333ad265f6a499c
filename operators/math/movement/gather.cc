#include "sluice/operators/math/movement/gather.h"

#include <algorithm>
#include <cstring>

#include "sluice/operators/math/strided_copy.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// kBytes is 0 if the size of a slice is known only at run time.
template <size_t kBytes, typename Index>
void CopySlices(const char* x,
                const Index* index,
                int64_t count,
                int64_t size,
                size_t slice_bytes,
                char* out) {
  const size_t bytes = kBytes > 0 ? kBytes : slice_bytes;
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<int64_t>(index[i]);
    std::memcpy(out + static_cast<size_t>(i) * bytes,
                x + static_cast<size_t>(at < 0 ? at + size : at) * bytes,
                bytes);
  }
}

template <typename Index>
auto ChooseCopy(size_t slice_bytes) {
  switch (slice_bytes) {
    case 1:
      return CopySlices<1, Index>;
    case 2:
      return CopySlices<2, Index>;
    case 4:
      return CopySlices<4, Index>;
    case 8:
      return CopySlices<8, Index>;
    default:
      return CopySlices<0, Index>;
  }
}

}  // namespace

template <typename Index>
int64_t FindOutside(const Index* index,
                    int64_t count,
                    int64_t size,
                    int64_t least) {
  const auto outside = [size, least](Index value) {
    return static_cast<int64_t>(value) < least ||
           static_cast<int64_t>(value) >= size;
  };
  const Index* found = std::find_if(index, index + count, outside);
  return found == index + count ? -1 : found - index;
}

template <typename Index>
void Gather(const void* x,
            const Index* index,
            int64_t outer,
            int64_t size,
            int64_t count,
            size_t slice_bytes,
            void* out) {
  const auto copy = ChooseCopy<Index>(slice_bytes);
  const auto bytes = static_cast<int64_t>(slice_bytes);
  const int64_t grain = std::max<int64_t>(kCopyShardBytes / bytes, 1);
  ParallelFor(outer * count, grain, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t row = begin / count;
      const int64_t first = begin % count;
      const int64_t slices = std::min(count - first, end - begin);
      copy(static_cast<const char*>(x) + row * size * bytes, index + first,
           slices, size, slice_bytes, static_cast<char*>(out) + begin * bytes);
      begin += slices;
    }
  });
}

SLUICE_INSTANTIATE_INDICES(FindOutside);
SLUICE_INSTANTIATE_INDICES(Gather);

}  // namespace sluice
