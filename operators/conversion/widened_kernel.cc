#include "sluice/operators/conversion/widened_kernel.h"

#include <utility>

#include "sluice/operators/math/cast.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/alignment.h"

namespace sluice {
namespace {

// The bytes of a float32 tensor in scratch memory.
size_t WideBytes(const DDim& dims) {
  return AlignUp(static_cast<size_t>(dims.numel()) * sizeof(float));
}

// The query of the body, and what `query` has of float16 or bfloat16.
struct WidenedQuery {
  WidenedQuery(const KernelQuery& query, DType half)
      : inputs(query.input_dtypes.begin(), query.input_dtypes.end()),
        outputs(query.output_dtypes.begin(), query.output_dtypes.end()),
        constant(query.input_constant.begin(), query.input_constant.end()),
        body{query.schema,  query.op, query.inputs, inputs,
             query.outputs, outputs,  query.place,  constant} {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] != half) continue;
      Widen(query.inputs[i], &inputs[i]);
      if (!constant.empty()) constant[i] = 0;  // it is converted in each call
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      narrowed.push_back(outputs[i] == half);
      if (narrowed.back()) Widen(query.outputs[i], &outputs[i]);
    }
  }

  void Widen(const DDim& dims, DType* dtype) {
    *dtype = DType::kFloat32;
    if (dims.known()) bytes += WideBytes(dims);
  }

  std::vector<DType> inputs, outputs;
  std::vector<uint8_t> constant, narrowed;
  KernelQuery body;
  size_t bytes = 0;
};

}  // namespace

void ConvertOnHost(const OpKernelContext& /*call*/,
                   const Tensor& from,
                   Tensor* to) {
  Cast(from.dtype(), from.raw_data(), from.numel(), to->dtype(),
       to->raw_data());
}

WidenedKernel::WidenedKernel(const OpKernelConstruction& construction,
                             MakeBody make_body,
                             ConvertTensor convert)
    : half_(construction.key().dtype), convert_(convert) {
  OpKernelType key = construction.key();
  key.dtype = DType::kFloat32;
  body_ = make_body(OpKernelConstruction(construction, key));
}

void WidenedKernel::Prepare(KernelPreparation& preparation) {
  WidenedQuery wide(preparation.query, half_);
  KernelPreparation body{wide.body, 0, preparation.num_threads,
                         preparation.probe};
  body_->Prepare(body);
  input_count_ = wide.inputs.size();
  arguments_ = MakeArgTable(wide.body);
  narrowed_ = std::move(wide.narrowed);
  body_scratch_bytes_ = AlignUp(body.scratch_bytes);
  preparation.scratch_bytes = body_scratch_bytes_ + wide.bytes;
}

void WidenedKernel::Compute(OpKernelContext& context) const {
  auto* next = static_cast<char*>(context.scratch()) + body_scratch_bytes_;
  std::vector<Tensor> tensors;  // of the body
  std::vector<Tensor*> pointers;
  tensors.reserve(input_count_ + narrowed_.size());
  const auto widened = [&](const DDim& dims) {
    tensors.push_back(
        Tensor::Borrow(context.place(), DType::kFloat32, dims, next));
    next += WideBytes(dims);
    return &tensors.back();
  };
  for (size_t i = 0; i < input_count_; ++i) {
    const Tensor& input = context.Input(static_cast<int>(i));
    if (input.dtype() == half_) {
      pointers.push_back(widened(input.dims()));
      convert_(context, input, pointers.back());
    } else {
      pointers.push_back(&tensors.emplace_back(input));
    }
  }
  for (size_t i = 0; i < narrowed_.size(); ++i) {
    const DDim& dims = arguments_.output_dims[i];
    pointers.push_back(!narrowed_[i]
                           ? &context.PlannedOutput(static_cast<int>(i))
                       : dims.known() ? widened(dims)
                                      : &tensors.emplace_back());
  }
  Tensor* const* outputs = pointers.data() + input_count_;
  OpKernelContext body(context, arguments_, pointers.data(), outputs);
  body_->Compute(body);
  for (size_t i = 0; i < narrowed_.size(); ++i) {
    if (!narrowed_[i]) continue;
    const Tensor& output = *outputs[i];
    convert_(context, output,
             &context.AllocateOutput(static_cast<int>(i), output.dims()));
    if (!arguments_.output_dims[i].known()) context.Keep(output);
  }
}

KernelTraits WidenedKernel::Widened(const KernelTraits& traits, DType half) {
  KernelTraits widened = traits;
  widened.Estimate([traits, half](const KernelQuery& query) {
    const WidenedQuery wide(query, half);
    KernelWork work = traits.estimate == nullptr ? DefaultKernelWork(wide.body)
                                                 : traits.estimate(wide.body);
    // Each element is read or written once more in 4 bytes, and in 2.
    work.extra_bytes += 1.5 * static_cast<double>(wide.bytes);
    return work;
  });
  if (traits.predicate == nullptr) return widened;
  return widened.When([traits, half](const KernelQuery& query) {
    return traits.predicate(WidenedQuery(query, half).body);
  });
}

}  // namespace sluice
