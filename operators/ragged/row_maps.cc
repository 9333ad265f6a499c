#include <algorithm>
#include <numeric>

#include "sluice/operators/ragged/row_map.h"

namespace sluice {

int64_t MapReverse(const RowMapCall& call) {
  const Sequences cut = call.Cut();
  for (int64_t b = 0; b < cut.count; ++b) {
    for (int64_t t = 0; t < cut.length(b); ++t) {
      call.index[cut.begin(b) + t] = cut.end(b) - 1 - t;
    }
  }
  return cut.rows();
}

int64_t MapExpandAs(const RowMapCall& call) {
  const Sequences cut = CheckedSequences(
      call.context, call.context.Input("Offsets"), call.outs[0][0], "Y");
  const int64_t rows = call.x[0][0];
  SLUICE_ENFORCE(rows >= cut.count || cut.begin(rows) == cut.rows(),
                 ErrorCode::kInvalidArgument, "sequence_expand_as.row_missing",
                 "{}: input X has {} rows, Y {} sequences, of which number {} "
                 "or a later one is not empty; expected a row for each",
                 call.context.op(), rows, cut.count, rows);
  for (int64_t b = 0; b < std::min(rows, cut.count); ++b) {
    std::fill(call.index.begin() + cut.begin(b),
              call.index.begin() + cut.end(b), b);
  }
  return cut.rows();
}

int64_t MapExpand(const RowMapCall& call) {
  const Sequences cut = call.Cut();
  const int64_t copies = call.outs[1][0] - 1;
  const Sequences times = CheckedSequences(
      call.context, call.context.Input("YOffsets"), copies, "Y, by YOffsets,");
  const auto capacity = static_cast<int64_t>(call.index.size());
  int64_t row = 0;
  int64_t copy = 0;
  call.SetSecond(0, 0);
  for (int64_t b = 0; b < cut.count; ++b) {
    const int64_t rows = cut.length(b) * times.length(b);
    SLUICE_ENFORCE(row + rows <= capacity, ErrorCode::kInvalidArgument,
                   "sequence_expand.capacity",
                   "{}: capacity = {}, the rows of Out and Out@GRAD, is too "
                   "small for X as Y repeats it: up to {} "
                   "there are {} rows",
                   call.context.op(), capacity, b, row + rows);
    for (int64_t i = 0; i < times.length(b); ++i) {
      for (int64_t from = cut.begin(b); from < cut.end(b); ++from) {
        call.index[row++] = from;
      }
      call.SetSecond(++copy, row);
    }
  }
  while (copy < copies) {
    call.SetSecond(++copy, row);
  }
  return row;
}

int64_t MapRows(const RowMapCall& call) {
  const Sequences cut = call.Cut();
  const auto rows = static_cast<int64_t>(call.index.size());
  SLUICE_ENFORCE(rows >= cut.rows(), ErrorCode::kInvalidArgument,
                 "sequence_rows.rows",
                 "{}: rows = {}, those of Out and Out@GRAD, are too few for "
                 "the sequences of X, which have {} by Offsets",
                 call.context.op(), rows, cut.rows());
  std::iota(call.index.begin(), call.index.begin() + cut.rows(), int64_t{0});
  return cut.rows();
}

int64_t MapSlice(const RowMapCall& call) {
  const Sequences cut = call.Cut();
  const int64_t* from = call.context.Input("Offset").data<int64_t>();
  const int64_t* lengths = call.context.Input("Length").data<int64_t>();
  int64_t row = 0;
  call.SetSecond(0, 0);
  for (int64_t b = 0; b < cut.count; ++b) {
    SLUICE_ENFORCE(from[b] >= 0 && lengths[b] >= 0 &&
                       lengths[b] <= cut.length(b) - from[b],
                   ErrorCode::kOutOfRange, "sequence_slice.bounds",
                   "{}: Offset[{}] = {} and Length[{}] = {} leave sequence {}, "
                   "which has {} rows",
                   call.context.op(), b, from[b], b, lengths[b], b,
                   cut.length(b));
    for (int64_t t = 0; t < lengths[b]; ++t) {
      call.index[row++] = cut.begin(b) + from[b] + t;
    }
    call.SetSecond(b + 1, row);
  }
  return row;
}

int64_t MapPad(const RowMapCall& call) {
  const Sequences cut = call.Cut();
  const int64_t length = call.outs[0][1];
  for (int64_t b = 0; b < cut.count; ++b) {
    SLUICE_ENFORCE(cut.length(b) <= length, ErrorCode::kInvalidArgument,
                   "sequence_pad.length",
                   "{}: sequence {} has {} rows, more than padded_length = {}",
                   call.context.op(), b, cut.length(b), length);
    const auto at = call.index.begin() + b * length;
    std::iota(at, at + cut.length(b), cut.begin(b));
    std::fill(at + cut.length(b), at + length, -1);
    call.SetSecond(b, cut.length(b));
  }
  return cut.count * length;
}

int64_t MapUnpad(const RowMapCall& call) {
  const int64_t* lengths = call.context.Input("Length").data<int64_t>();
  const int64_t longest = call.x[0][1];
  int64_t row = 0;
  call.SetSecond(0, 0);
  for (int64_t b = 0; b < call.x[0][0]; ++b) {
    SLUICE_ENFORCE(lengths[b] >= 0 && lengths[b] <= longest,
                   ErrorCode::kOutOfRange, "sequence_unpad.length",
                   "{}: Length[{}] = {}; expected 0 to {}, the positions of X",
                   call.context.op(), b, lengths[b], longest);
    for (int64_t t = 0; t < lengths[b]; ++t) {
      call.index[row++] = b * longest + t;
    }
    call.SetSecond(b + 1, row);
  }
  return row;
}

int64_t MapUnpadAs(const RowMapCall& call) {
  const Sequences cut = CheckedSequences(
      call.context, call.context.Input("Offsets"), call.outs[0][0], "Y");
  const int64_t longest = call.x[0][1];
  for (int64_t b = 0; b < cut.count; ++b) {
    SLUICE_ENFORCE(cut.length(b) <= longest, ErrorCode::kInvalidArgument,
                   "sequence_unpad_as.length",
                   "{}: sequence {} of Y has {} rows, X only {} positions",
                   call.context.op(), b, cut.length(b), longest);
    std::iota(call.index.begin() + cut.begin(b),
              call.index.begin() + cut.end(b), b * longest);
  }
  return cut.rows();
}

int64_t MapConcat(const RowMapCall& call) {
  const auto offsets = call.context.Inputs("Offsets");
  std::vector<Sequences> cuts;
  std::vector<int64_t> first = {0};
  for (size_t i = 0; i < offsets.size(); ++i) {
    const int64_t rows = call.x[i][0];
    cuts.push_back(CheckedSequences(call.context, *offsets[i], rows));
    first.push_back(first.back() + rows);
    SLUICE_ENFORCE(cuts[i].count == cuts[0].count, ErrorCode::kInvalidArgument,
                   "sequence_concat.count",
                   "{}: Offsets cut X number {} into {} sequences, the first "
                   "one into {}; expected as many",
                   call.context.op(), i, cuts[i].count, cuts[0].count);
  }
  int64_t row = 0;
  call.SetSecond(0, 0);
  for (int64_t b = 0; b < cuts[0].count; ++b) {
    for (size_t i = 0; i < cuts.size(); ++i) {
      for (int64_t r = cuts[i].begin(b); r < cuts[i].end(b); ++r) {
        call.index[row++] = first[i] + r;
      }
    }
    call.SetSecond(b + 1, row);
  }
  return row;
}

namespace {
// Sets the windows of each row: `count` rows from `start` past it.
int64_t MapWindows(const RowMapCall& call, int64_t start, int64_t count) {
  const Sequences cut = call.Cut();
  for (int64_t b = 0; b < cut.count; ++b) {
    for (int64_t row = cut.begin(b); row < cut.end(b); ++row) {
      for (int64_t k = 0; k < count; ++k) {
        const int64_t from = row + start + k;
        call.index[row * count + k] =
            from >= cut.begin(b) && from < cut.end(b) ? from : -1;
      }
    }
  }
  return cut.rows() * count;
}
}  // namespace

int64_t MapContext(const RowMapCall& call) {
  return MapWindows(call, call.Attr<int64_t>("start"),
                    call.Attr<int64_t>("length"));
}

int64_t MapEnumerate(const RowMapCall& call) {
  return MapWindows(call, 0, call.Attr<int64_t>("win_size"));
}

int64_t MapErase(const RowMapCall& call) {
  const Sequences cut = call.Cut();
  const Tensor& x = call.context.Input("X");
  Ints tokens = call.Attr<Ints>("tokens");
  std::sort(tokens.begin(), tokens.end());
  int64_t row = 0;
  call.SetSecond(0, 0);
  VisitIndex(x.dtype(), [&]<typename S>() {
    const S* values = x.data<S>();
    for (int64_t b = 0; b < cut.count; ++b) {
      for (int64_t r = cut.begin(b); r < cut.end(b); ++r) {
        if (!std::binary_search(tokens.begin(), tokens.end(), values[r])) {
          call.index[row++] = r;
        }
      }
      call.SetSecond(b + 1, row);
    }
  });
  return row;
}

int64_t MapReshape(const RowMapCall& call) {
  const Sequences cut = call.Cut();
  const int64_t from = call.x[0][1];
  const int64_t to = call.outs[0][1];
  for (int64_t b = 0; b <= cut.count; ++b) {
    const int64_t elements = cut.offsets[b] * from;
    SLUICE_ENFORCE(elements % to == 0, ErrorCode::kInvalidArgument,
                   "sequence_reshape.length",
                   "{}: sequence {} has {} elements, no multiple of new_dim = "
                   "{}",
                   call.context.op(), b - 1,
                   cut.length(std::max<int64_t>(b - 1, 0)) * from, to);
    call.SetSecond(b, elements / to);
  }
  const int64_t count = cut.rows() * from / std::gcd(from, to);
  std::iota(call.index.begin(), call.index.begin() + count, 0);
  return count;
}

int64_t WindowCount(int64_t size,
                    int64_t kernel,
                    int64_t stride,
                    int64_t pads) {
  return (size + pads - kernel) / stride + 1;
}

int64_t MapImage(const RowMapCall& call) {
  const auto& kernels = call.Attr<Ints>("kernels");
  const auto& strides = call.Attr<Ints>("strides");
  const auto& pads = call.Attr<Ints>("paddings");  // up, left, down, right
  const DDim& x = call.x[0];
  const int64_t down =
      WindowCount(x[2], kernels[0], strides[0], pads[0] + pads[2]);
  const int64_t across =
      WindowCount(x[3], kernels[1], strides[1], pads[1] + pads[3]);
  int64_t at = 0;
  for (int64_t n = 0; n < x[0] && !call.index.empty(); ++n) {
    for (int64_t window = 0; window < down * across; ++window) {
      const int64_t top = window / across * strides[0] - pads[0];
      const int64_t left = window % across * strides[1] - pads[1];
      for (int64_t c = 0; c < x[1]; ++c) {
        for (int64_t i = top; i < top + kernels[0]; ++i) {
          for (int64_t j = left; j < left + kernels[1]; ++j) {
            const bool inside = i >= 0 && i < x[2] && j >= 0 && j < x[3];
            call.index[at++] =
                inside ? ((n * x[1] + c) * x[2] + i) * x[3] + j : -1;
          }
        }
      }
    }
  }
  for (int64_t n = 0; n < call.seconds; ++n) {
    call.SetSecond(n, n * down * across);
  }
  return at;
}

}  // namespace sluice
