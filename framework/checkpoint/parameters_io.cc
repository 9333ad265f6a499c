#include "sluice/framework/checkpoint/parameters_io.h"

#include <algorithm>
#include <map>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/framework/checkpoint/checkpoint_header.h"
#include "sluice/framework/checkpoint/foreign_header.h"
#include "sluice/framework/files/checksum.h"
#include "sluice/framework/files/file.h"
#include "sluice/framework/program/program_io.h"
#include "sluice/framework/values/scope_lock.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

// Returns the variables of `program` that are saved, in file order.
CheckpointHeader PersistablesOf(const Program& program) {
  CheckpointHeader header;
  for (const VarDesc& var : program.block().vars()) {
    if (var.persistable) {
      header.tensors.push_back({var.name, var.dtype, var.dims, 0});
    }
  }
  header.Sort();
  return header;
}

std::string Join(const std::vector<std::string>& items) {
  constexpr size_t kItems = 8;
  std::string text;
  for (size_t i = 0; i < std::min(items.size(), kItems); ++i) {
    text += (i == 0 ? "" : ", ") + items[i];
  }
  return items.size() > kItems
             ? Format("{} and {} more", text, items.size() - kItems)
             : text;
}

// Returns the values to save. No later run changes them: a run that writes a
// variable gives it new memory.
std::vector<Tensor> ValuesOf(const CheckpointHeader& header,
                             const Scope& scope) {
  std::vector<Tensor> values;
  std::vector<std::string> missing;
  for (const CheckpointTensor& tensor : header.tensors) {
    const Variable* variable = scope.FindVar(tensor.name);
    const Tensor* value =
        variable == nullptr ? nullptr : variable->Get<Tensor>();
    if (value == nullptr || !value->allocated()) {
      missing.push_back(tensor.name);
      continue;
    }
    SLUICE_ENFORCE(
        value->dtype() == tensor.dtype && value->dims() == tensor.dims,
        ErrorCode::kInvalidArgument, "checkpoint.value",
        "variable {} is {} {} in the program, but {} {} in the scope",
        tensor.name, tensor.dtype, tensor.dims, value->dtype(), value->dims());
    values.push_back(*value);
  }
  if (!missing.empty()) {
    Raise(ErrorCode::kFailedPrecondition, "checkpoint.no_value",
          "the scope has no value to save for {}: run the start-up "
          "program first",
          Join(missing));
  }
  return values;
}

CheckpointHeader ReadHeader(InputFile* file) {
  uint64_t size = 0;
  file->Read(&size, sizeof(size));
  const uint64_t rest = file->size() - sizeof(size);
  const std::string_view begin(reinterpret_cast<const char*>(&size),
                               sizeof(size));
  SLUICE_ENFORCE(!IsProgramFile(begin), ErrorCode::kInvalidArgument,
                 "checkpoint.program",
                 "expected parameters, got a program without values");
  SLUICE_ENFORCE(size <= rest, ErrorCode::kDataLoss, "checkpoint.header_size",
                 "expected parameters in a safetensors file, got a file of "
                 "another kind or one that was cut off: its header would take "
                 "{} bytes, and {} follow",
                 size, rest);
  std::string text(std::min(size, rest), '\0');
  file->Read(text.data(), text.size());
  CheckpointHeader header = CheckpointHeader::IsOurs(text)
                                ? CheckpointHeader::Read(text)
                                : ReadForeignHeader(text);
  SLUICE_ENFORCE(header.data_bytes() == rest - size, ErrorCode::kDataLoss,
                 "checkpoint.size",
                 "the checkpoint is damaged: it should have {} bytes of data, "
                 "and has {}",
                 header.data_bytes(), rest - size);
  return header;
}

// Compares the variables of a file with those of a program, and gives them the
// program's dtypes. Without `partial` they must be the same.
LoadedParameters CheckProgram(CheckpointHeader* file,
                              const CheckpointHeader& own,
                              bool partial) {
  std::map<std::string, CheckpointTensor*> saved;
  for (CheckpointTensor& tensor : file->tensors) {
    saved[tensor.name] = &tensor;
  }
  LoadedParameters loaded;
  auto& [missing, superfluous] = loaded;
  std::vector<std::string> other;
  for (const CheckpointTensor& wanted : own.tensors) {
    const auto found = saved.find(wanted.name);
    if (found == saved.end()) {
      missing.push_back(wanted.name);
      continue;
    }
    CheckpointTensor& tensor = *found->second;
    if (IsStoredAs(wanted.dtype, tensor.dtype)) tensor.dtype = wanted.dtype;
    if (tensor.dtype != wanted.dtype || tensor.dims != wanted.dims) {
      other.push_back(Format("{} is {} {} in the program, {} {} in the file",
                             wanted.name, wanted.dtype, wanted.dims,
                             tensor.dtype, tensor.dims));
    }
    saved.erase(found);
  }
  for (const auto& [name, tensor] : saved) {
    superfluous.push_back(name);
  }
  std::string problems;
  const auto add = [&](const char* what, const auto& items) {
    if (items.empty()) return;
    problems += (problems.empty() ? "" : "; ") + (what + Join(items));
  };
  if (!partial) {
    add("it lacks ", missing);
    add("the program has no ", superfluous);
  }
  add("", other);
  SLUICE_ENFORCE(problems.empty(), ErrorCode::kInvalidArgument,
                 "checkpoint.other_program",
                 "the checkpoint is of another program: {}", problems);
  SLUICE_ENFORCE(missing.size() < own.tensors.size() || own.tensors.empty(),
                 ErrorCode::kInvalidArgument, "checkpoint.no_variable",
                 "the checkpoint has none of the program's variables: it has "
                 "{}, the program has {}",
                 Join(superfluous), Join(missing));
  return loaded;
}

std::vector<Tensor> ReadValues(const CheckpointHeader& header,
                               InputFile* file) {
  std::vector<Tensor> values;
  for (const CheckpointTensor& tensor : header.tensors) {
    Tensor value;
    value.Resize(tensor.dims);
    void* data = value.mutable_data(tensor.dtype, CPUPlace());
    file->Read(data, value.bytes());
    SLUICE_ENFORCE(!header.has_checksums ||
                       Checksum(data, value.bytes()) == tensor.checksum,
                   ErrorCode::kDataLoss, "checkpoint.tensor_checksum",
                   "the checkpoint is damaged: variable {} does not have the "
                   "checksum that the header names",
                   tensor.name);
    values.push_back(std::move(value));
  }
  return values;
}

// The target variables of a load. Missing ones are created, and removed again
// on an error.
class Targets {
 public:
  Targets(const CheckpointHeader& header, Scope* scope) : scope_(scope) {
    try {
      for (const CheckpointTensor& tensor : header.tensors) {
        Variable* variable = scope->FindVar(tensor.name);
        if (variable == nullptr) {
          made_.push_back(tensor.name);
          variable = &scope->Var(tensor.name);
        }
        tensors_.push_back(variable->GetMutable<Tensor>());
      }
    } catch (...) {
      for (const std::string& name : made_) {
        scope_->EraseVar(name);
      }
      throw;
    }
  }

  void Take(std::vector<Tensor>* values) noexcept {
    for (size_t i = 0; i < tensors_.size(); ++i) {
      std::swap(*tensors_[i], (*values)[i]);
    }
  }

 private:
  Scope* scope_;
  std::vector<std::string> made_;
  std::vector<Tensor*> tensors_;
};

}  // namespace

void SaveParameters(const std::string& path,
                    const Program& program,
                    const Scope& scope) try {
  CheckpointHeader header = PersistablesOf(program);
  std::vector<Tensor> values;
  {
    const ScopeLock lock(&scope, ScopeAccess::kRead);
    values = ValuesOf(header, scope);
    header.step = scope.step();
  }
  std::vector<std::string_view> parts(1);
  for (size_t i = 0; i < values.size(); ++i) {
    Tensor& value = values[i];
    if (value.place() != PlaceKey(CPUPlace())) {
      value = value.CopyTo(CPUPlace());
    }
    header.tensors[i].checksum = Checksum(value.raw_data(), value.bytes());
    parts.emplace_back(static_cast<const char*>(value.raw_data()),
                       value.bytes());
  }
  const std::string text = header.Write();
  parts[0] = text;
  ReplaceFile(path, parts);
} catch (Error& error) {
  error.AddContext("while saving parameters");
  throw;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

namespace {
LoadedParameters Load(const std::string& path,
                      const Program& program,
                      Scope& scope,
                      const LoadOptions& options) {
  const CheckpointHeader own = PersistablesOf(program);
  InputFile file(path);
  CheckpointHeader header = ReadHeader(&file);
  LoadedParameters loaded = CheckProgram(&header, own, options.partial);
  std::vector<Tensor> values = ReadValues(header, &file);
  for (const std::string& name : loaded.superfluous) {
    const auto found = std::find_if(
        header.tensors.begin(), header.tensors.end(),
        [&](const CheckpointTensor& tensor) { return tensor.name == name; });
    values.erase(values.begin() + (found - header.tensors.begin()));
    header.tensors.erase(found);
  }
  const ScopeLock lock(&scope, ScopeAccess::kWrite);
  Targets(header, &scope).Take(&values);
  if (header.has_checksums && !options.partial) scope.set_step(header.step);
  return loaded;
}
}  // namespace

LoadedParameters LoadParameters(const std::string& path,
                                const Program& program,
                                Scope& scope,
                                const LoadOptions& options) try {
  const std::string context = Format("while loading parameters from {}", path);
  try {
    return Load(path, program, scope, options);
  } catch (Error& error) {
    error.AddContext(context);
    throw;
  }
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace sluice
