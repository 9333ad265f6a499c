#include <vector>

#include "tests/operators/harness/op_case.h"

// The case with which the harness tests every kernel of the op.
namespace sluice::testing {
namespace {

std::vector<OpExample> AccuracyExamples(ExampleMaker& make) {
  const auto labels = [&](const DDim& dims) {
    return make.Integers(make.dtype(), dims, 0, 4);
  };
  return {{{{"Indices", labels({7, 1})}, {"Label", labels({7, 1})}}, {}},
          {{{"Indices", labels({1, 3})}, {"Label", labels({1})}}, {}},
          {{{"Indices", labels({5, 0})}, {"Label", labels({5})}}, {}},
          {{{"Indices", labels({40001, 2})}, {"Label", labels({40001})}}, {}}};
}

Arrays AccuracyReference(const Arrays& in, const OpDesc&) {
  const Array& indices = in.at("Indices");
  const std::vector<double>& label = in.at("Label").values;
  double right = 0;
  for (int64_t i = 0; i < indices.dims[0]; ++i) {
    double found = 0;
    for (int64_t j = 0; j < indices.dims[1]; ++j) {
      if (indices(i, j) == label[i]) found = 1;
    }
    right += found;
  }
  const auto total = static_cast<double>(label.size());
  Arrays out;
  for (const char* name : {"Accuracy", "Correct", "Total"}) {
    out[name] = Array({1});
  }
  out["Accuracy"](0) = right / total;
  out["Correct"](0) = right;
  out["Total"](0) = total;
  return out;
}

REGISTER_OP_CASE(accuracy, AccuracyExamples, AccuracyReference);

}  // namespace
}  // namespace sluice::testing
