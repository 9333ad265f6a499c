// The functions of program_io.h that access files.
#include <new>

#include "sluice/framework/files/file.h"
#include "sluice/framework/program/program_io.h"
#include "sluice/platform/error.h"

namespace sluice {

void SaveProgram(const Program& program,
                 const std::string& path,
                 const VariableSettings& settings) try {
  ReplaceFile(path, {SerializeProgram(program, settings)});
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

Program LoadProgram(const std::string& path, VariableSettings* settings) try {
  return ParseProgram(InputFile(path).ReadAll(), path, settings);
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace sluice
