#include "sluice/laboratory/measure/cold_cache.h"

#include "tests/testing/expect_error.h"
#include "tests/testing/resource_limit.h"
#include <gtest/gtest.h>

#include "sluice/platform/error.h"

namespace sluice {
namespace {

TEST(CacheEvictor, SaysThatThereIsNoMemoryForIt) {
  if (!sluice::testing::AddressSpaceCanBeLimited()) {
    GTEST_SKIP() << "the address sanitizer needs address space of its own";
  }
  const size_t bytes = CacheEvictor().bytes();
  sluice::testing::ExpectError(
      ErrorCode::kResourceExhausted, "measure.evictor",
      {std::to_string(bytes), "Cannot allocate memory"}, [&] {
        const sluice::testing::ResourceLimit limit(
            RLIMIT_AS, sluice::testing::AddressSpace() + bytes / 2);
        const CacheEvictor evictor;
      });
}

}  // namespace
}  // namespace sluice
