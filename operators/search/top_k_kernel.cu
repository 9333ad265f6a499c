#include "sluice/operators/registration.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice {
namespace {

constexpr int kTopKThreads = 128;

// Whether a at index i precedes b at index j: the larger (or smaller) first,
// NaN as the largest, equal elements by index.
template <typename T>
__device__ bool Before(T a, int64_t i, T b, int64_t j, bool largest) {
  const bool a_nan = a != a;
  const bool b_nan = b != b;
  if (a_nan != b_nan) return a_nan == largest;
  if (!a_nan && a != b) return (a > b) == largest;
  return i < j;
}

// A block handles a row. Each of k rounds finds the next element in order.
template <typename T>
__global__ void TopKKernel(const T* x,
                           int64_t rows,
                           int64_t columns,
                           int64_t k,
                           bool largest,
                           T* values,
                           int64_t* indices) {
  SLUICE_SHARED_ARRAY(int64_t, best, [kTopKThreads]);
  const auto thread = static_cast<int>(threadIdx.x);
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* from = x + row * columns;
    int64_t last = -1;
    for (int64_t round = 0; round < k; ++round) {
      int64_t mine = -1;
      for (int64_t i = thread; i < columns; i += kTopKThreads) {
        const bool left =
            last < 0 ||
            (i != last && Before(from[last], last, from[i], i, largest));
        if (left &&
            (mine < 0 || Before(from[i], i, from[mine], mine, largest))) {
          mine = i;
        }
      }
      best[thread] = mine;
      __syncthreads();
      for (int step = kTopKThreads / 2; step > 0; step /= 2) {
        if (thread < step && best[thread + step] >= 0) {
          const int64_t other = best[thread + step];
          const int64_t own = best[thread];
          if (own < 0 || Before(from[other], other, from[own], own, largest)) {
            best[thread] = other;
          }
        }
        __syncthreads();
      }
      last = best[0];
      if (thread == 0) {
        values[row * k + round] = from[last];
        indices[row * k + round] = last;
      }
      __syncthreads();
    }
  }
}

// Limits the work, as every round reads the whole row.
std::string Fits(const KernelQuery& query) {
  constexpr int64_t kMost = int64_t{1} << 24;
  const DDim& x = query.inputs[0];
  const int64_t columns = x.rank() == 0 ? 1 : x.at(-1);
  const auto k = query.Attr<int64_t>("k");
  if (columns == 0 || k <= kMost / columns) return "";
  return Format("needs k * columns <= {}, got {} * {}", kMost, k, columns);
}

template <typename T>
class TopKCUDAKernel final : public OpKernel {
 public:
  explicit TopKCUDAKernel(const OpKernelConstruction& construction)
      : k_(construction.Attr<int64_t>("k")),
        largest_(construction.Attr<bool>("largest")) {}

  void Prepare(KernelPreparation& preparation) override {
    const DDim& x = preparation.query.inputs[0];
    columns_ = x.rank() == 0 ? 1 : x.at(-1);
    rows_ = x.Product(0, x.rank() - 1);
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, out_dims_);
    Tensor& indices = context.AllocateOutput(1, out_dims_);
    if (out.numel() == 0) return;
    Launch<TopKKernel<T>>({context.device_context<CUDADeviceContext>(),
                           GridFor(rows_, 1), dim3(kTopKThreads)},
                          context.Input(0).data<T>(), rows_, columns_, k_,
                          largest_, out.data<T>(), indices.data<int64_t>());
  }

 private:
  int64_t k_;
  bool largest_;
  int64_t rows_ = 0;
  int64_t columns_ = 1;
  DDim out_dims_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(top_k,
                        TakenWhen<&Fits>,
                        TopKCUDAKernel<FloatAndIntegerTypes>);

}  // namespace sluice
