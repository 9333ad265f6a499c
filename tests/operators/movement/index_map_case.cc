#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/operators/harness/op_case.h"

namespace sluice::testing {
namespace {

using Ints = std::vector<int64_t>;
using Sources = std::vector<Ints>;  // by axis of Out: indices of X, or -1

std::vector<OpExample> Examples(
    ExampleMaker& make, const std::vector<std::pair<DDim, AttributeMap>>& all) {
  std::vector<OpExample> examples;
  for (const auto& [dims, attributes] : all) {
    examples.push_back({{{"X", make.Values(dims)}}, attributes});
  }
  return examples;
}

std::vector<OpExample> SliceExamples(ExampleMaker& make) {
  const auto slices = [](const Ints& starts, const Ints& ends, const Ints& axes,
                         const Ints& steps) {
    return AttributeMap{
        {"starts", starts}, {"ends", ends}, {"axes", axes}, {"steps", steps}};
  };
  return Examples(make,
                  {{{5, 3, 7}, slices({1, -6}, {4, 99}, {0, 2}, {2, 3})},
                   {{5, 3, 7}, slices({-1, 5}, {-99, 0}, {-1, 0}, {-2, -1})},
                   {{5, 3, 7}, slices({1}, {3}, {1}, {})},
                   {{1}, slices({0}, {1}, {}, {})},
                   {{}, slices({}, {}, {}, {})},
                   {{4, 0}, slices({1}, {3}, {}, {})},
                   {{4, 3}, slices({3}, {1}, {1}, {})},
                   {{2, 3, 2, 3, 1, 2}, slices({1, 0}, {3, 1}, {1, 3}, {})},
                   {{9, 131, 71}, slices({130, 2}, {3, 70}, {1, 2}, {-3, 1})},
                   {{150001}, slices({149000}, {0}, {}, {-1})}});
}

std::vector<OpExample> PadExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const char* mode : {"constant", "edge", "reflect", "wrap"}) {
    const auto pads = [&](const Ints& numbers) {
      return AttributeMap{{"pads", numbers}, {"mode", mode}, {"value", 1.0}};
    };
    for (OpExample& example :
         Examples(make, {{{3, 5}, pads({1, 2, 3, 0})},
                         {{3, 4, 2}, pads({0, 7, 0, 0, 9, 0})},
                         {{4, 5}, pads({-1, 3, 2, -2})},
                         {{2, 1, 3}, pads({1, 2, 0, 3, 1, 0})},
                         {{}, pads({})},
                         {{0, 3}, pads({0, 1, 0, 1})}})) {
      examples.push_back(std::move(example));
    }
  }
  examples.push_back({{{"X", make.Values({7, 43, 97})}},
                      {{"pads", Ints{0, 1, 2, 1, 2, 3}}, {"mode", "reflect"}}});
  examples.push_back({{{"X", make.Values({2, 3, 5})}},
                      {{"pads", Ints{1, 2, 0, -1}},
                       {"mode", "constant"},
                       {"value", 1.0},
                       {"axes", Ints{-1, 0}}}});
  return examples;
}

std::vector<OpExample> ExpandExamples(ExampleMaker& make) {
  const auto shape = [](const Ints& sizes) {
    return AttributeMap{{"shape", sizes}};
  };
  return Examples(make, {{{3, 1}, shape({2, 3, 5})},
                         {{3, 1, 5}, shape({4, 1})},
                         {{5}, shape({3, 1})},
                         {{}, shape({3, 3})},
                         {{1, 3}, shape({0, 3})},
                         {{2, 1, 3, 1}, shape({5, 1, 7})},
                         {{1, 3}, shape({1, 1})},
                         {{0, 1}, shape({1, 3})},
                         {{7, 1, 91}, shape({127, 91})},
                         {{1}, shape({70001})}});
}

std::vector<OpExample> TileExamples(ExampleMaker& make) {
  const auto repeats = [](const Ints& counts) {
    return AttributeMap{{"repeats", counts}};
  };
  return Examples(make, {{{3, 2}, repeats({2, 3})},
                         {{3, 1, 5}, repeats({1, 3, 1})},
                         {{5}, repeats({1})},
                         {{}, repeats({})},
                         {{2, 3}, repeats({0, 2})},
                         {{0, 3}, repeats({3, 2})},
                         {{2, 1, 2, 1, 2, 1}, repeats({2, 2, 1, 1, 2, 2})},
                         {{31, 7, 5}, repeats({3, 11, 7})}});
}

std::vector<OpExample> RollExamples(ExampleMaker& make) {
  const auto shifts = [](const Ints& by, const Ints& axes) {
    return AttributeMap{{"shifts", by}, {"axis", axes}};
  };
  return Examples(make, {{{3, 5}, shifts({1}, {0})},
                         {{3, 5, 2}, shifts({-2, 3}, {1, -1})},
                         {{3, 1, 5}, shifts({7, -9, 1}, {0, 1, 0})},
                         {{1}, shifts({1}, {0})},
                         {{4, 3}, shifts({}, {})},
                         {{0, 3}, shifts({1, 2}, {0, 1})},
                         {{2, 3}, shifts({INT64_MIN, INT64_MAX}, {0, 1})},
                         {{131, 257}, shifts({100, -3}, {0, 1})},
                         {{70001}, shifts({35}, {0})}});
}

std::vector<OpExample> ExpandAsExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  const std::vector<std::pair<DDim, DDim>> dims = {
      {{3, 1}, {2, 3, 5}}, {{2, 3}, {4, 3}},       {{2, 3}, {2, 9}},
      {{}, {3, 3}},        {{1, 3}, {0, 3}},       {{0, 1}, {0, 3}},
      {{1}, {1}},          {{5, 1, 2}, {5, 3, 2}}, {{7, 3}, {1001, 93}}};
  for (const auto& [x, y] : dims) {
    examples.push_back({{{"X", make.Values(x)}, {"Y", make.Values(y)}}, {}});
  }
  return examples;
}

Ints Whole(int64_t size) {
  Ints all(static_cast<size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Sources SliceSources(const DDim& x, const OpDesc& op) {
  Sources sources;
  for (const int64_t size : x)
    sources.push_back(Whole(size));
  const Ints& starts = GetAttr<Ints>(op, "starts");
  for (size_t i = 0; i < starts.size(); ++i) {
    const Ints& axes = GetAttr<Ints>(op, "axes");
    const Ints& steps = GetAttr<Ints>(op, "steps");
    int64_t axis = axes.empty() ? static_cast<int64_t>(i) : axes[i];
    if (axis < 0) axis += x.rank();
    const int64_t step = steps.empty() ? 1 : steps[i];
    const int64_t size = x[static_cast<int>(axis)];
    const auto from_end = [&](int64_t index) {
      return index < 0 ? index + size : index;
    };
    const int64_t end = from_end(GetAttr<Ints>(op, "ends")[i]);
    Ints picked;
    int64_t index = from_end(starts[i]);
    if (step < 0) index = std::min(index, size - 1);
    if (step > 0) index = std::max<int64_t>(index, 0);
    for (; step > 0 ? index < std::min(end, size)
                    : index > std::max<int64_t>(end, -1);
         index += step) {
      picked.push_back(index);
    }
    sources[axis] = picked;
  }
  return sources;
}

// Walks from one side of X to the other and back, or begins anew. Only `wrap`
// removes elements before it adds some, as PyTorch and onnxruntime do.
Sources PadSources(const DDim& x, const OpDesc& op) {
  Ints pads = GetAttr<Ints>(op, "pads");
  const Ints axes =
      op.attributes.contains("axes") ? GetAttr<Ints>(op, "axes") : Ints();
  if (!axes.empty()) {
    const Ints given = pads;
    pads.assign(2 * static_cast<size_t>(x.rank()), 0);
    for (size_t i = 0; i < axes.size(); ++i) {
      const int64_t axis = (axes[i] + x.rank()) % x.rank();
      pads[axis] = given[i];
      pads[axis + x.rank()] = given[i + axes.size()];
    }
  }
  const auto& mode = GetAttr<std::string>(op, "mode");
  Sources sources;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const int64_t size = x[axis];
    const int64_t first = std::max<int64_t>(-pads[axis], 0);
    const int64_t last = size + std::min<int64_t>(pads[axis + x.rank()], 0);
    Ints picked;
    for (int64_t i = -pads[axis]; i < size + pads[axis + x.rank()]; ++i) {
      int64_t at = i;
      while (mode == "wrap" && (at < first || at >= last)) {
        at += at < first ? last - first : first - last;
      }
      while (mode != "constant" && (at < 0 || at >= size)) {
        if (mode == "edge" || size == 1) {
          at = at < 0 ? 0 : size - 1;
        } else {
          at = at < 0 ? -at : 2 * (size - 1) - at;
        }
      }
      picked.push_back(at < 0 || at >= size ? -1 : at);
    }
    sources.push_back(picked);
  }
  return sources;
}

Sources ExpandSources(const DDim& x, const OpDesc& op) {
  const Ints& shape = GetAttr<Ints>(op, "shape");
  const int rank = std::max(x.rank(), static_cast<int>(shape.size()));
  Sources sources;
  for (int i = rank; i > 0; --i) {
    const int64_t size = i > x.rank() ? 1 : x[x.rank() - i];
    const int64_t wanted =
        i > static_cast<int>(shape.size()) ? 1 : shape[shape.size() - i];
    sources.push_back(size == 1 ? Ints(static_cast<size_t>(wanted), 0)
                                : Whole(size));
  }
  return sources;
}

Sources TileSources(const DDim& x, const OpDesc& op) {
  Sources sources;
  for (int axis = 0; axis < x.rank(); ++axis) {
    Ints& picked = sources.emplace_back();
    for (int64_t i = 0; i < GetAttr<Ints>(op, "repeats")[axis]; ++i) {
      const Ints once = Whole(x[axis]);
      picked.insert(picked.end(), once.begin(), once.end());
    }
  }
  return sources;
}

Sources RollSources(const DDim& x, const OpDesc& op) {
  Sources sources;
  for (const int64_t size : x)
    sources.push_back(Whole(size));
  const Ints& shifts = GetAttr<Ints>(op, "shifts");
  for (size_t i = 0; i < shifts.size() && x.numel() > 0; ++i) {
    const int64_t axis = GetAttr<Ints>(op, "axis")[i];
    Ints& picked = sources[axis < 0 ? axis + x.rank() : axis];
    const auto size = static_cast<int64_t>(picked.size());
    const int64_t by = (shifts[i] % size + size) % size;
    std::rotate(picked.begin(), picked.end() - by, picked.end());
  }
  return sources;
}

// The indices of X, from 0 again where they end.
Sources ExpandAsSources(const DDim& x, const DDim& out) {
  Sources sources;
  for (int axis = 0; axis < out.rank(); ++axis) {
    const int of_x = axis - (out.rank() - x.rank());
    Ints& picked = sources.emplace_back(Whole(out[axis]));
    for (int64_t& at : picked) {
      at = of_x < 0 ? 0 : at % x[of_x];
    }
  }
  return sources;
}

// Calls visit(element of Out, that of X or -1) for all elements of Out.
template <typename Visit>
DDim ForEachElement(const DDim& x, const Sources& sources, const Visit& visit) {
  DDim out;
  for (const Ints& axis : sources)
    out.InsertDim(out.rank(), static_cast<int64_t>(axis.size()));
  const Array array(out);
  for (int64_t i = 0; i < out.numel(); ++i) {
    const std::vector<int64_t> index = array.IndexOf(i);
    int64_t from = 0;
    for (int axis = 0; axis < out.rank(); ++axis) {
      const int64_t at = sources[axis][index[axis]];
      const int of_x = axis - (out.rank() - x.rank());
      if (at < 0 || from < 0) {
        from = -1;
      } else {
        from = from * (of_x < 0 ? 1 : x[of_x]) + at;
      }
    }
    visit(static_cast<size_t>(i), from);
  }
  return out;
}

template <auto MakeSources>
Arrays Reference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  Array out;
  out.dims = ForEachElement(
      x.dims, MakeSources(x.dims, op), [&](size_t /*at*/, int64_t from) {
        out.values.push_back(from < 0 ? 1 : x.values[from]);
      });
  return {{"Out", out}};
}

template <auto MakeSources>
Arrays GradReference(const Arrays& in, const OpDesc& op) {
  Array x_grad(in.at("X").dims);
  const Array& out_grad = in.at("Out@GRAD");
  ForEachElement(x_grad.dims, MakeSources(x_grad.dims, op),
                 [&](size_t at, int64_t from) {
                   if (from >= 0) x_grad.values[from] += out_grad.values[at];
                 });
  return {{"X@GRAD", x_grad}};
}

template <auto ForwardExamples, auto MakeSources>
std::vector<OpExample> GradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = ForwardExamples(make);
  for (OpExample& example : examples) {
    OpDesc op;
    op.attributes = example.attributes;
    const DDim& x = example.inputs[0].second.dims();
    const DDim out = ForEachElement(x, MakeSources(x, op), [](auto...) {});
    example.inputs.emplace_back("Out@GRAD", make.Values(out));
  }
  return examples;
}

#define INDEX_MAP_CASE(op, Forward, MakeSources)          \
  REGISTER_OP_CASE(op, Forward, Reference<MakeSources>);  \
  [[maybe_unused]] const bool op##_grad_case = AddOpCase( \
      #op "_grad",                                        \
      {GradExamples<Forward, MakeSources>, GradReference<MakeSources>, 4})
INDEX_MAP_CASE(slice, SliceExamples, SliceSources);
INDEX_MAP_CASE(pad, PadExamples, PadSources);
INDEX_MAP_CASE(expand, ExpandExamples, ExpandSources);
INDEX_MAP_CASE(tile, TileExamples, TileSources);
INDEX_MAP_CASE(roll, RollExamples, RollSources);
#undef INDEX_MAP_CASE

Arrays ExpandAsReference(const Arrays& in, const OpDesc& /*op*/) {
  const Array& x = in.at("X");
  Array out;
  out.dims = ForEachElement(x.dims, ExpandAsSources(x.dims, in.at("Y").dims),
                            [&](size_t /*at*/, int64_t from) {
                              out.values.push_back(x.values[from]);
                            });
  return {{"Out", out}};
}

Arrays ExpandAsGradReference(const Arrays& in, const OpDesc& /*op*/) {
  Array x_grad(in.at("X").dims);
  const Array& out_grad = in.at("Out@GRAD");
  ForEachElement(x_grad.dims, ExpandAsSources(x_grad.dims, out_grad.dims),
                 [&](size_t at, int64_t from) {
                   x_grad.values[from] += out_grad.values[at];
                 });
  return {{"X@GRAD", x_grad}};
}

std::vector<OpExample> ExpandAsGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = ExpandAsExamples(make);
  for (OpExample& example : examples) {
    example.inputs[1].first = "Out@GRAD";
  }
  return examples;
}

REGISTER_OP_CASE(expand_as, ExpandAsExamples, ExpandAsReference);
REGISTER_OP_CASE(expand_as_grad,
                 ExpandAsGradExamples,
                 ExpandAsGradReference,
                 30);

}  // namespace
}  // namespace sluice::testing
