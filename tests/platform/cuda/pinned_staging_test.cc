#include "sluice/platform/cuda/pinned_staging.h"

#include <cstring>

#include "tests/platform/cuda/cuda_test.h"

namespace sluice {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

class CUDAPinnedStaging : public ::sluice::testing::CUDATest {
 protected:
  PinnedStaging staging_;
};

TEST_F(CUDAPinnedStaging, PiecesAreApartAndAligned) {
  char* last = nullptr;
  for (const size_t bytes : {1, 63, 64, 65, 1000}) {
    auto* piece = static_cast<char*>(staging_.Take(bytes));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(piece) % 64, 0u);
    EXPECT_NE(piece, last);
    std::memset(piece, 1, bytes);
    last = piece;
  }
}

TEST_F(CUDAPinnedStaging, ACopyThatIsTooLargeGetsNone) {
  EXPECT_NE(staging_.Take(64 * kMiB), nullptr);
  EXPECT_EQ(staging_.Take(64 * kMiB + 1), nullptr);
}

// A host that enqueues copies faster than they run would pin all its memory.
TEST_F(CUDAPinnedStaging, NoMoreThan256MiBAreOnTheirWayAtOnce) {
  for (int round = 0; round < 2; ++round) {
    int pieces = 0;
    while (pieces < 20 && staging_.Take(32 * kMiB) != nullptr) {
      ++pieces;
    }
    EXPECT_EQ(pieces, 8);
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    staging_.Reset();
  }
}

}  // namespace
}  // namespace sluice
