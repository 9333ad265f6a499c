#pragma once

#include <string>
#include <vector>

#include "sluice/framework/program/program.h"
#include "sluice/framework/values/scope.h"
#include "sluice/platform/export.h"

namespace sluice {

// Writes the values of `program`'s persistable variables in `scope`, and the
// scope's step, to a safetensors file (checkpoint_header.h), which Python's
// safetensors can read. Values at other places are copied to the host. Programs
// may run meanwhile; the file has the state between two runs. At any time
// `path` holds the old file or the whole new one (see ReplaceFile). Raises
//  - FailedPrecondition for variables without a value;
//  - InvalidArgument for a value of another dtype or shape than its variable,
//    for a name that JSON cannot hold, and for a path that is no regular file;
//  - NotFound when the file cannot be created, ResourceExhausted when it cannot
//    be written.
SLUICE_API void SaveParameters(const std::string& path,
                               const Program& program,
                               const Scope& scope);

struct LoadOptions {
  // Load only the variables that file and program share, and keep the scope's
  // step. Otherwise both must have the same variables.
  bool partial = false;
};

// Variables that a partial load left out; both are empty otherwise.
struct LoadedParameters {
  std::vector<std::string> missing;      // in the program, not in the file
  std::vector<std::string> superfluous;  // in the file, not in the program
};

// The inverse: the variables get new values on the host, where they exist (in
// `scope` or a parent) or else in `scope`. All or nothing: everything is read
// and checked before the scope changes. Accepts any safetensors file. A file of
// Sluice is checked against its checksums; another one has none and does not
// change the scope's step. Raises
//  - NotFound for a file that cannot be opened or read;
//  - DataLoss for one that is cut off, changed, or no checkpoint;
//  - Unimplemented for one of a newer format, or a dtype that Sluice lacks;
//  - InvalidArgument for another program's file; names variables that are
//    missing, superfluous, or of another dtype or shape. With `partial` only if
//    none is shared, or for another dtype or shape.
SLUICE_API LoadedParameters LoadParameters(const std::string& path,
                                           const Program& program,
                                           Scope& scope,
                                           const LoadOptions& options = {});

}  // namespace sluice
