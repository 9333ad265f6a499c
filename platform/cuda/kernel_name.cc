#include "sluice/platform/cuda/kernel_name.h"

namespace sluice::internal {
namespace {

void Erase(std::string* text, std::string_view what) {
  for (size_t at = text->find(what); at != text->npos; at = text->find(what)) {
    text->erase(at, what.size());
  }
}

// nvcc names an anonymous namespace e.g. _GLOBAL__N__0a41897b_7_add_cu_22959.
void EraseAnonymousOfNvcc(std::string* text) {
  constexpr std::string_view kBegin = "_GLOBAL__N_";
  for (size_t at = text->find(kBegin); at != text->npos;
       at = text->find(kBegin)) {
    const size_t end = text->find("::", at);
    text->erase(at, end == text->npos ? kBegin.size() : end + 2 - at);
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
  EraseAnonymousOfNvcc(&name);
  for (const char* noise :
       {"(anonymous namespace)::", "{anonymous}::", "sluice::operators::math::",
        "sluice::operators::", "sluice::platform::", "sluice::"}) {
    Erase(&name, noise);
  }
  return name;
}

}  // namespace sluice::internal
