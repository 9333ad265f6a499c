#include "sluice/laboratory/tuning/verify.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/values/tensor_values.h"
#include "sluice/laboratory/measure/cpu_waits.h"
#include "sluice/memory/copy.h"
#include "sluice/platform/cancel.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;
using Bytes = std::vector<std::vector<uint8_t>>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSpecial[] = {std::numeric_limits<double>::quiet_NaN(),
                               kInfinity, -kInfinity};

// Tensors without memory have no bytes.
Bytes BytesOf(const std::vector<Tensor>& tensors) {
  Bytes bytes;
  for (const Tensor& tensor : tensors) {
    auto& of_one = bytes.emplace_back();
    if (!tensor.allocated()) continue;
    const Tensor host = tensor.CopyTo(CPUPlace());
    const auto* begin = static_cast<const uint8_t*>(host.raw_data());
    of_one.assign(begin, begin + host.bytes());
  }
  return bytes;
}

void Put(double number, int64_t element, Tensor* tensor) {
  const DType dtype = tensor->dtype();
  const Tensor value = FromDoubles(dtype, DDim({1}), {number});
  const size_t size = SizeOf(dtype);
  std::memcpy(static_cast<uint8_t*>(tensor->raw_data()) +
                  static_cast<size_t>(element) * size,
              value.raw_data(), size);
}

// Whether all shapes are equal, as in an element-wise op.
bool SameShapes(const OpFacts& op) {
  return std::all_of(op.inputs.begin(), op.inputs.end(),
                     [&](const DDim& dims) { return dims == op.outputs[0]; });
}

// The first element whose bits differ.
std::string OtherBits(const OpFacts& op,
                      const std::vector<Tensor>& outputs,
                      const Bytes& first,
                      const Bytes& second) {
  for (size_t i = 0; i < first.size(); ++i) {
    const auto [one, other] = std::mismatch(first[i].begin(), first[i].end(),
                                            second[i].begin(), second[i].end());
    if (one == first[i].end() && other == second[i].end()) continue;
    const auto byte = static_cast<size_t>(one - first[i].begin());
    return ElementName(op, i, outputs[i].dims(),
                       byte / SizeOf(op.output_dtypes[i]));
  }
  return "";
}

void Fail(const char* check, std::string message, Verification* result) {
  result->check = check;
  result->message = std::move(message);
}

}  // namespace

bool IsCircumstance(const Error& error) {
  return error.code() == ErrorCode::kResourceExhausted ||
         error.code() == ErrorCode::kDeviceLost;
}

Verification CaughtFailure() {
  Verification failure{.verdict = Verdict::kWrong, .check = "raises"};
  try {
    throw;
  } catch (const Error& error) {
    failure.message = Format("it raised \"{}\"", error.what());
    if (!IsCircumstance(error)) return failure;
    failure.verdict = Verdict::kUnchecked;
    failure.check =
        error.code() == ErrorCode::kDeviceLost ? "device" : "memory";
  } catch (const std::bad_alloc&) {
    failure.verdict = Verdict::kUnchecked;
    Fail("memory", "it found no memory", &failure);
  } catch (const std::exception& error) {
    failure.message = Format("it raised \"{}\"", error.what());
  } catch (...) {
    failure.message = "it raised what is no std::exception";
  }
  return failure;
}

Verifier::Verifier(const IsolatedOp& op, const Registry& registry)
    : Verifier(op, ComputeReference(op, registry), registry) {}

Verifier::Verifier(const IsolatedOp& op,
                   Reference reference,
                   const Registry& registry)
    : op_(op),
      reference_(std::move(reference)),
      plain_(PlainKernel(op.facts, registry)),
      input_bytes_(BytesOf(op.inputs)) {}

Verifier::Planted Verifier::Plant(double number) const {
  Planted planted{.op = op_};
  const bool nan = std::isnan(number);
  if (plain_ == nullptr || (!nan && op_.facts.schema->random())) return planted;
  const bool all = nan && SameShapes(op_.facts);
  for (size_t i = 0; i < op_.inputs.size(); ++i) {
    Tensor& input = planted.op.inputs[i];
    if (!planted.where.empty() && !all) break;
    if (!input.allocated() || !IsFloating(input.dtype())) continue;
    // Empty inputs cannot have one; other inputs may be filters.
    if (input.numel() == 0) return planted;
    input = input.CopyTo(CPUPlace());
    if (nan) Put(number, input.numel() / 2, &input);
    Put(number, input.numel() - 1, &input);
    planted.where = nan ? "NaNs in the inputs"
                        : Format("{} as the last element of {}", number,
                                 InputName(op_.facts, i));
  }
  if (planted.where.empty()) return planted;
  try {
    planted.outputs = ComputeOutputs(planted.op, *plain_);
  } catch (const std::exception&) {
    // The op rejects this number.
  }
  return planted;
}

void Verifier::CheckOwnInputs(const VerifyOptions& options,
                              KernelRun* run,
                              Bytes* bits,
                              Verification* result) const {
  const int reruns = result->threads > 1 ? options.reruns : 1;
  for (int i = 0; i <= reruns; ++i) {
    run->Spoil(i % 2 == 1);
    CpuWaits waits;
    const auto begin = Clock::now();
    run->Run();
    const double seconds =
        std::chrono::duration<double>(Clock::now() - begin).count();
    if (i == 0 || seconds < result->seconds) {
      result->seconds = seconds;
      result->disturbed = waits.Disturbed(seconds);
    }
    const std::string changed = RestoreInputs(*run);
    if (!changed.empty()) {
      return Fail("inputs", Format("it changes {}", changed), result);
    }
    std::string outside = run->WrittenOutside();
    if (!outside.empty()) return Fail("bounds", std::move(outside), result);
    const Bytes bytes = BytesOf(run->outputs());
    if (bytes == *bits) continue;
    Deviation deviation;
    if (has_reference()) {
      deviation = CompareWithReference(op_, reference_, run->outputs());
      result->error = std::max(result->error, deviation.error);
    }
    if (bits->empty() && deviation.message.empty()) {
      *bits = bytes;
      continue;
    }
    // Before LeftOut, which runs the kernel.
    const std::string element =
        OtherBits(op_.facts, run->outputs(), *bits, bytes);
    std::string left_out = LeftOut(run);
    if (!left_out.empty()) return Fail("elements", left_out, result);
    if (!deviation.message.empty()) {
      return Fail("values", deviation.message, result);
    }
    if (i == 0) {
      return Fail("threads",
                  Format("{} has other bits with {} threads than with fewer",
                         element, result->threads),
                  result);
    }
    return Fail("reruns",
                Format("{} has other bits when it runs again", element),
                result);
  }
}

// The first element that the kernel left unchanged for both fill values, i.e.
// did not write.
std::string Verifier::LeftOut(KernelRun* run) const {
  Bytes spoilt[2];
  Bytes after[2];
  for (const bool other : {false, true}) {
    run->Spoil(other);
    spoilt[other ? 1 : 0] = BytesOf(run->outputs());
    run->Run();
    after[other ? 1 : 0] = BytesOf(run->outputs());
  }
  for (size_t i = 0; i < after[0].size(); ++i) {
    if (spoilt[0][i].size() != after[0][i].size()) continue;  // allocated by it
    const size_t size = SizeOf(op_.facts.output_dtypes[i]);
    for (size_t at = 0; at < after[0][i].size(); at += size) {
      const auto unchanged = [&](int number) {
        return std::memcmp(after[number][i].data() + at,
                           spoilt[number][i].data() + at, size) == 0;
      };
      if (!unchanged(0) || !unchanged(1)) continue;
      return Format(
          "{} is not written",
          ElementName(op_.facts, i, run->outputs()[i].dims(), at / size));
    }
  }
  return "";
}

// Returns the argument whose values a kernel has changed, or "", and restores
// the inputs.
std::string Verifier::RestoreInputs(const KernelRun& run) const {
  std::string changed;
  for (size_t i = 0; i < op_.inputs.size(); ++i) {
    const Tensor& input = run.inputs()[i];
    if (!input.allocated()) continue;
    const std::vector<uint8_t>& before = input_bytes_[i];
    if (BytesOf({input})[0] == before) continue;
    Tensor writable = input;
    Copy(input.place(), writable.raw_data(), CPUPlace(), before.data(),
         before.size());
    changed = InputName(op_.facts, i);
  }
  return changed;
}

// Returns the first element that shows that a special number is lost, or "".
std::string Verifier::CheckPlanted(const KernelDef& kernel,
                                   PlaceKey place,
                                   int num_threads,
                                   size_t number) const {
  auto& planted = planted_[number];
  if (!planted) planted = Plant(kSpecial[number]);
  if (planted->outputs.empty()) return "";
  KernelRun run(planted->op, kernel, place, num_threads);
  run.Spoil(true);
  run.Run();
  const bool nan = std::isnan(kSpecial[number]);
  for (size_t i = 0; i < run.outputs().size(); ++i) {
    if (!IsFloating(op_.facts.output_dtypes[i])) continue;
    const Tensor output = run.outputs()[i].CopyTo(CPUPlace());
    const std::vector<double> values = ToDoubles(output);
    const std::vector<double>& expected = planted->outputs[i];
    for (size_t j = 0; j < std::min(values.size(), expected.size()); ++j) {
      const bool lost =
          nan ? std::isnan(expected[j]) && !std::isnan(values[j])
              : !std::isfinite(expected[j]) && std::isfinite(values[j]);
      if (!lost) continue;
      // The sign of a NaN means nothing.
      return Format("with {} {} is {}, {} gives {}", planted->where,
                    ElementName(op_.facts, i, output.dims(), j), values[j],
                    *plain_,
                    std::isnan(expected[j]) ? kSpecial[0] : expected[j]);
    }
  }
  return "";
}

Verification Verifier::CheckRun(const KernelDef& kernel,
                                PlaceKey place,
                                const VerifyOptions& options,
                                KernelRun* run,
                                Bytes* bits) const {
  Verification result{.threads = options.threads[0]};
  const auto before = [&](const char* step) {
    if (options.before) options.before(result.threads, step);
  };
  try {
    before("values");
    CheckOwnInputs(options, run, bits, &result);
    for (size_t i = 0; i < planted_.size() && result.check.empty(); ++i) {
      if (i == 1 && !options.infinities) break;
      before(i == 0 ? "NaN" : "infinity");
      std::string lost = CheckPlanted(kernel, place, result.threads, i);
      if (lost.empty()) continue;
      Fail(i == 0 ? "NaN" : "infinity", std::move(lost), &result);
    }
    result.verdict = !result.check.empty() ? Verdict::kWrong
                     : has_reference()     ? Verdict::kOk
                                           : Verdict::kUnchecked;
  } catch (...) {
    Verification failure = CaughtFailure();
    result.verdict = failure.verdict;
    Fail(failure.check.c_str(), std::move(failure.message), &result);
    if (result.check == "device") return result;
  }
  RestoreInputs(*run);  // it may have changed them and then raised
  // Ctrl-C may appear as an exception of the kernel.
  if (CancelRequested()) return {};
  return result;
}

Verification Verifier::Check(const KernelDef& kernel,
                             PlaceKey place,
                             int num_threads,
                             KernelRun* run) const {
  Bytes bits;
  return CheckRun(kernel, place, {.threads = {num_threads}}, run, &bits);
}

Verification Verifier::Check(const KernelDef& kernel,
                             PlaceKey place,
                             const VerifyOptions& options) const {
  Verification result;
  Bytes bits;
  double error = 0;
  VerifyOptions one = options;
  for (const int threads : options.threads) {
    one.threads = {threads};
    try {
      KernelRun run(op_, kernel, place, threads);
      result = CheckRun(kernel, place, one, &run, &bits);
    } catch (const Error& refusal) {
      result = CaughtFailure();
      if (refusal.code() == ErrorCode::kUnimplemented) {
        result = {.check = "refused", .message = refusal.what()};
      }
    } catch (...) {
      result = CaughtFailure();
    }
    result.threads = threads;
    result.error = error = std::max(error, result.error);
    if (!result.check.empty()) break;
    one.infinities = false;
    if (kernel.variant != "plain") bits.clear();
  }
  return result;
}

}  // namespace sluice
