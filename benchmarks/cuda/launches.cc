#include <memory>
#include <vector>

#include "benchmarks/cuda/device_op.h"
#include "benchmarks/cuda/measure.h"

#include "sluice/framework/run/executor.h"

namespace sluice::bench {

namespace {

constexpr int kOps = 1000;
constexpr int kOpsAhead = 500;  // see DeviceTimer::Ahead

OpExample Addition() {
  return {.op = "elementwise_add",
          .dtypes = {},
          .inputs = {{.argument = "X", .dims = {64}, .low = 0, .high = 0.001},
                     {.argument = "Y", .dims = {64}, .low = 0, .high = 0.001}},
          .attributes = {},
          .dtype_attributes = {}};
}

// Host seconds for a program of `ops` additions of y to x.
double HostSeconds(int ops, DeviceTimer& timer) {
  Program program;
  program.Data("x", DType::kFloat32, {64});
  program.Data("y", DType::kFloat32, {64});
  std::string sum = "x";
  for (int i = 0; i < ops; ++i) {
    program.AppendOp("elementwise_add", {{"X", {sum}}, {"Y", {"y"}}});
    sum = program.Output("Out").name();
  }
  auto& device = timer.context();
  const Tensors inputs = MakeInputs(device, Addition());
  const Feeds feeds = {{"x", inputs.at("X")}, {"y", inputs.at("Y")}};
  Executor executor(PlaceKey(device.GetPlace()));
  const Feeds on_host = {{"x", inputs.at("X").CopyTo(CPUPlace())},
                         {"y", inputs.at("Y").CopyTo(CPUPlace())}};
  const Tensor want = Executor().Run(program, on_host, {sum})[0];
  const auto run = [&] { return executor.Run(program, feeds, {sum})[0]; };
  if (run().ToVector<float>() != want.ToVector<float>()) {
    Raise(ErrorCode::kInternal, "bench.wrong_chain",
          "the chain of {} additions has another sum", ops);
  }
  return timer.HostMedian([&] { run(); }) / ops;
}

double DeviceSeconds(int ops, DeviceTimer& timer) {
  auto& device = timer.context();
  const OpExample addition = Addition();
  DeviceOp op(device, MakeForward(addition, MakeInputs(device, addition)));
  const double seconds = timer.Ahead([&] {
    for (int i = 0; i < ops; ++i) {
      op.run().Enqueue();
    }
  });
  op.run().ReleaseTemporaries();
  return seconds / ops;
}

}  // namespace

std::vector<Row> MeasureLaunches(DeviceTimer& timer) {
  const bool small = timer.emulated();
  const double host = HostSeconds(small ? 100 : kOps, timer);
  const double device = DeviceSeconds(small ? 50 : kOpsAhead, timer);
  return {{.id = "cuda/launch/host",
           .unit = "ns",
           .value = 1e9 * host,
           .note = "an op of 1,000 in Executor::Run"},
          {.id = "cuda/launch/device",
           .unit = "ns",
           .value = 1e9 * device,
           .note = "an op of 500, all enqueued before the first begins"}};
}

}  // namespace sluice::bench
