#include "sluice/operators/text/utf8.h"

#include <array>
#include <cuchar>
#include <cwchar>
#include <cwctype>

#include <locale.h>

#include "sluice/platform/error.h"
#include "sluice/platform/text.h"

namespace sluice {

int64_t CountCodePoints(std::string_view text) {
  int64_t count = 0;
  for (; !text.empty(); ++count) {
    const size_t size = Utf8SequenceLength(text);
    if (size == 0) return -1;
    text.remove_prefix(size);
  }
  return count;
}

namespace {

// While it exists, functions of this thread read and write UTF-8.
class Utf8Locale {
 public:
  Utf8Locale() {
    static const locale_t kUtf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    constexpr const char* kId = "string_normalize.locale";
    if (kUtf8 == nullptr) {
      Raise(ErrorCode::kUnimplemented, kId,
            "string_normalize: this system has no locale C.UTF-8, which knows "
            "upper and lower case");
    }
    before_ = uselocale(kUtf8);
  }
  ~Utf8Locale() { uselocale(before_); }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  locale_t before_ = nullptr;
};

}  // namespace

std::string MapCase(std::string_view text, bool upper) {
  const Utf8Locale locale;
  std::string mapped;
  mapped.reserve(text.size());
  while (!text.empty()) {
    const size_t size = Utf8SequenceLength(text);
    std::mbstate_t state{};
    char32_t point = 0;
    std::mbrtoc32(&point, text.data(), size, &state);
    point = upper ? std::towupper(point) : std::towlower(point);
    std::array<char, 16> bytes{};
    state = {};
    mapped.append(bytes.data(), std::c32rtomb(bytes.data(), point, &state));
    text.remove_prefix(size);
  }
  return mapped;
}

}  // namespace sluice
