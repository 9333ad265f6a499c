#pragma once

// For the .cc files of tables of ops whose formulas take one or two
// instructions on plain numbers. The compiler vectorizes them.

#define SLUICE_FORMULA inline

namespace sluice {

// The types of a table's rows.
template <class... Row>
struct Rows {};

}  // namespace sluice
