#pragma once

// For the .cc files of tables of ops whose formulas are an instruction or two
// on plain numbers, of which the compiler makes vectors.

#define SLUICE_FORMULA inline

namespace sluice::operators::math {

// The types of a table's rows.
template <class... Row>
struct Rows {};

}  // namespace sluice::operators::math
