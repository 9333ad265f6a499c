#include "tests/operators/ragged/ragged_examples.h"

namespace sluice::testing {
namespace {

constexpr int64_t kColumns = 4;

Arrays ScatterReference(const Arrays& in, const OpDesc& /*op*/) {
  Array out = in.at("X");
  const RowLists lists = RowsOfSequences(in);
  for (size_t b = 0; b < lists.size(); ++b) {
    for (const int64_t i : lists[b]) {
      out(b, in.at("Ids").values[i]) += in.at("Updates").values[i];
    }
  }
  return {{"Out", out}};
}

Arrays ScatterGradReference(const Arrays& in, const OpDesc& /*op*/) {
  Array grad(in.at("Updates").dims);
  const RowLists lists = RowsOfSequences(in);
  for (size_t b = 0; b < lists.size(); ++b) {
    for (const int64_t i : lists[b]) {
      grad.values[i] = in.at("Out@GRAD")(b, in.at("Ids").values[i]);
    }
  }
  return {{"Updates@GRAD", grad}};
}

std::vector<OpExample> ScatterExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const Lengths& lengths : ManyLengths()) {
    const int64_t rows = OffsetsOf(lengths).back();
    const auto count = static_cast<int64_t>(lengths.size());
    examples.push_back(
        {{{"X", make.Values({count, kColumns})},
          {"Ids", make.Integers(DType::kInt64, {rows, 1}, 0, kColumns - 1)},
          {"Offsets", OffsetsTensor(lengths)},
          {"Updates", make.Values({rows, 1})}},
         {}});
  }
  return examples;
}

std::vector<OpExample> ScatterGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = ScatterExamples(make);
  for (OpExample& example : examples) {
    const DDim dims = example.inputs[0].second.dims();
    example.inputs.erase(example.inputs.begin());
    example.inputs.emplace_back("Out@GRAD", make.Values(dims));
  }
  return examples;
}

REGISTER_OP_CASE(sequence_scatter, ScatterExamples, ScatterReference, 8);
REGISTER_OP_CASE(sequence_scatter_grad,
                 ScatterGradExamples,
                 ScatterGradReference);

}  // namespace
}  // namespace sluice::testing
