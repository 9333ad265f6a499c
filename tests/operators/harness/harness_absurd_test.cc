// Every op with invalid numbers and shapes, one at a time. It must compute, or
// refuse with an error that names itself. Sanitizers also check that nothing
// overflows and no other memory is accessed.
#include <algorithm>
#include <limits>
#include <set>

#include "tests/operators/harness/harness.h"
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sluice/framework/op/op_schema.h"
#include "sluice/memory/allocator.h"

namespace sluice::testing {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kAbsurd[] = {kMin, kMin + 1, -1, 0, int64_t{1} << 33, kMax};

// Limits memory to the size that the examples need.
class SmallMemory {
 public:
  SmallMemory() { SetLimit(kCpu, Stats().reserved + (64 << 20)); }
  ~SmallMemory() { SetLimit(kCpu, limit_); }
  SmallMemory(const SmallMemory&) = delete;
  SmallMemory& operator=(const SmallMemory&) = delete;

 private:
  static MemoryStats Stats() { return sluice::Stats(kCpu); }
  static constexpr PlaceKey kCpu{};
  size_t limit_ = Stats().limit;
};

class Absurd : public ::testing::TestWithParam<std::string> {
 protected:
  // Calls visit(kernel, example) for each kernel with its first example without
  // empty tensors.
  template <typename Visit>
  void ForEachKernel(Visit visit) {
    const SmallMemory limit;
    for (const KernelDef* kernel : KernelsOf(op_)) {
      for (const OpExample& example : ExamplesOf(op_, kernel->key.dtype)) {
        bool whole = true;
        for (const auto& [argument, tensor] : example.inputs) {
          whole = whole && tensor.numel() > 0;
        }
        if (!whole) continue;
        visit(*kernel, example);
        break;
      }
    }
  }

  // Expects the op to compute, or to name itself and one of `words`.
  void Try(const KernelDef& kernel,
           const OpExample& example,
           const std::vector<std::string>& words) {
    // All outputs, including optional ones: each may read other inputs.
    RunOpOptions options{.hint = HintFor(kernel)};
    for (const auto& def : Registry::Global().Schema(op_).outputs()) {
      options.outputs.push_back(def.name);
    }
    try {
      RunOp(op_, example.inputs, example.attributes, options);
    } catch (const Error& error) {
      const std::string text = error.what();
      // The kernel accepts less than the op.
      if (error.check_id() == "resolver.no_kernel") return;
      if (error.code() == ErrorCode::kResourceExhausted) return;
      EXPECT_TRUE(error.code() == ErrorCode::kInvalidArgument ||
                  error.code() == ErrorCode::kOutOfRange)
          << text;
      EXPECT_NE(text.find(op_), std::string::npos) << text;
      bool named = false;
      for (const std::string& word : words) {
        named = named || text.find(word) != std::string::npos;
      }
      EXPECT_TRUE(named) << "nothing of what is wrong is in: " << text
                         << "\nwith " << ToString(example);
    }
  }

  void TryAttributes();
  void TryInputs();
  void TryShapes();
  void TryEmpty();

  const std::string op_ = GetParam();
};

void Absurd::TryAttributes() {
  ForEachKernel([&](const KernelDef& kernel, const OpExample& example) {
    const AttributeMap whole = DescribeExample(op_, example).attributes;
    for (const auto& [name, value] : whole) {
      const auto* list = std::get_if<std::vector<int64_t>>(&value);
      if (!std::holds_alternative<int64_t>(value) && list == nullptr) continue;
      const size_t places = list == nullptr ? 1 : list->size();
      for (const int64_t absurd : kAbsurd) {
        for (size_t i = 0; i < places; ++i) {
          OpExample changed = example;
          changed.attributes = whole;
          if (list == nullptr) {
            changed.attributes[name] = absurd;
          } else {
            std::get<std::vector<int64_t>>(changed.attributes[name])[i] =
                absurd;
          }
          // Or the error names the input that does not match the changed value.
          Try(kernel, changed, {name, std::to_string(absurd), "input "});
        }
      }
      if (list == nullptr) continue;
      for (const size_t size : {size_t{0}, size_t{1}, size_t{20}}) {
        OpExample changed = example;
        changed.attributes = whole;
        changed.attributes[name] = std::vector<int64_t>(size, 1);
        Try(kernel, changed, {name, "input "});
      }
    }
  });
}

// Labels, ids, indices and lengths; other integers may have any value.
void Absurd::TryInputs() {
  ForEachKernel([&](const KernelDef& kernel, const OpExample& example) {
    for (size_t i = 0; i < example.inputs.size(); ++i) {
      const auto& [argument, tensor] = example.inputs[i];
      const DType dtype = tensor.dtype();
      if (dtype != DType::kInt32 && dtype != DType::kInt64) continue;
      for (int64_t absurd : kAbsurd) {
        Tensor changed = tensor.CopyTo(CPUPlace());
        const int64_t last = tensor.numel() - 1;
        if (dtype == DType::kInt32) {
          using Limits = std::numeric_limits<int32_t>;
          const auto small = static_cast<int32_t>(
              std::clamp<int64_t>(absurd, Limits::min(), Limits::max()));
          changed.data<int32_t>()[last] = small;
          absurd = small;
        } else {
          changed.data<int64_t>()[last] = absurd;
        }
        OpExample other = example;
        other.inputs[i].second = changed;
        Try(kernel, other, {argument, std::to_string(absurd)});
      }
    }
  });
}

// Zeros in separate memory, followed by a protected page: a read past the end
// of an input ends the process.
class GuardedZeroes {
 public:
  GuardedZeroes(const DDim& dims, DType dtype) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t bytes = static_cast<size_t>(dims.numel()) * SizeOf(dtype);
    const size_t open = (bytes + page - 1) / page * page;
    size_ = open + page;
    memory_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    char* const end = static_cast<char*>(memory_) + open;
    mprotect(end, page, PROT_NONE);
    tensor_ = Tensor::Borrow(CPUPlace(), dtype, dims, end - bytes);
  }
  ~GuardedZeroes() { munmap(memory_, size_); }
  GuardedZeroes(const GuardedZeroes&) = delete;
  GuardedZeroes& operator=(const GuardedZeroes&) = delete;

  const Tensor& tensor() const { return tensor_; }

 private:
  void* memory_ = nullptr;
  size_t size_ = 0;
  Tensor tensor_;
};

// One input has one axis more or less, or one size that is larger or smaller by
// one; or it is a scalar.
void Absurd::TryShapes() {
  ForEachKernel([&](const KernelDef& kernel, const OpExample& example) {
    for (size_t i = 0; i < example.inputs.size(); ++i) {
      const auto& [argument, tensor] = example.inputs[i];
      const std::vector<int64_t> sizes(tensor.dims().begin(),
                                       tensor.dims().end());
      std::vector<std::vector<int64_t>> shapes = {sizes};
      shapes[0].push_back(1);
      if (!sizes.empty()) {
        shapes.emplace_back(sizes.begin() + 1, sizes.end());
        shapes.emplace_back();
      }
      for (size_t axis = 0; axis < sizes.size(); ++axis) {
        shapes.push_back(sizes);
        ++shapes.back()[axis];
        shapes.push_back(sizes);
        --shapes.back()[axis];
      }
      for (const auto& shape : shapes) {
        const GuardedZeroes zeroes(DDim(shape), tensor.dtype());
        OpExample changed = example;
        changed.inputs[i].second = zeroes.tensor();
        Try(kernel, changed, {"shape", "dim", "rank", "size", "[", argument});
      }
    }
  });
}

// Sizes of the examples become 0 and 2^40: tensors that take no memory, however
// many rows they seem to have. It must not walk over them.
void Absurd::TryEmpty() {
  constexpr int64_t kHuge = int64_t{1} << 40;
  const SmallMemory limit;
  for (const KernelDef* kernel : KernelsOf(op_)) {
    if (kernel->key.place != PlaceKind::kCPU) continue;
    for (const OpExample& example : ExamplesOf(op_, kernel->key.dtype)) {
      std::set<int64_t> sizes;
      for (const auto& [argument, tensor] : example.inputs) {
        sizes.insert(tensor.dims().begin(), tensor.dims().end());
      }
      for (const int64_t huge : sizes) {
        for (const int64_t none : sizes) {
          OpExample changed = example;
          bool empty = huge != none;
          for (auto& [argument, tensor] : changed.inputs) {
            std::vector<int64_t> dims(tensor.dims().begin(),
                                      tensor.dims().end());
            std::replace(dims.begin(), dims.end(), huge, kHuge);
            std::replace(dims.begin(), dims.end(), none, int64_t{0});
            const auto count = [&](int64_t size) {
              return std::count(dims.begin(), dims.end(), size);
            };
            const auto large = count(kHuge);  // two are more than 64 bits
            empty = empty && large <= 1 && (large == 0 || count(0) > 0);
            if (!empty || DDim(dims) == tensor.dims()) continue;
            const DType dtype = tensor.dtype();
            tensor = Tensor();
            tensor.Resize(DDim(dims)).mutable_data(dtype, CPUPlace());
          }
          fprintf(stderr, "%s %s\n", ToString(*kernel).c_str(),
                  ToString(changed).c_str());
          if (empty) Try(*kernel, changed, {""});
        }
      }
    }
  }
}

// One process for each op, because sanitizers make its start slow.
TEST_P(Absurd, IsRefusedByName) {
  TryAttributes();
  TryInputs();
  TryShapes();
  TryEmpty();
}

INSTANTIATE_TEST_SUITE_P(Ops,
                         Absurd,
                         ::testing::ValuesIn([] {
                           std::vector<std::string> ops;
                           for (const auto& [op, unused] : OpCases()) {
                             if (Registry::Global().FindSchema(op) != nullptr)
                               ops.push_back(op);
                           }
                           return ops;
                         }()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace sluice::testing
