// Traces as protobuf messages: see trace.h. A file is a GlobalMetadata and then Nodes, each behind
// its length.
#include <bit>

#include "topology/chakra/trace.h"
#include "topology/chakra/wire.h"

namespace heddle::topology::chakra {
namespace {

constexpr const char* kTodo =
    "write it again, and check that it is a trace of Chakra's schema 1.0 and whole";

// Fields of a Node.
constexpr uint32_t kId = 1;
constexpr uint32_t kName = 2;
constexpr uint32_t kType = 3;
constexpr uint32_t kControlDeps = 4;
constexpr uint32_t kDataDeps = 5;
constexpr uint32_t kDuration = 7;
constexpr uint32_t kInputs = 8;
constexpr uint32_t kAttribute = 10;
// Fields of an AttributeProto that have the name of their type.
constexpr uint32_t kDouble = 3;
constexpr uint32_t kFloat = 5;
constexpr uint32_t kInt32 = 7;
constexpr uint32_t kInt64 = 9;
constexpr uint32_t kUint64 = 13;
constexpr uint32_t kSint32 = 15;
constexpr uint32_t kSint64 = 17;
constexpr uint32_t kSfixed32 = 23;
constexpr uint32_t kBool = 27;
constexpr uint32_t kBoolList = 28;
constexpr uint32_t kString = 29;
constexpr uint32_t kBytesValue = 31;

class NodeReader {
 public:
  // A list has up to `most_ids`.
  NodeReader(std::string_view bytes, uint64_t begin, uint64_t most_ids)
      : reader_(bytes, begin), most_ids_(most_ids) {}

  // False: place() is where the bytes make no sense.
  bool read(Node& node, uint64_t& type) {
    Field field;
    while (!reader_.at_end()) {
      if (!reader_.next(field) || !take(field, node, type)) return false;
    }
    return true;
  }
  uint64_t place() const { return reader_.place(); }
  bool too_many() const { return too_many_; }

 private:
  bool take(const Field& field, Node& node, uint64_t& type) {
    const bool is_bytes = field.type == WireType::kBytes;
    switch (field.number) {
      case kId:
        node.id = field.integer;
        return !is_bytes;
      case kName:
        node.name = field.bytes;
        return is_bytes;
      case kType:
        type = field.integer;
        return !is_bytes;
      case kControlDeps:
        return ids(field, node.control);
      case kDataDeps:
        return ids(field, node.data);
      case kDuration:
        node.duration_us = field.integer;
        return !is_bytes;
      case kInputs:
        return is_bytes && inputs(field.bytes, node);
      case kAttribute:
        return is_bytes && attribute(field.bytes, node);
      default:
        return true;
    }
  }

  // Packed, as proto3 writes them, or one a field.
  bool ids(const Field& field, std::vector<uint64_t>& ids) {
    if (field.type != WireType::kBytes) return add(field.integer, ids);
    WireReader packed(field.bytes, 0);
    uint64_t id = 0;
    while (!packed.at_end()) {
      if (!packed.varint(id) || !add(id, ids)) return false;
    }
    return true;
  }
  bool add(uint64_t id, std::vector<uint64_t>& ids) {
    too_many_ = ids.size() >= most_ids_;
    if (!too_many_) ids.push_back(id);
    return !too_many_;
  }

  static bool inputs(std::string_view bytes, Node& node) {
    WireReader message(bytes, 0);
    Field field;
    while (!message.at_end()) {
      if (!message.next(field)) return false;
      if (field.number == 1) node.inputs = field.bytes;
    }
    return true;
  }

  static bool attribute(std::string_view bytes, Node& node) {
    WireReader message(bytes, 0);
    Field field;
    std::string_view name;
    Value value;
    while (!message.at_end()) {
      if (!message.next(field)) return false;
      if (field.number == 1) {
        name = field.bytes;
      } else if (field.number == kBoolList) {
        if (!all_true(field.bytes)) node.some_dimensions |= name == "involved_dim";
      } else if (field.number >= kDouble) {
        value = value_of(field);
      }
    }
    node.set(name, value);
    return true;
  }

  static bool all_true(std::string_view list) {
    WireReader message(list, 0);
    Field field;
    bool all = true;
    while (!message.at_end() && message.next(field)) {
      all &= field.type == WireType::kBytes ? field.bytes.find('\0') == std::string_view::npos
                                            : field.integer != 0;
    }
    return all;
  }

  static Value value_of(const Field& field) {
    const uint64_t raw = field.integer;
    switch (field.number) {
      case kDouble:
        return {.integer = whole(std::bit_cast<double>(raw)), .text = {}};
      case kFloat:
        return {.integer = whole(std::bit_cast<float>(static_cast<uint32_t>(raw))), .text = {}};
      case kSint32:
      case kSint64:
        return {.integer = static_cast<int64_t>((raw >> 1) ^ (~(raw & 1) + 1)), .text = {}};
      case kSfixed32:
        return {.integer = static_cast<int32_t>(raw), .text = {}};
      case kString:
      case kBytesValue:
        return {.text = std::string(field.bytes), .is_text = true};
      default:
        return {.integer = static_cast<int64_t>(raw), .text = {}};
    }
  }
  static int64_t whole(double value) {
    constexpr double kMost = 9e18;
    return value >= -kMost && value <= kMost ? static_cast<int64_t>(value) : -1;
  }

  WireReader reader_;
  uint64_t most_ids_;
  bool too_many_ = false;
};

bool read_metadata(std::string_view bytes, Trace& trace) {
  WireReader message(bytes, 0);
  Field field;
  while (!message.at_end()) {
    if (!message.next(field)) return false;
    if (field.number == 1 && field.type == WireType::kBytes) trace.version = field.bytes;
  }
  return true;
}

// --- writing ---

std::string attribute_of(const char* name, uint32_t number, uint64_t value) {
  std::string message;
  append_bytes(message, 1, name);
  // A member of a oneof is there even where it is zero.
  append_varint(message, uint64_t{number} << 3);
  append_varint(message, value);
  return message;
}

std::string text_attribute(const char* name, std::string_view value) {
  std::string message;
  append_bytes(message, 1, name);
  append_bytes(message, kString, value);
  return message;
}

void append_ids(std::string& out, uint32_t number, const std::vector<uint64_t>& ids) {
  if (ids.empty()) return;
  std::string packed;
  for (const uint64_t id : ids) append_varint(packed, id);
  append_bytes(out, number, packed);
}

std::string message_of(const Node& node) {
  std::string out;
  append_integer(out, kId, node.id);
  if (!node.name.empty()) append_bytes(out, kName, node.name);
  append_integer(out, kType, static_cast<uint64_t>(node.type));
  append_ids(out, kControlDeps, node.control);
  append_ids(out, kDataDeps, node.data);
  append_integer(out, kDuration, node.duration_us);
  append_bytes(out, kAttribute, attribute_of(kIsCpu, kBool, node.cpu ? 1 : 0));
  const auto integer = [&](const char* name, uint32_t number, const auto& value) {
    if (!value) return;
    append_bytes(out, kAttribute, attribute_of(name, number, static_cast<uint64_t>(*value)));
  };
  integer(kCommType, kInt64, node.comm_type);
  integer(kCommSize, kInt64, node.comm_size);
  integer(kCommSource, kInt32, node.source);
  integer(kCommDestination, kInt32, node.destination);
  integer(kCommTag, kInt32, node.tag);
  integer(kRoot, kInt64, node.root);
  integer(kBlocking, kInt64, node.blocking);
  integer(kDurationNs, kUint64, node.duration_ns);
  if (!node.group.empty()) {
    append_bytes(out, kAttribute, text_attribute(kGroupName, node.group));
  }
  if (!node.algorithm.empty()) {
    append_bytes(out, kAttribute, text_attribute(kAlgorithm, node.algorithm));
  }
  return out;
}

void append_message(std::string& file, std::string_view message) {
  append_varint(file, message.size());
  file.append(message);
}

}  // namespace

Result<Trace> parse_protobuf(std::string_view bytes, const std::string& file, TraceQuota& quota) {
  if (bytes.starts_with("\x1f\x8b")) {
    return wrong(file, "", "it is compressed by gzip", "unpack it: gunzip");
  }
  Trace trace{.file = file, .version = {}, .nodes = {}};
  WireReader reader(bytes, 0);
  std::string_view message;
  const auto at = [](uint64_t place) { return "at byte " + std::to_string(place); };
  if (!reader.bytes(message) || !read_metadata(message, trace)) {
    return wrong(file, at(0), "there is no GlobalMetadata", kTodo);
  }
  if (Result<void> known = check_version(trace); !known) return fail(known.error());
  while (!reader.at_end()) {
    const uint64_t begin = reader.place();
    if (!reader.bytes(message)) {
      return wrong(file, at(begin),
                   "the message is longer than the file, after " +
                       std::to_string(trace.nodes.size()) + " nodes",
                   kTodo);
    }
    if (message.empty()) {
      return wrong(file, at(begin), "the message is empty, and a node has an id or a type", kTodo);
    }
    Node node;
    uint64_t type = 0;
    NodeReader fields(message, reader.place_of_bytes(), quota.dependencies);
    if (!fields.read(node, type)) {
      if (fields.too_many()) return too_much(file);
      return wrong(file, at(fields.place()),
                   "there is no field of a Node, in the message at byte " + std::to_string(begin),
                   kTodo);
    }
    if (type >= kNodeTypes) {
      return wrong(file, at(begin),
                   "node " + std::to_string(node.id) + " has the type " + std::to_string(type) +
                       ", which schema 1.0 does not have",
                   kTodo);
    }
    node.type = static_cast<NodeType>(type);
    if (!quota.take(node)) return too_much(file);
    trace.nodes.push_back(std::move(node));
  }
  return trace;
}

std::string protobuf_of(const Trace& trace) {
  std::string file;
  std::string metadata;
  if (!trace.version.empty()) append_bytes(metadata, 1, trace.version);
  append_message(file, metadata);
  for (const Node& node : trace.nodes) append_message(file, message_of(node));
  return file;
}

}  // namespace heddle::topology::chakra
