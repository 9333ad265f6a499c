#pragma once

#include <cstddef>
#include <cstdint>

// The part of ONNX Runtime's C interface that the execution provider uses, as
// of version 24 of that interface (ONNX Runtime 1.24). Later versions only
// append to its tables and structs. Names are Sluice's own; positions, orders
// and signatures are the interface's.
namespace sluice::ort {

inline constexpr uint32_t kApiVersion = 24;
// The first version known to give a fused node what its subgraphs capture.
inline constexpr uint32_t kGivesCaptured = 32;

// Objects of the runtime.
struct Attribute;
struct ComputeContext;
struct EpDevice;
struct Graph;
struct HardwareDevice;
struct KernelContext;
struct KeyValues;
struct Logger;
struct Node;
struct SessionOptions;
struct Status;  // null is success
struct SupportInfo;
struct TensorInfo;
struct TypeInfo;
struct Value;
struct ValueInfo;

// A table of functions.
using Table = const void* const*;

struct ApiBase {
  Table (*get_api)(uint32_t version);  // null for an unknown version
  const char* (*get_version)();
};

// Numbers of enumerations.
inline constexpr int kFail = 1, kInvalidArgument = 2, kNotImplemented = 9,
                     kEpFail = 11;  // codes of a Status
inline constexpr int kTensorType = 1;
inline constexpr int kCpuDevice = 0;
enum AttributeType {
  kInt = 1,
  kInts,
  kFloat,
  kFloats,
  kString,
  kStrings,
  kGraph,
  kTensor
};

// A function at a position of the main table.
template <typename Signature>
struct Entry {
  size_t position;
};
template <typename Signature>
Signature* FunctionAt(Table table, Entry<Signature> entry) {
  return reinterpret_cast<Signature*>(const_cast<void*>(table[entry.position]));
}
// A function of the table for execution providers.
template <typename Signature>
struct EpEntry {
  size_t position;
};

template <typename Owner>
using CountEntry = Entry<Status*(const Owner*, size_t* count)>;
template <typename Owner, typename Item>
using ItemsEntry = Entry<Status*(const Owner*, const Item** items, size_t)>;
template <typename Owner, typename Result>
using GetEntry = Entry<Status*(const Owner*, Result*)>;

inline constexpr Entry<Status*(int code, const char* text)> kCreateStatus{0};
inline constexpr Entry<const char*(const Status*)> kErrorMessage{2};
inline constexpr Entry<void(Status*)> kReleaseStatus{93};

inline constexpr Entry<Status*(Value*, void**)> kTensorData{51};
inline constexpr Entry<Status*(
    const Value*, int* type, const int64_t** dims, size_t* rank)>
    kElementTypeAndShape{414};
inline constexpr Entry<void(Value*)> kReleaseValue{96};

inline constexpr GetEntry<TypeInfo, const TensorInfo*> kToTensorInfo{55};
inline constexpr GetEntry<TypeInfo, int> kOnnxType{56};
inline constexpr GetEntry<TensorInfo, int> kElementType{60};
inline constexpr CountEntry<TensorInfo> kRank{61};
inline constexpr Entry<Status*(const TensorInfo*, int64_t*, size_t)> kDims{62};
inline constexpr Entry<Status*(const TensorInfo*, const char**, size_t)>
    kDimNames{63};
inline constexpr Entry<bool(const TensorInfo*)> kHasShape{390};

inline constexpr GetEntry<ValueInfo, const char*> kValueName{289};
inline constexpr GetEntry<ValueInfo, const TypeInfo*> kValueType{290};
inline constexpr GetEntry<ValueInfo, const Value*> kInitialiser{326};
inline constexpr GetEntry<ValueInfo, bool> kIsGraphOutput{330};
inline constexpr GetEntry<ValueInfo, bool> kIsConstant{331};

inline constexpr CountEntry<Graph> kOpsetCount{336};
inline constexpr Entry<Status*(
    const Graph*, const char** domains, int64_t* versions, size_t)>
    kOpsets{337};
inline constexpr CountEntry<Graph> kGraphInputCount{338};
inline constexpr ItemsEntry<Graph, ValueInfo> kGraphInputs{339};
inline constexpr CountEntry<Graph> kGraphOutputCount{340};
inline constexpr ItemsEntry<Graph, ValueInfo> kGraphOutputs{341};
inline constexpr CountEntry<Graph> kGraphInitialiserCount{342};
inline constexpr ItemsEntry<Graph, ValueInfo> kGraphInitialisers{343};
inline constexpr CountEntry<Graph> kGraphNodeCount{344};
inline constexpr ItemsEntry<Graph, Node> kGraphNodes{345};
inline constexpr GetEntry<Graph, const Node*> kParentNode{346};

inline constexpr GetEntry<Node, const char*> kNodeName{349};
inline constexpr GetEntry<Node, const char*> kNodeType{350};
inline constexpr GetEntry<Node, const char*> kNodeDomain{351};
inline constexpr CountEntry<Node> kNodeInputCount{353};
inline constexpr ItemsEntry<Node, ValueInfo> kNodeInputs{354};
inline constexpr CountEntry<Node> kNodeOutputCount{355};
inline constexpr ItemsEntry<Node, ValueInfo> kNodeOutputs{356};
inline constexpr CountEntry<Node> kImplicitInputCount{357};
inline constexpr ItemsEntry<Node, ValueInfo> kImplicitInputs{358};
inline constexpr CountEntry<Node> kAttributeCount{359};
inline constexpr ItemsEntry<Node, Attribute> kAttributes{360};
inline constexpr CountEntry<Node> kSubgraphCount{365};
inline constexpr Entry<Status*(
    const Node*, const Graph** graphs, size_t, const char** names)>
    kSubgraphs{366};
inline constexpr GetEntry<Node, const char*> kNodeProvider{368};

inline constexpr Entry<Status*(
    const Attribute*, int type, void* data, size_t room, size_t* bytes)>
    kReadAttribute{272};
inline constexpr GetEntry<Attribute, Value*> kAttributeTensor{362};
inline constexpr GetEntry<Attribute, int> kAttributeType{363};
inline constexpr GetEntry<Attribute, const char*> kAttributeName{364};

inline constexpr Entry<Status*(const KernelContext*, size_t, const Value**)>
    kContextInput{90};
inline constexpr Entry<Status*(
    KernelContext*, size_t, const int64_t* dims, size_t rank, Value**)>
    kContextOutput{91};

inline constexpr Entry<void(const KeyValues*,
                            const char* const** keys,
                            const char* const** values,
                            size_t* count)>
    kKeyValues{298};
inline constexpr Entry<void(KeyValues*)> kReleaseKeyValues{300};
inline constexpr GetEntry<SessionOptions, KeyValues*> kConfigEntries{379};
inline constexpr Entry<int(const HardwareDevice*)> kDeviceType{307};
inline constexpr Entry<Table()> kEpApi{317};

// Declared to the runtime with a group of nodes.
struct FusionOptions {
  uint32_t version = kApiVersion;
  bool drop_constants = true;  // the group copies its constant initialisers
};

struct EpFactory;
inline constexpr EpEntry<Status*(EpFactory*,
                                 const HardwareDevice*,
                                 const KeyValues* metadata,
                                 const KeyValues* options,
                                 EpDevice**)>
    kCreateEpDevice{0};
inline constexpr EpEntry<Status*(
    SupportInfo*, const Node* const* nodes, size_t count, const FusionOptions*)>
    kAddNodesToFuse{2};

// Members that the runtime may call; null ones are left out by it.
using Unused = const void*;

struct NodeComputeInfo {
  uint32_t version = kApiVersion;
  Status* (*create_state)(NodeComputeInfo*, ComputeContext*, void** state) = {};
  Status* (*compute)(NodeComputeInfo*, void* state, KernelContext*) = {};
  void (*release_state)(NodeComputeInfo*, void* state) = {};
};

struct Ep {
  uint32_t version = kApiVersion;
  const char* (*get_name)(const Ep*) = {};
  Status* (*get_capability)(Ep*, const Graph*, SupportInfo*) = {};
  Status* (*compile)(Ep*,
                     const Graph** graphs,
                     const Node** fused_nodes,
                     size_t count,
                     NodeComputeInfo** infos,
                     Node** context_nodes) = {};
  void (*release_infos)(Ep*, NodeComputeInfo** infos, size_t count) = {};
  Unused get_preferred_data_layout = {};
  Unused should_convert_data_layout = {};
  Unused set_dynamic_options = {};
  Unused on_run_start = {};
  Unused on_run_end = {};
  Unused create_allocator = {};
  Unused create_sync_stream = {};
  Unused get_compiled_model_compatibility = {};
  Unused get_kernel_registry = {};
  Unused is_concurrent_run_supported = {};  // null: they are
};

struct EpFactory {
  uint32_t version = kApiVersion;
  const char* (*get_name)(const EpFactory*) = {};
  const char* (*get_vendor)(const EpFactory*) = {};
  Status* (*get_supported_devices)(EpFactory*,
                                   const HardwareDevice* const* devices,
                                   size_t device_count,
                                   EpDevice** ep_devices,
                                   size_t room,
                                   size_t* count) = {};
  Status* (*create_ep)(EpFactory*,
                       const HardwareDevice* const* devices,
                       const KeyValues* const* metadata,
                       size_t device_count,
                       const SessionOptions*,
                       const Logger*,
                       Ep**) = {};
  void (*release_ep)(EpFactory*, Ep*) = {};
  uint32_t (*get_vendor_id)(const EpFactory*) = {};
  const char* (*get_version)(const EpFactory*) = {};
  Unused validate_compiled_model = {};
  Unused create_allocator = {};
  Unused release_allocator = {};
  Status* (*create_data_transfer)(EpFactory*, void** data_transfer) = {};
  bool (*is_stream_aware)(const EpFactory*) = {};
  Unused create_sync_stream = {};
  Unused get_device_incompatibility = {};
  Unused create_external_resource_importer = {};
  Unused get_custom_op_domain_count = {};
  Unused get_custom_op_domains = {};
};

}  // namespace sluice::ort
