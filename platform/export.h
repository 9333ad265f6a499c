#pragma once

// Marks what libsluice.so shows to programs, tests and plug-ins; everything
// else is hidden (-fvisibility=hidden).
#define SLUICE_API __attribute__((visibility("default")))
