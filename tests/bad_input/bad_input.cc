#include "tests/bad_input/bad_input.h"

#include <numeric>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/executor.h"
#include "sluice/framework/run/run_op.h"

namespace sluice::testing {

using Fragments = std::initializer_list<std::string_view>;

namespace {

// Adds an op of type `op` with variables named after its arguments; sizes are
// unknown unless `known`.
OpDesc AddInputs(Program& program,
                 const std::string& op,
                 const OpArguments& inputs,
                 const AttributeMap& attributes,
                 bool known) {
  OpDesc desc;
  desc.type = op;
  desc.attributes = attributes;
  for (const auto& [argument, tensor] : inputs) {
    DDim dims = tensor.dims();
    for (int axis = 0; !known && axis < dims.rank(); ++axis)
      dims[axis] = -1;
    program.Data(argument, tensor.dtype(), dims);
    desc.inputs.push_back({argument, {argument}});
  }
  return desc;
}

}  // namespace

Tensor Floats(const DDim& dims) {
  std::vector<float> values(dims.numel());
  std::iota(values.begin(), values.end(), 0.0f);
  return Tensor::FromVector(dims, values);
}

void ExpectNextRunWorks() {
  const auto out = RunOp("manhattan_distance",
                         {{"X", Floats({2, 3})}, {"Y", Floats({1, 3})}});
  EXPECT_EQ(out.at("Out").ToVector<float>(), std::vector<float>({0, 9}));
}

void ExpectRefusedInput(ErrorCode code,
                        std::string_view check_id,
                        Fragments fragments,
                        FunctionRef<void()> call,
                        const char* file,
                        int line) {
  ExpectError(code, check_id, fragments, call, file, line);
  ExpectNextRunWorks();
}

void ExpectRefusedOp(ErrorCode code,
                     std::string_view check_id,
                     Fragments fragments,
                     const std::string& op,
                     const OpArguments& inputs,
                     const AttributeMap& attributes,
                     const char* file,
                     int line) {
  ExpectRefusedInput(
      code, check_id, fragments, [&] { RunOp(op, inputs, attributes); }, file,
      line);

  Program program;
  OpDesc desc = AddInputs(program, op, inputs, attributes, /*known=*/true);
  desc.location = {"user.cc", 17};
  const std::string before = ToString(program);
  ExpectError(
      code, check_id, {"created at user.cc:17"},
      [&] { program.AppendOp(desc); }, file, line);
  EXPECT_EQ(ToString(program), before);

  Program unknown;
  Feeds feeds(inputs.begin(), inputs.end());
  desc = AddInputs(unknown, op, inputs, attributes, /*known=*/false);
  Executor executor;
  ExpectError(
      code, check_id, fragments,
      [&] {
        const std::string out =
            unknown.AppendOp(desc).outputs.front().second.front();
        executor.Run(unknown, feeds, {out});
      },
      file, line);
}

void ExpectRefusedData(std::string_view check_id,
                       Fragments fragments,
                       const std::string& op,
                       const OpArguments& inputs,
                       const AttributeMap& attributes,
                       const DDim& output_dims,
                       ErrorCode code,
                       const char* file,
                       int line) {
  Program program;
  OpDesc desc = AddInputs(program, op, inputs, attributes, /*known=*/true);
  program.Persistable("kept", inputs[0].second.dtype(), output_dims);
  desc.outputs = {{"Out", {"kept"}}};
  program.AppendOp(desc);
  Scope scope;
  const Tensor before = Floats(output_dims);
  *scope.Var("kept").GetMutable<Tensor>() = before.CopyTo(CPUPlace());
  Executor executor;
  const Feeds feeds(inputs.begin(), inputs.end());
  // Runs twice, because the frame that failed is reused.
  for (int run = 0; run < 2; ++run) {
    ExpectRefusedInput(
        code, check_id, fragments,
        [&] { executor.Run(program, feeds, {}, &scope); }, file, line);
    const auto* kept = scope.FindVar("kept")->Get<Tensor>();
    EXPECT_EQ(kept->ToVector<float>(), before.ToVector<float>());
  }
}

}  // namespace sluice::testing
