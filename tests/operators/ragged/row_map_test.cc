#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "tests/operators/ragged/ragged_examples.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using Floats = std::vector<float>;

Tensor Column(const Floats& values) {
  return Tensor::FromVector<float>({static_cast<int64_t>(values.size()), 1},
                                   values);
}

TEST(RowMap, RepeatsTheLastRowAsPadding) {
  const auto got =
      RunOp("sequence_reverse", {{"X", Column({1, 2, 3, 9, 9})},
                                 {"Offsets", testing::OffsetsTensor({2, 1})}});
  EXPECT_EQ(got.at("Out").ToVector<float>(), (Floats{2, 1, 3, 3, 3}));
}

TEST(RowMap, IgnoresTheGradientOfPadding) {
  const Tensor nan = Column({1, 2, std::nanf("")});
  auto got = RunOp("sequence_reverse_grad",
                   {{"X", Column({0, 0, 0})},
                    {"Offsets", testing::OffsetsTensor({2})},
                    {"Out@GRAD", nan}},
                   {}, {.outputs = {"X@GRAD"}});
  EXPECT_EQ(got["X@GRAD"].ToVector<float>(), (Floats{2, 1, 0}));
}

}  // namespace
}  // namespace sluice

// The cases with which the harness tests every kernel of the ops.
namespace sluice::testing {
namespace {

// What Out is: its shape, for each element the one of X (of all X, one after
// the other) or -1, and the second output.
struct Picked {
  DDim dims;
  std::vector<int64_t> elements;
  Array second;
};

// Rows, or the rows of several sequences, of `width` elements.
void AddRow(int64_t row, int64_t width, Picked* out) {
  for (int64_t c = 0; c < width; ++c) {
    out->elements.push_back(row < 0 ? -1 : row * width + c);
  }
}

Array OffsetsArray(const RowLists& lists) {
  Array offsets({static_cast<int64_t>(lists.size()) + 1});
  for (size_t b = 0; b < lists.size(); ++b) {
    offsets.values[b + 1] =
        offsets.values[b] + static_cast<double>(lists[b].size());
  }
  return offsets;
}

DDim WithRows(DDim dims, int64_t rows) {
  dims[0] = rows;
  return dims;
}

Picked PickRows(const DDim& x, const RowLists& lists) {
  Picked out;
  int64_t rows = 0;
  for (const auto& list : lists) {
    for (const int64_t row : list) {
      AddRow(row, WidthOf(x), &out);
      ++rows;
    }
  }
  out.dims = WithRows(x, rows);
  out.second = OffsetsArray(lists);
  return out;
}

Picked Reverse(const Arrays& in, const OpDesc&) {
  RowLists lists = RowsOfSequences(in);
  for (auto& list : lists) {
    std::reverse(list.begin(), list.end());
  }
  return PickRows(in.at("X").dims, lists);
}

Picked ExpandAs(const Arrays& in, const OpDesc&) {
  RowLists lists = RowsOfSequences(in);
  for (size_t b = 0; b < lists.size(); ++b) {
    std::fill(lists[b].begin(), lists[b].end(), static_cast<int64_t>(b));
  }
  return PickRows(in.at("X").dims, lists);
}

Picked Expand(const Arrays& in, const OpDesc&) {
  const RowLists from = RowsOfSequences(in);
  const RowLists times = RowsOfSequences(in, "YOffsets");
  RowLists copies;
  for (size_t b = 0; b < from.size(); ++b) {
    copies.insert(copies.end(), times[b].size(), from[b]);
  }
  return PickRows(in.at("X").dims, copies);
}

Picked Rows(const Arrays& in, const OpDesc&) {
  return PickRows(in.at("X").dims, RowsOfSequences(in));
}

Picked Slice(const Arrays& in, const OpDesc&) {
  RowLists lists = RowsOfSequences(in);
  for (size_t b = 0; b < lists.size(); ++b) {
    const auto first = static_cast<size_t>(in.at("Offset").values[b]);
    const auto count = static_cast<size_t>(in.at("Length").values[b]);
    lists[b] = {lists[b].begin() + first, lists[b].begin() + first + count};
  }
  return PickRows(in.at("X").dims, lists);
}

Picked Pad(const Arrays& in, const OpDesc& op) {
  RowLists lists = RowsOfSequences(in);
  const int64_t length = in.contains("Out@GRAD")
                             ? in.at("Out@GRAD").dims[1]
                             : GetAttr<int64_t>(op, "padded_length");
  Array lengths({static_cast<int64_t>(lists.size())});
  for (size_t b = 0; b < lists.size(); ++b) {
    lengths.values[b] = static_cast<double>(lists[b].size());
    lists[b].resize(static_cast<size_t>(length), -1);
  }
  DDim dims = in.at("X").dims;
  Picked out = PickRows(dims, lists);
  dims[0] = static_cast<int64_t>(lists.size());
  dims.InsertDim(1, length);
  out.dims = dims;
  out.second = lengths;
  return out;
}

Picked Unpad(const Arrays& in, const OpDesc&) {
  DDim x = in.at("X").dims;
  RowLists lists;
  for (int64_t b = 0; b < x[0]; ++b) {
    auto& list = lists.emplace_back();
    for (int64_t t = 0; t < in.at("Length").values[b]; ++t) {
      list.push_back(b * x[1] + t);
    }
  }
  x.RemoveDimRange(0, 1);
  return PickRows(x, lists);
}

Picked UnpadAs(const Arrays& in, const OpDesc&) {
  DDim x = in.at("X").dims;
  RowLists lists = RowsOfSequences(in);
  for (size_t b = 0; b < lists.size(); ++b) {
    std::iota(lists[b].begin(), lists[b].end(), static_cast<int64_t>(b) * x[1]);
  }
  x.RemoveDimRange(0, 1);
  return PickRows(x, lists);
}

Picked Concat(const Arrays& in, const OpDesc&) {
  RowLists lists = RowsOfSequences(in);
  const RowLists more = RowsOfSequences(in, "Offsets[1]");
  const int64_t first = in.at("X").dims[0];
  for (size_t b = 0; b < lists.size(); ++b) {
    for (const int64_t row : more[b]) {
      lists[b].push_back(first + row);
    }
  }
  return PickRows(in.at("X").dims, lists);
}

Picked Windows(const Arrays& in, int64_t start, int64_t length) {
  const DDim& x = in.at("X").dims;
  Picked out;
  for (const auto& list : RowsOfSequences(in)) {
    const auto size = static_cast<int64_t>(list.size());
    for (int64_t t = 0; t < size; ++t) {
      for (int64_t at = t + start; at < t + start + length; ++at) {
        AddRow(at >= 0 && at < size ? list[at] : -1, WidthOf(x), &out);
      }
    }
  }
  out.dims = {x[0], length * WidthOf(x)};
  return out;
}

Picked Context(const Arrays& in, const OpDesc& op) {
  return Windows(in, GetAttr<int64_t>(op, "start"),
                 GetAttr<int64_t>(op, "length"));
}

Picked Enumerate(const Arrays& in, const OpDesc& op) {
  return Windows(in, 0, GetAttr<int64_t>(op, "win_size"));
}

// The harness has no padding: the rows that are left out are at the end.
Picked Erase(const Arrays& in, const OpDesc& op) {
  RowLists lists = RowsOfSequences(in);
  const auto& tokens = GetAttr<std::vector<int64_t>>(op, "tokens");
  for (auto& list : lists) {
    std::erase_if(list, [&](int64_t row) {
      const auto value = static_cast<int64_t>(in.at("X").values[row]);
      return std::count(tokens.begin(), tokens.end(), value) > 0;
    });
  }
  return PickRows(in.at("X").dims, lists);
}

Picked Reshape(const Arrays& in, const OpDesc& op) {
  const DDim& x = in.at("X").dims;
  const auto columns = GetAttr<int64_t>(op, "new_dim");
  Picked out;
  for (int64_t i = 0; i < x.numel(); ++i) {
    out.elements.push_back(i);
  }
  out.dims = {x.numel() / columns, columns};
  out.second = in.at("Offsets");
  for (double& offset : out.second.values) {
    offset = offset * static_cast<double>(x[1]) / static_cast<double>(columns);
  }
  return out;
}

Picked Image(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  const auto& k = GetAttr<std::vector<int64_t>>(op, "kernels");
  const auto& s = GetAttr<std::vector<int64_t>>(op, "strides");
  const auto& p = GetAttr<std::vector<int64_t>>(op, "paddings");
  Picked out;
  int64_t windows = 0;
  for (int64_t n = 0; n < x.dims[0]; ++n) {
    for (int64_t i = -p[0]; i + k[0] <= x.dims[2] + p[2]; i += s[0]) {
      for (int64_t j = -p[1]; j + k[1] <= x.dims[3] + p[3]; j += s[1]) {
        windows += n == 0 ? 1 : 0;
        for (int64_t e = 0; e < x.dims[1] * k[0] * k[1]; ++e) {
          const int64_t c = e / (k[0] * k[1]);
          const int64_t row = i + e / k[1] % k[0];
          const int64_t column = j + e % k[1];
          const bool inside =
              row >= 0 && row < x.dims[2] && column >= 0 && column < x.dims[3];
          out.elements.push_back(
              inside ? static_cast<int64_t>(x.Offset({n, c, row, column}))
                     : -1);
        }
      }
    }
  }
  const int64_t width = x.dims[1] * k[0] * k[1];
  out.dims = {
      width == 0 ? 0 : static_cast<int64_t>(out.elements.size()) / width,
      width};
  out.second = Array({x.dims[0] + 1});
  for (int64_t n = 0; n <= x.dims[0]; ++n) {
    out.second.values[n] = static_cast<double>(n * windows);
  }
  return out;
}

using Pick = Picked (*)(const Arrays& in, const OpDesc& op);

Arrays ForwardOf(Pick pick,
                 const char* second,
                 const Arrays& in,
                 const OpDesc& op) {
  const Picked picked = pick(in, op);
  std::vector<double> x = in.at("X").values;
  if (in.contains("X[1]")) {
    const auto& more = in.at("X[1]").values;
    x.insert(x.end(), more.begin(), more.end());
  }
  Array out(picked.dims);
  const auto given = op.attributes.find("pad_value");
  for (size_t i = 0; i < picked.elements.size(); ++i) {
    const int64_t from = picked.elements[i];
    double fill = given == op.attributes.end()
                      ? 0
                      : static_cast<double>(std::get<int64_t>(given->second));
    if (in.contains("PadValue")) {
      const auto& values = in.at("PadValue").values;
      fill = values[i % values.size()];
    }
    out.values[i] = from < 0 ? fill : x[from];
  }
  Arrays outs = {{"Out", out}};
  if (second != nullptr) outs[second] = picked.second;
  return outs;
}

Arrays GradOf(Pick pick, const Arrays& in, const OpDesc& op) {
  const Picked picked = pick(in, op);
  Arrays grads = {{"X@GRAD", Array(in.at("X").dims)}};
  std::vector<double*> at;
  const auto add = [&](const std::string& name) {
    for (double& value : grads.at(name).values) {
      at.push_back(&value);
    }
  };
  add("X@GRAD");
  if (in.contains("X[1]")) {
    grads["X@GRAD[1]"] = Array(in.at("X[1]").dims);
    add("X@GRAD[1]");
  }
  for (size_t i = 0; i < picked.elements.size(); ++i) {
    if (picked.elements[i] < 0) continue;
    *at[picked.elements[i]] += in.at("Out@GRAD").values[i];
  }
  return grads;
}

template <Pick kPick, bool kOffsets = false>
Arrays Reference(const Arrays& in, const OpDesc& op) {
  return ForwardOf(kPick, kOffsets ? "OutOffsets" : nullptr, in, op);
}
template <Pick kPick>
Arrays GradReference(const Arrays& in, const OpDesc& op) {
  return GradOf(kPick, in, op);
}
Arrays PadReference(const Arrays& in, const OpDesc& op) {
  return ForwardOf(Pad, "Length", in, op);
}

using Examples = std::vector<OpExample> (*)(ExampleMaker& make);

int64_t Sum(const Lengths& lengths) {
  return OffsetsOf(lengths).back();
}

std::vector<OpExample> RaggedExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const Lengths& lengths : ManyLengths()) {
    examples.push_back({{{"X", make.Values({Sum(lengths), 3})},
                         {"Offsets", OffsetsTensor(lengths)}},
                        {}});
  }
  return examples;
}

std::vector<OpExample> ExpandAsExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const Lengths& lengths : ManyLengths()) {
    const auto count = static_cast<int64_t>(lengths.size());
    examples.push_back(
        {{{"X", make.Values({count, 3})},
          {"Y", make.Integers(DType::kInt64, {Sum(lengths)}, 0, 1)},
          {"Offsets", OffsetsTensor(lengths)}},
         {}});
  }
  return examples;
}

std::vector<OpExample> UnpadAsExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = ExpandAsExamples(make);
  for (OpExample& example : examples) {
    Tensor& x = example.inputs[0].second;
    x = make.Values({x.dims()[0], 98, 3});
  }
  return examples;
}

std::vector<OpExample> ExpandExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  const std::vector<std::pair<Lengths, Lengths>> cases = {
      {{3, 0, 1, 4}, {2, 3, 0, 1}},
      {{}, {}},
      {{1}, {1}},
      {Lengths(70, 41), Lengths(70, 3)}};
  for (const auto& [lengths, times] : cases) {
    int64_t rows = 0;
    for (size_t b = 0; b < lengths.size(); ++b) {
      rows += lengths[b] * times[b];
    }
    examples.push_back(
        {{{"X", make.Values({Sum(lengths), 3})},
          {"Y", make.Integers(DType::kInt64, {Sum(times)}, 0, 1)},
          {"Offsets", OffsetsTensor(lengths)},
          {"YOffsets", OffsetsTensor(times)}},
         {{"capacity", rows}}});
  }
  return examples;
}

std::vector<OpExample> RowsExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = RaggedExamples(make);
  for (size_t at = 0; at < examples.size(); ++at) {
    const int64_t rows = Sum(ManyLengths()[at]);
    const int64_t more = static_cast<int64_t>(at + 2) % 3;
    examples[at].attributes = {{"rows", rows}};
    examples[at].inputs[0].second = make.Values({rows + more, 1 + more});
  }
  return examples;
}

std::vector<OpExample> SliceExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = RaggedExamples(make);
  size_t at = 0;
  for (const Lengths& lengths : ManyLengths()) {
    // Whole sequences, so that nothing is padding.
    const auto count = static_cast<int64_t>(lengths.size());
    auto& inputs = examples[at++].inputs;
    inputs.emplace_back("Offset", Tensor::FromVector<int64_t>(
                                      {count, 1}, Lengths(lengths.size(), 0)));
    inputs.emplace_back("Length",
                        Tensor::FromVector<int64_t>({count, 1}, lengths));
  }
  return examples;
}

std::vector<OpExample> PadExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = RaggedExamples(make);
  for (size_t i = 0; i < examples.size(); ++i) {
    const DDim value = i % 2 == 0 ? DDim{1} : DDim{3};
    examples[i].inputs.emplace_back("PadValue", make.Values(value));
    examples[i].attributes["padded_length"] = int64_t{98};
  }
  return examples;
}

std::vector<OpExample> UnpadExamples(ExampleMaker& make) {
  const auto full = [&](int64_t batch, int64_t length) {
    return OpExample{
        {{"X", make.Values({batch, length, 2})},
         {"Length", Tensor::FromVector<int64_t>(
                        {batch}, Lengths(static_cast<size_t>(batch), length))}},
        {}};
  };
  return {full(3, 5), full(0, 4), full(1, 1), full(90, 97)};
}

std::vector<OpExample> ConcatExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const Lengths& lengths : ManyLengths()) {
    Lengths more = lengths;
    std::reverse(more.begin(), more.end());
    examples.push_back({{{"X", make.Values({Sum(lengths), 3})},
                         {"X", make.Values({Sum(more), 3})},
                         {"Offsets", OffsetsTensor(lengths)},
                         {"Offsets", OffsetsTensor(more)}},
                        {}});
  }
  return examples;
}

std::vector<OpExample> ContextExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = RaggedExamples(make);
  const std::vector<std::pair<int64_t, int64_t>> windows = {
      {-1, 3}, {0, 2}, {-3, 2}, {2, 1}};
  for (size_t i = 0; i < examples.size(); ++i) {
    const auto& [start, length] = windows[i % windows.size()];
    examples[i].attributes = {{"start", start}, {"length", length}};
  }
  return examples;
}

std::vector<OpExample> IntegerExamples(ExampleMaker& make,
                                       const AttributeMap& attributes,
                                       int64_t low) {
  std::vector<OpExample> examples;
  for (const Lengths& lengths : ManyLengths()) {
    examples.push_back(
        {{{"X", make.Integers(make.dtype(), {Sum(lengths), 1}, low, 9)},
          {"Offsets", OffsetsTensor(lengths)}},
         attributes});
  }
  return examples;
}

std::vector<OpExample> EnumerateExamples(ExampleMaker& make) {
  return IntegerExamples(
      make, {{"win_size", int64_t{3}}, {"pad_value", int64_t{7}}}, 0);
}

// No token is there; the tests in Python erase some.
std::vector<OpExample> EraseExamples(ExampleMaker& make) {
  return IntegerExamples(make, {{"tokens", std::vector<int64_t>{0, 1}}}, 2);
}

std::vector<OpExample> ReshapeExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const int64_t columns : {1, 2, 12}) {
    for (const Lengths& lengths :
         {Lengths{2, 0, 4, 2}, Lengths{}, Lengths(40, 92)}) {
      examples.push_back({{{"X", make.Values({Sum(lengths), 6})},
                           {"Offsets", OffsetsTensor(lengths)}},
                          {{"new_dim", columns}}});
    }
  }
  return examples;
}

std::vector<OpExample> ImageExamples(ExampleMaker& make) {
  const auto example = [&](const DDim& x, Lengths k, Lengths s, Lengths p) {
    return OpExample{{{"X", make.Values(x)}},
                     {{"kernels", k}, {"strides", s}, {"paddings", p}}};
  };
  return {example({2, 3, 5, 4}, {2, 2}, {1, 1}, {0, 0, 0, 0}),
          example({1, 2, 5, 7}, {3, 2}, {2, 1}, {1, 0, 2, 1}),
          example({1, 1, 1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}),
          example({0, 2, 3, 3}, {2, 2}, {1, 1}, {0, 0, 0, 0}),
          example({2, 3, 40, 40}, {3, 3}, {1, 1}, {1, 1, 1, 1})};
}

template <Examples kExamples, Pick kPick>
std::vector<OpExample> GradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = kExamples(make);
  for (OpExample& example : examples) {
    Arrays in;
    for (const auto& [name, tensor] : example.inputs) {
      const bool known = in.contains(name);
      in[known ? name + "[1]" : name] = ToArray(tensor);
    }
    OpDesc op;
    op.attributes = example.attributes;
    example.inputs.emplace_back("Out@GRAD", make.Values(kPick(in, op).dims));
    example.attributes.erase("capacity");  // of the forward ops only
    example.attributes.erase("padded_length");
    example.attributes.erase("rows");
  }
  return examples;
}

REGISTER_OP_CASE(sequence_reverse, RaggedExamples, Reference<Reverse>);
REGISTER_OP_CASE(sequence_expand_as, ExpandAsExamples, Reference<ExpandAs>);
REGISTER_OP_CASE(sequence_expand, ExpandExamples, (Reference<Expand, true>));
REGISTER_OP_CASE(sequence_rows, RowsExamples, Reference<Rows>);
REGISTER_OP_CASE(sequence_slice, SliceExamples, (Reference<Slice, true>));
REGISTER_OP_CASE(sequence_pad, PadExamples, PadReference);
REGISTER_OP_CASE(sequence_unpad, UnpadExamples, (Reference<Unpad, true>));
REGISTER_OP_CASE(sequence_unpad_as, UnpadAsExamples, Reference<UnpadAs>);
REGISTER_OP_CASE(sequence_concat, ConcatExamples, (Reference<Concat, true>));
REGISTER_OP_CASE(sequence_context, ContextExamples, Reference<Context>);
REGISTER_OP_CASE(sequence_enumerate, EnumerateExamples, Reference<Enumerate>);
REGISTER_OP_CASE(sequence_erase, EraseExamples, (Reference<Erase, true>));
REGISTER_OP_CASE(sequence_reshape, ReshapeExamples, (Reference<Reshape, true>));
REGISTER_OP_CASE(im2sequence, ImageExamples, (Reference<Image, true>));

#define ROW_MAP_GRAD_CASE(op, examples, pick)                 \
  REGISTER_OP_CASE(op##_grad, (GradExamples<examples, pick>), \
                   GradReference<pick>)
ROW_MAP_GRAD_CASE(sequence_reverse, RaggedExamples, Reverse);
ROW_MAP_GRAD_CASE(sequence_expand_as, ExpandAsExamples, ExpandAs);
ROW_MAP_GRAD_CASE(sequence_expand, ExpandExamples, Expand);
ROW_MAP_GRAD_CASE(sequence_rows, RowsExamples, Rows);
ROW_MAP_GRAD_CASE(sequence_slice, SliceExamples, Slice);
ROW_MAP_GRAD_CASE(sequence_pad, PadExamples, Pad);
ROW_MAP_GRAD_CASE(sequence_unpad, UnpadExamples, Unpad);
ROW_MAP_GRAD_CASE(sequence_unpad_as, UnpadAsExamples, UnpadAs);
ROW_MAP_GRAD_CASE(sequence_concat, ConcatExamples, Concat);
ROW_MAP_GRAD_CASE(sequence_context, ContextExamples, Context);
ROW_MAP_GRAD_CASE(sequence_reshape, ReshapeExamples, Reshape);
ROW_MAP_GRAD_CASE(im2sequence, ImageExamples, Image);
#undef ROW_MAP_GRAD_CASE

}  // namespace
}  // namespace sluice::testing
