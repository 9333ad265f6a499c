#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/op/op_desc.h"
#include "sluice/platform/export.h"

namespace sluice {

// How a hint treats the kernels that match it.
enum class HintMode : uint8_t {
  kPrefer,   // ranks them first
  kRequire,  // refuses all other kernels
  kExclude,  // refuses them, unless a stronger hint allows them
  kAllow,    // accepts them although a weaker hint excludes them
};

// A rule about which kernels run, e.g.
//   manhattan_distance: require place=fpga:0, variant=systolic
// The syntax is on one page: docs/choosing_kernels.md.
struct SLUICE_API KernelHint {
  std::string selector = "*";  // "*", an op type, "#3" or "@variable"
  HintMode mode = HintMode::kPrefer;
  std::string place;  // "fpga" or "fpga:0"; "" for any, likewise below
  std::string library;
  std::string variant;
  std::string layout;
  // A pass that may (allow) or may not (exclude) change the op. Such a hint
  // does not concern kernels, and has no other constraint.
  std::string pass;
  std::string source;  // "op attribute", "scope guard", "file ...", ...

  bool Matches(const OpDesc& op, int op_index) const;
  // Whether it adds candidates that are not considered without it.
  bool Wants() const {
    return mode == HintMode::kPrefer || mode == HintMode::kRequire;
  }
};
// "require place=fpga:0, variant=systolic (scope guard)".
SLUICE_API std::string ToString(const KernelHint& hint);

// Parses rules separated by ";" or line ends; "#" at the start of a line or
// after a blank begins a comment, unless a digit follows. Raises
// InvalidArgument, naming `source` and the rule, for any other text.
SLUICE_API std::vector<KernelHint> ParseKernelHints(std::string_view text,
                                                    std::string_view source);

// Hints for everything that this thread prepares during the guard's life. Inner
// guards precede outer ones.
//   KernelHintGuard guard("manhattan_distance: prefer variant=plain");
class SLUICE_API KernelHintGuard {
 public:
  explicit KernelHintGuard(std::string_view hints);
  ~KernelHintGuard();
  KernelHintGuard(const KernelHintGuard&) = delete;
  KernelHintGuard& operator=(const KernelHintGuard&) = delete;

 private:
  const KernelHintGuard* outer_;
  std::vector<KernelHint> hints_;
  uint64_t state_;

  friend uint64_t KernelHintState();
  friend std::vector<KernelHint> ActiveKernelHints(
      std::string_view program_hints,
      const std::vector<std::string>& libraries);
};

// Returns a number that is equal whenever the same guards are active on this
// thread; 0 without any. Part of the plan cache's key.
SLUICE_API uint64_t KernelHintState();

// Returns the active hints, strongest first: the guards', then `program_hints`
// (Program::SetHints), the file SLUICE_KERNEL_HINTS_FILE, the variable
// SLUICE_KERNEL_HINTS, then "exclude library=L" for each of `libraries` with
// SLUICE_ENABLE_L=0. An op's own hint precedes them all. Raises what
// ParseKernelHints raises, NotFound for a file that cannot be read, and
// InvalidArgument for a SLUICE_ENABLE_L other than 0 and 1.
SLUICE_API std::vector<KernelHint> ActiveKernelHints(
    std::string_view program_hints = "",
    const std::vector<std::string>& libraries = {});

}  // namespace sluice
