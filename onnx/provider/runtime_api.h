#pragma once

#include <cstddef>
#include <cstdint>

// The part of ONNX Runtime's C interface that the execution provider uses, as
// of version 24 of that interface (ONNX Runtime 1.24). Later versions only
// append to its tables and structs. Names are Sluice's own; positions, orders
// and signatures are the interface's.
namespace sluice::ort {

inline constexpr uint32_t kApiVersion = 24;
// The first ONNX Runtime 1.x known to give a fused node what its subgraphs
// capture.
inline constexpr int kGivesCaptured = 32;

// Objects of the runtime.
struct Attribute;
struct EpDevice;
struct Graph;
struct HardwareDevice;
struct KernelContext;
struct KeyValues;
struct Node;
struct SessionOptions;
struct Status;  // null is success
struct SupportInfo;
struct TensorInfo;
struct TypeInfo;
struct Value;
struct ValueInfo;

// A table of functions.
using Table = void* const*;

struct ApiBase {
  Table (*get_api)(uint32_t version);  // null for an unknown version
  const char* (*get_version)();
};

// Numbers of enumerations: codes of a Status, types of values, of devices and
// of attributes.
inline constexpr int kFail = 1, kInvalidArgument = 2, kNotImplemented = 9,
                     kEpFail = 11;
inline constexpr int kTensorType = 1, kCpuDevice = 0;
inline constexpr int kInt = 1, kInts = 2, kFloat = 3, kFloats = 4, kString = 5,
                     kStrings = 6, kGraph = 7, kTensor = 8;

// A function at a position of a table.
template <typename Signature>
struct Entry {
  size_t position;
};
template <typename Signature>
Signature* FunctionAt(Table table, Entry<Signature> entry) {
  return reinterpret_cast<Signature*>(table[entry.position]);
}
template <typename... Parameters>
using Call = Entry<Status*(Parameters...)>;
template <typename Owner, typename Result>
using Getter = Call<const Owner*, Result*>;
// At the position, the number of items; after it, the items.
template <typename Owner, typename Item>
struct ListEntry {
  size_t position;
};

// The main table.
inline constexpr Call<int, const char*> kCreateStatus{0};
inline constexpr Entry<const char*(const Status*)> kErrorMessage{2};
inline constexpr Entry<void(Status*)> kReleaseStatus{93};

inline constexpr Call<Value*, void**> kTensorData{51};
inline constexpr Call<const Value*, int*, const int64_t**, size_t*>
    kElementTypeAndShape{414};
inline constexpr Entry<void(Value*)> kReleaseValue{96};

inline constexpr Getter<TypeInfo, const TensorInfo*> kToTensorInfo{55};
inline constexpr Getter<TypeInfo, int> kOnnxType{56};
inline constexpr Getter<TensorInfo, int> kElementType{60};
inline constexpr Getter<TensorInfo, size_t> kRank{61};
inline constexpr Call<const TensorInfo*, int64_t*, size_t> kDims{62};
inline constexpr Call<const TensorInfo*, const char**, size_t> kDimNames{63};
inline constexpr Entry<bool(const TensorInfo*)> kHasShape{390};

inline constexpr Getter<ValueInfo, const char*> kValueName{289};
inline constexpr Getter<ValueInfo, const TypeInfo*> kValueType{290};
inline constexpr Getter<ValueInfo, const Value*> kInitialiser{326};
inline constexpr Getter<ValueInfo, bool> kIsGraphOutput{330};
inline constexpr Getter<ValueInfo, bool> kIsConstant{331};

inline constexpr Getter<Graph, size_t> kOpsetCount{336};
inline constexpr Call<const Graph*, const char**, int64_t*, size_t> kOpsets{
    337};
inline constexpr ListEntry<Graph, ValueInfo> kGraphInputs{338};
inline constexpr ListEntry<Graph, ValueInfo> kGraphOutputs{340};
inline constexpr ListEntry<Graph, ValueInfo> kGraphInitialisers{342};
inline constexpr ListEntry<Graph, Node> kNodes{344};
inline constexpr Getter<Graph, const Node*> kParentNode{346};

inline constexpr Getter<Node, const char*> kNodeName{349};
inline constexpr Getter<Node, const char*> kNodeType{350};
inline constexpr Getter<Node, const char*> kNodeDomain{351};
inline constexpr ListEntry<Node, ValueInfo> kInputs{353};
inline constexpr ListEntry<Node, ValueInfo> kOutputs{355};
inline constexpr ListEntry<Node, ValueInfo> kImplicitInputs{357};
inline constexpr ListEntry<Node, Attribute> kAttributes{359};
inline constexpr Getter<Node, size_t> kSubgraphCount{365};
inline constexpr Call<const Node*, const Graph**, size_t, const char**>
    kSubgraphs{366};
inline constexpr Getter<Node, const char*> kNodeProvider{368};

inline constexpr Call<const Attribute*, int, void*, size_t, size_t*>
    kReadAttribute{272};
inline constexpr Getter<Attribute, Value*> kAttributeTensor{362};
inline constexpr Getter<Attribute, int> kAttributeType{363};
inline constexpr Getter<Attribute, const char*> kAttributeName{364};

inline constexpr Call<const KernelContext*, size_t, const Value**>
    kContextInput{90};
inline constexpr Call<KernelContext*, size_t, const int64_t*, size_t, Value**>
    kContextOutput{91};

using Strings = const char* const*;
inline constexpr Entry<void(const KeyValues*, Strings*, Strings*, size_t*)>
    kKeysAndValues{298};
inline constexpr Entry<void(KeyValues*)> kReleaseKeyValues{300};
inline constexpr Getter<SessionOptions, KeyValues*> kConfigEntries{379};
inline constexpr Entry<int(const HardwareDevice*)> kDeviceType{307};
inline constexpr Entry<Table()> kEpApi{317};

// Declared to the runtime with a group of nodes.
struct FusionOptions {
  uint32_t version = kApiVersion;
  bool drop_constants = true;  // the group copies its constant initialisers
};

// The table for execution providers.
struct EpFactory;
using Devices = const HardwareDevice* const*;
using Metadata = const KeyValues* const*;
inline constexpr Call<EpFactory*,
                      const HardwareDevice*,
                      const KeyValues*,
                      const KeyValues*,
                      EpDevice**>
    kCreateEpDevice{0};
inline constexpr Call<SupportInfo*,
                      const Node* const*,
                      size_t,
                      const FusionOptions*>
    kAddNodesToFuse{2};

// Structs whose functions the runtime calls. It leaves out null ones.
using Unused = const void*;

struct NodeComputeInfo {
  uint32_t version = kApiVersion;
  Status* (*create_state)(NodeComputeInfo*, void* context, void** state) = {};
  Status* (*compute)(NodeComputeInfo*, void* state, KernelContext*) = {};
  void (*release_state)(NodeComputeInfo*, void* state) = {};
};
using Infos = NodeComputeInfo**;

struct Ep {
  uint32_t version = kApiVersion;
  const char* (*get_name)(const Ep*) = {};
  Status* (*get_capability)(Ep*, const Graph*, SupportInfo*) = {};
  Status* (*compile)(
      Ep*, const Graph**, const Node** fused, size_t, Infos, Node**) = {};
  void (*release_infos)(Ep*, Infos, size_t count) = {};
  Unused get_preferred_data_layout_to_is_concurrent_run_supported[10] = {};
};

struct EpFactory {
  uint32_t version = kApiVersion;
  const char* (*get_name)(const EpFactory*) = {};
  const char* (*get_vendor)(const EpFactory*) = {};
  Status* (*get_supported_devices)(EpFactory*,
                                   Devices,
                                   size_t device_count,
                                   EpDevice** ep_devices,
                                   size_t room,
                                   size_t* count) = {};
  Status* (*create_ep)(EpFactory*,
                       Devices,
                       Metadata,
                       size_t device_count,
                       const SessionOptions*,
                       const void* logger,
                       Ep**) = {};
  void (*release_ep)(EpFactory*, Ep*) = {};
  uint32_t (*get_vendor_id)(const EpFactory*) = {};
  const char* (*get_version)(const EpFactory*) = {};
  Unused validate_compiled_model_to_release_allocator[3] = {};
  Status* (*create_data_transfer)(EpFactory*, void** data_transfer) = {};
  bool (*is_stream_aware)(const EpFactory*) = {};
  Unused create_sync_stream_to_get_custom_op_domains[5] = {};
};

}  // namespace sluice::ort
