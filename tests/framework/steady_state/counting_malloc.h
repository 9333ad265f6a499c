#pragma once

#include <cstdint>
#include <map>
#include <string>

// A program that links this has a malloc which counts, for itself and for every
// library that it loads, whatever name it is called by (operator new calls it
// too). Needs glibc, and no sanitizer, which brings a malloc of its own.
namespace sluice::testing {

// Counts allocations of all threads while it lives, by who asked for them: the
// file of the library nearest to malloc on the stack that is neither C's nor
// C++'s. One at a time.
class CountMallocs {
 public:
  CountMallocs();
  ~CountMallocs();
  CountMallocs(const CountMallocs&) = delete;
  CountMallocs& operator=(const CountMallocs&) = delete;

  // By file name without folders ("libdnnl.so.3"). Ends counting.
  std::map<std::string, int64_t> Stop();
};

// Of those, how many came from libraries that are ours or from the test.
int64_t Ours(const std::map<std::string, int64_t>& mallocs);

}  // namespace sluice::testing
