#include "sluice/framework/op/kernel_name.h"

#include <utility>

namespace sluice {

std::optional<KernelNameParts> PartsOfKernelName(std::string_view name) {
  KernelNameParts parts;
  for (const auto& [part, end] :
       {std::pair(&parts.op, "/"), std::pair(&parts.variant, " ("),
        std::pair(&parts.place, " "), std::pair(&parts.dtype, " "),
        std::pair(&parts.library, ")")}) {
    const size_t size = name.find(end);
    if (size == std::string_view::npos || size == 0) return std::nullopt;
    *part = name.substr(0, size);
    name.remove_prefix(size + std::string_view(end).size());
  }
  return name.empty() ? std::optional(std::move(parts)) : std::nullopt;
}

}  // namespace sluice
