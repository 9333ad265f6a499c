#include "tests/testing/program_option.h"

#include <cstdio>
#include <map>

namespace sluice::testing {
namespace {

std::map<std::string, ProgramOption::Use, std::less<>>& Options() {
  static std::map<std::string, ProgramOption::Use, std::less<>> options;
  return options;
}

// The fault of the argument, or "".
std::string UseOne(std::string_view argument) {
  const size_t equals = argument.find('=');
  if (argument.starts_with("--") && equals != argument.npos) {
    const auto found = Options().find(argument.substr(2, equals - 2));
    if (found != Options().end()) {
      return found->second(argument.substr(equals + 1));
    }
  }
  std::string known;
  for (const auto& [name, unused] : Options()) {
    known += " --" + name + "=...";
  }
  return "no option of this program; besides those of GoogleTest it has" +
         (known.empty() ? " none" : known);
}

}  // namespace

ProgramOption::ProgramOption(const char* name, Use use) {
  Options()[name] = use;
}

bool UseProgramOptions(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string problem = UseOne(argv[i]);
    if (problem.empty()) continue;
    std::fprintf(stderr, "%s: %s\n", argv[i], problem.c_str());
    return false;
  }
  return true;
}

}  // namespace sluice::testing
