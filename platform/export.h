#pragma once

// Exports a symbol of libsluice.so to programs, tests and plug-ins. All other
// symbols are hidden (-fvisibility=hidden).
#define SLUICE_API __attribute__((visibility("default")))
