// Trace: one rank's Chakra execution trace as plain data, with what heddle uses of each node. Field
// numbers and attributes are those of Chakra's schema 1.0 (et_def.proto).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace heddle::topology::chakra {

enum class NodeType : uint8_t {
  kInvalid,
  kMetadata,
  kMemoryLoad,
  kMemoryStore,
  kCompute,
  kSend,
  kReceive,
  kCollective,
};
inline constexpr uint32_t kNodeTypes = 8;
std::string_view name_of(NodeType type);                    // "COMP_NODE"
std::optional<NodeType> type_named(std::string_view name);  // or a number

// Names of attributes that are read and written.
inline constexpr const char* kCommType = "comm_type";
inline constexpr const char* kCommSize = "comm_size";
inline constexpr const char* kCommSource = "comm_src";
inline constexpr const char* kCommDestination = "comm_dst";
inline constexpr const char* kCommTag = "comm_tag";
inline constexpr const char* kGroupName = "pg_name";
inline constexpr const char* kIsCpu = "is_cpu_op";
// heddle's own, which other tools skip: without them a trace is in whole microseconds, a root and
// algorithms are open, and nothing waits for a send.
inline constexpr const char* kDurationNs = "heddle_duration_ns";
inline constexpr const char* kRoot = "heddle_root";
inline constexpr const char* kAlgorithm = "heddle_algorithm";
// A send that ends when the receiver has it; without, a send ends where it begins.
inline constexpr const char* kBlocking = "heddle_blocking";

// The value of an attribute: an integer (or bool), or text.
struct Value {
  int64_t integer = 0;
  std::string text;
  bool is_text = false;
};

struct Node {
  uint64_t id = 0;
  std::string name;
  NodeType type = NodeType::kInvalid;
  std::vector<uint64_t> control;  // ids that it depends on
  std::vector<uint64_t> data;
  uint64_t duration_us = 0;
  std::string inputs;  // their values: process groups in a metadata node
  bool cpu = false;
  bool some_dimensions = false;  // involved_dim leaves dimensions out
  std::optional<uint64_t> duration_ns;
  std::optional<int64_t> comm_type;
  std::optional<int64_t> comm_size;
  std::optional<int64_t> source;
  std::optional<int64_t> destination;
  std::optional<int64_t> tag;
  std::optional<int64_t> root;
  std::optional<int64_t> blocking;
  std::optional<int64_t> tensor_bytes;
  std::optional<int64_t> operations;
  std::string group;
  std::string algorithm;

  // Takes an attribute; others than the above are ignored.
  void set(std::string_view attribute, const Value& value);
};

struct Trace {
  std::string file;
  uint32_t rank = 0;
  std::string version;
  std::deque<Node> nodes;  // millions: a vector would copy them, and hold them twice
};

// What the traces of a job may have yet; a reader takes from it while it reads.
struct TraceQuota {
  uint64_t nodes = 2'000'000;
  uint64_t dependencies = 20'000'000;

  // Takes a node; false: there are too many.
  bool take(const Node& node);
};

// Errors: kInvalid with the byte where the file cannot be read, or the node; kVersion; kExhausted
// beyond the quota.
Result<Trace> parse_protobuf(std::string_view bytes, const std::string& file, TraceQuota& quota);
Result<Trace> parse_json(std::string_view text, const std::string& file, TraceQuota& quota);
std::string protobuf_of(const Trace& trace);
std::string json_of(const Trace& trace);

// An error of a file. `place`: "at byte 12".
Unexpected wrong(const std::string& file, const std::string& place, const std::string& why,
                 const std::string& todo);
Unexpected too_much(const std::string& file);
Result<void> check_version(const Trace& trace);

}  // namespace heddle::topology::chakra
