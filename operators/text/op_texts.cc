#include "sluice/operators/text/op_texts.h"

#include <algorithm>

#include "sluice/platform/text.h"

namespace sluice {

namespace {

constexpr int kHeldBytes = 7;
constexpr int kByteBits = 8;
constexpr int64_t kMostHeld = int64_t{1} << (kHeldBytes * kByteBits);

}  // namespace

void AddTextsInput(OpSchema& op) {
  op.TypeVar("T", {DType::kInt64});
  op.Input("Texts", "int64",
           "[]: the handle of the table of strings that numbers are of. "
           "Without it a number holds the bytes of a string of at most 7, the "
           "first ones highest.",
           {.optional = true, .host = true});
}

OpTexts::OpTexts(const OpKernelContext& context) : op_(context.op()) {
  if (!context.HasInput("Texts")) return;
  const Tensor& handle = context.Input("Texts");
  SLUICE_ENFORCE(
      handle.numel() == 1, ErrorCode::kInvalidArgument, "text.handle_shape",
      "{}: input Texts has shape {}; expected one handle", op_, handle.dims());
  table_ = TextTable::Of(*handle.data<int64_t>());
  SLUICE_ENFORCE(table_ != nullptr, ErrorCode::kNotFound, "text.handle",
                 "{}: input Texts is {}, and there is no such table of strings "
                 "in this process, or no longer",
                 op_, *handle.data<int64_t>());
}

std::string OpTexts::Read(const char* input, int64_t number) const {
  if (table_) {
    const std::string* text = table_->Find(number);
    SLUICE_ENFORCE(text != nullptr, ErrorCode::kOutOfRange, "text.number",
                   "{}: input {} has {}; its table has {} strings", op_, input,
                   number, table_->size());
    return *text;
  }
  SLUICE_ENFORCE(number >= 0 && number < kMostHeld, ErrorCode::kOutOfRange,
                 "text.held_number",
                 "{}: input {} has {}; without input Texts a number is from 0 "
                 "to 2^56 - 1",
                 op_, input, number);
  std::string text;
  for (; number > 0; number >>= kByteBits) {
    text.push_back(static_cast<char>(number & 0xFF));
  }
  std::reverse(text.begin(), text.end());
  return text;
}

int64_t OpTexts::NumberOf(std::string_view text) const {
  if (table_) return table_->NumberOf(text);
  SLUICE_ENFORCE(text.size() <= kHeldBytes && !text.starts_with('\0'),
                 ErrorCode::kOutOfRange, "text.held_text",
                 "{}: a result has {} bytes, or begins with a zero; without "
                 "input Texts a number holds at most 7, as its inputs X do",
                 op_, text.size());
  int64_t number = 0;
  for (const char byte : text) {
    number = (number << kByteBits) + static_cast<unsigned char>(byte);
  }
  return number;
}

std::string OpTexts::ReadUtf8(const char* input, int64_t number) const {
  std::string text = Read(input, number);
  SLUICE_ENFORCE(IsUtf8(text), ErrorCode::kInvalidArgument, "text.utf8",
                 "{}: string {} of input {} is no UTF-8", op_, number, input);
  return text;
}

void OpTexts::WriteRows(OpKernelContext& context,
                        const DDim& dims,
                        const std::vector<Ints>& rows,
                        std::string_view pad) const {
  size_t longest = 0;
  for (const Ints& row : rows) {
    longest = std::max(longest, row.size());
  }
  DDim out = dims;
  out.InsertDim(out.rank(), static_cast<int64_t>(longest));
  int64_t* to = context.AllocateOutput("Out", out).data<int64_t>();
  for (const Ints& row : rows) {
    to = std::copy(row.begin(), row.end(), to);
    if (row.size() == longest) continue;
    to = std::fill_n(to, longest - row.size(), NumberOf(pad));
  }
}

}  // namespace sluice
