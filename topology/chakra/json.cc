// Traces as JSON: see trace.h. A file is one JSON object after the other, GlobalMetadata and then
// Nodes, as Chakra's jsonizer writes protobuf's JSON mapping; or one object with a
// "workload_graph", as its feeder reads.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "topology/chakra/trace.h"
#include "topology/params.h"

namespace heddle::topology::chakra {
namespace {

using Json = nlohmann::json;

constexpr const char* kTodo = "write it again, as Chakra's jsonizer does";

// The number of a JSON value, which protobuf writes as text where it has 64 bits.
std::optional<uint64_t> number_of(const Json& value) {
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  if (value.is_number_integer()) return static_cast<uint64_t>(value.get<int64_t>());
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  const char* const end = text.data() + text.size();
  const bool negative = text.starts_with("-");
  uint64_t number = 0;
  const auto [at, error] = std::from_chars(text.data() + (negative ? 1 : 0), end, number);
  if (error != std::errc() || at != end) return std::nullopt;
  return negative ? ~number + 1 : number;
}

// Splits a text into its top-level objects, before any of them is parsed: places in errors are the
// file's, and depth is bounded.
class Objects {
 public:
  explicit Objects(std::string_view text) : text_(text) {}

  // The next object; empty: there is none, and then at_end() or error().
  std::string_view next() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    begin_ = at_;
    if (at_ == text_.size()) return {};
    if (text_[at_] != '{') return failed("there is no '{'");
    int depth = 0;
    bool quoted = false;
    for (; at_ < text_.size(); ++at_) {
      const char each = text_[at_];
      if (quoted) {
        if (each == '\\') ++at_;
        quoted = each != '"';
      } else if (each == '"') {
        quoted = true;
      } else if (each == '{' || each == '[') {
        if (++depth > params::chakra::kMostDepth) return failed("values are nested too deeply");
      } else if (each == '}' || each == ']') {
        if (--depth == 0) return text_.substr(begin_, ++at_ - begin_);
      }
      if (at_ - begin_ > params::chakra::kMostObjectBytes) {
        return failed("the object is larger than 64 MiB");
      }
    }
    at_ = begin_;
    return failed("the object does not end");
  }
  size_t begin() const { return begin_; }
  const std::string& error() const { return error_; }
  std::string place() const {
    return "at byte " + std::to_string(std::min(at_, text_.size())) + ", line " +
           std::to_string(1 + std::count(text_.begin(),
                                         text_.begin() + static_cast<std::ptrdiff_t>(
                                                             std::min(at_, text_.size())),
                                         '\n'));
  }

 private:
  static bool is_space(char each) {
    return each == ' ' || each == '\n' || each == '\t' || each == '\r' || each == ',';
  }
  std::string_view failed(const char* why) {
    error_ = why;
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t begin_ = 0;
  std::string error_;
};

class NodeReader {
 public:
  explicit NodeReader(const Json& object) : object_(object) {}

  // What is wrong with the object; empty: nothing.
  std::string read(Node& node) {
    if (!object_.is_object()) return "a node is no object";
    node.id = number({"id", "Id"});
    const Json* const name = member({"name", "Name"});
    if (name != nullptr && name->is_string()) node.name = name->get<std::string>();
    read_type(node);
    ids({"ctrlDeps", "ctrl_deps"}, node.control);
    ids({"dataDeps", "data_deps"}, node.data);
    read_duration(node);
    if (const Json* const inputs = member({"inputs"}); inputs != nullptr && inputs->is_object()) {
      node.inputs = text_of(*inputs, "values");
    }
    read_attributes(node);
    return wrong_.empty() ? "" : "node " + std::to_string(node.id) + ": " + wrong_;
  }

 private:
  const Json* member(std::initializer_list<const char*> names) {
    for (const char* name : names) {
      const auto found = object_.find(name);
      if (found == object_.end()) continue;
      key_ = name;
      return &*found;
    }
    return nullptr;
  }
  void refuse(const std::string& why) { wrong_ = "\"" + key_ + "\" " + why; }
  uint64_t number(std::initializer_list<const char*> names) {
    const Json* const value = member(names);
    if (value == nullptr) return 0;
    const auto number = number_of(*value);
    if (!number) refuse("is no whole number");
    return number.value_or(0);
  }
  // Microseconds, whole or with decimals.
  void read_duration(Node& node) {
    const Json* const value = member({"durationMicros", "duration_micros", "runtime"});
    if (value == nullptr) return;
    const auto whole = number_of(*value);
    node.duration_us = whole.value_or(0);
    if (whole) return;
    const double micros = value->is_number_float() ? value->get<double>() : -1;
    if (micros < 0 || micros > params::chakra::kMostMicros) {
      return refuse("is no time in microseconds");
    }
    node.duration_us = static_cast<uint64_t>(std::llround(micros));
    node.duration_ns = static_cast<uint64_t>(std::llround(micros * 1000));
  }
  void ids(std::initializer_list<const char*> names, std::vector<uint64_t>& ids) {
    const Json* const list = member(names);
    if (list == nullptr) return;
    if (!list->is_array()) refuse("is no list");
    for (const Json& each : *list) {
      const auto id = number_of(each);
      if (!id) refuse("has other values than node ids");
      ids.push_back(id.value_or(0));
    }
  }
  static std::string text_of(const Json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
  }
  void read_type(Node& node) {
    const Json* const value = member({"type", "NodeType"});
    if (value == nullptr) return;
    const auto number = value->is_string() ? std::nullopt : number_of(*value);
    auto type =
        value->is_string() ? type_named(value->get_ref<const std::string&>()) : std::nullopt;
    if (number && *number < kNodeTypes) type = static_cast<NodeType>(*number);
    if (!type)
      wrong_ = "its type " + value->dump(-1, ' ', true, Json::error_handler_t::replace) +
               " is not one of schema 1.0";
    node.type = type.value_or(NodeType::kInvalid);
  }

  void read_attributes(Node& node) {
    // Members of the object itself in a workload_graph.
    for (const char* name : {kIsCpu, kCommType, kCommSize, kCommSource, kCommDestination, kCommTag,
                             kGroupName, "tensor_size"}) {
      const Json* const value = member({name});
      if (value != nullptr) node.set(name, value_of(*value));
    }
    const Json* const list = member({"attr"});
    if (list == nullptr) return;
    if (!list->is_array()) wrong_ = "\"attr\" is no list";
    for (const Json& each : *list) {
      if (!each.is_object()) {
        wrong_ = "\"attr\" has other values than objects";
        continue;
      }
      const std::string name = text_of(each, "name");
      for (const auto& [key, value] : each.items()) {
        if (key.ends_with("Val") || key.ends_with("_val")) node.set(name, value_of(value));
        if (name == "involved_dim" && value.is_object() && value.contains("values")) {
          const Json& flags = value["values"];
          node.some_dimensions |= std::find(flags.begin(), flags.end(), Json(false)) != flags.end();
        }
      }
    }
  }
  static Value value_of(const Json& value) {
    const auto number = number_of(value);
    const bool is_text = value.is_string();
    return {.integer = static_cast<int64_t>(number.value_or(0)),
            .text = is_text ? value.get<std::string>() : "",
            .is_text = is_text && !number};
  }

  const Json& object_;
  std::string key_;  // of the latest member()
  std::string wrong_;
};

// --- writing ---

Json attribute_of(const char* name, const char* kind, Json value) {
  return {{"name", name}, {kind, std::move(value)}};
}

Json json_of(const Node& node) {
  Json object = {{"id", std::to_string(node.id)}, {"type", name_of(node.type)}};
  if (!node.name.empty()) object["name"] = node.name;
  const auto ids = [&object](const char* key, const std::vector<uint64_t>& all) {
    for (const uint64_t id : all) object[key].push_back(std::to_string(id));
  };
  ids("ctrlDeps", node.control);
  ids("dataDeps", node.data);
  if (node.duration_us > 0) object["durationMicros"] = std::to_string(node.duration_us);
  Json& list = object["attr"] = Json::array({attribute_of(kIsCpu, "boolVal", node.cpu)});
  const auto integer = [&list](const char* name, const char* kind, const auto& value) {
    if (!value) return;
    const bool wide = std::string_view(kind) != "int32Val";
    list.push_back(attribute_of(name, kind, wide ? Json(std::to_string(*value)) : Json(*value)));
  };
  integer(kCommType, "int64Val", node.comm_type);
  integer(kCommSize, "int64Val", node.comm_size);
  integer(kCommSource, "int32Val", node.source);
  integer(kCommDestination, "int32Val", node.destination);
  integer(kCommTag, "int32Val", node.tag);
  integer(kRoot, "int64Val", node.root);
  integer(kBlocking, "int64Val", node.blocking);
  integer(kDurationNs, "uint64Val", node.duration_ns);
  if (!node.group.empty()) list.push_back(attribute_of(kGroupName, "stringVal", node.group));
  if (!node.algorithm.empty()) {
    list.push_back(attribute_of(kAlgorithm, "stringVal", node.algorithm));
  }
  return object;
}

Result<void> take_graph(const Json& graph, Trace& trace, TraceQuota& quota) {
  if (!graph.is_array()) return wrong(trace.file, "", "\"workload_graph\" is no list", kTodo);
  for (const Json& each : graph) {
    Node node;
    const std::string why = NodeReader(each).read(node);
    if (!why.empty()) return wrong(trace.file, "", why, kTodo);
    if (!quota.take(node)) return too_much(trace.file);
    trace.nodes.push_back(std::move(node));
  }
  return {};
}

bool is_metadata(const Json& object) { return !object.contains("id") && !object.contains("type"); }

}  // namespace

Result<Trace> parse_json(std::string_view text, const std::string& file, TraceQuota& quota) {
  Trace trace{.file = file, .version = {}, .nodes = {}};
  Objects objects(text);
  for (bool first = true;; first = false) {
    const std::string_view each = objects.next();
    if (!objects.error().empty()) return wrong(file, objects.place(), objects.error(), kTodo);
    if (each.empty() && !first) return trace;
    if (each.empty()) return wrong(file, "", "it has no JSON object", kTodo);
    // Without exceptions there is no reason, and the parser's text has one.
    Json object;
    try {
      object = Json::parse(each);
    } catch (const Json::exception& error) {
      return wrong(file, "in the object at byte " + std::to_string(objects.begin()), error.what(),
                   kTodo);
    }
    if (first && object.contains("workload_graph")) {
      if (Result<void> taken = take_graph(object["workload_graph"], trace, quota); !taken) {
        return fail(taken.error());
      }
      continue;
    }
    if (first && is_metadata(object)) {
      const auto version = object.find("version");
      if (version != object.end() && version->is_string()) trace.version = *version;
      if (Result<void> known = check_version(trace); !known) return fail(known.error());
      continue;
    }
    Node node;
    const std::string why = NodeReader(object).read(node);
    if (!why.empty()) {
      return wrong(file, "in the object at byte " + std::to_string(objects.begin()), why, kTodo);
    }
    if (!quota.take(node)) return too_much(file);
    trace.nodes.push_back(std::move(node));
  }
}

std::string json_of(const Trace& trace) {
  Json metadata = Json::object();
  if (!trace.version.empty()) metadata["version"] = trace.version;
  std::string text = metadata.dump(2);
  for (const Node& node : trace.nodes) {
    text += json_of(node).dump(2, ' ', false, Json::error_handler_t::replace);
  }
  return text + "\n";
}

}  // namespace heddle::topology::chakra
