#pragma once

#include <string>
#include <string_view>

namespace sluice::testing {

// An option of a test program besides those of GoogleTest, --name=value.
// Created before main, as a static variable of the program.
class ProgramOption {
 public:
  // `use` is called once for each value; it returns "" or the fault of the
  // value.
  using Use = std::string (*)(std::string_view value);
  ProgramOption(const char* name, Use use);
};

// Uses the arguments that GoogleTest left. False, with a message on stderr, for
// one that is no option of this program or has a bad value.
bool UseProgramOptions(int argc, char** argv);

}  // namespace sluice::testing
