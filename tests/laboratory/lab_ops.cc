#include "tests/laboratory/lab_ops.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <thread>

#include "sluice/framework/op/infer_shape_context.h"
#include "sluice/framework/op/op_registry.h"
#include "sluice/platform/error.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::testing {

namespace {

// All but plain, in the order in which they are registered.
#define LAB_VARIANTS(DO)                 \
  DO(thousandth, kThousandth)            \
  DO(tail, kTail)                        \
  DO(nan_lost, kNanLost)                 \
  DO(skips, kSkips)                      \
  DO(overruns, kOverruns)                \
  DO(overruns_scratch, kOverrunsScratch) \
  DO(by_threads, kByThreads)             \
  DO(fickle, kFickle)                    \
  DO(raises, kRaises)                    \
  DO(raises_foreign, kRaisesForeign)     \
  DO(raises_int, kRaisesInt)             \
  DO(scribbles, kScribbles)              \
  DO(greedy, kGreedy)                    \
  DO(slow, kSlow)                        \
  DO(sleepy, kSleepy)                    \
  DO(drowsy, kDrowsy)                    \
  DO(fast, kFast)                        \
  DO(sly, kSly)

#define LAB_NUMBER(variant, number) number,
#define LAB_NAME(variant, number) #variant,
enum Variant : int { kPlain, LAB_VARIANTS(LAB_NUMBER) };
constexpr const char* kNames[] = {"plain", LAB_VARIANTS(LAB_NAME)};

std::atomic<unsigned> enabled{0};

template <int kVariant>
std::string Enabled(const KernelQuery& /*query*/) {
  return (enabled & (1u << kVariant)) != 0 ? "" : "the test does not use it";
}

void LabSchema(OpSchema& op) {
  op.Doc("Out = 2 X + 1.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("X", "T", "").Output("Out", "T", "");
  op.InferShape([](InferShapeContext& context) {
    context.SetOutput(0, context.input(0));
  });
}

template <typename T>
T Right(T x) {
  return 2 * x + 1;
}

template <typename T, int kVariant>
class LabKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Prepare(KernelPreparation& preparation) override {
    if (kVariant == kOverrunsScratch) preparation.scratch_bytes = kScratch;
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& input = context.Input(0);
    const T* x = input.data<T>();
    const int64_t size = input.numel();
    T* out = context.AllocateOutput(0, input.dims()).template data<T>();
    if (kVariant == kRaises || kVariant == kGreedy) Scribble(input);
    RaiseIfPlanted();
    for (int64_t i = 0; i < size; ++i) {
      if (kVariant == kSkips && i == 2) continue;
      out[i] = Right(x[i]);
      if (kVariant == kThousandth) out[i] *= T(1.001);
      if (kVariant == kTail && i >= size / 8 * 8) out[i] = 0;
      if (kVariant == kNanLost && std::isnan(x[i])) out[i] = 0;
    }
    if (kVariant == kScribbles) Scribble(input);
    if (kVariant == kOverruns) out[size] = 0;
    if (kVariant == kOverrunsScratch) {
      static_cast<char*>(context.scratch())[kScratch] = 0;
    }
    if ((kVariant == kFickle && calls_++ % 2 == 1) ||
        (kVariant == kByThreads && NumThreads() == 2)) {
      out[0] = std::nextafter(out[0], std::numeric_limits<T>::max());
    }
    if (kVariant == kSlow) Burn(out, x, size);
    if (kVariant == kSly && last_out_.exchange(out) == x) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    if (kVariant == kSleepy || kVariant == kDrowsy) {
      std::this_thread::sleep_for(
          (calls_++ < 6 ? 1 : 3) *
          std::chrono::milliseconds(kVariant == kSleepy ? 20 : 22));
    }
  }

 private:
  static void Scribble(Tensor input) {
    if (input.numel() > 0) input.data<T>()[0] = 7;
  }

  static void RaiseIfPlanted() {
    if (kVariant == kRaises) {
      Raise(ErrorCode::kInternal, "test_lab.raises",
            "test_lab: a planted failure");
    }
    if (kVariant == kRaisesForeign) throw std::runtime_error("a foreign one");
    if (kVariant == kRaisesInt) throw 3;
    if (kVariant == kGreedy) {
      Raise(ErrorCode::kResourceExhausted, "test_lab.greedy",
            "test_lab: no memory for it");
    }
  }

  // Computes the same results 200 times.
  static void Burn(T* out, const T* x, int64_t size) {
    volatile T* written = out;
    for (int round = 0; round < 200; ++round) {
      for (int64_t i = 0; i < size; ++i) {
        written[i] = Right(x[i]);
      }
    }
  }

  static constexpr size_t kScratch = 100;

  mutable std::atomic<int> calls_{0};
  static inline std::atomic<const T*> last_out_{nullptr};
};

}  // namespace

#define LAB_KERNEL(variant, number)                         \
  template <typename T>                                     \
  class Lab_##variant final : public LabKernel<T, number> { \
    using LabKernel<T, number>::LabKernel;                  \
  };                                                        \
  REGISTER_OP_KERNEL(test_lab, PLAIN, CPUPlace, variant,    \
                     KernelTraits().When(&Enabled<number>), \
                     Lab_##variant<float>);

LAB_VARIANTS(LAB_KERNEL)

template <typename T>
class PlainLabKernel final : public LabKernel<T, kPlain> {
  using LabKernel<T, kPlain>::LabKernel;
};

REGISTER_OPERATOR(test_lab, LabSchema);
REGISTER_OP_CPU_KERNEL(test_lab, PlainLabKernel<float>, PlainLabKernel<double>);

void UseLabOps() {
  static const bool done = [] {
    auto& registry = Registry::Global();
    SLUICE_USE_OPERATOR(test_lab);
#define LAB_REGISTER(variant, number) \
  SluiceRegisterKernel_test_lab_CPUPlace_PLAIN_##variant(registry);
    LAB_VARIANTS(LAB_REGISTER)
    SLUICE_USE_CPU_KERNEL(test_lab);
    return true;
  }();
  static_cast<void>(done);
}

UseVariants::UseVariants(const std::vector<std::string>& variants) {
  UseLabOps();
  unsigned mask = 0;
  for (const std::string& variant : variants) {
    for (unsigned i = 0; i < std::size(kNames); ++i) {
      if (variant == kNames[i]) mask |= 1u << i;
    }
  }
  enabled = mask;
}

UseVariants::~UseVariants() {
  enabled = 0;
}

int64_t NewSize() {
  static std::atomic<int64_t> size{1003};
  return size.fetch_add(8);
}

LabProgram::LabProgram(int64_t size, int ops) {
  UseLabOps();
  std::string value = program.Data("x", DType::kFloat32, {size}).name();
  std::vector<float> x(static_cast<size_t>(size));
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = 0.25f + static_cast<float>(i % 17);
  }
  feeds.emplace_back("x", Tensor::FromVector<float>({size}, x));
  for (int i = 0; i < ops; ++i) {
    value =
        program.AppendOp("test_lab", {{"X", {value}}}, {}).outputs[0].second[0];
  }
  fetches = {value};
}

const TunedKernel* FindKernel(const TunedSignature& tuned,
                              const std::string& variant) {
  for (const TunedKernel& kernel : tuned.kernels) {
    if (kernel.kernel->variant == variant) return &kernel;
  }
  return nullptr;
}

const KernelDef* FindKernel(const std::string& op,
                            const std::string& variant,
                            DType dtype) {
  for (const auto* kernel : Registry::Global().Kernels(op)) {
    if (kernel->variant == variant && kernel->key.dtype == dtype) return kernel;
  }
  return nullptr;
}

}  // namespace sluice::testing
