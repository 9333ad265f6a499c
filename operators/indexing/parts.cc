#include "sluice/operators/indexing/parts.h"

#include "sluice/operators/registration.h"

namespace sluice {
namespace {

// Returns dim `axis` of `x`, counted from the start, and checks that its size
// is known.
int KnownAxis(const char* what, const Var& x, int64_t axis) {
  const DDim dims = x.dims();
  SLUICE_ENFORCE(
      dims.rank_known() && axis >= -dims.rank() && axis < dims.rank(),
      ErrorCode::kInvalidArgument, "parts.axis",
      "{}: {} is no dim of {}, whose shape is {}", what, axis, x.name(), dims);
  return static_cast<int>(axis < 0 ? axis + dims.rank() : axis);
}

Var AppendPart(Program& program,
               const char* type,
               const ArgVars& x,
               AttributeMap attributes,
               const SourceLocation& location) {
  program.AppendOp(type, {{"X", x}}, std::move(attributes), location);
  return program.Output("Out");
}

std::vector<Var> CutParts(const Var& x,
                          const Ints& sections,
                          int64_t axis,
                          const SourceLocation& location) {
  std::vector<Var> parts;
  int64_t begin = 0;
  for (const int64_t section : sections) {
    const int64_t end = begin + section;
    parts.push_back(AppendPart(
        x.program(), "slice", {x.name()},
        {{"starts", Ints{begin}}, {"ends", Ints{end}}, {"axes", Ints{axis}}},
        location));
    begin = end;
  }
  return parts;
}

// Calls `build` and adds the caller's line to its error.
template <typename Build>
auto Located(const SourceLocation& location, const Build& build) try {
  return build();
} catch (Error& error) {
  AddLocation(location, &error);
  throw;
}

}  // namespace

std::vector<Var> Split(const Var& x,
                       const Ints& sections,
                       int64_t dim,
                       const SourceLocation& location) {
  return Located(location, [&] {
    const int axis = KnownAxis("split", x, dim);
    int64_t left = x.dims()[axis];
    const bool known = left >= 0;
    for (const int64_t section : sections) {
      SLUICE_ENFORCE(section >= 0 && (!known || section <= left),
                     ErrorCode::kInvalidArgument, "parts.section",
                     "split: a part of {} elements is not in dim {} of {}, "
                     "whose shape is {}, after those before it",
                     section, axis, x.name(), x.dims());
      left -= section;
    }
    SLUICE_ENFORCE(!known || left == 0, ErrorCode::kInvalidArgument,
                   "parts.left",
                   "split: the parts leave {} elements of dim {} of {}, whose "
                   "shape is {}",
                   left, axis, x.name(), x.dims());
    return CutParts(x, sections, axis, location);
  });
}

std::vector<Var> Split(const Var& x,
                       int64_t count,
                       int64_t dim,
                       const SourceLocation& location) {
  return Located(location, [&] {
    const int axis = KnownAxis("split", x, dim);
    const int64_t size = x.dims()[axis];
    SLUICE_ENFORCE(count > 0 && size >= 0 && size % count == 0,
                   ErrorCode::kInvalidArgument, "parts.equal",
                   "split: dim {} of {}, whose shape is {}, cannot be cut into "
                   "{} equal parts",
                   axis, x.name(), x.dims(), count);
    return CutParts(x, Ints(static_cast<size_t>(count), size / count), axis,
                    location);
  });
}

std::vector<Var> Unstack(const Var& x,
                         int64_t axis,
                         const SourceLocation& location) {
  return Located(location, [&] {
    const int64_t dim = KnownAxis("unstack", x, axis);
    const int64_t size = x.dims()[static_cast<int>(dim)];
    SLUICE_ENFORCE(size >= 0, ErrorCode::kInvalidArgument, "parts.unknown",
                   "unstack: dim {} of {}, whose shape is {}, is unknown", dim,
                   x.name(), x.dims());
    std::vector<Var> rows =
        CutParts(x, Ints(static_cast<size_t>(size), 1), dim, location);
    for (Var& row : rows) {
      row = AppendPart(x.program(), "squeeze", {row.name()},
                       {{"axes", Ints{dim}}}, location);
    }
    return rows;
  });
}

Var Stack(const std::vector<Var>& parts,
          int64_t axis,
          const SourceLocation& location) {
  return Located(location, [&] {
    SLUICE_ENFORCE(!parts.empty(), ErrorCode::kInvalidArgument, "parts.none",
                   "stack: expected a variable or more, got none");
    Program& program = parts[0].program();
    ArgVars rows;
    for (const Var& part : parts) {
      SLUICE_ENFORCE(&part.program() == &program, ErrorCode::kInvalidArgument,
                     "parts.program",
                     "stack: {} belongs to another program than {}",
                     part.name(), parts[0].name());
      rows.push_back(AppendPart(program, "unsqueeze", {part.name()},
                                {{"axes", Ints{axis}}}, location)
                         .name());
    }
    return AppendPart(program, "concat", rows, {{"axis", axis}}, location);
  });
}

}  // namespace sluice
