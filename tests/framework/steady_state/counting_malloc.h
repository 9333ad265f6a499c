#pragma once

#include <cstdint>
#include <map>
#include <string>

// A program that links this has a malloc that counts the allocations of itself
// and of every library that it loads, under any name (operator new calls it,
// too). Needs glibc, and no sanitizer, which has its own malloc.
namespace sluice::testing {

// Counts allocations of all threads during its lifetime by caller: the file of
// the library nearest to malloc on the stack, except C's and C++'s. One at a
// time.
class CountMallocs {
 public:
  CountMallocs();
  ~CountMallocs();
  CountMallocs(const CountMallocs&) = delete;
  CountMallocs& operator=(const CountMallocs&) = delete;

  // Counts by file name without folders ("libdnnl.so.3"). Ends counting.
  std::map<std::string, int64_t> Stop();
};

// The number of these from our libraries or from the test.
int64_t Ours(const std::map<std::string, int64_t>& mallocs);

}  // namespace sluice::testing
