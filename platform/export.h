#pragma once

// Exports a symbol of libsluice.so to programs, tests and plug-ins. All other
// symbols are hidden (-fvisibility=hidden).
#define SLUICE_API __attribute__((visibility("default")))

// Everything is in namespace sluice. Code written for Fluid qualifies names
// with these namespaces, and opens them.
namespace sluice {
// NOLINTBEGIN(google-build-using-namespace)
namespace framework {
using namespace sluice;
}
namespace platform {
using namespace sluice;
}
namespace memory {
using namespace sluice;
}
namespace operators {
using namespace sluice;
}
namespace math {
using namespace sluice;
}
// NOLINTEND(google-build-using-namespace)
}  // namespace sluice
