#include "sluice/framework/program/program_io.h"

#include <algorithm>
#include <new>
#include <type_traits>

#include "sluice/framework/files/file.h"
#include "sluice/framework/program/block_ops.h"
#include "sluice/framework/program/program.pb.h"
#include "sluice/platform/dtype.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

constexpr std::string_view kMagic = "sluice program";
// A program is written in the oldest format that has what it needs.
constexpr uint32_t kFormatVersion = 3;
constexpr size_t kMaxBytes = size_t{1} << 30;

// FNV-1a: every step is one to one in the byte and in the state, so a change
// of any single byte always changes the result.
uint64_t Checksum(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3u;
  }
  return hash;
}

void CheckSize(size_t bytes) {
  SLUICE_ENFORCE(bytes <= kMaxBytes, ErrorCode::kResourceExhausted,
                 "program_io.too_large",
                 "a stored program has at most {} bytes, this one has {}",
                 kMaxBytes, bytes);
}

void Store(const Attribute& value, proto::Attribute* stored) {
  std::visit(
      [&](const auto& held) {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, bool>) {
          stored->set_bool_value(held);
        } else if constexpr (std::is_same_v<T, int64_t>) {
          stored->set_int_value(held);
        } else if constexpr (std::is_same_v<T, double>) {
          stored->set_float_value(held);
        } else if constexpr (std::is_same_v<T, std::string>) {
          stored->set_string_value(held);
        } else if constexpr (std::is_same_v<T, DType>) {
          stored->set_dtype(std::string(ToString(held)));
        } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
          stored->mutable_ints()->mutable_values()->Add(held.begin(),
                                                        held.end());
        } else if constexpr (std::is_same_v<T, std::vector<double>>) {
          stored->mutable_floats()->mutable_values()->Add(held.begin(),
                                                          held.end());
        } else {
          stored->mutable_strings()->mutable_values()->Add(held.begin(),
                                                           held.end());
        }
      },
      value);
}

void Store(const AttributeMap& attributes,
           google::protobuf::RepeatedPtrField<proto::Attribute>* stored) {
  for (const auto& [name, value] : attributes) {
    proto::Attribute* attribute = stored->Add();
    attribute->set_name(name);
    Store(value, attribute);
  }
}

void Store(const Program::ArgList& arguments,
           google::protobuf::RepeatedPtrField<proto::Argument>* stored) {
  for (const auto& [name, vars] : arguments) {
    proto::Argument* argument = stored->Add();
    argument->set_name(name);
    argument->mutable_variables()->Add(vars.begin(), vars.end());
  }
}

// Returns whether a variable has settings.
bool Store(const BlockDesc& block,
           const VariableSettings& settings,
           proto::Block* stored) {
  bool any = false;
  stored->set_parent(block.parent);
  for (const VarDesc& var : block.vars()) {
    const bool made = !var.is_data && !var.persistable;
    const auto said = settings.find(var.name);
    const bool has = said != settings.end() && !said->second.empty();
    if (made && !var.stop_gradient && !has) continue;
    proto::Variable* variable = stored->add_variables();
    variable->set_name(var.name);
    variable->set_dtype(std::string(ToString(var.dtype)));
    variable->set_rank_unknown(!var.dims.rank_known());
    variable->mutable_dims()->Add(var.dims.begin(), var.dims.end());
    variable->set_kind(made          ? proto::Variable::MADE
                       : var.is_data ? proto::Variable::DATA
                                     : proto::Variable::PERSISTABLE);
    variable->set_stop_gradient(var.stop_gradient);
    if (var.is_data) variable->set_offsets(var.offsets);
    if (has) Store(said->second, variable->mutable_settings());
    any = any || has;
  }
  for (const OpDesc& op : block.ops) {
    proto::Op* added = stored->add_ops();
    added->set_type(op.type);
    Store(op.inputs, added->mutable_inputs());
    Store(op.outputs, added->mutable_outputs());
    Store(op.attributes, added->mutable_attributes());
    added->set_hint(op.hint);
    added->set_file(op.location.file);
    added->set_line(op.location.line);
    added->set_purpose(static_cast<int>(op.purpose));
  }
  return any;
}

bool HasSettings(const proto::ProgramData& data) {
  return std::any_of(
      data.blocks().begin(), data.blocks().end(), [](const auto& block) {
        return std::any_of(
            block.variables().begin(), block.variables().end(),
            [](const auto& variable) { return variable.settings_size() > 0; });
      });
}

// Returns the ProgramData of a file after checking magic, version and checksum.
proto::ProgramData Open(std::string_view bytes) {
  CheckSize(bytes.size());
  proto::ProgramFile file;
  const bool parsed =
      file.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  SLUICE_ENFORCE(parsed && file.magic() == kMagic, ErrorCode::kDataLoss,
                 "program_io.magic",
                 "these {} bytes are no Sluice program, or cut off",
                 bytes.size());
  SLUICE_ENFORCE(file.format_version() <= kFormatVersion,
                 ErrorCode::kUnimplemented, "program_io.newer_format",
                 "the program has format {}, this build reads up to {}: it "
                 "was written by a newer Sluice",
                 file.format_version(), kFormatVersion);
  // Comparing with a new serialization detects what the parser accepts: unknown
  // fields, duplicates, version 0.
  SLUICE_ENFORCE(file.format_version() >= 1 &&
                     file.checksum() == Checksum(file.program()) &&
                     file.SerializeAsString() == bytes,
                 ErrorCode::kDataLoss, "program_io.checksum",
                 "the program is damaged: its checksum is {:#x}, its {} bytes "
                 "have {:#x}",
                 file.checksum(), file.program().size(),
                 Checksum(file.program()));
  proto::ProgramData data;
  SLUICE_ENFORCE(data.ParseFromString(file.program()), ErrorCode::kDataLoss,
                 "program_io.content",
                 "the program's checksum is right, its content cannot be read");
  // One bit makes format 3 of 1 or 2, and back.
  SLUICE_ENFORCE(
      (file.format_version() == kFormatVersion) == HasSettings(data),
      ErrorCode::kDataLoss, "program_io.format",
      "the program is damaged: it has format {}; it must be {} if and "
      "only if variables have settings",
      file.format_version(), kFormatVersion);
  return data;
}

template <typename T, typename Values>
std::vector<T> Vector(const Values& values) {
  return std::vector<T>(values.begin(), values.end());
}

Attribute Load(const proto::Attribute& stored) {
  switch (stored.value_case()) {
    case proto::Attribute::kBoolValue:
      return stored.bool_value();
    case proto::Attribute::kIntValue:
      return int64_t{stored.int_value()};
    case proto::Attribute::kFloatValue:
      return stored.float_value();
    case proto::Attribute::kStringValue:
      return stored.string_value();
    case proto::Attribute::kInts:
      return Vector<int64_t>(stored.ints().values());
    case proto::Attribute::kFloats:
      return Vector<double>(stored.floats().values());
    case proto::Attribute::kStrings:
      return Vector<std::string>(stored.strings().values());
    case proto::Attribute::kDtype:
      return ParseDType(stored.dtype());
    case proto::Attribute::VALUE_NOT_SET:
      break;
  }
  Raise(ErrorCode::kDataLoss, "program_io.attribute_value",
        "attribute {} has no value that this build knows", stored.name());
}

AttributeMap Load(
    const google::protobuf::RepeatedPtrField<proto::Attribute>& stored) {
  AttributeMap attributes;
  for (const proto::Attribute& attribute : stored) {
    const bool added =
        attributes.emplace(attribute.name(), Load(attribute)).second;
    SLUICE_ENFORCE(added, ErrorCode::kDataLoss, "program_io.attribute_twice",
                   "attribute {} is given twice", attribute.name());
  }
  return attributes;
}

Program::ArgList Load(
    const google::protobuf::RepeatedPtrField<proto::Argument>& stored) {
  Program::ArgList arguments;
  for (const proto::Argument& argument : stored) {
    arguments.emplace_back(argument.name(),
                           Vector<std::string>(argument.variables()));
  }
  return arguments;
}

OpDesc Load(const proto::Op& stored) {
  OpDesc op;
  op.type = stored.type();
  op.inputs = Load(stored.inputs());
  op.outputs = Load(stored.outputs());
  op.attributes = Load(stored.attributes());
  op.hint = stored.hint();
  op.location = {stored.file(), stored.line()};
  SLUICE_ENFORCE(stored.purpose() >= 0 && stored.purpose() <= 2,
                 ErrorCode::kDataLoss, "program_io.purpose",
                 "{}: the op's purpose {} is none that this build knows",
                 op.type, stored.purpose());
  op.purpose = static_cast<OpPurpose>(stored.purpose());
  return op;
}

void Declare(const proto::Variable& stored, Program* program) {
  const auto sizes = Vector<int64_t>(stored.dims());
  const DDim dims = stored.rank_unknown() ? DDim::UnknownRank() : DDim(sizes);
  const DType dtype = ParseDType(stored.dtype());
  switch (stored.kind()) {
    case proto::Variable::DATA:
      program->Data(stored.name(), dtype, dims, "", 0);
      break;
    case proto::Variable::PERSISTABLE:
      program->Persistable(stored.name(), dtype, dims);
      break;
    case proto::Variable::MADE:
      return;
    default:
      Raise(ErrorCode::kDataLoss, "program_io.variable_kind",
            "variable {} is neither data nor persistable", stored.name());
  }
  program->SetStopGradient(stored.name(), stored.stop_gradient());
}

// Calls `load(item)` for each item; errors name its index.
template <typename Items, typename Call>
void ForEach(const char* what, const Items& items, Call load) {
  for (int i = 0; i < items.size(); ++i) {
    try {
      load(items[i]);
    } catch (Error& error) {
      error.AddContext(Format("in {} {}", what, i));
      throw;
    }
  }
}

// Loads a file's blocks into a program: a block's ops are added after the
// blocks that they run.
class BlockLoader {
 public:
  BlockLoader(const proto::ProgramData& data, VariableSettings* settings)
      : data_(data),
        settings_(settings),
        new_index_(static_cast<size_t>(data.blocks_size()), -1) {}

  Program Load() {
    SLUICE_ENFORCE(data_.blocks_size() > 0 && data_.blocks(0).parent() == -1,
                   ErrorCode::kDataLoss, "program_io.first_block",
                   "the program has {} blocks; the first one must be there, "
                   "with parent -1",
                   data_.blocks_size());
    program_.SetHints(data_.hints());
    LoadInto(0, -1);
    const auto missing = std::find(new_index_.begin(), new_index_.end(), -1);
    SLUICE_ENFORCE(missing == new_index_.end(), ErrorCode::kDataLoss,
                   "program_io.unused_block", "no op runs block {}",
                   missing - new_index_.begin());
    return std::move(program_);
  }

 private:
  void LoadInto(int index, int parent) {
    SLUICE_ENFORCE(index >= 0 && index < data_.blocks_size() &&
                       new_index_[index] < 0 &&
                       data_.blocks(index).parent() == parent,
                   ErrorCode::kDataLoss, "program_io.block",
                   "the program has {} blocks; block {} is none of them that "
                   "lies in block {} and that no other op runs",
                   data_.blocks_size(), index, parent);
    new_index_[index] = program_.current_block();
    const proto::Block& block = data_.blocks(index);
    ForEach("variable", block.variables(),
            [&](const auto& variable) { Declare(variable, &program_); });
    for (const proto::Variable& variable : block.variables()) {
      if (!variable.offsets().empty()) {
        program_.SetOffsets(variable.name(), variable.offsets());
      }
    }
    ForEach("op", block.ops(), [&](const proto::Op& stored) {
      OpDesc op = sluice::Load(stored);
      for (const char* attribute : BlockAttributes(op)) {
        const auto given = op.attributes.find(attribute);
        if (given == op.attributes.end()) continue;
        if (auto* held = std::get_if<int64_t>(&given->second)) {
          *held = LoadBlock(*held, index);
        }
      }
      program_.AppendOp(std::move(op));
    });
    ForEach("variable", block.variables(), [&](const auto& variable) {
      if (variable.kind() == proto::Variable::MADE) {
        program_.SetStopGradient(variable.name(), variable.stop_gradient());
      }
      AttributeMap settings = sluice::Load(variable.settings());
      if (settings_ == nullptr || settings.empty()) return;
      (*settings_)[variable.name()] = std::move(settings);
    });
  }

  int LoadBlock(int64_t index, int parent) {
    const int added = program_.BeginBlock();
    try {
      LoadInto(index < data_.blocks_size() ? static_cast<int>(index) : -1,
               parent);
    } catch (Error& error) {
      error.AddContext(Format("in block {}", index));
      throw;
    }
    program_.EndBlock();
    return added;
  }

  const proto::ProgramData& data_;
  VariableSettings* settings_;
  std::vector<int> new_index_;  // by the file's index; -1: not loaded yet
  Program program_;
};

}  // namespace

std::string SerializeProgram(const Program& program,
                             const VariableSettings& settings) try {
  proto::ProgramData data;
  data.set_hints(program.hints());
  uint32_t format = program.ragged() ? 2 : 1;
  for (const BlockDesc& block : program.blocks()) {
    if (Store(block, settings, data.add_blocks())) format = kFormatVersion;
  }
  constexpr size_t kEnvelope = 64;  // an upper bound of its size
  CheckSize(data.ByteSizeLong() + kEnvelope);
  proto::ProgramFile file;
  file.set_magic(std::string(kMagic));
  file.set_format_version(format);
  data.SerializeToString(file.mutable_program());
  file.set_checksum(Checksum(file.program()));
  return file.SerializeAsString();
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

bool IsProgramFile(std::string_view begin) {
  // The tag of ProgramFile's field 1 (wire type 2), and its length.
  const std::string magic = "\n" +
                            std::string(1, static_cast<char>(kMagic.size())) +
                            std::string(kMagic);
  constexpr size_t kEnough = 8;
  return begin.size() >= kEnough &&
         magic.starts_with(begin.substr(0, magic.size()));
}

Program ParseProgram(std::string_view bytes,
                     std::string_view origin,
                     VariableSettings* settings) try {
  if (settings != nullptr) settings->clear();
  const proto::ProgramData data = Open(bytes);
  return BlockLoader(data, settings).Load();
} catch (Error& error) {
  error.AddContext(Format("in the program of {}", origin));
  throw;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

void SaveProgram(const Program& program,
                 const std::string& path,
                 const VariableSettings& settings) try {
  ReplaceFile(path, {SerializeProgram(program, settings)});
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

Program LoadProgram(const std::string& path, VariableSettings* settings) try {
  return ParseProgram(InputFile(path).ReadAll(), path, settings);
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace sluice
