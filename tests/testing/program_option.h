#pragma once

#include <string>
#include <string_view>

namespace sluice::testing {

// An option of a test program beside those of GoogleTest, --name=value. Made
// before main, as a static variable of the program that has it.
class ProgramOption {
 public:
  // `use` is called once for each value given; it returns "" or what is wrong
  // with the value.
  using Use = std::string (*)(std::string_view value);
  ProgramOption(const char* name, Use use);
};

// Uses the arguments that GoogleTest left. False, with a message on stderr, for
// one that is no option of this program or has a bad value.
bool UseProgramOptions(int argc, char** argv);

}  // namespace sluice::testing
