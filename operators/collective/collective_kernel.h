#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/platform/error.h"
#include "sluice/platform/ranks/world.h"

namespace sluice::operators {

// The dtypes that can be reduced: no bool, and no dtype for storage only.
inline constexpr std::array kReducedDTypes = {
    platform::DType::kFloat32, platform::DType::kFloat64,
    platform::DType::kFloat16, platform::DType::kBFloat16,
    platform::DType::kInt8,    platform::DType::kUInt8,
    platform::DType::kInt16,   platform::DType::kUInt16,
    platform::DType::kInt32,   platform::DType::kUInt32,
    platform::DType::kInt64,   platform::DType::kUInt64};

// Predicates of kernels: for a single rank, and for several.
inline std::string OneRank(const framework::KernelQuery& /*query*/) {
  const int size = platform::World::Get().size();
  return size == 1 ? ""
                   : platform::Format("is for one rank, there are {}", size);
}
inline std::string SeveralRanks(const framework::KernelQuery& /*query*/) {
  return platform::World::Get().size() > 1
             ? ""
             : "there is one rank: start the program with mpirun, and join the "
               "others (World::Join, in Python sluice.distributed.init())";
}

// These raise InvalidArgument if attributes do not fit the number of ranks.
inline void CheckRoot(std::string_view op, int64_t root) {
  const int ranks = platform::World::Get().size();
  SLUICE_ENFORCE(root < ranks, ErrorCode::kInvalidArgument, "collective.root",
                 "{}: attribute root = {}; expected a rank below {}", op, root,
                 ranks);
}
inline void CheckRanks(std::string_view op, int64_t nranks) {
  const int ranks = platform::World::Get().size();
  SLUICE_ENFORCE(nranks == ranks, ErrorCode::kInvalidArgument,
                 "collective.nranks",
                 "{}: attribute nranks = {}, but the program runs on {} ranks",
                 op, nranks, ranks);
}

}  // namespace sluice::operators
