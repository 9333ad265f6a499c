#include "sluice/platform/foreign.h"

#include <exception>
#include <new>
#include <string>

#include <cxxabi.h>

#include "sluice/platform/error.h"

namespace sluice {

void RethrowForeign(std::string_view whose) {
  std::string what = "what is no std::exception";
  try {
    throw;
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const abi::__forced_unwind&) {
    throw;  // the thread is being cancelled
  } catch (const std::exception& error) {
    what = Format("\"{}\"", error.what());
  } catch (...) {
  }
  Raise(ErrorCode::kInternal, "error.foreign", "{} raised {}", whose, what);
}

}  // namespace sluice
