#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/op/op_desc.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// What a hint wants of the kernels that fit it.
enum class HintMode : uint8_t {
  kPrefer,   // rank them first
  kRequire,  // take no other
  kExclude,  // take none of them, unless a stronger hint allows it
  kAllow,    // take them although a weaker hint excludes them
};

// One wish about which kernels run, e.g.
//   manhattan_distance: require place=fpga:0, variant=systolic
// The syntax is on one page: design/kernel_hints.md.
struct SLUICE_API KernelHint {
  std::string selector = "*";  // "*", an op type, "#3" or "@variable"
  HintMode mode = HintMode::kPrefer;
  std::string place;  // "fpga" or "fpga:0"; "" for any, as below
  std::string library;
  std::string variant;
  std::string layout;
  // A pass that may (allow) or may not (exclude) change the op; such a hint
  // says nothing about kernels, and has no other constraint.
  std::string pass;
  std::string source;  // "op attribute", "scope guard", "file ...", ...

  bool Matches(const OpDesc& op, int op_index) const;
  // Whether it asks for something that would not be considered without it.
  bool Wants() const {
    return mode == HintMode::kPrefer || mode == HintMode::kRequire;
  }
};
// "require place=fpga:0, variant=systolic (scope guard)".
SLUICE_API std::string ToString(const KernelHint& hint);

// Parses rules separated by ";" or line ends; "#" at the start of a line or
// behind a blank begins a comment, unless a digit follows. Raises
// InvalidArgument, naming `source` and the rule, for anything else.
SLUICE_API std::vector<KernelHint> ParseKernelHints(std::string_view text,
                                                    std::string_view source);

// Hints for everything that this thread prepares while the guard lives. Inner
// guards come before outer ones.
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

// A number that is the same whenever the same guards are active on this
// thread; 0 without any. Part of the plan cache's key.
SLUICE_API uint64_t KernelHintState();

// The guards' hints, then `program_hints` (Program::SetHints), then those of
// the file that SLUICE_KERNEL_HINTS_FILE names, then those in
// SLUICE_KERNEL_HINTS, then for each of `libraries` "exclude library=L" where
// SLUICE_ENABLE_L is 0: first come first served. An op's own hint comes before
// them all. Raises as ParseKernelHints, NotFound for a file that cannot be
// read, and InvalidArgument for a SLUICE_ENABLE_L other than 0 and 1.
SLUICE_API std::vector<KernelHint> ActiveKernelHints(
    std::string_view program_hints = "",
    const std::vector<std::string>& libraries = {});

}  // namespace sluice::framework
