#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/operators/harness/harness.h"

// The cases of the harness for every kernel of gather_elements, gather_nd,
// scatter_elements, scatter_nd and their gradients.
namespace sluice::testing {
namespace {

// Calls visit(offset in X, number of the update) in the order of Index, for
// every element that is picked or scattered.
template <typename Visit>
void ForEachElement(const Array& x,
                    const Array& index,
                    int64_t axis,
                    const Visit& visit) {
  if (axis < 0) axis += x.dims.rank();
  for (size_t i = 0; i < index.values.size(); ++i) {
    std::vector<int64_t> at = index.IndexOf(static_cast<int64_t>(i));
    auto value = static_cast<int64_t>(index.values[i]);
    if (value < 0) value += x.dims[static_cast<int>(axis)];
    at[static_cast<size_t>(axis)] = value;
    visit(x.Offset(at), i);
  }
}

template <typename Visit>
void ForEachOfSlices(const Array& x,
                     const Array& index,
                     int64_t batch_dims,
                     const Visit& visit) {
  const int last = index.dims.rank() - 1;
  const int64_t named = index.dims[last];
  const auto first = static_cast<int>(batch_dims + named);
  const int64_t inner = x.dims.Product(first, x.dims.rank());
  const Array outer(index.dims.Subshape(0, last));
  for (int64_t i = 0; i < outer.dims.numel(); ++i) {
    std::vector<int64_t> at = outer.IndexOf(i);
    at.resize(static_cast<size_t>(batch_dims));
    for (int64_t k = 0; k < named; ++k) {
      auto value = static_cast<int64_t>(index.values[i * named + k]);
      const int dim = static_cast<int>(batch_dims + k);
      at.push_back(value < 0 ? value + x.dims[dim] : value);
    }
    at.resize(static_cast<size_t>(x.dims.rank()), 0);
    for (int64_t k = 0; k < inner; ++k) {
      visit(x.Offset(at) + static_cast<size_t>(k),
            static_cast<size_t>(i * inner + k));
    }
  }
}

template <typename Visit>
void ForEach(const Arrays& in, const OpDesc& op, const Visit& visit) {
  const Array &x = in.at("X"), &index = in.at("Index");
  if (x.values.empty() && index.values.empty()) return;
  if (op.attributes.contains("axis")) {
    return ForEachElement(x, index, GetAttr<int64_t>(op, "axis"), visit);
  }
  const bool batches = op.attributes.contains("batch_dims");
  ForEachOfSlices(x, index, batches ? GetAttr<int64_t>(op, "batch_dims") : 0,
                  visit);
}

Tensor IndexFor(ExampleMaker& make,
                DType dtype,
                const DDim& dims,
                int64_t size) {
  return make.Integers(dtype, dims, size > 1 ? -size : 0,
                       std::max<int64_t>(size - 1, 0));
}

std::vector<OpExample> ElementsExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  const auto add = [&](const DDim& x, const DDim& index, int64_t axis) {
    const DType dtype =
        examples.size() % 2 == 0 ? DType::kInt64 : DType::kInt32;
    const int64_t size = x[static_cast<int>(axis < 0 ? axis + x.rank() : axis)];
    examples.push_back(
        {{{"X", make.Values(x)}, {"Index", IndexFor(make, dtype, index, size)}},
         {{"axis", axis}}});
  };
  add({5, 3}, {7, 3}, 0);
  add({5, 3}, {4, 7}, -1);
  add({2, 5, 3}, {2, 9, 2}, 1);
  add({2, 3, 2, 5}, {1, 7, 2, 4}, 1);
  add({9}, {11}, 0);
  add({1, 1}, {1, 1}, 1);
  add({3, 0}, {2, 0}, 0);
  add({0, 3}, {0, 3}, 0);
  add({4, 3}, {0, 3}, 0);
  add({97, 311}, {230, 301}, 0);
  add({97, 311}, {90, 500}, 1);
  return examples;
}

std::vector<OpExample> SlicesExamples(ExampleMaker& make,
                                      bool batches,
                                      const char* attribute) {
  std::vector<OpExample> examples;
  const auto add = [&](const DDim& x, const DDim& index, int64_t batch_dims) {
    if (!batches && batch_dims > 0) return;
    const DType dtype =
        examples.size() % 2 == 0 ? DType::kInt64 : DType::kInt32;
    const auto first = x.begin() + batch_dims;
    const int64_t size =
        *std::min_element(first, first + index[index.rank() - 1]);
    OpExample example = {
        {{"X", make.Values(x)}, {"Index", IndexFor(make, dtype, index, size)}},
        {}};
    if (batches) example.attributes[attribute] = batch_dims;
    examples.push_back(example);
  };
  add({5, 3}, {7, 1}, 0);
  add({5, 4}, {3, 3, 2}, 0);
  add({3, 5, 2}, {3, 4, 1}, 1);
  add({3, 2, 5, 2}, {3, 2, 3, 1}, 2);
  add({3, 5, 4, 2}, {3, 2, 2}, 1);
  add({2, 3, 4}, {3}, 0);
  add({1}, {1, 1}, 0);
  add({3, 0}, {2, 1}, 0);
  add({0, 3}, {0, 1}, 0);
  add({4, 3}, {0, 2}, 0);
  add({97, 311, 3}, {9001, 2}, 0);
  add({301, 17}, {700, 1}, 0);
  return examples;
}

std::vector<OpExample> NdExamples(ExampleMaker& make) {
  return SlicesExamples(make, true, "batch_dims");
}

Arrays GatherReference(const Arrays& in, const OpDesc& op) {
  const Array &x = in.at("X"), &index = in.at("Index");
  DDim dims = index.dims;
  if (!op.attributes.contains("axis")) {
    const int last = dims.rank() - 1;
    const auto first =
        static_cast<int>(GetAttr<int64_t>(op, "batch_dims") + index.dims[last]);
    dims.RemoveDimRange(last, last + 1);
    for (int i = first; i < x.dims.rank(); ++i) {
      dims.InsertDim(dims.rank(), x.dims[i]);
    }
  }
  Array out(dims);
  ForEach(in, op,
          [&](size_t from, size_t to) { out.values[to] = x.values[from]; });
  return {{"Out", out}};
}

Arrays GatherGradReference(const Arrays& in, const OpDesc& op) {
  Array x_grad(in.at("X").dims);
  ForEach(in, op, [&](size_t from, size_t to) {
    x_grad.values[from] += in.at("Out@GRAD").values[to];
  });
  return {{"X@GRAD", x_grad}};
}

std::vector<OpExample> WithOutGrad(std::vector<OpExample> examples,
                                   const char* forward,
                                   ExampleMaker& make) {
  for (OpExample& example : examples) {
    const OpDesc op = DescribeExample(forward, example);
    const Arrays out = GatherReference(InputArrays(example), op);
    example.inputs.emplace_back("Out@GRAD", make.Values(out.at("Out").dims));
  }
  return examples;
}

std::vector<OpExample> GatherElementsGradExamples(ExampleMaker& make) {
  return WithOutGrad(ElementsExamples(make), "gather_elements", make);
}

std::vector<OpExample> GatherNdGradExamples(ExampleMaker& make) {
  return WithOutGrad(NdExamples(make), "gather_nd", make);
}

// Updates for each example, with all reductions.
std::vector<OpExample> WithUpdates(std::vector<OpExample> examples,
                                   const char* gather,
                                   ExampleMaker& make) {
  const char* const all[] = {"none", "add", "mul", "max", "min"};
  std::vector<OpExample> whole;
  for (OpExample& example : examples) {
    OpExample picked = example;
    if (*gather == 'g' && !picked.attributes.contains("axis")) {
      picked.attributes["batch_dims"] = int64_t{0};
    }
    const OpDesc op = DescribeExample(gather, picked);
    const DDim dims = GatherReference(InputArrays(picked), op).at("Out").dims;
    example.inputs.emplace_back("Updates", make.Values(dims));
    for (size_t i = 0; i < 5; ++i) {
      // Kernels for bool, for dtypes without arithmetic, and for halves on
      // devices only replace.
      if (make.dtype() >= DType::kBool && i > 0) break;
      whole.push_back(example);
      whole.back().attributes["reduction"] = std::string(all[i]);
      whole.back().attributes["include_self"] = whole.size() % 4 != 0;
    }
  }
  return whole;
}

std::vector<OpExample> ScatterElementsExamples(ExampleMaker& make) {
  return WithUpdates(ElementsExamples(make), "gather_elements", make);
}

std::vector<OpExample> ScatterNdExamples(ExampleMaker& make) {
  return WithUpdates(SlicesExamples(make, false, ""), "gather_nd", make);
}

// Integers are modulo a power of 2.
double Wrapped(double value, DType dtype) {
  VisitDType(dtype, [&]<typename T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      value = static_cast<T>(static_cast<int64_t>(value));
    }
  });
  return value;
}

Arrays ScatterReference(const Arrays& in, const OpDesc& op) {
  const auto& reduction = GetAttr<std::string>(op, "reduction");
  Array out = in.at("X");
  std::vector<bool> counts(out.values.size(),
                           GetAttr<bool>(op, "include_self"));
  ForEach(in, op, [&](size_t place, size_t i) {
    double& element = out.values[place];
    const double update = in.at("Updates").values[i];
    if (reduction == "none" || !counts[place]) {
      element = update;
      counts[place] = true;
      return;
    }
    if (reduction == "add") element += update;
    if (reduction == "mul") element *= update;
    if (reduction == "max") element = std::max(element, update);
    if (reduction == "min") element = std::min(element, update);
    element = Wrapped(element, out.dtype);
  });
  return {{"Out", out}};
}

// Those with none and add, or with the other reductions.
std::vector<OpExample> ScatterGradExamples(std::vector<OpExample> examples,
                                           ExampleMaker& make,
                                           bool reduce = false) {
  std::erase_if(examples, [reduce](const OpExample& example) {
    const auto& reduction =
        std::get<std::string>(example.attributes.find("reduction")->second);
    return reduce == (reduction == "none" || reduction == "add");
  });
  for (OpExample& example : examples) {
    example.inputs.emplace_back("Out@GRAD",
                                make.Values(example.inputs[0].second.dims()));
  }
  return examples;
}

std::vector<OpExample> ScatterElementsGradExamples(ExampleMaker& make) {
  return ScatterGradExamples(ScatterElementsExamples(make), make);
}

std::vector<OpExample> ScatterNdGradExamples(ExampleMaker& make) {
  return ScatterGradExamples(ScatterNdExamples(make), make);
}

std::vector<OpExample> ElementsReduceGradExamples(ExampleMaker& make) {
  return ScatterGradExamples(ScatterElementsExamples(make), make, true);
}

std::vector<OpExample> NdReduceGradExamples(ExampleMaker& make) {
  return ScatterGradExamples(ScatterNdExamples(make), make, true);
}

// Looks at all operands of each element of Out: that of X is number -1.
Arrays ScatterReduceGradReference(const Arrays& in, const OpDesc& op) {
  const auto& reduction = GetAttr<std::string>(op, "reduction");
  const bool include_self = GetAttr<bool>(op, "include_self");
  const Array &x = in.at("X"), &updates = in.at("Updates");
  const Array& grad = in.at("Out@GRAD");
  Array x_grad = grad, update_grad(updates.dims);
  std::vector<std::vector<std::pair<int64_t, double>>> operands(
      x.values.size());
  ForEach(in, op, [&](size_t place, size_t i) {
    if (operands[place].empty() && include_self) {
      operands[place].emplace_back(-1, x.values[place]);
    }
    operands[place].emplace_back(i, updates.values[i]);
  });
  for (size_t place = 0; place < operands.size(); ++place) {
    const auto& all = operands[place];
    if (all.empty()) continue;
    if (!include_self) x_grad.values[place] = 0;
    double best = all[0].second, equal = 0;
    for (const auto& [number, value] : all) {
      if (reduction == "max" ? value > best : value < best) best = value;
    }
    for (const auto& [number, value] : all) {
      equal += value == best ? 1 : 0;
    }
    for (const auto& [number, value] : all) {
      double factor = value == best ? 1 / equal : 0;
      if (reduction == "mul") {
        factor = 1;
        for (const auto& [other, of_other] : all) {
          if (other != number) factor *= of_other;
        }
      }
      double& to =
          number < 0 ? x_grad.values[place] : update_grad.values[number];
      to = grad.values[place] * factor;
    }
  }
  return {{"X@GRAD", x_grad}, {"Updates@GRAD", update_grad}};
}

Arrays ScatterGradReference(const Arrays& in, const OpDesc& op) {
  const bool add = GetAttr<std::string>(op, "reduction") == "add";
  const bool include_self = GetAttr<bool>(op, "include_self");
  const Array& grad = in.at("Out@GRAD");
  Array x_grad = grad;
  Array update_grad(in.at("Updates").dims);
  std::vector<size_t> last(grad.values.size());
  ForEach(in, op, [&](size_t place, size_t i) { last[place] = i; });
  ForEach(in, op, [&](size_t place, size_t i) {
    if (!add || !include_self) x_grad.values[place] = 0;
    if (add || last[place] == i) update_grad.values[i] = grad.values[place];
  });
  return {{"X@GRAD", x_grad}, {"Updates@GRAD", update_grad}};
}

REGISTER_OP_CASE(gather_elements, ElementsExamples, GatherReference);
REGISTER_OP_CASE(gather_nd, NdExamples, GatherReference);
// Sums of some numbers, in float32.
REGISTER_OP_CASE(gather_elements_grad,
                 GatherElementsGradExamples,
                 GatherGradReference,
                 8);
REGISTER_OP_CASE(gather_nd_grad, GatherNdGradExamples, GatherGradReference, 8);
REGISTER_OP_CASE(scatter_elements,
                 ScatterElementsExamples,
                 ScatterReference,
                 8);
REGISTER_OP_CASE(scatter_nd, ScatterNdExamples, ScatterReference, 8);
REGISTER_OP_CASE(scatter_elements_grad,
                 ScatterElementsGradExamples,
                 ScatterGradReference);
REGISTER_OP_CASE(scatter_nd_grad, ScatterNdGradExamples, ScatterGradReference);
REGISTER_OP_CASE(scatter_elements_reduce_grad,
                 ElementsReduceGradExamples,
                 ScatterReduceGradReference,
                 8);
REGISTER_OP_CASE(scatter_nd_reduce_grad,
                 NdReduceGradExamples,
                 ScatterReduceGradReference,
                 8);

}  // namespace
}  // namespace sluice::testing
