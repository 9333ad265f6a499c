#include <algorithm>
#include <cstring>

#include "sluice/operators/math/cast.h"
#include "sluice/operators/math/fill.h"
#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/ragged/row_map.h"

namespace sluice {
namespace {

// What the kernels of an op and its gradient op prepare.
struct RowMapPlan {
  const RowMapRow* row = nullptr;
  AttributeMap attributes;
  std::vector<DDim> x;
  std::vector<DDim> outs;
  int64_t width = 0;
  int64_t rows = 0;  // of Out, as the map counts them

  RowMapPlan() = default;
  RowMapPlan(const KernelQuery& query, std::vector<DDim> out_shapes)
      : row(&RowMapOf(query.op.type)),
        attributes(query.op.attributes),
        outs(std::move(out_shapes)) {
    const size_t count = query.op.Input("X").size();
    x.assign(query.inputs.begin(),
             query.inputs.begin() + static_cast<ptrdiff_t>(count));
    width = row->width(x[0], outs[0]);
    rows = width == 0 ? 0 : outs[0].numel() / width;
  }

  // Sets the index, in scratch memory. Returns how much of it is no padding.
  int64_t Map(const OpKernelContext& context,
              Tensor* second,
              std::span<int64_t>* index) const {
    *index = {static_cast<int64_t*>(context.scratch()),
              static_cast<size_t>(IndexSize())};
    RowMapCall call = {context, attributes, x, outs, *index};
    if (second != nullptr) {
      call.second = second->data<int64_t>();
      call.seconds = second->numel();
    }
    return row->map(call);
  }
  // Rows of no elements are counted, too: second outputs depend on them.
  int64_t IndexSize() const {
    const DDim& out = outs[0];
    if (width > 0) return rows;
    return out.rank() < 2 ? out[0] : out[0] * std::max<int64_t>(out[1], 1);
  }
};

class RowMapKernel : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    plan_ = RowMapPlan(query, {query.outputs.begin(), query.outputs.end()});
    size_ = SizeOf(query.input_dtypes[0]);
    preparation.scratch_bytes = IndexBytes();
    // Without rows of Out none is filled, however wide it would be.
    if (plan_.rows > 0) {
      preparation.scratch_bytes += size_ * static_cast<size_t>(plan_.width);
    }
    const auto value = plan_.attributes.find("pad_value");
    if (value != plan_.attributes.end()) {
      const auto number = std::get<int64_t>(value->second);
      Cast(&number, 1, query.input_dtypes[0], &element_);
    }
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, plan_.outs[0]);
    Tensor* const second = plan_.outs.size() < 2
                               ? nullptr
                               : &context.AllocateOutput(1, plan_.outs[1]);
    if (plan_.width == 0 && second == nullptr) return;
    std::span<int64_t> index;
    const int64_t rows = plan_.Map(context, second, &index);
    if (out.numel() == 0) return;
    RowParts parts;
    parts.row_bytes = size_ * static_cast<size_t>(plan_.width);
    int64_t end = 0;
    size_t at = 0;
    for (const Tensor* x : context.Inputs("X")) {
      end += plan_.x[at++].numel() / plan_.width;
      parts.data.push_back(static_cast<const char*>(x->raw_data()));
      parts.ends.push_back(end);
    }
    const Tensor* const value =
        context.HasInput("PadValue") ? &context.Input("PadValue") : nullptr;
    const void* fill = value == nullptr ? &element_ : value->raw_data();
    if (value == nullptr || value->numel() == 1) {
      char* const row = static_cast<char*>(context.scratch()) + IndexBytes();
      FillBytes(fill, size_, plan_.width, row);
      fill = row;
    }
    GatherRows(parts, index.first(static_cast<size_t>(rows)), fill,
               out.raw_data());
    const int64_t each = plan_.row->rows_of_out(plan_.x[0], plan_.outs[0]);
    RepeatLastRow(out.raw_data(), rows / each, plan_.rows / each,
                  parts.row_bytes * static_cast<size_t>(each));
  }

 private:
  // The scratch memory has the index, and after it a row of padding.
  size_t IndexBytes() const {
    return static_cast<size_t>(plan_.IndexSize()) * sizeof(int64_t);
  }

  RowMapPlan plan_;
  size_t size_ = 0;
  uint64_t element_ = 0;  // of padding, in the dtype of X
};

// For ops that read the numbers.
template <typename T>
class IndexRowMapKernel final : public RowMapKernel {};

template <typename T>
class RowMapGradKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    // Out@GRAD is the last input. A map may look at the second output's size.
    std::vector<DDim> outs = {query.inputs.back()};
    if (query.op.type == "sequence_expand_grad") {
      const DDim& y = query.inputs[1];
      const bool of_offsets = query.Attr<bool>("of_offsets");
      outs.push_back(DDim{of_offsets ? y[0] : y[0] + 1});
    }
    plan_ = RowMapPlan(query, std::move(outs));
    outputs_ = std::min(plan_.x.size(), query.outputs.size());
    preparation.scratch_bytes =
        static_cast<size_t>(plan_.IndexSize()) * sizeof(int64_t);
  }

  void Compute(OpKernelContext& context) const override {
    std::vector<T*> grads;
    // The op may have been asked for those of the first X only.
    for (size_t i = 0; i < outputs_; ++i) {
      Tensor& grad = context.AllocateOutput(static_cast<int>(i), plan_.x[i]);
      FillZero(grad.raw_data(), grad.bytes());
      grads.push_back(grad.data<T>());
    }
    if (plan_.width == 0) return;
    std::span<int64_t> index;
    const int64_t rows = plan_.Map(context, nullptr, &index);
    index = index.first(static_cast<size_t>(rows));
    const T* from = context.Input("Out@GRAD").data<T>();
    if (plan_.x.size() == 1) {
      return AddRowsTo(from, index, plan_.width, grads[0]);
    }
    std::vector<int64_t> part(index.size());
    int64_t first = 0;
    for (size_t i = 0; i < grads.size(); ++i) {
      const int64_t end = first + plan_.x[i].numel() / plan_.width;
      std::transform(index.begin(), index.end(), part.begin(), [&](int64_t r) {
        return r >= first && r < end ? r - first : -1;
      });
      AddRowsTo(from, std::span<const int64_t>(part), plan_.width, grads[i]);
      first = end;
    }
  }

 private:
  RowMapPlan plan_;
  size_t outputs_ = 0;
};

void AddRowMapKernels(Registry& registry) {
  const CPUPlace cpu;
  for (const RowMapRow& row : RowMaps()) {
    if (row.dtypes == &IndexDTypes) {
      AddPlainKernels<IndexRowMapKernel<IndexTypes>>(registry, row.name, cpu);
    } else {
      AddPlainKernels<RowMapKernel>(registry, row.name, cpu);
    }
    if (!row.gradient) continue;
    AddPlainKernels<RowMapGradKernel<FloatTypes>>(
        registry, std::string(row.name) + "_grad", cpu);
  }
}

}  // namespace

REGISTER_TABLE(row_map_kernels, AddRowMapKernels);

}  // namespace sluice
