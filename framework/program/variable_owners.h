#pragma once

#include <cstdint>
#include <string>

#include "sluice/framework/program/program.h"
#include "sluice/platform/export.h"

// Copies of a program (also those for testing, and pruned ones) have its
// variables; other programs may have others of the same names. Thread-safe.
namespace sluice {

// Returns the uid of the program that the variable was added to: the one of
// this uid, or one that it was copied from, perhaps by way of others.
SLUICE_API uint64_t OwnerOf(uint64_t uid, const std::string& name);

// Returns where the variable was created: by Data, or by the op that makes it
// or first uses it. No file if that is unknown.
SLUICE_API SourceLocation MadeAt(const Program& program,
                                 const std::string& name);

// For functions that copy programs: the variables of block 0 of `to`, which
// must not change meanwhile, are those of `from`.
void InheritVariables(const Program& from, const Program& to);
// For the destructor of a program.
void ForgetOwners(uint64_t uid) noexcept;

}  // namespace sluice
