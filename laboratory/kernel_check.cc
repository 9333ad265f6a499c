#include "sluice/laboratory/kernel_check.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "sluice/framework/op/op_schema.h"
#include "sluice/laboratory/example_op.h"
#include "sluice/laboratory/tuning/kernel_run.h"
#include "sluice/laboratory/tuning/verify.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

// Threads share larger examples, so more thread counts are tried for them.
constexpr int64_t kLarge = 4096;
constexpr int kReruns = 5;
constexpr int kMostBadInputs = 4;

int64_t MostElements(const OpFacts& op) {
  int64_t most = 0;
  for (const std::vector<DDim>* all : {&op.inputs, &op.outputs}) {
    for (const DDim& dims : *all) {
      most = std::max(most, dims.numel());
    }
  }
  return most;
}

bool IsRefusal(const Error& error) {
  return error.code() == ErrorCode::kInvalidArgument ||
         error.code() == ErrorCode::kOutOfRange;
}

// Returns the op with the last element of one input replaced; a positive value
// becomes the largest of the dtype.
IsolatedOp With(const IsolatedOp& op, size_t input, int64_t value) {
  IsolatedOp changed = op;
  Tensor& tensor = changed.inputs[input];
  tensor = tensor.CopyTo(CPUPlace());
  VisitDType(tensor.dtype(), [&]<typename T>() {
    if constexpr (std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t>) {
      tensor.data<T>()[tensor.numel() - 1] =
          value > 0 ? std::numeric_limits<T>::max() : static_cast<T>(value);
    }
  });
  return changed;
}

// Checks all kernels with one example at a time.
class KernelChecker {
 public:
  KernelChecker(std::span<const KernelDef* const> kernels,
                const KernelCheckOptions& options)
      : options_(options),
        schema_(Registry::Global().Schema(kernels[0]->op)),
        dtype_(kernels[0]->key.dtype) {
    for (const KernelDef* kernel : kernels) {
      reports_.emplace_back().kernel = kernel;
    }
    failing_.resize(kernels.size());
    refusals_.resize(kernels.size());
  }

  std::vector<KernelReport> Run() {
    if (schema_.internal()) {
      for (KernelReport& report : reports_) {
        report.remark = "only passes make this op, it cannot run by itself";
      }
      return std::move(reports_);
    }
    const auto examples = ExamplesToCheck(schema_, dtype_, options_);
    for (size_t i = 0; i < examples.size(); ++i) {
      number_ = static_cast<int>(i);
      if (options_.only >= 0 && number_ != options_.only) continue;
      CheckExample(examples[i]);
    }
    for (size_t i = 0; i < reports_.size(); ++i) {
      KernelReport& report = reports_[i];
      if (report.examples > 0 || !report.mistakes.empty()) continue;
      if (report.remark.empty()) {
        report.remark = NotRun(i, static_cast<int>(examples.size()));
      }
    }
    return std::move(reports_);
  }

 private:
  void Before(int threads, const std::string& step) {
    if (options_.before) options_.before(number_, threads, signature_, step);
  }

  // The check in progress: a kernel and an example.
  struct At {
    KernelReport* report;
    PlaceKey place;
    int threads = 1;
  };

  // Why a kernel ran with no example; "" if unknown.
  std::string NotRun(size_t kernel, int examples) const {
    if (options_.only >= examples) {
      return examples == 0 ? Format("there are no examples for {}", dtype_)
                           : Format("there is no example {}, they are 0 to {}",
                                    options_.only, examples - 1);
    }
    if (!refusals_[kernel].empty()) {
      return Format("it takes none of the examples: {}", refusals_[kernel]);
    }
    return not_made_;
  }

  void Refuse(const At& at, const std::string& why) {
    ++at.report->refused;
    std::string& first = refusals_[at.report - reports_.data()];
    if (!first.empty()) return;
    first = Format("example {}, {}, it refuses", number_, signature_);
    if (!why.empty()) first += Format(": {}", why);
  }

  // Notes why an example cannot be built.
  void NotMade(const std::string& why) {
    if (!not_made_.empty()) return;
    not_made_ = Format("example {}, {}: {}", number_, signature_, why);
  }

  void Add(const At& at, const std::string& check, const std::string& message) {
    auto& mistakes = at.report->mistakes;
    ++failing_[at.report - reports_.data()];
    const bool known = std::any_of(
        mistakes.begin(), mistakes.end(),
        [&](const KernelMistake& other) { return other.check == check; });
    if (known) return;
    mistakes.push_back({check, number_, at.threads, signature_, message});
  }

  // An exception of the kernel counts as a mistake.
  template <typename Step>
  void Try(const At& at, const Step& step) {
    try {
      step();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kUnimplemented) {
        return Refuse(at, error.what());
      }
      AddCaught(at);
    } catch (...) {
      AddCaught(at);
    }
  }

  void AddCaught(const At& at) {
    const Verification failure = CaughtFailure();
    Add(at, failure.check, failure.message);
  }

  static bool IsLost(const KernelReport& report) {
    return std::any_of(
        report.mistakes.begin(), report.mistakes.end(),
        [](const KernelMistake& mistake) { return mistake.check == "device"; });
  }

  // Kernels whose predicates accept the op.
  std::vector<At> Takers(const OpFacts& op) {
    std::vector<At> takers;
    for (size_t i = 0; i < reports_.size(); ++i) {
      KernelReport& report = reports_[i];
      const KernelDef& kernel = *report.kernel;
      const PlaceKey place(kernel.key.place, 0);
      if (IsLost(report) || failing_[i] >= options_.most_failing) continue;
      const At at{&report, place};
      std::optional<std::string> refusal;
      Try(at, [&] {
        refusal = kernel.predicate ? kernel.predicate(op.QueryAt(place)) : "";
      });
      if (refusal && refusal->empty()) {
        takers.push_back(at);
      } else if (refusal) {
        Refuse(at, *refusal);
      }
    }
    return takers;
  }

  void CheckExample(const OpExample& example) {
    signature_ = ToString(example, dtype_);
    std::optional<ExampleOp> made;
    try {
      made.emplace(example, dtype_);
    } catch (const Error& error) {
      return NotMade(error.what());  // the op rejects these sizes
    }
    const IsolatedOp& op = made->op();
    if (op.facts.dtype != dtype_) {
      return NotMade(Format("it is of {}", op.facts.dtype));
    }
    const std::vector<At> takers = Takers(op.facts);
    if (takers.empty()) return;
    std::optional<Verifier> verifier;
    try {
      verifier.emplace(op, Registry::Global());
    } catch (const Error& error) {
      if (IsRefusal(error)) return CheckRefusals(op, takers, error.what());
      throw;
    }
    for (const At& at : takers) {
      CheckKernel(op, *verifier, at);
    }
    CheckBadInputs(op, takers);
  }

  void CheckKernel(const IsolatedOp& op, const Verifier& verifier, At at) {
    KernelReport& report = *at.report;
    const bool large = MostElements(op.facts) > kLarge;
    VerifyOptions options;
    options.threads = options_.threads;
    if (!large && options.threads.size() > 2) options.threads.resize(2);
    options.reruns = large ? kReruns : 1;
    options.infinities = true;
    options.before = [this](int threads, const std::string& step) {
      Before(threads, step);
    };
    const Verification found =
        verifier.Check(*report.kernel, at.place, options);
    if (found.check == "refused") return Refuse(at, found.message);
    ++report.examples;
    report.error = std::max(report.error, found.error);
    if (!verifier.has_reference()) {
      report.remark = "the op has no plain kernel to compare with";
    }
    at.threads = found.threads;
    if (!found.check.empty()) Add(at, found.check, found.message);
  }

  // Tries labels, indices and lengths that the plain kernel rejects.
  void CheckBadInputs(const IsolatedOp& op, const std::vector<At>& takers) {
    const KernelDef* plain = PlainKernel(op.facts, Registry::Global());
    if (plain == nullptr || bad_inputs_ >= kMostBadInputs) return;
    bool any = false;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const DType dtype = op.inputs[i].dtype();
      const bool index = dtype == DType::kInt32 || dtype == DType::kInt64;
      if (!index || op.inputs[i].numel() == 0) continue;
      for (const int64_t bad : {int64_t{-1}, -(int64_t{1} << 31), int64_t{1}}) {
        const IsolatedOp changed = With(op, i, bad);
        try {
          ComputeOutputs(changed, *plain);
        } catch (const Error& error) {
          if (!IsRefusal(error)) continue;
          any = true;
          CheckRefusals(changed, takers, error.what());
        }
      }
    }
    bad_inputs_ += any ? 1 : 0;
  }

  void CheckRefusals(const IsolatedOp& op,
                     const std::vector<At>& takers,
                     const std::string& message) {
    for (const At& at : takers) {
      Before(at.threads, "bad input");
      try {
        KernelRun run(op, *at.report->kernel, at.place, at.threads);
        run.Run();
        Add(at, "bad input",
            Format("it gives results for inputs that the plain kernel refuses: "
                   "\"{}\"",
                   message));
      } catch (const Error& error) {
        if (IsRefusal(error) || error.code() == ErrorCode::kUnimplemented) {
          continue;
        }
        Try(at, [] { throw; });
      } catch (...) {
        Try(at, [] { throw; });
      }
    }
  }

  const KernelCheckOptions& options_;
  const OpSchema& schema_;
  DType dtype_;
  std::vector<KernelReport> reports_;
  std::vector<int> failing_;           // by report: number of failures
  std::vector<std::string> refusals_;  // by report: the first refusal
  std::string not_made_;  // why the first example could not be built
  int number_ = 0;
  int bad_inputs_ = 0;
  std::string signature_;
};

}  // namespace

std::vector<KernelReport> CheckKernels(
    std::span<const KernelDef* const> kernels,
    const KernelCheckOptions& options) {
  if (kernels.empty()) return {};
  for (const KernelDef* kernel : kernels) {
    SLUICE_ENFORCE(kernel->op == kernels[0]->op &&
                       kernel->key.dtype == kernels[0]->key.dtype,
                   ErrorCode::kInvalidArgument, "kernel_check.kernels",
                   "kernels that are checked together must be of one op and "
                   "dtype, got {} and {}",
                   *kernels[0], *kernel);
  }
  return KernelChecker(kernels, options).Run();
}

}  // namespace sluice
