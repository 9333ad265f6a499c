#pragma once

#include <unsupported/Eigen/CXX11/Tensor>

#include "sluice/framework/values/tensor.h"
#include "sluice/operators/math/half_conversions.h"
#include "sluice/platform/cpu_device_context.h"
#include "sluice/platform/cuda_device_context.h"

// Eigen views of tensors, with TensorFlow's names. For .cc and .cu files only,
// which need Eigen on their include path; .cu files include <eigen_gpu.cuh>
// first. A view uses the memory of its tensor at the tensor's place, and is
// valid as long as the tensor keeps it. Expressions over views of device memory
// are evaluated with `.device(context.eigen_device<Device>())`.
namespace sluice {

// The types of views of a tensor of T with kRank dimensions. float16 and
// bfloat16 become Eigen::half and Eigen::bfloat16.
template <typename T, int kRank>
struct TTypes {
  template <typename Element, int kDims>
  using View = Eigen::TensorMap<
      Eigen::Tensor<Element, kDims, Eigen::RowMajor, Eigen::Index>>;
  using Element = EigenType<T>;

  using Tensor = View<Element, kRank>;
  using ConstTensor = View<const Element, kRank>;
  using Scalar = View<Element, 0>;
  using ConstScalar = View<const Element, 0>;
  using Flat = View<Element, 1>;
  using ConstFlat = View<const Element, 1>;
  using Vec = View<Element, 1>;
  using ConstVec = View<const Element, 1>;
  using Matrix = View<Element, 2>;
  using ConstMatrix = View<const Element, 2>;
};

namespace internal {

// Returns a view of `data`, the elements of a tensor of shape `dims`.
template <typename View, typename T>
View ViewOf(T* data, const DDim& dims) {
  typename View::Dimensions sizes;
  for (int axis = 0; axis < View::NumIndices; ++axis) {
    sizes[axis] = dims[axis];
  }
  return View(reinterpret_cast<typename View::StoragePointerType>(data), sizes);
}

}  // namespace internal

template <typename T>
typename TTypes<T>::Flat Tensor::flat() {
  return internal::ViewOf<typename TTypes<T>::Flat>(data<T>(), {numel()});
}
template <typename T>
typename TTypes<T>::ConstFlat Tensor::flat() const {
  return internal::ViewOf<typename TTypes<T>::ConstFlat>(data<T>(), {numel()});
}
template <typename T, int kRank>
typename TTypes<T, kRank>::Tensor Tensor::tensor() {
  CheckView(kDTypeOf<T>, kRank);
  return internal::ViewOf<typename TTypes<T, kRank>::Tensor>(data<T>(), dims_);
}
template <typename T, int kRank>
typename TTypes<T, kRank>::ConstTensor Tensor::tensor() const {
  CheckView(kDTypeOf<T>, kRank);
  return internal::ViewOf<typename TTypes<T, kRank>::ConstTensor>(data<T>(),
                                                                  dims_);
}

}  // namespace sluice
