#include "sluice/framework/costs/record.h"

namespace sluice {

std::string_view ToString(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return "ok";
    case Verdict::kWrong:
      return "wrong";
    case Verdict::kUnchecked:
      break;
  }
  return "unchecked";
}

}  // namespace sluice
