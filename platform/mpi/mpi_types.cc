#include "sluice/platform/mpi/mpi_types.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include <Eigen/Core>

#include "sluice/platform/error.h"

namespace sluice::mpi {

namespace {

template <typename T>
struct Computed {
  using Type = T;
};
template <>
struct Computed<float16> {
  using Type = Eigen::half;
};
template <>
struct Computed<bfloat16> {
  using Type = Eigen::bfloat16;
};

// Calls work(T()) with the C++ type in which a dtype is computed.
template <typename Work>
auto WithNumberType(DType dtype, const Work& work) -> decltype(work(0)) {
  return VisitDType(dtype, [&]<typename T>() -> decltype(work(0)) {
    if constexpr (std::is_same_v<T, bool> || IsStoredNumber(kDTypeOf<T>)) {
      Raise(ErrorCode::kUnimplemented, "mpi.dtype",
            "{} cannot be reduced: cast to a wider dtype before", dtype);
    } else {
      return work(typename Computed<T>::Type());
    }
  });
}

template <typename T>
T Reduce(Reduction reduction, T a, T b) {
  if (reduction == Reduction::kSum) return static_cast<T>(a + b);
  // NaN is propagated: it counts as the maximum.
  return Eigen::numext::isnan(a) || a > b ? a : b;
}

template <typename T, Reduction kReduction>
void ReduceElements(void* in, void* inout, int* count, MPI_Datatype* /*type*/) {
  const T* a = static_cast<const T*>(in);
  T* b = static_cast<T*>(inout);
  for (int i = 0; i < *count; ++i) {
    b[i] = Reduce(kReduction, a[i], b[i]);
  }
}

template <typename T, Reduction kReduction>
MPI_Op OwnOp() {
  static const MPI_Op kOp = [] {
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(&ReduceElements<T, kReduction>, /*commute=*/1, &op);
    return op;
  }();
  return kOp;
}

// Uses MPI's sum for the types it has; MPI does not define its maximum for NaN.
template <typename T>
MPI_Op OpFor(Reduction reduction) {
  constexpr bool kHalf =
      std::is_same_v<T, Eigen::half> || std::is_same_v<T, Eigen::bfloat16>;
  if (reduction == Reduction::kMax) return OwnOp<T, Reduction::kMax>();
  return kHalf ? OwnOp<T, Reduction::kSum>() : MPI_SUM;
}

template <typename T>
void AddHalves(T* parts, int64_t count, int size) {
  for (int step = 1; step < size; step *= 2) {
    for (int rank = 0; rank + step < size; rank += 2 * step) {
      T* to = parts + rank * count;
      const T* from = parts + (rank + step) * count;
      for (int64_t i = 0; i < count; ++i) {
        to[i] = static_cast<T>(to[i] + from[i]);
      }
    }
  }
}

}  // namespace

MPI_Datatype TypeOf(DType dtype) {
  switch (dtype) {
    // NOLINTBEGIN(bugprone-branch-clone)
#define SLUICE_ROW(dtype, number, type, onnx_type, mpi, ...) \
  case DType::dtype:                                         \
    return mpi;
    SLUICE_DTYPES(SLUICE_ROW)
#undef SLUICE_ROW
    // NOLINTEND(bugprone-branch-clone)
  }
  return MPI_DATATYPE_NULL;
}

MPI_Op ReductionOf(const Collective& collective) {
  return WithNumberType(collective.dtype, [&]<typename T>(T /*number*/) {
    return OpFor<T>(collective.reduction);
  });
}

size_t Bytes(const Collective& collective) {
  return static_cast<size_t>(collective.count) * SizeOf(collective.dtype);
}

void ReduceInOrder(const Collective& collective, int size, std::byte* parts) {
  WithNumberType(collective.dtype, [&]<typename T>(T /*number*/) {
    AddHalves(reinterpret_cast<T*>(parts), collective.count, size);
  });
  std::memcpy(collective.to, parts, Bytes(collective));
}

}  // namespace sluice::mpi
