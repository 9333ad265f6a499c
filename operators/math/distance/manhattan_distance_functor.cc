#include "sluice/operators/math/distance/manhattan_distance_functor.h"

#include "sluice/operators/math/distance/manhattan_distance.h"

namespace sluice {

namespace {
template <typename T>
T* DataOrNull(Tensor* tensor) {
  return tensor == nullptr ? nullptr : tensor->data<T>();
}
}  // namespace

template <typename T>
void ManhattanDistance<CPUDeviceContext, T>::operator()(
    const CPUDeviceContext& /*context*/,
    const Tensor& x,
    const Tensor& y,
    Tensor* z) const {
  ManhattanDistanceBlocked(x.data<T>(), y.data<T>(), z->data<T>(), x.dims()[0],
                           y.dims()[0], x.dims()[1]);
}

template <typename T>
void ManhattanDistanceGrad<CPUDeviceContext, T>::operator()(
    const CPUDeviceContext& /*context*/,
    const Tensor& x,
    const Tensor& y,
    const Tensor& z_grad,
    Tensor* x_grad,
    Tensor* y_grad) const {
  ManhattanDistanceGradBlocked(x.data<T>(), y.data<T>(), z_grad.data<T>(),
                               DataOrNull<T>(x_grad), DataOrNull<T>(y_grad),
                               x.dims()[0], y.dims()[0], x.dims()[1]);
}

template class SLUICE_API ManhattanDistance<CPUDeviceContext, float>;
template class SLUICE_API ManhattanDistance<CPUDeviceContext, double>;
template class SLUICE_API ManhattanDistanceGrad<CPUDeviceContext, float>;
template class SLUICE_API ManhattanDistanceGrad<CPUDeviceContext, double>;

}  // namespace sluice
