// The functions of program_io.h that access files.
#include <new>

#include "sluice/framework/files/file.h"
#include "sluice/framework/program/program_io.h"
#include "sluice/platform/error.h"

namespace sluice {

void SaveProgram(const Program& program, const std::string& path) try {
  ReplaceFile(path, {SerializeProgram(program)});
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

Program LoadProgram(const std::string& path) try {
  return ParseProgram(InputFile(path).ReadAll(), path);
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace sluice
