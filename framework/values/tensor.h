#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "sluice/framework/values/ddim.h"
#include "sluice/platform/dtype.h"
#include "sluice/platform/error.h"
#include "sluice/platform/export.h"
#include "sluice/platform/place_key.h"

namespace sluice {

// A block of memory at one place, shared by the tensors that alias it. The last
// of them frees it, or returns it to its owner.
class SLUICE_API Placeholder {
 public:
  // Memory from Alloc. Raises ResourceExhausted.
  Placeholder(PlaceKey place, size_t bytes);
  // Wraps memory of another owner; `release` is called once, with `owner`.
  Placeholder(PlaceKey place,
              void* pointer,
              size_t bytes,
              void (*release)(void* owner),
              void* owner);
  ~Placeholder();
  Placeholder(const Placeholder&) = delete;
  Placeholder& operator=(const Placeholder&) = delete;

  PlaceKey place() const { return place_; }
  void* pointer() const { return pointer_; }
  size_t bytes() const { return bytes_; }
  // Whether the memory belongs to another owner, who may read it, too.
  bool borrowed() const { return release_ != nullptr; }

  // Unique in the process, also over time.
  uint64_t id() const { return id_; }
  // Increases with each access for writing.
  uint64_t version() const { return version_.load(std::memory_order_relaxed); }
  void Touch() { version_.store(version() + 1, std::memory_order_relaxed); }

 private:
  PlaceKey place_;
  void* pointer_;
  size_t bytes_;
  void (*release_)(void* owner) = nullptr;
  void* owner_ = nullptr;
  const uint64_t id_;
  std::atomic<uint64_t> version_{0};
};

// The types of Eigen's views of a tensor, defined in
// operators/math/eigen_views.h.
template <typename T, int kRank = 1>
struct TTypes;

// A dense row-major array of one dtype at one place. `Resize` sets the shape
// only; the first `mutable_data` allocates memory. Copies are shallow: they
// share the memory. Not synchronised: many readers, or one writer.
class SLUICE_API Tensor {
 public:
  Tensor() = default;

  // Returns a host tensor with a copy of `values`, in row-major order. Raises
  // InvalidArgument when their number does not match the shape.
  template <typename T>
  static Tensor FromVector(const DDim& dims, const std::vector<T>& values);

  // Returns a tensor over memory at `pointer` that the caller keeps alive.
  static Tensor Borrow(PlaceKey place,
                       DType dtype,
                       const DDim& dims,
                       void* pointer);

  const DDim& dims() const { return dims_; }
  int64_t numel() const { return numel_; }
  DType dtype() const { return dtype_; }
  // The size of the elements in bytes, by shape and dtype.
  size_t bytes() const;
  bool allocated() const { return holder_ != nullptr; }
  // Raises FailedPrecondition before the first mutable_data.
  PlaceKey place() const;

  // Raises InvalidArgument for an unknown size, OutOfRange when the number of
  // elements overflows.
  Tensor& Resize(const DDim& dims);

  // Returns memory at `place` for the current shape, as elements of T. Keeps a
  // buffer that is large enough and at that place, otherwise allocates one
  // (64-byte aligned, not initialised). Raises ResourceExhausted.
  template <typename T>
  T* mutable_data(PlaceKey place) {
    return static_cast<T*>(mutable_data(kDTypeOf<T>, place));
  }
  template <typename T>
  T* mutable_data(const DDim& dims, PlaceKey place) {
    return Resize(dims).mutable_data<T>(place);
  }
  void* mutable_data(DType dtype, PlaceKey place);

  // Returns the elements. Raises FailedPrecondition before allocation and
  // InvalidArgument when T is not the dtype.
  template <typename T>
  const T* data() const {
    CheckAccess(kDTypeOf<T>);
    return static_cast<const T*>(pointer_);
  }
  template <typename T>
  T* data() {
    CheckAccess(kDTypeOf<T>);
    holder_->Touch();
    return static_cast<T*>(pointer_);
  }

  // The elements as Eigen's tensors, with TensorFlow's names. Callers must
  // include operators/math/eigen_views.h, which defines them. They raise what
  // data<T>() raises, and InvalidArgument when the rank does not match the
  // view; scalar<T>() accepts any tensor of one element.
  template <typename T>
  typename TTypes<T>::Flat flat();
  template <typename T>
  typename TTypes<T>::ConstFlat flat() const;
  template <typename T, int kRank>
  typename TTypes<T, kRank>::Tensor tensor();
  template <typename T, int kRank>
  typename TTypes<T, kRank>::ConstTensor tensor() const;
  template <typename T>
  typename TTypes<T>::Vec vec() {
    return tensor<T, 1>();
  }
  template <typename T>
  typename TTypes<T>::ConstVec vec() const {
    return tensor<T, 1>();
  }
  template <typename T>
  typename TTypes<T>::Matrix matrix() {
    return tensor<T, 2>();
  }
  template <typename T>
  typename TTypes<T>::ConstMatrix matrix() const {
    return tensor<T, 2>();
  }
  template <typename T>
  typename TTypes<T>::Scalar scalar() {
    return Reshaped({}).tensor<T, 0>();
  }
  template <typename T>
  typename TTypes<T>::ConstScalar scalar() const {
    const Tensor one = Reshaped({});
    return one.tensor<T, 0>();
  }

  // Not checked; returns nullptr before allocation.
  const void* raw_data() const { return pointer_; }
  void* raw_data() {
    if (holder_ != nullptr) holder_->Touch();
    return pointer_;
  }

  // Identifies the contents: the storage, and the number of accesses for
  // writing. A caller that keeps a pointer must access the tensor again before
  // each later write through it. {0, 0} before allocation.
  std::pair<uint64_t, uint64_t> storage_version() const {
    if (holder_ == nullptr) return {0, 0};
    return {holder_->id(), holder_->version()};
  }

  // Aliases `other`'s memory, with its shape and dtype.
  Tensor& ShareDataWith(const Tensor& other);
  // Returns rows [begin, end) of the first dimension, sharing the memory.
  Tensor Slice(int64_t begin, int64_t end) const;
  // Returns the same memory in another shape with as many elements.
  Tensor Reshaped(const DDim& dims) const;
  // Returns a copy with its own memory at `place`; waits for it.
  Tensor CopyTo(PlaceKey place) const;
  // Returns the elements as a vector, from any place. Raises as data<T>() does.
  template <typename T>
  std::vector<T> ToVector() const;

  // For the plan: sets `dims`, `dtype` and memory without checks.
  void Bind(std::shared_ptr<Placeholder> holder,
            size_t offset,
            DType dtype,
            const DDim& dims);
  // For loops over the slices of a tensor: moves on by `slices` times the size
  // of this one, also backwards. Not checked.
  void Advance(int64_t slices) {
    pointer_ =
        static_cast<char*>(pointer_) + slices * static_cast<int64_t>(bytes());
  }
  const std::shared_ptr<Placeholder>& holder() const { return holder_; }
  void Reset() { *this = Tensor(); }

 private:
  void CheckAccess(DType wanted) const {
    if (holder_ == nullptr || dtype_ != wanted) [[unlikely]] {
      FailAccess(wanted);
    }
  }
  void FailAccess(DType wanted) const;
  void CheckView(DType wanted, int rank) const;

  std::shared_ptr<Placeholder> holder_;
  void* pointer_ = nullptr;
  int64_t numel_ = 1;
  DDim dims_;
  DType dtype_ = DType::kFloat32;
};

// "float32 [4, 10] at cpu".
SLUICE_API std::string ToString(const Tensor& tensor);

namespace internal {
SLUICE_API void CopyFromHost(Tensor* to, const void* values, size_t count);
SLUICE_API void CopyToHost(const Tensor& from, DType wanted, void* values);
}  // namespace internal

template <typename T>
Tensor Tensor::FromVector(const DDim& dims, const std::vector<T>& values) {
  Tensor tensor;
  tensor.Resize(dims).mutable_data<T>(CPUPlace());
  if constexpr (std::is_same_v<T, bool>) {
    const std::vector<uint8_t> bytes(values.begin(), values.end());
    internal::CopyFromHost(&tensor, bytes.data(), bytes.size());
  } else {
    internal::CopyFromHost(&tensor, values.data(), values.size());
  }
  return tensor;
}

template <typename T>
std::vector<T> Tensor::ToVector() const {
  if constexpr (std::is_same_v<T, bool>) {
    std::vector<uint8_t> bytes(static_cast<size_t>(numel()));
    internal::CopyToHost(*this, DType::kBool, bytes.data());
    return std::vector<bool>(bytes.begin(), bytes.end());
  } else {
    std::vector<T> values(static_cast<size_t>(numel()));
    internal::CopyToHost(*this, kDTypeOf<T>, values.data());
    return values;
  }
}

}  // namespace sluice
