// The cases of tests/operators/cases. A process of Python makes their examples
// and computes their references; it starts with the first question.
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/operators/harness/op_case.h"
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <spawn.h>
#include <unistd.h>

#include "sluice/laboratory/op_example.h"
#include "sluice/platform/error.h"
#include "sluice/platform/number_format.h"

extern char** environ;

namespace sluice {
// The Python and the folder of the cases, then a line about each case. Defined
// in a generated file.
std::string_view OpCaseLines();
}  // namespace sluice

namespace sluice::testing {
namespace {

using Json = nlohmann::ordered_json;

// "PYTHON:FOLDER", where a machine has them in other places than the build.
std::pair<std::string, std::string> PythonAndFolder() {
  if (const char* const own = std::getenv("SLUICE_TEST_CASES")) {
    const std::string text = own;
    const size_t colon = text.find(':');
    return {text.substr(0, colon), text.substr(colon + 1)};
  }
  std::istringstream lines{std::string(OpCaseLines())};
  std::string python, folder;
  std::getline(lines >> std::ws, python);
  std::getline(lines, folder);
  return {python, folder};
}

// A process that answers questions. Used by one thread.
class PythonCases {
 public:
  static PythonCases& Instance() {
    static auto* const kCases = new PythonCases();
    return *kCases;
  }

  // Returns the answer, and its arrays in `arrays`. Raises the error of the
  // case, with its file and line.
  Json Ask(const Json& question,
           const std::vector<const Array*>& sent,
           std::vector<Array>* arrays) {
    Write(question.dump() + "\n");
    for (const Array* array : sent) {
      Write({reinterpret_cast<const char*>(array->values.data()),
             8 * array->values.size()});
    }
    if (std::fflush(to_) != 0) Fail();
    std::string line;
    for (int c = std::getc(from_); c != '\n'; c = std::getc(from_)) {
      if (c == EOF) Fail();
      line.push_back(static_cast<char>(c));
    }
    Json answer = Json::parse(line);
    if (answer.contains("error")) {
      throw std::runtime_error(answer["error"].get<std::string>());
    }
    for (const Json& dims : answer["dims"]) {
      Array& array =
          arrays->emplace_back(DDim(dims.get<std::vector<int64_t>>()));
      const size_t size = array.values.size();
      if (std::fread(array.values.data(), 8, size, from_) != size) Fail();
    }
    return answer;
  }

 private:
  PythonCases() {
    // If Python ends, an error says so.
    static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
    int questions[2], answers[2];
    if (pipe2(questions, O_CLOEXEC) != 0 || pipe2(answers, O_CLOEXEC) != 0) {
      throw std::runtime_error("no pipe to the cases in Python");
    }
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, questions[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, answers[1], STDOUT_FILENO);
    auto [python, folder] = PythonAndFolder();
    command_ = python + " " + folder;
    char no_cache[] = "-B";  // in the folder of the sources
    char* const arguments[] = {python.data(), no_cache, folder.data(), nullptr};
    pid_t process = 0;
    const int error = posix_spawnp(&process, arguments[0], &files, nullptr,
                                   arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    close(questions[0]);
    close(answers[1]);
    // Arrays have up to some MB.
    fcntl(questions[1], F_SETPIPE_SZ, 1 << 20);
    fcntl(answers[0], F_SETPIPE_SZ, 1 << 20);
    to_ = fdopen(questions[1], "w");
    from_ = fdopen(answers[0], "r");
    if (error != 0) Fail();
  }

  void Write(std::string_view bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), to_) != bytes.size()) Fail();
  }

  [[noreturn]] void Fail() const {
    throw std::runtime_error(
        "no answer of the cases in Python, which needs NumPy: " + command_);
  }

  std::string command_;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

// The examples as descriptions, whose dtypes are those of the kernel, with
// ranges or else with arrays.
std::vector<sluice::OpExample> Ask(const std::string& op,
                                   DType dtype,
                                   std::vector<Array>* arrays) {
  const NumberFormat& format = FormatOf(dtype);
  Json question = {{"op", op},
                   {"dtype", std::string(ToString(dtype))},
                   {"float", format.is_float()},
                   {"signed", format.is_signed},
                   {"bits", format.bits},
                   {"ranges", arrays == nullptr}};
  if (format.is_float() && IsStoredNumber(dtype)) {
    for (const float value : StoredValues(dtype)) {
      // JSON has no other numbers.
      question["numbers"].push_back(std::isfinite(value) ? value : 1e9F);
    }
  }
  const Json answer = PythonCases::Instance().Ask(question, {}, arrays);
  std::vector<sluice::OpExample> examples;
  for (const Json& line : answer["examples"]) {
    sluice::OpExample& example = examples.emplace_back(
        ExampleFromJson(line.dump(), "tests/operators/cases"));
    for (const std::string& name : example.dtype_attributes) {
      example.attributes[name] = dtype;
    }
    example.dtype_attributes.clear();
    for (ExampleInput& input : example.inputs) {
      if (input.of_kernel) input.dtype = dtype;
      input.of_kernel = false;
    }
  }
  return examples;
}

std::vector<OpExample> AskExamples(const std::string& op, DType dtype) {
  std::vector<Array> arrays;
  std::vector<OpExample> examples;
  const auto descriptions = Ask(op, dtype, &arrays);
  auto array = arrays.begin();
  for (const sluice::OpExample& described : descriptions) {
    OpExample& example = examples.emplace_back();
    example.attributes = described.attributes;
    for (const ExampleInput& input : described.inputs) {
      example.inputs.emplace_back(input.argument,
                                  ToTensor(*array++, input.dtype));
    }
  }
  return examples;
}

Arrays AskOutputs(const Arrays& inputs, const OpDesc& op, bool alternative) {
  sluice::OpExample described;
  described.op = op.type;
  described.attributes = op.attributes;
  Json question = Json::parse(ExampleToJson(described));
  question.emplace("attributes", Json::object());
  question["alternative"] = alternative;
  question["inputs"] = Json::array();
  std::vector<const Array*> sent;
  for (const auto& [name, array] : inputs) {
    sent.push_back(&array);
    question["inputs"].push_back(
        {name, std::string(ToString(array.dtype)),
         std::vector<int64_t>(array.dims.begin(), array.dims.end())});
  }
  std::vector<Array> arrays;
  const Json answer = PythonCases::Instance().Ask(question, sent, &arrays);
  Arrays outputs;
  for (size_t i = 0; i < arrays.size(); ++i) {
    outputs.emplace(answer["outputs"][i], std::move(arrays[i]));
  }
  return outputs;
}

[[maybe_unused]] const bool python_cases = [] {
  std::istringstream lines{std::string(OpCaseLines())};
  std::string line;
  while (std::getline(lines, line)) {
    if (!line.starts_with('{')) continue;
    const Json row = Json::parse(line);
    const std::string name = row["op"];
    OpCase op_case;
    op_case.examples = [name](ExampleMaker& make) {
      return AskExamples(name, make.dtype());
    };
    op_case.descriptions = [name](DType dtype) {
      return Ask(name, dtype, nullptr);
    };
    op_case.reference = [](const Arrays& inputs, const OpDesc& op) {
      return AskOutputs(inputs, op, false);
    };
    op_case.slack = row["slack"];
    if (row["alternative"]) {
      op_case.alternative = [](const Arrays& inputs, const OpDesc& op) {
        return AskOutputs(inputs, op, true);
      };
    }
    op_case.more_slack = row["more_slack"];
    AddOpCase(name, std::move(op_case));
  }
  return true;
}();

}  // namespace
}  // namespace sluice::testing
