#include "sluice/operators/math/optimizer/optimizer_steps.h"

// HWY_TARGET_INCLUDE makes this file include itself once for every
// instruction set.
#define HWY_DISABLED_TARGETS SLUICE_DISABLED_TARGETS
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/operators/math/optimizer/optimizer_steps.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice::operators::math {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, typename T>
HWY_INLINE void Update(D d, const SgdStep<T>& step, int64_t i) {
  const auto change =
      hn::Mul(hn::Set(d, step.rate), hn::LoadU(d, step.grad + i));
  hn::StoreU(hn::Sub(hn::LoadU(d, step.param + i), change), d,
             step.param_out + i);
}

template <class D, typename T>
HWY_INLINE void Update(D d, const MomentumStep<T>& step, int64_t i) {
  const auto mu = hn::Set(d, step.mu);
  const auto param = hn::LoadU(d, step.param + i);
  const auto grad = hn::Add(hn::LoadU(d, step.grad + i),
                            hn::Mul(hn::Set(d, step.decay), param));
  const auto velocity =
      hn::Add(hn::Mul(mu, hn::LoadU(d, step.velocity + i)), grad);
  const auto direction =
      step.nesterov ? hn::Add(grad, hn::Mul(mu, velocity)) : velocity;
  hn::StoreU(velocity, d, step.velocity_out + i);
  hn::StoreU(hn::Sub(param, hn::Mul(hn::Set(d, step.rate), direction)), d,
             step.param_out + i);
}

template <class D, typename T>
HWY_INLINE void Update(D d, const AdamStep<T>& step, int64_t i) {
  const auto param = hn::LoadU(d, step.param + i);
  const auto grad = hn::LoadU(d, step.grad + i);
  const auto moment1 =
      hn::Add(hn::Mul(hn::Set(d, step.beta1), hn::LoadU(d, step.moment1 + i)),
              hn::Mul(hn::Set(d, step.rest1), grad));
  const auto moment2 =
      hn::Add(hn::Mul(hn::Set(d, step.beta2), hn::LoadU(d, step.moment2 + i)),
              hn::Mul(hn::Mul(hn::Set(d, step.rest2), grad), grad));
  const auto change =
      hn::Div(hn::Mul(hn::Set(d, step.rate), moment1),
              hn::Add(hn::Sqrt(moment2), hn::Set(d, step.epsilon)));
  hn::StoreU(moment1, d, step.moment1_out + i);
  hn::StoreU(moment2, d, step.moment2_out + i);
  hn::StoreU(hn::Sub(param, change), d, step.param_out + i);
}

template <typename T, class Step>
HWY_INLINE void UpdateAll(const Step& step, int64_t begin, int64_t end) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    Update(d, step, i);
  }
  const hn::CappedTag<T, 1> one;
  for (; i < end; ++i) {
    Update(one, step, i);
  }
}

void SgdF32(const SgdStep<float>& step, int64_t begin, int64_t end) {
  UpdateAll<float>(step, begin, end);
}
void SgdF64(const SgdStep<double>& step, int64_t begin, int64_t end) {
  UpdateAll<double>(step, begin, end);
}
void MomentumF32(const MomentumStep<float>& step, int64_t begin, int64_t end) {
  UpdateAll<float>(step, begin, end);
}
void MomentumF64(const MomentumStep<double>& step, int64_t begin, int64_t end) {
  UpdateAll<double>(step, begin, end);
}
void AdamF32(const AdamStep<float>& step, int64_t begin, int64_t end) {
  UpdateAll<float>(step, begin, end);
}
void AdamF64(const AdamStep<double>& step, int64_t begin, int64_t end) {
  UpdateAll<double>(step, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice::operators::math
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::operators::math {
namespace {

HWY_EXPORT(SgdF32);
HWY_EXPORT(SgdF64);
HWY_EXPORT(MomentumF32);
HWY_EXPORT(MomentumF64);
HWY_EXPORT(AdamF32);
HWY_EXPORT(AdamF64);

}  // namespace

template <>
SLUICE_API void SgdStep<float>::Run(int64_t begin, int64_t end) const {
  HWY_DYNAMIC_DISPATCH(SgdF32)(*this, begin, end);
}
template <>
SLUICE_API void SgdStep<double>::Run(int64_t begin, int64_t end) const {
  HWY_DYNAMIC_DISPATCH(SgdF64)(*this, begin, end);
}
template <>
SLUICE_API void MomentumStep<float>::Run(int64_t begin, int64_t end) const {
  HWY_DYNAMIC_DISPATCH(MomentumF32)(*this, begin, end);
}
template <>
SLUICE_API void MomentumStep<double>::Run(int64_t begin, int64_t end) const {
  HWY_DYNAMIC_DISPATCH(MomentumF64)(*this, begin, end);
}
template <>
SLUICE_API void AdamStep<float>::Run(int64_t begin, int64_t end) const {
  HWY_DYNAMIC_DISPATCH(AdamF32)(*this, begin, end);
}
template <>
SLUICE_API void AdamStep<double>::Run(int64_t begin, int64_t end) const {
  HWY_DYNAMIC_DISPATCH(AdamF64)(*this, begin, end);
}

}  // namespace sluice::operators::math
#endif  // HWY_ONCE
