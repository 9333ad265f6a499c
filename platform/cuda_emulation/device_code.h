#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

// These have overloads for float in the global namespace, as in CUDA.
#include <math.h>
#include <stdlib.h>

#include "sluice/platform/export.h"

// Names that kernel code uses: qualifiers, indices, barriers, warp functions,
// atomics and a few intrinsics, as CUDA spells them. Use
// SLUICE_SHARED_ARRAY and SLUICE_DYNAMIC_SHARED (platform/cuda/launch.h) for
// shared memory: __shared__ is left undefined.

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(n) alignas(n)

struct uint2 {
  unsigned x, y;
};
struct uint3 {
  unsigned x, y, z;
};
struct uint4 {
  unsigned x, y, z, w;
};
struct dim3 {
  constexpr dim3(unsigned width = 1, unsigned height = 1, unsigned depth = 1)
      : x(width), y(height), z(depth) {}
  unsigned x, y, z;
};
struct alignas(8) int2 {
  int x, y;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) double2 {
  double x, y;
};
inline float2 make_float2(float x, float y) {
  return {x, y};
}
inline float4 make_float4(float x, float y, float z, float w) {
  return {x, y, z, w};
}

// One thread of one block runs at a time, so these can be globals.
SLUICE_API extern uint3 threadIdx;
SLUICE_API extern uint3 blockIdx;
SLUICE_API extern dim3 blockDim;
SLUICE_API extern dim3 gridDim;
inline constexpr int warpSize = 32;

namespace sluice::cuda_emulation {

// The location of a barrier; clang 14 lacks std::source_location.
struct Site {
  const char* file;
  int line;
  static constexpr Site Here(const char* file = __builtin_FILE(),
                             int line = __builtin_LINE()) {
    return {file, line};
  }
};

enum class WarpOp : uint8_t { kSync, kIndex, kUp, kDown, kXor, kBallot };

struct WarpCall {
  WarpOp op;
  unsigned mask;
  uint64_t value = 0;
  int argument = 0;
  int width = 32;
};

SLUICE_API void SyncBlock(Site site);
SLUICE_API uint64_t CallWarp(const WarpCall& call, Site site);

// Returns the block's shared array for `key`.
SLUICE_API void* SharedArray(const void* key,
                             const char* name,
                             size_t bytes,
                             size_t alignment);
SLUICE_API void* DynamicShared();

template <typename T>
T Shuffle(WarpCall call, T value, Site site) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
  std::memcpy(&call.value, &value, sizeof(T));
  const uint64_t bits = CallWarp(call, site);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace sluice::cuda_emulation

inline void __syncthreads(
    sluice::cuda_emulation::Site site = sluice::cuda_emulation::Site::Here()) {
  sluice::cuda_emulation::SyncBlock(site);
}

inline void __syncwarp(
    unsigned mask = ~0U,
    sluice::cuda_emulation::Site site = sluice::cuda_emulation::Site::Here()) {
  sluice::cuda_emulation::CallWarp(
      {sluice::cuda_emulation::WarpOp::kSync, mask}, site);
}

inline unsigned __ballot_sync(
    unsigned mask,
    int predicate,
    sluice::cuda_emulation::Site site = sluice::cuda_emulation::Site::Here()) {
  return static_cast<unsigned>(sluice::cuda_emulation::CallWarp(
      {sluice::cuda_emulation::WarpOp::kBallot, mask,
       static_cast<uint64_t>(predicate != 0)},
      site));
}

inline int __any_sync(
    unsigned mask,
    int predicate,
    sluice::cuda_emulation::Site site = sluice::cuda_emulation::Site::Here()) {
  return __ballot_sync(mask, predicate, site) != 0 ? 1 : 0;
}

inline int __all_sync(
    unsigned mask,
    int predicate,
    sluice::cuda_emulation::Site site = sluice::cuda_emulation::Site::Here()) {
  return __ballot_sync(mask, predicate == 0, site) == 0 ? 1 : 0;
}

template <typename T>
T __shfl_sync(
    unsigned mask,
    T value,
    int lane,
    int width = 32,
    sluice::cuda_emulation::Site site = sluice::cuda_emulation::Site::Here()) {
  return sluice::cuda_emulation::Shuffle(
      {sluice::cuda_emulation::WarpOp::kIndex, mask, 0, lane, width}, value,
      site);
}

template <typename T>
T __shfl_up_sync(
    unsigned mask,
    T value,
    int distance,
    int width = 32,
    sluice::cuda_emulation::Site site = sluice::cuda_emulation::Site::Here()) {
  return sluice::cuda_emulation::Shuffle(
      {sluice::cuda_emulation::WarpOp::kUp, mask, 0, distance, width}, value,
      site);
}

template <typename T>
T __shfl_down_sync(
    unsigned mask,
    T value,
    int distance,
    int width = 32,
    sluice::cuda_emulation::Site site = sluice::cuda_emulation::Site::Here()) {
  return sluice::cuda_emulation::Shuffle(
      {sluice::cuda_emulation::WarpOp::kDown, mask, 0, distance, width}, value,
      site);
}

template <typename T>
T __shfl_xor_sync(
    unsigned mask,
    T value,
    int bits,
    int width = 32,
    sluice::cuda_emulation::Site site = sluice::cuda_emulation::Site::Here()) {
  return sluice::cuda_emulation::Shuffle(
      {sluice::cuda_emulation::WarpOp::kXor, mask, 0, bits, width}, value,
      site);
}

inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}

// One thread runs at a time and threads switch only at barriers, so plain loads
// and stores are atomic.
template <typename T>
T atomicAdd(T* target, std::type_identity_t<T> value) {
  const T old = *target;
  *target = static_cast<T>(old + value);
  return old;
}
template <typename T>
T atomicSub(T* target, std::type_identity_t<T> value) {
  const T old = *target;
  *target = static_cast<T>(old - value);
  return old;
}
template <typename T>
T atomicMin(T* target, std::type_identity_t<T> value) {
  const T old = *target;
  *target = value < old ? value : old;
  return old;
}
template <typename T>
T atomicMax(T* target, std::type_identity_t<T> value) {
  const T old = *target;
  *target = old < value ? value : old;
  return old;
}
template <typename T>
T atomicExch(T* target, std::type_identity_t<T> value) {
  const T old = *target;
  *target = value;
  return old;
}
template <typename T>
T atomicCAS(T* target,
            std::type_identity_t<T> expected,
            std::type_identity_t<T> value) {
  const T old = *target;
  if (old == expected) *target = value;
  return old;
}

template <typename T>
T __ldg(const T* from) {
  return *from;
}
inline float rsqrtf(float x) {
  return 1.0F / std::sqrt(x);
}
inline double rsqrt(double x) {
  return 1.0 / std::sqrt(x);
}
inline int __popc(unsigned x) {
  return std::popcount(x);
}
inline int __clz(int x) {
  return std::countl_zero(static_cast<unsigned>(x));
}
inline unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>(static_cast<uint64_t>(x) * y >> 32);
}
inline int __float_as_int(float x) {
  return std::bit_cast<int>(x);
}
inline float __int_as_float(int x) {
  return std::bit_cast<float>(x);
}
inline unsigned __float_as_uint(float x) {
  return std::bit_cast<unsigned>(x);
}
inline float __uint_as_float(unsigned x) {
  return std::bit_cast<float>(x);
}
using std::max;
using std::min;
