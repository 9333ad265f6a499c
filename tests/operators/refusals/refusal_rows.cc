#include "tests/operators/refusals/refusal_rows.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/lines_of.h"
#include "tests/testing/temp_folder.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sluice/framework/run/run_op.h"
#include "sluice/framework/values/tensor_values.h"

namespace sluice::testing {
namespace {

using Json = nlohmann::json;

void Require(bool condition, const std::string& problem) {
  if (!condition) throw std::invalid_argument(problem);
}

// Reads one line from left to right. Raises std::invalid_argument.
class LineReader {
 public:
  explicit LineReader(std::string_view line) : rest_(line) { Cut(0); }

  bool done() const { return rest_.empty(); }
  bool StartsWith(char c) const { return rest_.starts_with(c); }
  bool Take(char c) {
    if (!StartsWith(c)) return false;
    Cut(1);
    return true;
  }
  void Expect(char c) {
    Require(Take(c), Format("expected {} before \"{}\"", c, rest_));
  }
  // A name or number: all until one of " ,:=".
  std::string Word() {
    const std::string word = Cut(rest_.find_first_of(" ,:="));
    Require(!word.empty(), Format("expected a name before \"{}\"", rest_));
    return word;
  }
  // A string, a list or a word, with its quotes or brackets.
  std::string Value() {
    if (StartsWith('"')) return Cut(EndOfString(0));
    if (!StartsWith('[')) return Word();
    size_t end = 0;
    while (end < rest_.size() && rest_[end] != ']') {
      end = rest_[end] == '"' ? EndOfString(end) : end + 1;
    }
    return Cut(end + 1);
  }

 private:
  size_t EndOfString(size_t begin) const {
    size_t end = begin + 1;
    while (end < rest_.size() && rest_[end] != '"') {
      end += rest_[end] == '\\' ? 2 : 1;
    }
    return end + 1;
  }
  // Removes and returns the first `size` bytes; spaces after them are skipped.
  std::string Cut(size_t size) {
    const std::string text(rest_.substr(0, size));
    rest_.remove_prefix(text.size());
    rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size()));
    return text;
  }

  std::string_view rest_;
};

Attribute ToAttribute(const std::string& text) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return infinity;
  if (text == "-inf") return -infinity;
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (!json.is_array()) return ParseDType(text);
  if (!json.empty() && json[0].is_string()) {
    return json.get<std::vector<std::string>>();
  }
  const bool integers =
      std::all_of(json.begin(), json.end(),
                  [](const Json& value) { return value.is_number_integer(); });
  if (integers) return json.get<std::vector<int64_t>>();
  return json.get<std::vector<double>>();
}

// Reads a shape, and the values of a tensor.
RefusalRow::Input ReadInput(const std::string& argument, LineReader& reader) {
  RefusalRow::Input input{argument, {}, DDim::UnknownRank(), {}};
  if (reader.Take('?')) return input;
  if (!reader.StartsWith('[')) input.dtype = reader.Word();
  const Json dims = Json::parse(reader.Value());
  input.dims = DDim(dims.get<std::vector<int64_t>>());
  if (reader.Take('=')) input.values = reader.Value();
  return input;
}

void ReadCall(LineReader reader, RefusalRow* row) {
  row->op = reader.Word();
  reader.Expect(':');
  while (!reader.done()) {
    const std::string name = reader.Word();
    if (reader.Take('=')) {
      row->attributes[name] = ToAttribute(reader.Value());
    } else {
      row->inputs.push_back(ReadInput(name, reader));
    }
    if (!reader.done()) reader.Expect(',');
  }
}

ErrorCode ToErrorCode(const std::string& name) {
  for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code) {
    if (ToString(static_cast<ErrorCode>(code)) == name) {
      return static_cast<ErrorCode>(code);
    }
  }
  throw std::invalid_argument("there is no error code " + name);
}

RefusalRow::Refusal ReadRefusal(LineReader reader) {
  RefusalRow::Refusal refusal;
  refusal.check_id = reader.Word();
  if (!reader.StartsWith(':')) {
    refusal.code = ToErrorCode(refusal.check_id);
    refusal.check_id = reader.Word();
  }
  reader.Expect(':');
  while (!reader.done()) {
    const Json fragment = Json::parse(reader.Value());
    refusal.fragments.push_back(fragment.get<std::string>());
  }
  return refusal;
}

std::vector<RefusalRow::Input> ReadOutputs(LineReader& reader) {
  std::vector<RefusalRow::Input> outputs;
  do {
    const std::string name = reader.Word();
    outputs.push_back(ReadInput(name, reader));
  } while (reader.Take(','));
  Require(reader.done(), "expected , between outputs");
  return outputs;
}

// Adds a line, which is not empty, to the rows of a file. Those from
// `*refused` on have neither an error nor outputs yet.
void ReadLine(const std::string& line,
              RefusalRow next,
              size_t* refused,
              std::vector<RefusalRow>* rows) {
  const size_t indent = line.find_first_not_of(' ');
  if (indent == 2) {
    Require(!next.test.empty(), "expected the name of a test");
    ReadCall(LineReader(line), &next);
    rows->push_back(std::move(next));
    return;
  }
  Require(indent == 4, "expected a line that is indented by 0, 2 or 4");
  Require(*refused < rows->size(), "expected a call before its error");
  LineReader reader(line);
  if (reader.Take('=')) {
    next.outputs = ReadOutputs(reader);
  } else {
    next.refusal = ReadRefusal(reader);
  }
  while (*refused < rows->size()) {
    RefusalRow& row = (*rows)[(*refused)++];
    row.refusal = next.refusal;
    row.outputs = next.outputs;
  }
}

Tensor ToTensor(const RefusalRow::Input& input) {
  const DType dtype =
      input.dtype.empty() ? DType::kFloat32 : ParseDType(input.dtype);
  const auto count = static_cast<size_t>(input.dims.numel());
  Json values = std::vector<int>(count);
  if (!input.values.empty()) values = Json::parse(input.values);
  Require(values.size() == count, Format("expected {} values of {}, got {}",
                                         count, input.argument, values.size()));
  if (dtype != DType::kInt64) {
    return FromDoubles(dtype, input.dims, values.get<std::vector<double>>());
  }
  return Tensor::FromVector(input.dims, values.get<std::vector<int64_t>>());
}

void Call(const RefusalRow& row) {
  const bool runs =
      row.inputs.empty() ||
      std::any_of(row.inputs.begin(), row.inputs.end(), [](const auto& input) {
        return !input.dtype.empty() || !input.values.empty();
      });
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::vector<std::pair<std::string, DDim>> shapes;
  for (const RefusalRow::Input& input : row.inputs) {
    if (runs) {
      tensors.emplace_back(input.argument, ToTensor(input));
    } else {
      shapes.emplace_back(input.argument, input.dims);
    }
  }
  if (runs) {
    RunOp(row.op, tensors, row.attributes);
  } else {
    InferOpShapes(row.op, shapes, row.attributes);
  }
}

class FunctionTest : public ::testing::Test {
 public:
  explicit FunctionTest(std::function<void()> body) : body_(std::move(body)) {}
  void TestBody() override { body_(); }

 private:
  std::function<void()> body_;
};

void Register(const std::string& test,
              const std::string& file,
              int line,
              const std::function<void()>& body) {
  const size_t dot = test.find('.');
  ::testing::RegisterTest(
      test.substr(0, dot).c_str(), test.substr(dot + 1).c_str(), nullptr,
      nullptr, file.c_str(), line,
      [body]() -> ::testing::Test* { return new FunctionTest(body); });
}

}  // namespace

std::vector<RefusalRow> ParseRefusals(std::string_view text,
                                      const std::string& file) {
  std::vector<RefusalRow> rows;
  size_t refused = 0;
  RefusalRow next;
  next.file = file;
  const std::vector<std::string> lines = LinesOf(std::string(text));
  try {
    for (size_t i = 0; i < lines.size();) {
      std::string line = lines[i++];
      next.line = static_cast<int>(i);
      while (i < lines.size() && lines[i].starts_with("      ")) {
        line += lines[i++];
      }
      if (line.empty() || line.starts_with('#')) continue;
      if (line.starts_with(' ')) {
        ReadLine(line, next, &refused, &rows);
        continue;
      }
      Require(refused == rows.size(), "the calls before have no error");
      Require(line.find('.') != std::string::npos, "expected Suite.Name");
      next.test = line;
    }
    Require(refused == rows.size(), "the calls before have no error");
  } catch (const std::exception& error) {
    throw std::invalid_argument(
        Format("{}:{}: {}", file, next.line, error.what()));
  }
  std::map<std::string, int> counts, numbers;
  for (const RefusalRow& row : rows) {
    ++counts[row.test];
  }
  for (RefusalRow& row : rows) {
    if (counts[row.test] == 1) continue;
    const int number = numbers[row.test]++;
    row.test += Format("/{}", number);
  }
  return rows;
}

void ExpectRefused(const RefusalRow& row) {
  std::string message;
  ExpectError(
      row.refusal.code, row.refusal.check_id, {},
      [&] {
        try {
          Call(row);
        } catch (const Error& error) {
          message = error.what();
          throw;
        }
      },
      row.file.c_str(), row.line);
  if (message.empty()) return;  // ExpectError says that there was no Error
  for (const std::string& fragment : row.refusal.fragments) {
    if (message.find(fragment) != std::string::npos) continue;
    ADD_FAILURE_AT(row.file.c_str(), row.line)
        << "expected '" << fragment << "' in the error: " << message;
  }
}

void ExpectShapes(const RefusalRow& row) {
  std::vector<std::pair<std::string, DDim>> inputs;
  for (const RefusalRow::Input& input : row.inputs) {
    inputs.emplace_back(input.argument, input.dims);
  }
  const auto shapes = InferOpShapes(row.op, inputs, row.attributes);
  for (const RefusalRow::Input& output : row.outputs) {
    const std::string got = ToString(shapes.at(output.argument));
    const std::string want = ToString(output.dims);
    if (got == want) continue;
    ADD_FAILURE_AT(row.file.c_str(), row.line)
        << "expected " << output.argument << " " << want << ", got " << got;
  }
}

int RegisterRefusals(const std::filesystem::path& folder) {
  std::set<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name == "refusals.txt" || name == "shapes.txt") {
      files.insert(entry.path());
    }
  }
  int count = 0;
  for (const std::filesystem::path& file : files) {
    try {
      for (const RefusalRow& row : ParseRefusals(ReadFile(file), file)) {
        Register(row.test, file, row.line, [row] {
          row.outputs.empty() ? ExpectRefused(row) : ExpectShapes(row);
        });
        ++count;
      }
    } catch (const std::invalid_argument& error) {
      Register("RefusalRows.CanBeRead", file, 1,
               [text = std::string(error.what())] { ADD_FAILURE() << text; });
    }
  }
  return count;
}

}  // namespace sluice::testing
