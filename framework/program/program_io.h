#pragma once

#include <string>
#include <string_view>

#include "sluice/framework/program/program.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// Programs as bytes (program.proto): blocks, variables, ops, attributes, hints
// and the lines that made them; no values. The same program always gives the
// same bytes. Raises ResourceExhausted past 1 GiB, as the reader does.
SLUICE_API std::string SerializeProgram(const Program& program);

// The program in `bytes`, added op by op as a user would, so that it is checked
// and its shapes are inferred anew. `origin` (a path) is named in errors:
// DataLoss for bytes that are cut off, changed or no program, Unimplemented for
// a newer format, and what Program raises for an op, attribute, variable,
// dtype or hint that this build does not know, with the op's index.
SLUICE_API Program ParseProgram(std::string_view bytes,
                                std::string_view origin = "a string");

// Whether a file that begins with these 8 bytes or more is one of a program.
// For errors of readers of other files.
SLUICE_API bool IsProgramFile(std::string_view begin);

// Writes a file of SerializeProgram's bytes. `path` holds the old file or the
// whole new one, whatever happens meanwhile (see ReplaceFile). Raises NotFound
// when it cannot be created, ResourceExhausted when it cannot be written.
SLUICE_API void SaveProgram(const Program& program, const std::string& path);

// Raises NotFound for a file that cannot be read, else as ParseProgram.
SLUICE_API Program LoadProgram(const std::string& path);

}  // namespace sluice::framework
