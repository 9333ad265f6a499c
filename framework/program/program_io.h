#pragma once

#include <map>
#include <string>
#include <string_view>

#include "sluice/framework/program/program.h"
#include "sluice/platform/export.h"

namespace sluice {

// What the code that built a program said about its variables, by name, such as
// the factor of a parameter's learning rate. Files have it, a Program has not:
// Python's programs keep it, and give it here (python/sluice/
// saved_settings.py).
using VariableSettings = std::map<std::string, AttributeMap, std::less<>>;

// Serializes a program (program.proto): blocks, variables, ops, attributes,
// hints and source lines; no values. Equal programs have equal bytes. Settings
// of variables that the program lacks are left out. Raises ResourceExhausted
// past 1 GiB, like the reader.
SLUICE_API std::string SerializeProgram(const Program& program,
                                        const VariableSettings& settings = {});

// Loads the program in `bytes`. Ops are added one by one as a user would, so
// that they are checked and shapes are inferred again. Errors name `origin` (a
// path): DataLoss for bytes that are truncated, changed or no program,
// Unimplemented for a newer format, and, with the op's index, what Program
// raises for an op, attribute, variable, dtype or hint that this build lacks.
// `settings`, unless it is null, is set to those in the file.
SLUICE_API Program ParseProgram(std::string_view bytes,
                                std::string_view origin = "a string",
                                VariableSettings* settings = nullptr);

// Whether a file with these first bytes (8 or more) is a program. Used for
// errors by readers of other files.
SLUICE_API bool IsProgramFile(std::string_view begin);

// Writes a file of SerializeProgram's bytes. At any time `path` holds the old
// file or the whole new one (see ReplaceFile). Raises NotFound when it cannot
// be created, ResourceExhausted when it cannot be written.
SLUICE_API void SaveProgram(const Program& program,
                            const std::string& path,
                            const VariableSettings& settings = {});

// Raises NotFound for an unreadable file, else what ParseProgram raises.
SLUICE_API Program LoadProgram(const std::string& path,
                               VariableSettings* settings = nullptr);

}  // namespace sluice
