#include "sluice/platform/cuda/kernel_name.h"

namespace sluice::platform::internal {
namespace {

void Erase(std::string* text, std::string_view what) {
  for (size_t at = text->find(what); at != text->npos; at = text->find(what)) {
    text->erase(at, what.size());
  }
}

}  // namespace

std::string KernelNameIn(std::string_view pretty_function) {
  std::string name(pretty_function);
  constexpr std::string_view kBefore = "Kernel = ";
  const size_t begin = name.find(kBefore);
  if (begin == name.npos) return name;
  name.erase(0, begin + kBefore.size());
  if (name.ends_with(']')) name.pop_back();
  if (name.starts_with('&')) name.erase(0, 1);
  for (const char* noise :
       {"(anonymous namespace)::", "{anonymous}::", "sluice::operators::math::",
        "sluice::operators::", "sluice::platform::"}) {
    Erase(&name, noise);
  }
  return name;
}

}  // namespace sluice::platform::internal
