#include "sluice/framework/values/tensor.h"

#include <algorithm>

#include "sluice/memory/copy.h"
#include "sluice/memory/memory.h"

namespace sluice {

namespace {
uint64_t NextStorageId() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

Placeholder::Placeholder(PlaceKey place, size_t bytes)
    : place_(place),
      pointer_(Alloc(place, std::max<size_t>(bytes, 1))),
      bytes_(bytes),
      id_(NextStorageId()) {}

Placeholder::Placeholder(PlaceKey place,
                         void* pointer,
                         size_t bytes,
                         void (*release)(void*),
                         void* owner)
    : place_(place),
      pointer_(pointer),
      bytes_(bytes),
      release_(release),
      owner_(owner),
      id_(NextStorageId()) {}

Placeholder::~Placeholder() {
  if (release_ != nullptr) {
    release_(owner_);
  } else if (pointer_ != nullptr) {
    Free(place_, pointer_);
  }
}

namespace {
size_t CheckedBytes(const DDim& dims, int64_t numel, DType dtype) {
  size_t bytes = 0;
  SLUICE_ENFORCE(!__builtin_mul_overflow(static_cast<size_t>(numel),
                                         SizeOf(dtype), &bytes),
                 ErrorCode::kOutOfRange, "tensor.bytes_overflow",
                 "the bytes of a {} tensor of shape {} do not fit into 64 bits",
                 dtype, dims);
  return bytes;
}
}  // namespace

Tensor Tensor::Borrow(PlaceKey place,
                      DType dtype,
                      const DDim& dims,
                      void* pointer) {
  Tensor tensor;
  tensor.Resize(dims);
  const size_t bytes = CheckedBytes(dims, tensor.numel(), dtype);
  SLUICE_ENFORCE(pointer != nullptr || bytes == 0, ErrorCode::kInvalidArgument,
                 "tensor.borrow_null",
                 "a tensor of shape {} cannot borrow memory at address 0",
                 dims);
  // Other libraries use null for empty arrays; Sluice's always have an address.
  alignas(64) static char empty[64];
  if (pointer == nullptr) pointer = empty;
  tensor.Bind(std::make_shared<Placeholder>(
                  place, pointer, bytes, [](void*) {}, nullptr),
              0, dtype, dims);
  return tensor;
}

size_t Tensor::bytes() const {
  return static_cast<size_t>(numel_) * SizeOf(dtype_);
}

PlaceKey Tensor::place() const {
  SLUICE_ENFORCE(allocated(), ErrorCode::kFailedPrecondition, "tensor.place",
                 "a tensor of shape {} has no place yet: call "
                 "mutable_data<T>(place) first",
                 dims_);
  return holder_->place();
}

Tensor& Tensor::Resize(const DDim& dims) {
  numel_ = dims.numel();
  dims_ = dims;
  return *this;
}

void* Tensor::mutable_data(DType dtype, PlaceKey place) {
  const size_t bytes = CheckedBytes(dims_, numel_, dtype);
  if (holder_ != nullptr && holder_->place() == place) {
    const auto offset = static_cast<size_t>(
        static_cast<char*>(pointer_) - static_cast<char*>(holder_->pointer()));
    if (bytes <= holder_->bytes() - offset) {
      dtype_ = dtype;
      holder_->Touch();
      return pointer_;
    }
  }
  holder_ = std::make_shared<Placeholder>(place, bytes);
  pointer_ = holder_->pointer();
  dtype_ = dtype;
  return pointer_;
}

void Tensor::FailAccess(DType wanted) const {
  SLUICE_ENFORCE(allocated(), ErrorCode::kFailedPrecondition,
                 "tensor.unallocated",
                 "data<{}>() of a tensor of shape {} before its memory was "
                 "allocated: call mutable_data<{}>(place) first",
                 wanted, dims_, wanted);
  SLUICE_ENFORCE(
      dtype_ == wanted, ErrorCode::kInvalidArgument, "tensor.wrong_dtype",
      "data<{}>() of a tensor that holds {} (shape {})", wanted, dtype_, dims_);
}

void Tensor::CheckView(DType wanted, int rank) const {
  SLUICE_ENFORCE(dims_.rank() == rank, ErrorCode::kInvalidArgument,
                 "tensor.view_rank",
                 "a view of {} dimensions as {} of a tensor that holds {} "
                 "(shape {})",
                 rank, wanted, dtype_, dims_);
  CheckAccess(wanted);
}

Tensor& Tensor::ShareDataWith(const Tensor& other) {
  SLUICE_ENFORCE(other.allocated(), ErrorCode::kFailedPrecondition,
                 "tensor.share_unallocated",
                 "cannot share the memory of a tensor of shape {} that has "
                 "none yet",
                 other.dims_);
  return *this = other;
}

Tensor Tensor::Slice(int64_t begin, int64_t end) const {
  SLUICE_ENFORCE(allocated() && dims_.rank() >= 1,
                 ErrorCode::kFailedPrecondition, "tensor.slice_state",
                 "Slice needs an allocated tensor of rank 1 or more, got {}",
                 *this);
  SLUICE_ENFORCE(begin >= 0 && begin <= end && end <= dims_[0],
                 ErrorCode::kOutOfRange, "tensor.slice_range",
                 "rows [{}, {}) are outside of {}", begin, end, *this);
  Tensor slice = *this;
  DDim dims = dims_;
  dims[0] = end - begin;
  slice.Resize(dims);
  const int64_t row = dims_.Product(1, dims_.rank());
  slice.pointer_ = static_cast<char*>(pointer_) +
                   static_cast<size_t>(begin * row) * SizeOf(dtype_);
  return slice;
}

Tensor Tensor::Reshaped(const DDim& dims) const {
  SLUICE_ENFORCE(dims.numel() == numel_, ErrorCode::kInvalidArgument,
                 "tensor.reshaped", "{} has {} elements, shape {} has {}",
                 *this, numel_, dims, dims.numel());
  Tensor result = *this;
  result.Resize(dims);
  return result;
}

Tensor Tensor::CopyTo(PlaceKey to) const {
  Tensor copy;
  copy.Resize(dims_);
  copy.mutable_data(dtype_, to);
  Copy(to, copy.pointer_, place(), pointer_, bytes());
  return copy;
}

void Tensor::Bind(std::shared_ptr<Placeholder> holder,
                  size_t offset,
                  DType dtype,
                  const DDim& dims) {
  holder_ = std::move(holder);
  pointer_ = static_cast<char*>(holder_->pointer()) + offset;
  dtype_ = dtype;
  Resize(dims);
}

std::string ToString(const Tensor& tensor) {
  return Format("{} {} at {}", tensor.dtype(), tensor.dims(),
                tensor.allocated() ? ToString(tensor.place()) : "no place yet");
}

namespace internal {

void CopyFromHost(Tensor* to, const void* values, size_t count) {
  SLUICE_ENFORCE(count == static_cast<size_t>(to->numel()),
                 ErrorCode::kInvalidArgument, "tensor.value_count",
                 "a tensor of shape {} takes {} values, got {}", to->dims(),
                 to->numel(), count);
  Copy(to->place(), to->raw_data(), CPUPlace(), values, to->bytes());
}

void CopyToHost(const Tensor& from, DType wanted, void* values) {
  SLUICE_ENFORCE(from.allocated(), ErrorCode::kFailedPrecondition,
                 "tensor.to_vector_unallocated",
                 "a tensor of shape {} has no values yet", from.dims());
  SLUICE_ENFORCE(from.dtype() == wanted, ErrorCode::kInvalidArgument,
                 "tensor.to_vector_dtype", "{} cannot be read as {}", from,
                 wanted);
  Copy(CPUPlace(), values, from.place(), from.raw_data(), from.bytes());
}

}  // namespace internal
}  // namespace sluice
