#include "sluice/platform/place_key.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <mutex>
#include <new>

#include "sluice/platform/error.h"
#include "sluice/platform/plugin/plugin_loader.h"
#include "sluice/platform/text.h"

namespace sluice {
namespace {

constexpr int kFirstCustom = static_cast<int>(PlaceKind::kFirstCustom);
constexpr int kKinds = 256;

// The names of all kinds by number. They never move and are never removed, so
// views of them stay valid.
class KindNames {
 public:
  KindNames() {
    names_[0] = "cpu";
    names_[1] = "cuda";
    names_[2] = "fpga";
  }

  std::string_view Name(int kind) {
    std::lock_guard<std::mutex> lock(mutex_);
    return names_[kind];
  }

  // Returns the number of the name, or -1.
  int Find(std::string_view name) {
    std::lock_guard<std::mutex> lock(mutex_);
    return FindLocked(name);
  }

  // Returns the number of the name, added if new, or -1 if the table is full.
  int Intern(std::string_view name) {
    std::lock_guard<std::mutex> lock(mutex_);
    const int known = FindLocked(name);
    if (known >= 0 || end_ == kKinds) return known;
    names_[end_] = name;
    return end_++;
  }

 private:
  int FindLocked(std::string_view name) const {
    for (int kind = 0; kind < end_; ++kind) {
      if (!name.empty() && names_[kind] == name) return kind;
    }
    return -1;
  }

  std::mutex mutex_;
  std::array<std::string, kKinds> names_;
  int end_ = kFirstCustom;
};

// Constructed without operator new, because the message may be about it. Never
// destroyed.
KindNames& Names() {
  alignas(KindNames) static std::byte memory[sizeof(KindNames)];
  static auto* names = new (memory) KindNames;
  return *names;
}

bool IsKindName(std::string_view name) {
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && lower(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return lower(c) || (c >= '0' && c <= '9') || c == '_';
         });
}

}  // namespace

std::string_view ToString(PlaceKind kind) {
  const std::string_view name = Names().Name(static_cast<int>(kind));
  return name.empty() ? "unknown" : name;
}

PlaceKind InternPlaceKind(std::string_view name) {
  SLUICE_ENFORCE(IsKindName(name), ErrorCode::kInvalidArgument,
                 "place.kind_name",
                 "place: the device kind '{}' is not a lower-case letter "
                 "followed by letters, digits and '_'",
                 Shown(name));
  const int kind = Names().Intern(name);
  SLUICE_ENFORCE(kind >= 0, ErrorCode::kResourceExhausted,
                 "place.too_many_kinds",
                 "place: no room for the device kind '{}': all {} numbers for "
                 "kinds of plug-ins are taken",
                 name, kKinds - kFirstCustom);
  return static_cast<PlaceKind>(kind);
}

std::string ToString(PlaceKey place) {
  std::string text(ToString(place.kind));
  if (place.kind == PlaceKind::kCPU) return text;
  text += ':';
  text += std::to_string(place.index);
  return text;
}

PlaceKey ParsePlaceKey(std::string_view text) {
  const size_t colon = std::min(text.find(':'), text.size());
  const std::string_view name = text.substr(0, colon);
  int index = 0;
  bool valid = IsKindName(name);
  if (colon != text.size()) {
    const char* end = text.data() + text.size();
    const auto [rest, error] =
        std::from_chars(text.data() + colon + 1, end, index);
    valid = valid && error == std::errc() && rest == end && index >= 0 &&
            index < 0xFFFF;
  }
  SLUICE_ENFORCE(valid && (name != "cpu" || index == 0),
                 ErrorCode::kInvalidArgument, "place.text",
                 "place: '{}' is not a place; expected 'cpu', or a device kind "
                 "with an index from 0 to 65534, such as 'cuda:0'",
                 text.empty() ? "" : Shown(text));
  const int kind = Names().Find(name);
  if (kind >= 0) return PlaceKey(static_cast<PlaceKind>(kind), index);
  // A plug-in for this kind exists and is loaded on first use.
  SLUICE_ENFORCE(!FindPlugin(name).empty(), ErrorCode::kNotFound,
                 "place.unknown_kind",
                 "place: no device kind is called '{}' (in '{}'){}",
                 Shown(name), Shown(text),
                 name == "gpu" ? "; did you mean cuda?"
                               : "; expected cpu, cuda, fpga or the kind of a "
                                 "plug-in: " +
                                     DescribePluginSearch(name));
  return PlaceKey(InternPlaceKind(name), index);
}

}  // namespace sluice
