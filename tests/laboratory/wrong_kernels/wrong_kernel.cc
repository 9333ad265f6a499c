#include "tests/laboratory/wrong_kernels/wrong_kernel.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "sluice/framework/values/tensor_values.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::wrong_kernels {
namespace {

const KernelDef& PlainKernel(const OpKernelConstruction& wrong) {
  const auto kernels = Registry::Global().Kernels(wrong.op());
  const OpKernelType key = {PlaceKind::kCPU, wrong.key().dtype, "PLAIN"};
  return **std::find_if(
      kernels.begin(), kernels.end(), [&](const KernelDef* kernel) {
        return kernel->key == key && kernel->variant == "plain";
      });
}

class WrongKernel final : public OpKernel {
 public:
  WrongKernel(Change change, const OpKernelConstruction& construction)
      : change_(std::move(change)), plain_(PlainKernel(construction)) {}

  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    op_ = query.op;
    for (const auto& [name, value] : change_.attributes) {
      op_.attributes[name] = value;
    }
    if (change_.adapt != nullptr) change_.adapt(query, op_.attributes);
    const KernelQuery changed = {query.schema,  op_,
                                 query.inputs,  query.input_dtypes,
                                 query.outputs, query.output_dtypes,
                                 query.place};
    kernel_ = plain_.make(OpKernelConstruction(op_, plain_.key));
    KernelPreparation plain = {changed, 0, preparation.num_threads,
                               preparation.probe};
    kernel_->Prepare(plain);
    preparation.scratch_bytes = plain.scratch_bytes;
    arguments_ = MakeArgTable(changed);
    input_count_ = static_cast<int>(query.inputs.size());
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& output = context.AllocateOutput(0, arguments_.output_dims[0]);
    Call call{op_, {}, output, ToDoubles(output), calls_++};
    for (int i = 0; i < input_count_; ++i) {
      call.inputs.push_back(context.Input(i));
    }
    if (change_.before != nullptr) change_.before(call);
    RunPlain(context, call);
    if (change_.after != nullptr) {
      Numbers out = ToDoubles(output);
      change_.after(call, out);
      const Tensor changed = FromDoubles(output.dtype(), output.dims(), out);
      std::copy_n(static_cast<const char*>(changed.raw_data()),
                  out.size() * SizeOf(output.dtype()),
                  static_cast<char*>(output.raw_data()));
    }
    if (change_.write != nullptr) change_.write(call);
  }

 private:
  void RunPlain(OpKernelContext& context, Call& call) const {
    std::vector<Tensor*> inputs;
    for (Tensor& input : call.inputs) {
      inputs.push_back(&input);
    }
    std::vector<Tensor*> outputs;
    for (size_t i = 0; i < arguments_.output_dims.size(); ++i) {
      outputs.push_back(&context.PlannedOutput(static_cast<int>(i)));
    }
    OpKernelContext plain(context, arguments_, inputs.data(), outputs.data());
    kernel_->Compute(plain);
  }

  Change change_;
  const KernelDef& plain_;
  OpDesc op_;  // with the attributes of the plain kernel
  std::unique_ptr<OpKernel> kernel_;
  ArgTable arguments_;
  int input_count_ = 0;
  mutable std::atomic<int> calls_{0};
};

}  // namespace

void Call::ChangeInput(size_t index,
                       const std::function<void(Numbers& values)>& change) {
  Tensor& input = inputs[index];
  Numbers values = ToDoubles(input);
  change(values);
  input = FromDoubles(input.dtype(), input.dims(), values);
}

void AddWrongKernels(Registry& registry, const std::vector<Mistake>& mistakes) {
  const auto add = [&](const Mistake& mistake) {
    KernelDef kernel;
    kernel.op = mistake.op;
    kernel.key = {PlaceKind::kCPU, mistake.dtype, "WRONG"};
    kernel.variant = mistake.variant;
    kernel.make =
        [change = mistake.change](const OpKernelConstruction& construction) {
          return std::make_unique<WrongKernel>(change, construction);
        };
    registry.AddKernel(std::move(kernel));
  };
  std::set<std::pair<std::string, DType>> right;
  for (const Mistake& mistake : mistakes) {
    if (right.emplace(mistake.op, mistake.dtype).second) {
      add({mistake.op, "right", mistake.dtype});
    }
    add(mistake);
  }
}

void Leave(const Call& call, Numbers& out, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    out[i] = call.old[i];
  }
}

void Off(const Call& /*call*/, Numbers& out) {
  for (double& value : out) {
    value *= 1.001;
  }
}

void Race(Call& call) {
  // Doubling and halving is exact, unless two threads do it at once.
  volatile float* out = call.output.data<float>();
  ParallelFor(16, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < (end - begin) * call.output.numel(); ++i) {
      const int64_t at = i % call.output.numel();
      out[at] = out[at] * 2;
      out[at] = out[at] / 2;
    }
  });
}

int64_t Product(const DDim& dims, int begin, int end) {
  int64_t product = 1;
  for (int axis = begin; axis < end; ++axis) {
    product *= dims[axis];
  }
  return product;
}

int Axis(int64_t axis, const DDim& dims) {
  return static_cast<int>(axis < 0 ? axis + dims.rank() : axis);
}

}  // namespace sluice::wrong_kernels
