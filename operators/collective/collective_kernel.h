#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/platform/error.h"
#include "sluice/platform/ranks/world.h"

namespace sluice {

// The dtypes that can be reduced: no bool, and no dtype for storage only.
inline constexpr std::array kReducedDTypes = {
    DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16,
    DType::kInt8,    DType::kUInt8,   DType::kInt16,   DType::kUInt16,
    DType::kInt32,   DType::kUInt32,  DType::kInt64,   DType::kUInt64};

// Predicates of kernels: for a single rank, and for several.
inline std::string OneRank(const KernelQuery& /*query*/) {
  const int size = World::Get().size();
  return size == 1 ? "" : Format("is for one rank, there are {}", size);
}
inline std::string SeveralRanks(const KernelQuery& /*query*/) {
  return World::Get().size() > 1
             ? ""
             : "there is one rank: start the program with mpirun, and join the "
               "others (World::Join, in Python sluice.distributed.init())";
}

// These raise InvalidArgument if attributes do not fit the number of ranks.
inline void CheckRoot(std::string_view op, int64_t root) {
  const int ranks = World::Get().size();
  SLUICE_ENFORCE(root < ranks, ErrorCode::kInvalidArgument, "collective.root",
                 "{}: attribute root = {}; expected a rank below {}", op, root,
                 ranks);
}
inline void CheckRanks(std::string_view op, int64_t nranks) {
  const int ranks = World::Get().size();
  SLUICE_ENFORCE(nranks == ranks, ErrorCode::kInvalidArgument,
                 "collective.nranks",
                 "{}: attribute nranks = {}, but the program runs on {} ranks",
                 op, nranks, ranks);
}

// The kernel of a single rank: outputs equal the inputs. Copy(context, from,
// to, bytes) copies at the kernel's place.
template <void (*Copy)(OpKernelContext&, const void*, void*, size_t)>
class OneRankKernelBy : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    if (query.op.attributes.contains("root")) {
      CheckRoot(query.op.type, query.Attr<int64_t>("root"));
    }
    if (query.op.attributes.contains("nranks")) {
      CheckRanks(query.op.type, query.Attr<int64_t>("nranks"));
    }
    dims_.assign(query.outputs.begin(), query.outputs.end());
  }

  void Compute(OpKernelContext& context) const override {
    for (int i = 0; i < static_cast<int>(dims_.size()); ++i) {
      const void* from = context.Input(i).raw_data();
      Tensor& out = context.AllocateOutput(i, dims_[i]);
      void* to = out.raw_data();
      if (out.numel() > 0 && from != to) Copy(context, from, to, out.bytes());
    }
  }

 private:
  std::vector<DDim> dims_;
};

}  // namespace sluice
