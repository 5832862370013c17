// Names of node types, attributes, and errors of traces: see trace.h.
#include "topology/chakra/trace.h"

#include <algorithm>
#include <array>

#include "base/printable.h"

namespace heddle::topology::chakra {
namespace {

constexpr std::array<std::string_view, kNodeTypes> kNames = {
    "INVALID_NODE", "METADATA_NODE",  "MEM_LOAD_NODE",  "MEM_STORE_NODE",
    "COMP_NODE",    "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE"};

struct IntegerAttribute {
  std::string_view name;
  std::optional<int64_t> Node::*field;
};
constexpr std::array<IntegerAttribute, 9> kIntegers = {{{kCommType, &Node::comm_type},
                                                        {kCommSize, &Node::comm_size},
                                                        {kCommSource, &Node::source},
                                                        {kCommDestination, &Node::destination},
                                                        {kCommTag, &Node::tag},
                                                        {kRoot, &Node::root},
                                                        {kBlocking, &Node::blocking},
                                                        {"tensor_size", &Node::tensor_bytes},
                                                        {"num_ops", &Node::operations}}};

}  // namespace

std::string_view name_of(NodeType type) { return kNames[static_cast<size_t>(type)]; }

std::optional<NodeType> type_named(std::string_view name) {
  const auto* const found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<NodeType>(found - kNames.begin());
}

void Node::set(std::string_view attribute, const Value& value) {
  for (const IntegerAttribute& each : kIntegers) {
    if (each.name == attribute && !value.is_text) this->*each.field = value.integer;
  }
  if (attribute == kIsCpu) cpu = value.integer != 0;
  if (attribute == kDurationNs && value.integer >= 0) {
    duration_ns = static_cast<uint64_t>(value.integer);
  }
  if (attribute == kGroupName) group = value.is_text ? value.text : std::to_string(value.integer);
  if (attribute == kAlgorithm) algorithm = value.text;
}

Unexpected wrong(const std::string& file, const std::string& place, const std::string& why,
                 const std::string& todo) {
  return fail(ErrorCode::kInvalid, "cannot read " + printable(file),
              (place.empty() ? "" : place + ": ") + why, todo);
}

bool TraceQuota::take(const Node& node) {
  const uint64_t depends = node.control.size() + node.data.size();
  if (nodes == 0 || depends > dependencies) return false;
  --nodes;
  dependencies -= depends;
  return true;
}

Unexpected too_much(const std::string& file) {
  return fail(ErrorCode::kExhausted, "cannot read " + printable(file),
              "with it, the traces have more than 2,000,000 nodes or 20,000,000 dependencies",
              "use fewer ranks or iterations");
}

Result<void> check_version(const Trace& trace) {
  const std::string& version = trace.version;
  if (version.empty() || version.starts_with("0.") || version.starts_with("1.")) return {};
  return fail(ErrorCode::kVersion, "cannot read " + printable(trace.file),
              "its schema is " + printable(version.substr(0, 40)) + ", and heddle reads 1.0",
              "convert it with the tools of Chakra 1.0");
}

}  // namespace heddle::topology::chakra
