#pragma once

#include <string>
#include <vector>

#include "sluice/framework/program/program.h"
#include "sluice/framework/values/scope.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// Writes the values that `scope` has for the persistable variables of
// `program`, and the scope's step, to a safetensors file
// (checkpoint_header.h), which Python's safetensors reads, too. Values at other
// places are copied to the host. Programs may run meanwhile; what is written
// is the state between two runs. `path` holds the old file or the whole new
// one, whatever happens meanwhile (see ReplaceFile). Raises
//  - FailedPrecondition for variables without a value;
//  - InvalidArgument for a value of another dtype or shape than its variable,
//    for a name that JSON cannot hold, and for a path that is no regular file;
//  - NotFound when the file cannot be created, ResourceExhausted when it cannot
//    be written.
SLUICE_API void SaveParameters(const std::string& path,
                               const Program& program,
                               const Scope& scope);

struct LoadOptions {
  // Take what file and program have in common, and leave the scope's step as it
  // is. Without it both must have the same variables.
  bool partial = false;
};

// What a partial load left out; both empty otherwise.
struct LoadedParameters {
  std::vector<std::string> missing;      // of the program, not in the file
  std::vector<std::string> superfluous;  // in the file, not of the program
};

// The inverse: the variables get new values, at the host, where they are (in
// `scope` or a parent) or else in `scope`. All or nothing: everything is read
// and checked before the scope changes. Any safetensors file will do; one that
// Sluice wrote is checked against its checksums, another one has none and
// leaves the scope's step as it is. Raises
//  - NotFound for a file that cannot be opened or read;
//  - DataLoss for one that is cut off, changed, or no checkpoint;
//  - Unimplemented for one of a newer format, or a dtype that Sluice lacks;
//  - InvalidArgument for one of another program: variables that are missing,
//    superfluous, or of another dtype or shape are named. With `partial` for
//    one that has nothing in common with the program, or another dtype or
//    shape.
SLUICE_API LoadedParameters LoadParameters(const std::string& path,
                                           const Program& program,
                                           Scope& scope,
                                           const LoadOptions& options = {});

}  // namespace sluice::framework
