#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/values/attribute.h"
#include "sluice/framework/values/ddim.h"
#include "sluice/platform/error.h"

// Calls of ops that must be refused, and shapes that must be inferred, as rows
// of the files refusals.txt and shapes.txt beside the ops' tests:
//
//   CropTest.RefusesABoxPastTheEnd
//     crop: X [4, 10], offsets = [0, 5], shape = [4, 6]
//     crop: X [4, 10], offsets = [9, 0], shape = [1, 11]
//       crop.offset_range: "is past the end of input X" "[4, 10]"
//
//   CropTest.InfersWhatIsKnown
//     crop: X [4, 4], Y [2, -1]
//       = Out [2, -1]
//
// The name is that of a test; each call is one, and its name ends with /0, /1,
// ... if there are several. The last line holds for all calls directly above
// it: the id of the check that fails, and parts of the message. The error's
// code stands before the id if it is not InvalidArgument:
// "OutOfRange gather.index: ...". Or it has the shapes of some outputs.
//
// An input is "X [4, -1]", a shape of which one size is unknown, or "X ?", any
// shape, or "X int32 [2]", a tensor of zeros, or "X int32 [2] = [3, -1]". A
// variadic input repeats.
// Attributes are as in JSON, or a dtype, nan, inf or -inf. A line that is
// indented by six or more continues the one before it. Empty lines and those
// that begin with # are skipped.
namespace sluice::testing {

struct RefusalRow {
  struct Input {
    std::string argument;
    std::string dtype;  // "" if only the shape is known
    DDim dims;
    std::string values;  // a list; "" for zeros
  };
  struct Refusal {
    ErrorCode code = ErrorCode::kInvalidArgument;
    std::string check_id;
    std::vector<std::string> fragments;
  };

  std::string test;
  std::string file;
  int line = 0;
  std::string op;
  std::vector<Input> inputs;
  AttributeMap attributes;
  Refusal refusal;
  std::vector<Input> outputs;  // with their shapes, if nothing is refused
};

// Raises std::invalid_argument with "FILE:LINE: " for what is no row.
std::vector<RefusalRow> ParseRefusals(std::string_view text,
                                      const std::string& file);

// Fails the test, at the row's line, unless the call is refused as it says. A
// call with tensors or without inputs runs; others only infer shapes.
void ExpectRefused(const RefusalRow& row);

// Fails the test, at the row's line, unless the outputs have these shapes.
void ExpectShapes(const RefusalRow& row);

// Adds the rows of all those files in `folder` to the program's tests, and a
// failing test for each file that is wrong. Returns the number of rows.
int RegisterRefusals(const std::filesystem::path& folder);

}  // namespace sluice::testing
