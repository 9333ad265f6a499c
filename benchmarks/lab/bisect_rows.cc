#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "benchmarks/lab/rows.h"

#include "sluice/framework/op/registry.h"
#include "sluice/laboratory/bisect/bisect.h"
#include "sluice/platform/error.h"

namespace sluice::bench {
namespace {

constexpr int64_t kSize = 32;
constexpr int kOps = 200;

void Plant(float error, Tensor* out) {
  float* values = out->data<float>();
  const int64_t element = out->numel() / 3;
  values[element] += error * std::max(1.0F, std::abs(values[element]));
}

// A correct relu except for an error of kThousandths in one element. Its bits
// differ from the plain kernels': sums run backward.
template <int kThousandths>
class OtherRelu final : public OpKernel {
  using OpKernel::OpKernel;
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    Tensor& out = context.AllocateOutput("Out", x.dims());
    const float* from = x.data<float>();
    std::transform(from, from + x.numel(), out.data<float>(),
                   [](float value) { return value < 0 ? 0 : value; });
    Plant(kThousandths * 1e-3F, &out);
  }
};

template <int kThousandths>
class OtherAdd final : public OpKernel {
  using OpKernel::OpKernel;
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const float* y = context.Input("Y").data<float>();
    Tensor& out = context.AllocateOutput("Out", x.dims());
    float* sums = out.data<float>();
    for (int64_t i = 0; i < x.numel(); ++i) {
      sums[i] = y[i] + x.data<float>()[i];
    }
    Plant(kThousandths * 1e-3F, &out);
  }
};

template <int kThousandths>
class OtherMul final : public OpKernel {
  using OpKernel::OpKernel;
  void Compute(OpKernelContext& context) const override {
    const float* x = context.Input("X").data<float>();
    const float* y = context.Input("Y").data<float>();
    Tensor& out = context.AllocateOutput("Out", {kSize, kSize});
    float* products = out.data<float>();
    for (int64_t i = 0; i < kSize; ++i) {
      for (int64_t j = 0; j < kSize; ++j) {
        float sum = 0;
        for (int64_t k = kSize; k-- > 0;) {
          sum += x[i * kSize + k] * y[k * kSize + j];
        }
        products[i * kSize + j] = sum;
      }
    }
    Plant(kThousandths * 1e-3F, &out);
  }
};

// Restricts the kernels to the network below.
std::string IsSquare(const KernelQuery& query) {
  const DDim square({kSize, kSize});
  const bool fits =
      std::all_of(query.inputs.begin(), query.inputs.end(),
                  [&](const DDim& dims) { return dims == square; });
  return fits ? "" : "is for one benchmark";
}

template <typename Kernel>
void AddKernel(const char* op, const char* variant) {
  KernelDef kernel;
  kernel.op = op;
  kernel.key = {PlaceKind::kCPU, DType::kFloat32, "PLAIN"};
  kernel.variant = variant;
  kernel.predicate = &IsSquare;
  kernel.make = [](const OpKernelConstruction& construction) {
    return std::unique_ptr<OpKernel>(std::make_unique<Kernel>(construction));
  };
  Registry::Global().AddKernel(std::move(kernel));
}

// Registers the kernels once in a process.
void AddKernels() {
  AddKernel<OtherMul<0>>("mul", "bench_other");
  AddKernel<OtherMul<1>>("mul", "bench_wrong");
  AddKernel<OtherAdd<0>>("elementwise_add", "bench_other");
  AddKernel<OtherAdd<1>>("elementwise_add", "bench_wrong");
  AddKernel<OtherRelu<0>>("relu", "bench_other");
  AddKernel<OtherRelu<1>>("relu", "bench_wrong");
}

// Layers of mul, elementwise_add and relu.
class Network {
 public:
  Network() {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    const auto values = [&](float scale) {
      std::vector<float> numbers(kSize * kSize);
      for (float& number : numbers) {
        number = scale * normal(random);
      }
      return Tensor::FromVector<float>({kSize, kSize}, numbers);
    };
    for (const char* name : {"x", "bias"}) {
      program_.Data(name, DType::kFloat32, {kSize, kSize});
      feeds_.emplace_back(name, values(name[0] == 'x' ? 1 : 0.1F));
    }
    end_ = "x";
    // Otherwise the ops of a layer would be fused into one.
    program_.SetHints(
        "exclude pass=fuse_activations; exclude pass=fuse_turned; "
        "exclude pass=fuse_elementwise");
    for (int op = 0; op < kOps; ++op) {
      if (op % 3 == 0) {
        const std::string weight = Format("w{}", op);
        program_.Data(weight, DType::kFloat32, {kSize, kSize});
        feeds_.emplace_back(weight, values(std::sqrt(2.0F / kSize)));
        program_.AppendOp("mul", {{"X", {end_}}, {"Y", {weight}}});
      } else if (op % 3 == 1) {
        program_.AppendOp("elementwise_add", {{"X", {end_}}, {"Y", {"bias"}}});
      } else {
        program_.AppendOp("relu", {{"X", {end_}}});
      }
      end_ = program_.Output("Out").name();
    }
  }

  // The number of runs that find exactly these; 1000 if others are found.
  int RunsFor(const std::set<int>& guilty) const {
    std::string hints;
    for (const int op : guilty) {
      hints += Format("#{}: require variant=bench_wrong;", op);
    }
    hints += "prefer variant=bench_other";
    const BisectResult result = Bisect(
        program_, feeds_, {end_}, "prefer library=PLAIN, variant=plain", hints);
    std::set<int> found;
    for (const BisectFinding& finding : result.findings) {
      if (finding.together) return kMissed;
      found.insert(std::stoi(finding.ops));
    }
    const bool all_other = result.suspects == kOps;
    return found == guilty && all_other ? result.runs : kMissed;
  }

 private:
  static constexpr int kMissed = 1000;

  Program program_;
  Feeds feeds_;
  std::string end_;
};

std::set<int> Draw(int count, std::mt19937* random) {
  std::set<int> ops;
  while (static_cast<int>(ops.size()) < count) {
    ops.insert(static_cast<int>((*random)() % kOps));
  }
  return ops;
}

}  // namespace

void AddBisectRows(const Options& options, Report& report) {
  AddKernels();
  const Network network;
  std::mt19937 random(2);
  for (const int count : {1, 2, 3, 5, 8}) {
    const int draws = options.smoke ? 1 : count == 1 ? 40 : 10;
    int most = 0;
    for (int draw = 0; draw < draws; ++draw) {
      most = std::max(most, network.RunsFor(Draw(count, &random)));
    }
    report.Add({.id = count == 1 ? "lab/bisect_runs"
                                 : Format("lab/bisect_runs/k{}", count),
                .unit = "runs",
                .value = static_cast<double>(most),
                .at_most = count == 1 ? 9 : 2 * count * std::log2(kOps),
                .exact = true});
  }
}

}  // namespace sluice::bench
