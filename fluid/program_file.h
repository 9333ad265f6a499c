#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sluice/platform/export.h"

// PaddlePaddle's program files as plain values. What ops mean is the
// translation's business, python/sluice/fluid.
namespace sluice::fluid {

// Element types and kinds of variables, VarType.Type of PaddlePaddle.
enum class VariableKind : int32_t {
  kLodTensor = 7,
  kSelectedRows = 8,
  kFeedMinibatch = 9,
  kFetchList = 10,
  kTensorArray = 13,
};

// The types of attributes, AttrType of PaddlePaddle.
enum class AttributeType : int32_t {
  kInt = 0,
  kFloat = 1,
  kString = 2,
  kInts = 3,
  kFloats = 4,
  kStrings = 5,
  kBool = 6,
  kBools = 7,
  kBlock = 8,
  kLong = 9,
  kBlocks = 10,
  kLongs = 11,
  kFloat64s = 12,
  kVariable = 13,
  kVariables = 14,
  kFloat64 = 15,
};

using AttributeValue = std::variant<bool,
                                    int64_t,
                                    double,
                                    std::string,
                                    std::vector<bool>,
                                    std::vector<int64_t>,
                                    std::vector<double>,
                                    std::vector<std::string>>;

struct FileAttribute {
  std::string name;
  AttributeType type = AttributeType::kInt;
  AttributeValue value;
};

// Names of variables by slot, in the file's order. A slot may have none.
using FileSlots = std::vector<std::pair<std::string, std::vector<std::string>>>;

struct FileOp {
  std::string type;
  FileSlots inputs = {};
  FileSlots outputs = {};
  std::vector<FileAttribute> attributes = {};
};

// The description of a tensor: a code of VarType and sizes, -1 for unknown
// ones.
struct FileTensor {
  int32_t dtype = 0;
  std::vector<int64_t> dims = {};
};

struct FileVariable {
  std::string name;
  int32_t kind = 0;  // VariableKind, or another code
  FileTensor tensor = {};
  int32_t lod_level = 0;
  bool persistable = false;
  bool is_parameter = false;
  bool stop_gradient = false;
};

struct FileBlock {
  int32_t parent = -1;
  std::vector<FileVariable> variables = {};
  std::vector<FileOp> ops = {};
};

struct ProgramFile {
  int64_t version = 0;  // major * 1000000 + minor * 1000 + patch
  std::vector<FileBlock> blocks = {};
};

// Parses a program; `name` is the file's in errors. Raises DataLoss for damaged
// or truncated bytes, Unimplemented for types of attributes that it does not
// know, and InvalidArgument for a program without blocks, blocks that do not
// lie in earlier ones, ops that run a block that is not inside theirs,
// variables without a name or declared twice, and ops without a type.
SLUICE_API ProgramFile ParseProgramFile(std::string_view bytes,
                                        const std::string& name);

// Raises InvalidArgument for 2 GiB and more.
SLUICE_API void CheckProgramBytes(uint64_t bytes);

// Returns the bytes of a program file. Raises like CheckProgramBytes.
SLUICE_API std::string SerializeProgramFile(const ProgramFile& program);

// The description before the data in a file of parameters. Raises DataLoss.
SLUICE_API FileTensor ParseTensorDesc(std::string_view bytes,
                                      const std::string& name);
SLUICE_API std::string SerializeTensorDesc(const FileTensor& tensor);

}  // namespace sluice::fluid
