#include "sluice/framework/plan/feed_check.h"

#include <set>
#include <string>

#include "sluice/framework/op/near_names.h"
#include "sluice/platform/text.h"

namespace sluice {

namespace {

void CheckFeed(const VarDesc& var, const FeedSpec& feed) {
  SLUICE_ENFORCE(var.is_data || feed.handed_on, ErrorCode::kInvalidArgument,
                 "feed.not_data",
                 "feed {}: only variables made with Program::Data can be fed",
                 feed.name);
  SLUICE_ENFORCE(feed.dtype == var.dtype, ErrorCode::kInvalidArgument,
                 "feed.dtype", "feed {} must be {}, got {}", feed.name,
                 var.dtype, feed.dtype);
  bool fits = !var.dims.rank_known() || var.dims.rank() == feed.dims.rank();
  for (int axis = 0; fits && axis < var.dims.rank(); ++axis) {
    fits = var.dims[axis] < 0 || var.dims[axis] == feed.dims[axis];
  }
  SLUICE_ENFORCE(fits, ErrorCode::kInvalidArgument, "feed.shape",
                 "feed {} must have shape {}, got {}", feed.name, var.dims,
                 feed.dims);
}

[[noreturn]] void FailUnknown(const Program& program, const std::string& name) {
  std::vector<std::string> names;
  for (const VarDesc& var : program.block().vars()) {
    if (var.is_data) names.push_back(var.name);
  }
  Raise(ErrorCode::kNotFound, "feed.unknown",
        "feed {}: the program has no such variable to feed{}", Shown(name),
        SuggestNames(name, names));
}

}  // namespace

void CheckFeeds(const Program& program, const std::vector<FeedSpec>& feeds) {
  std::set<std::string> names;
  for (const FeedSpec& feed : feeds) {
    const VarDesc* var = program.block().FindVar(feed.name);
    if (var == nullptr) FailUnknown(program, feed.name);
    SLUICE_ENFORCE(names.insert(feed.name).second, ErrorCode::kInvalidArgument,
                   "feed.twice", "feed {} is given twice", feed.name);
    try {
      CheckFeed(*var, feed);
    } catch (Error& error) {
      AddLocation(program.LocationOfData(feed.name), &error);
      throw;
    }
  }
}

void NoteRowsOfFeeds(const Program& program,
                     const std::vector<FeedSpec>& feeds,
                     Error* error) {
  const FeedSpec* first = nullptr;
  for (const FeedSpec& feed : feeds) {
    const DDim& declared = program.FindVar(feed.name).dims;
    if (declared.rank() < 1 || declared[0] >= 0 || feed.dims.rank() < 1) {
      continue;
    }
    if (first == nullptr) {
      first = &feed;
    } else if (feed.dims[0] != first->dims[0]) {
      error->AddContext(Format("feed {} has {} rows, feed {} has {}",
                               first->name, first->dims[0], feed.name,
                               feed.dims[0]));
      return;
    }
  }
}

}  // namespace sluice
