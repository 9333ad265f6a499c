#include "sluice/fluid/program_file.h"

#include <limits>
#include <set>

#include "sluice/fluid/program.pb.h"
#include "sluice/platform/error.h"
#include "sluice/platform/text.h"

namespace sluice::fluid {

namespace {

// Blocks that lie in one another; programs have few.
constexpr int kMostBlocks = 10'000;
// The most bytes of a message of protobuf.
constexpr uint64_t kMostBytes = std::numeric_limits<int32_t>::max();

template <typename T, typename Repeated>
std::vector<T> ToVector(const Repeated& values) {
  return std::vector<T>(values.begin(), values.end());
}

AttributeValue ToValue(const file::Attribute& attribute,
                       const std::string& op,
                       const std::string& name) {
  switch (static_cast<AttributeType>(attribute.type())) {
    case AttributeType::kInt:
      return int64_t{attribute.i()};
    case AttributeType::kFloat:
      return double{attribute.f()};
    case AttributeType::kString:
      return attribute.s();
    case AttributeType::kInts:
      return ToVector<int64_t>(attribute.ints());
    case AttributeType::kFloats:
      return ToVector<double>(attribute.floats());
    case AttributeType::kStrings:
      return ToVector<std::string>(attribute.strings());
    case AttributeType::kBool:
      return attribute.b();
    case AttributeType::kBools:
      return ToVector<bool>(attribute.bools());
    case AttributeType::kBlock:
      return int64_t{attribute.block_idx()};
    case AttributeType::kLong:
      return attribute.l();
    case AttributeType::kBlocks:
      return ToVector<int64_t>(attribute.blocks_idx());
    case AttributeType::kLongs:
      return ToVector<int64_t>(attribute.longs());
    case AttributeType::kFloat64s:
      return ToVector<double>(attribute.float64s());
    case AttributeType::kVariable:
      return attribute.var_name();
    case AttributeType::kVariables:
      return ToVector<std::string>(attribute.vars_name());
    case AttributeType::kFloat64:
      return attribute.float64();
  }
  Raise(ErrorCode::kUnimplemented, "fluid.attribute_type",
        "{}: attribute {} of op {} has type {}; Sluice knows 0 to 15", name,
        Shown(attribute.name()), Shown(op), attribute.type());
}

struct ValueWriter {
  file::Attribute* out;
  AttributeType type;

  void operator()(bool value) const { out->set_b(value); }
  void operator()(int64_t value) const {
    if (type == AttributeType::kLong) {
      out->set_l(value);
    } else if (type == AttributeType::kBlock) {
      out->set_block_idx(static_cast<int32_t>(value));
    } else {
      out->set_i(static_cast<int32_t>(value));
    }
  }
  void operator()(double value) const {
    if (type == AttributeType::kFloat64) {
      out->set_float64(value);
    } else {
      out->set_f(static_cast<float>(value));
    }
  }
  void operator()(const std::string& value) const {
    if (type == AttributeType::kVariable) {
      out->set_var_name(value);
    } else {
      out->set_s(value);
    }
  }
  void operator()(const std::vector<bool>& values) const {
    for (const bool value : values) {
      out->add_bools(value);
    }
  }
  void operator()(const std::vector<int64_t>& values) const {
    for (const int64_t value : values) {
      if (type == AttributeType::kLongs) {
        out->add_longs(value);
      } else if (type == AttributeType::kBlocks) {
        out->add_blocks_idx(static_cast<int32_t>(value));
      } else {
        out->add_ints(static_cast<int32_t>(value));
      }
    }
  }
  void operator()(const std::vector<double>& values) const {
    for (const double value : values) {
      if (type == AttributeType::kFloat64s) {
        out->add_float64s(value);
      } else {
        out->add_floats(static_cast<float>(value));
      }
    }
  }
  void operator()(const std::vector<std::string>& values) const {
    for (const std::string& value : values) {
      if (type == AttributeType::kVariables) {
        out->add_vars_name(value);
      } else {
        out->add_strings(value);
      }
    }
  }
};

template <typename Slots>
FileSlots ToSlots(const Slots& slots) {
  FileSlots result;
  for (const auto& slot : slots) {
    result.emplace_back(slot.parameter(),
                        ToVector<std::string>(slot.arguments()));
  }
  return result;
}

FileTensor ToTensor(const file::TensorDesc& desc) {
  return {.dtype = desc.data_type(), .dims = ToVector<int64_t>(desc.dims())};
}

FileVariable ToVariable(const file::Variable& variable) {
  FileVariable result{.name = variable.name(),
                      .kind = variable.type().type(),
                      .persistable = variable.persistable(),
                      .is_parameter = variable.is_parameter(),
                      .stop_gradient = variable.stop_gradient()};
  const auto& type = variable.type();
  if (type.has_lod_tensor()) {
    result.tensor = ToTensor(type.lod_tensor().tensor());
    result.lod_level = type.lod_tensor().lod_level();
  } else if (type.has_tensor_array()) {
    result.tensor = ToTensor(type.tensor_array().tensor());
    result.lod_level = type.tensor_array().lod_level();
  } else if (type.has_selected_rows()) {
    result.tensor = ToTensor(type.selected_rows());
  }
  return result;
}

FileOp ToOp(const file::Op& op, const std::string& name) {
  SLUICE_ENFORCE(!op.type().empty(), ErrorCode::kInvalidArgument,
                 "fluid.op_type", "{}: an op has no type", name);
  FileOp result{.type = op.type(),
                .inputs = ToSlots(op.inputs()),
                .outputs = ToSlots(op.outputs())};
  for (const auto& attribute : op.attrs()) {
    result.attributes.push_back(
        {.name = attribute.name(),
         .type = static_cast<AttributeType>(attribute.type()),
         .value = ToValue(attribute, op.type(), name)});
  }
  return result;
}

// Raises unless the blocks that `op` of block `at` runs have it as a parent.
void CheckBlocks(const FileOp& op,
                 int at,
                 const std::vector<FileBlock>& blocks,
                 const std::string& name) {
  for (const FileAttribute& attribute : op.attributes) {
    std::vector<int64_t> runs;
    if (attribute.type == AttributeType::kBlock) {
      runs = {std::get<int64_t>(attribute.value)};
    } else if (attribute.type == AttributeType::kBlocks) {
      runs = std::get<std::vector<int64_t>>(attribute.value);
    }
    for (const int64_t block : runs) {
      SLUICE_ENFORCE(
          block > at && block < static_cast<int64_t>(blocks.size()) &&
              blocks[static_cast<size_t>(block)].parent == at,
          ErrorCode::kInvalidArgument, "fluid.block_of_op",
          "{}: op {} of block {} runs block {}, which is not inside its block",
          name, Shown(op.type), at, block);
    }
  }
}

FileBlock ToBlock(const file::Block& block, int at, const std::string& name) {
  SLUICE_ENFORCE(
      block.idx() == at && block.parent_idx() < at &&
          (block.parent_idx() >= 0 || at == 0),
      ErrorCode::kInvalidArgument, "fluid.block_parent",
      "{}: block {} says that it is block {} inside block {}; expected an "
      "earlier one",
      name, at, block.idx(), block.parent_idx());
  FileBlock result{.parent = block.parent_idx()};
  std::set<std::string_view> names;
  for (const auto& variable : block.vars()) {
    SLUICE_ENFORCE(
        !variable.name().empty() && names.insert(variable.name()).second,
        ErrorCode::kInvalidArgument, "fluid.variable_name",
        "{}: block {} declares variable {} twice, or without a name", name, at,
        Shown(variable.name()));
    result.variables.push_back(ToVariable(variable));
  }
  for (const auto& op : block.ops()) {
    result.ops.push_back(ToOp(op, name));
  }
  return result;
}

void Write(const FileTensor& tensor, file::TensorDesc* out) {
  out->set_data_type(tensor.dtype);
  for (const int64_t size : tensor.dims) {
    out->add_dims(size);
  }
}

void Write(const FileVariable& variable, file::Variable* out) {
  out->set_name(variable.name);
  out->set_persistable(variable.persistable);
  auto* type = out->mutable_type();
  type->set_type(variable.kind);
  switch (static_cast<VariableKind>(variable.kind)) {
    case VariableKind::kLodTensor:
      Write(variable.tensor, type->mutable_lod_tensor()->mutable_tensor());
      type->mutable_lod_tensor()->set_lod_level(variable.lod_level);
      break;
    case VariableKind::kTensorArray:
      Write(variable.tensor, type->mutable_tensor_array()->mutable_tensor());
      type->mutable_tensor_array()->set_lod_level(variable.lod_level);
      break;
    case VariableKind::kSelectedRows:
      Write(variable.tensor, type->mutable_selected_rows());
      break;
    default:
      break;
  }
}

void Write(const FileSlots& slots, auto add) {
  for (const auto& [slot, names] : slots) {
    file::Slot* out = add();
    out->set_parameter(slot);
    for (const std::string& name : names) {
      out->add_arguments(name);
    }
  }
}

void Write(const FileOp& op, file::Op* out) {
  out->set_type(op.type);
  Write(op.inputs, [&] { return out->add_inputs(); });
  Write(op.outputs, [&] { return out->add_outputs(); });
  for (const FileAttribute& attribute : op.attributes) {
    file::Attribute* written = out->add_attrs();
    written->set_name(attribute.name);
    written->set_type(static_cast<int32_t>(attribute.type));
    std::visit(ValueWriter{written, attribute.type}, attribute.value);
  }
}

}  // namespace

ProgramFile ParseProgramFile(std::string_view bytes, const std::string& name) {
  file::Program parsed;
  SLUICE_ENFORCE(
      bytes.size() <= kMostBytes &&
          parsed.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())),
      ErrorCode::kDataLoss, "fluid.not_a_program",
      "{} is no program of PaddlePaddle: its {} bytes are damaged, cut off or "
      "of another format",
      name, bytes.size());
  SLUICE_ENFORCE(parsed.blocks_size() > 0 && parsed.blocks_size() < kMostBlocks,
                 ErrorCode::kInvalidArgument, "fluid.no_block",
                 "{} has {} blocks; a program of PaddlePaddle has one or more",
                 name, parsed.blocks_size());
  ProgramFile program{.version = parsed.version().version()};
  for (int at = 0; at < parsed.blocks_size(); ++at) {
    program.blocks.push_back(ToBlock(parsed.blocks(at), at, name));
  }
  for (int at = 0; at < parsed.blocks_size(); ++at) {
    for (const FileOp& op : program.blocks[static_cast<size_t>(at)].ops) {
      CheckBlocks(op, at, program.blocks, name);
    }
  }
  return program;
}

void CheckProgramBytes(uint64_t bytes) {
  SLUICE_ENFORCE(bytes <= kMostBytes, ErrorCode::kInvalidArgument,
                 "fluid.too_large",
                 "the program has {} bytes; a file of PaddlePaddle has less "
                 "than 2 GiB",
                 bytes);
}

std::string SerializeProgramFile(const ProgramFile& program) {
  file::Program out;
  out.mutable_version()->set_version(program.version);
  for (const FileBlock& block : program.blocks) {
    const int at = out.blocks_size();
    file::Block* written = out.add_blocks();
    written->set_idx(at);
    written->set_parent_idx(block.parent);
    for (const FileVariable& variable : block.variables) {
      Write(variable, written->add_vars());
    }
    for (const FileOp& op : block.ops) {
      Write(op, written->add_ops());
    }
  }
  CheckProgramBytes(out.ByteSizeLong());
  return out.SerializeAsString();
}

FileTensor ParseTensorDesc(std::string_view bytes, const std::string& name) {
  file::TensorDesc parsed;
  SLUICE_ENFORCE(
      parsed.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())),
      ErrorCode::kDataLoss, "fluid.tensor_desc",
      "{} has a damaged description of a tensor", name);
  return ToTensor(parsed);
}

std::string SerializeTensorDesc(const FileTensor& tensor) {
  file::TensorDesc out;
  Write(tensor, &out);
  return out.SerializeAsString();
}

}  // namespace sluice::fluid
