// See names.h.
#include "plugins/nccl/profiler/names.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace heddle::nccl {
namespace {

using events::Algorithm;
using events::ElementType;
using events::Operation;
using events::Protocol;

template <typename Value, size_t kCount>
using Names = std::array<std::pair<std::string_view, Value>, kCount>;

template <typename Value, size_t kCount>
std::optional<Value> find(const Names<Value, kCount>& names, const char* name) {
  if (name == nullptr) return std::nullopt;
  const auto found = std::find_if(names.begin(), names.end(),
                                  [name](const auto& each) { return each.first == name; });
  return found == names.end() ? std::nullopt : std::optional(found->second);
}

constexpr Names<Operation, 10> kOperations = {{
    {"AllReduce", Operation::kAllreduce},
    {"AllGather", Operation::kAllgather},
    {"ReduceScatter", Operation::kReducescatter},
    {"Broadcast", Operation::kBroadcast},
    {"Reduce", Operation::kReduce},
    {"Gather", Operation::kGather},
    {"Scatter", Operation::kScatter},
    {"AlltoAll", Operation::kAlltoall},
    {"Send", Operation::kSend},
    {"Recv", Operation::kRecv},
}};

constexpr Names<ElementType, 13> kTypes = {{
    {"ncclInt8", ElementType::kInt8},
    {"ncclUint8", ElementType::kUint8},
    // NCCL up to 2.30 names every type but ncclUint8.
    {"Unknown", ElementType::kUint8},
    {"ncclInt32", ElementType::kInt32},
    {"ncclUint32", ElementType::kUint32},
    {"ncclInt64", ElementType::kInt64},
    {"ncclUint64", ElementType::kUint64},
    {"ncclFloat16", ElementType::kHalf},
    {"ncclFloat32", ElementType::kFloat},
    {"ncclFloat64", ElementType::kDouble},
    {"ncclBfloat16", ElementType::kBfloat16},
    {"ncclFloat8e4m3", ElementType::kFloat8E4m3},
    {"ncclFloat8e5m2", ElementType::kFloat8E5m2},
}};

constexpr Names<Algorithm, 7> kAlgorithms = {{
    {"TREE", Algorithm::kTree},
    {"RING", Algorithm::kRing},
    {"COLLNET_DIRECT", Algorithm::kCollnetDirect},
    {"COLLNET_CHAIN", Algorithm::kCollnetChain},
    {"NVLS", Algorithm::kNvls},
    {"NVLS_TREE", Algorithm::kNvlsTree},
    {"PAT", Algorithm::kPat},
}};

constexpr Names<Protocol, 3> kProtocols = {{
    {"SIMPLE", Protocol::kSimple},
    {"LL", Protocol::kLl},
    {"LL128", Protocol::kLl128},
}};

template <size_t kCount>
const char* name_at(const std::array<const char*, kCount>& names, uint8_t number) {
  return number < kCount ? names.at(number) : nullptr;
}

}  // namespace

std::optional<Operation> operation_of(const char* function) { return find(kOperations, function); }

ElementType element_type_of(const char* data_type) {
  return find(kTypes, data_type).value_or(ElementType::kUnknown);
}

Algorithm algorithm_of(const char* algorithm) {
  return find(kAlgorithms, algorithm).value_or(Algorithm::kOther);
}

Protocol protocol_of(const char* protocol) {
  return find(kProtocols, protocol).value_or(Protocol::kOther);
}

const char* function_name(uint8_t number) {
  constexpr std::array kNames = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                 "AllReduce", "SendRecv", "Send",      "Recv"};
  return name_at(kNames, number);
}

const char* data_type_name(uint8_t number) {
  constexpr std::array kNames = {"ncclInt8",    "ncclUint8",   "ncclInt32",   "ncclUint32",
                                 "ncclInt64",   "ncclUint64",  "ncclFloat16", "ncclFloat32",
                                 "ncclFloat64", "ncclBfloat16"};
  return name_at(kNames, number);
}

const char* algorithm_name(uint8_t number) {
  constexpr std::array kNames = {"TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
                                 "NVLS_TREE", "PAT"};
  return name_at(kNames, number);
}

const char* protocol_name(uint8_t number) {
  constexpr std::array kNames = {"LL", "LL128", "SIMPLE"};
  return name_at(kNames, number);
}

}  // namespace heddle::nccl
