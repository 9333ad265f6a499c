#include "sluice/laboratory/tuning/verify.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "sluice/framework/plan/run_observer.h"
#include "sluice/framework/values/tensor_values.h"
#include "sluice/laboratory/measure/cpu_waits.h"
#include "sluice/memory/copy.h"
#include "sluice/platform/error.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::framework {

using platform::CPUPlace;
using platform::ErrorCode;
using platform::Format;

namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::vector<uint8_t>> BytesOf(const std::vector<Tensor>& tensors) {
  std::vector<std::vector<uint8_t>> bytes;
  for (const Tensor& tensor : tensors) {
    const Tensor host = tensor.CopyTo(CPUPlace());
    const auto* begin = static_cast<const uint8_t*>(host.raw_data());
    bytes.emplace_back(begin, begin + host.bytes());
  }
  return bytes;
}

// Stores a quiet NaN of 2, 4 or 8 bytes, in the format of the dtype.
void PutNan(DType dtype, int64_t element, Tensor* tensor) {
  auto* bytes = static_cast<uint8_t*>(tensor->raw_data());
  const size_t size = platform::SizeOf(dtype);
  std::memset(bytes + static_cast<size_t>(element) * size, 0xFF, size);
}

// The first element that is NaN only in the outputs of the plain kernel.
std::string LostNan(const OpFacts& op,
                    const std::vector<Tensor>& outputs,
                    const std::vector<std::vector<double>>& expected,
                    const KernelDef& plain) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!platform::IsFloating(op.output_dtypes[i])) continue;
    const std::vector<double> values = ToDoubles(outputs[i].CopyTo(CPUPlace()));
    for (size_t j = 0; j < values.size(); ++j) {
      if (std::isnan(values[j]) || !std::isnan(expected[i][j])) continue;
      return Format("with NaNs in the inputs {} is {}, {} gives nan",
                    ElementName(op, i, j), values[j], plain);
    }
  }
  return "";
}

// Whether all shapes are equal, as in an element-wise op.
bool SameShapes(const OpFacts& op) {
  return std::all_of(op.inputs.begin(), op.inputs.end(),
                     [&](const DDim& dims) { return dims == op.outputs[0]; });
}

// The element that differs when the kernel runs again.
std::string OtherBits(const OpFacts& op,
                      const std::vector<std::vector<uint8_t>>& first,
                      const std::vector<std::vector<uint8_t>>& second) {
  for (size_t i = 0; i < first.size(); ++i) {
    const auto differs =
        std::mismatch(first[i].begin(), first[i].end(), second[i].begin());
    if (differs.first == first[i].end()) continue;
    const auto byte = static_cast<size_t>(differs.first - first[i].begin());
    return Format(
        "{} has other bits when it runs again",
        ElementName(op, i, byte / platform::SizeOf(op.output_dtypes[i])));
  }
  return "";
}

}  // namespace

bool IsCircumstance(const platform::Error& error) {
  return error.code() == ErrorCode::kResourceExhausted ||
         error.code() == ErrorCode::kDeviceLost;
}

Verifier::Verifier(const IsolatedOp& op, const Registry& registry)
    : op_(op),
      reference_(ComputeReference(op, registry)),
      plain_(PlainKernel(op.facts, registry)) {
  if (!has_reference()) return;
  for (const Tensor& input : op.inputs) {
    input_bytes_.push_back(input.allocated() ? BytesOf({input})[0]
                                             : std::vector<uint8_t>());
  }
  if (plain_ != nullptr) PlantNans();
}

void Verifier::PlantNans() {
  planted_ = op_;
  bool any = false;
  const bool all = SameShapes(op_.facts);
  for (Tensor& input : planted_.inputs) {
    if (any && !all) break;
    if (!input.allocated() || !platform::IsFloating(input.dtype())) continue;
    // Empty inputs cannot have a NaN; other inputs may be filters.
    if (input.numel() == 0) return;
    input = input.CopyTo(CPUPlace());
    PutNan(input.dtype(), input.numel() / 2, &input);
    PutNan(input.dtype(), input.numel() - 1, &input);
    any = true;
  }
  if (!any) return;
  try {
    KernelRun run(planted_, *plain_, CPUPlace(), platform::NumThreads());
    run.Run();
    for (const Tensor& output : run.outputs()) {
      planted_outputs_.push_back(ToDoubles(output));
    }
  } catch (const std::exception&) {
    planted_outputs_.clear();  // the op rejects NaNs
  }
}

std::string Verifier::CheckOwnInputs(KernelRun* run,
                                     Verification* result) const {
  std::vector<std::vector<uint8_t>> first;
  for (const bool again : {false, true}) {
    run->Spoil(again);
    CpuWaits waits;
    const auto begin = Clock::now();
    run->Run();
    const double seconds =
        std::chrono::duration<double>(Clock::now() - begin).count();
    if (!again || seconds < result->seconds) {
      result->seconds = seconds;
      result->disturbed = waits.Disturbed(seconds);
    }
    const std::string changed = RestoreInputs();
    result->check = "inputs";
    if (!changed.empty()) return Format("it changes {}", changed);
    std::string outside = run->WrittenOutside();
    result->check = "bounds";
    if (!outside.empty()) return outside;
    std::vector<std::vector<uint8_t>> bytes = BytesOf(run->outputs());
    if (again && bytes == first) return "";
    const Deviation deviation =
        CompareWithReference(op_, reference_, run->outputs());
    result->error = std::max(result->error, deviation.error);
    if (!deviation.message.empty()) {
      std::string left_out = LeftOut(run);
      result->check = left_out.empty() ? "values" : "elements";
      return left_out.empty() ? deviation.message : left_out;
    }
    if (again) {
      result->check = "reruns";
      return OtherBits(op_.facts, first, bytes);
    }
    first = std::move(bytes);
  }
  return "";
}

// The first element that the kernel left unchanged for both fill values, i.e.
// did not write.
std::string Verifier::LeftOut(KernelRun* run) const {
  std::vector<std::vector<uint8_t>> spoilt[2];
  std::vector<std::vector<uint8_t>> after[2];
  for (const bool other : {false, true}) {
    run->Spoil(other);
    spoilt[other ? 1 : 0] = BytesOf(run->outputs());
    run->Run();
    after[other ? 1 : 0] = BytesOf(run->outputs());
  }
  for (size_t i = 0; i < after[0].size(); ++i) {
    const size_t size = platform::SizeOf(op_.facts.output_dtypes[i]);
    for (size_t at = 0; at < after[0][i].size(); at += size) {
      const auto unchanged = [&](int number) {
        return std::memcmp(after[number][i].data() + at,
                           spoilt[number][i].data() + at, size) == 0;
      };
      if (!unchanged(0) || !unchanged(1)) continue;
      return Format("{} is not written", ElementName(op_.facts, i, at / size));
    }
  }
  return "";
}

// Returns the argument whose values a kernel has changed, or "", and restores
// the inputs.
std::string Verifier::RestoreInputs() const {
  std::string changed;
  for (size_t i = 0; i < op_.inputs.size(); ++i) {
    const Tensor& input = op_.inputs[i];
    if (!input.allocated()) continue;
    const std::vector<uint8_t>& before = input_bytes_[i];
    if (BytesOf({input})[0] == before) continue;
    Tensor writable = input;
    memory::Copy(input.place(), writable.raw_data(), CPUPlace(), before.data(),
                 before.size());
    changed = InputName(op_.facts, i);
  }
  return changed;
}

std::string Verifier::CheckNans(const KernelDef& kernel,
                                PlaceKey place,
                                int num_threads) const {
  if (planted_outputs_.empty()) return "";
  KernelRun run(planted_, kernel, place, num_threads);
  run.Spoil(true);
  run.Run();
  return LostNan(op_.facts, run.outputs(), planted_outputs_, *plain_);
}

Verification Verifier::Check(const KernelDef& kernel,
                             PlaceKey place,
                             int num_threads,
                             KernelRun* run) const {
  Verification result;
  if (!has_reference()) return result;
  bool circumstance = false;
  try {
    result.message = CheckOwnInputs(run, &result);
    if (result.message.empty()) {
      result.check = "NaN";
      result.message = CheckNans(kernel, place, num_threads);
    }
    if (result.message.empty()) result.check.clear();
  } catch (const platform::Error& error) {
    result.check = error.code() == ErrorCode::kDeviceLost          ? "device"
                   : error.code() == ErrorCode::kResourceExhausted ? "memory"
                                                                   : "raises";
    result.message = Format("it raised \"{}\"", error.what());
    if (error.code() == ErrorCode::kDeviceLost) return result;
    circumstance = IsCircumstance(error);
  } catch (const std::bad_alloc&) {
    result.check = "memory";
    result.message = "it found no memory";
    circumstance = true;
  } catch (const std::exception& error) {
    result.check = "raises";
    result.message = Format("it raised \"{}\"", error.what());
  } catch (...) {
    result.check = "raises";
    result.message = "it raised what is no std::exception";
  }
  RestoreInputs();  // it may have changed them and then raised
  // Ctrl-C may appear as an exception of the kernel.
  if (CancelRequested()) return {};
  if (circumstance) return result;
  result.verdict = result.message.empty() ? Verdict::kOk : Verdict::kWrong;
  return result;
}

}  // namespace sluice::framework
