// See flight_recorder.h. Times are those at which a watchdog saw that a call had started and ended;
// where the device measured how long it took, that counts. The hook of TorchComms writes the same
// format, without these times and with numbers that count all calls of a process.
#include "recordings/import/flight_recorder.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>

#include "recordings/import/bounded_json.h"

namespace heddle::recordings {
namespace {

using events::ElementType;
using events::Operation;

struct Group {
  uint64_t communicator = 0;
  uint32_t rank = 0;
  uint32_t size = 0;
};

std::optional<uint32_t> trailing_number(const std::string& name) {
  size_t begin = name.size();
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(name[begin - 1])) != 0) --begin;
  if (begin == name.size() || name.size() - begin > 9) return std::nullopt;
  return static_cast<uint32_t>(std::stoul(name.substr(begin)));
}

// "[0, 1, 5]"
std::vector<uint32_t> ranks_of(const std::string& text) {
  std::vector<uint32_t> ranks;
  uint64_t number = 0;
  bool inside = false;
  for (const char each : text + ",") {
    if (each >= '0' && each <= '9') {
      number = std::min<uint64_t>(number * 10 + static_cast<uint64_t>(each - '0'), UINT32_MAX);
      inside = true;
    } else if (inside) {
      ranks.push_back(static_cast<uint32_t>(number));
      number = 0;
      inside = false;
    }
  }
  return ranks;
}

std::map<std::string, Group> groups_of(const ForeignJson& config, uint32_t rank) {
  std::map<std::string, Group> groups;
  for (const auto& [name, about] : config.items()) {
    const std::string text = about.value("ranks", "");
    const std::vector<uint32_t> ranks = ranks_of(text);
    const auto at = std::find(ranks.begin(), ranks.end(), rank);
    if (at == ranks.end()) continue;
    groups[name] = {number_of_name(name + " " + text), static_cast<uint32_t>(at - ranks.begin()),
                    static_cast<uint32_t>(ranks.size())};
  }
  return groups;
}

// Of "nccl:_all_gather_base", "nccl:send 0->1"; nothing: none that heddle knows.
std::optional<Operation> operation_of(std::string name) {
  name = name.substr(name.find(':') + 1);
  name = name.substr(0, name.find(' '));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char each) { return static_cast<char>(std::tolower(each)); });
  const auto has = [&name](const char* part) { return name.find(part) != std::string::npos; };
  if (has("barrier")) return Operation::kBarrier;
  if (has("all_reduce") || has("allreduce")) return Operation::kAllreduce;
  if (has("all_gather") || has("allgather")) return Operation::kAllgather;
  if (has("reduce_scatter")) return Operation::kReducescatter;
  if (has("all_to_all_v") || has("alltoallv")) return Operation::kAlltoallv;
  if (has("all_to_all") || has("alltoall")) return Operation::kAlltoall;
  if (has("broadcast")) return Operation::kBroadcast;
  if (name == "reduce" || name == "_reduce_oop") return Operation::kReduce;
  if (name == "gather") return Operation::kGather;
  if (name == "scatter") return Operation::kScatter;
  if (name == "send") return Operation::kSend;
  if (name == "recv") return Operation::kRecv;
  return std::nullopt;
}

ElementType type_of(const ForeignJson& types) {
  static const std::map<std::string, ElementType> kTypes = {
      {"Float", ElementType::kFloat},   {"Double", ElementType::kDouble},
      {"Half", ElementType::kHalf},     {"BFloat16", ElementType::kBfloat16},
      {"Int", ElementType::kInt32},     {"Long", ElementType::kInt64},
      {"Short", ElementType::kInt16},   {"UInt16", ElementType::kUint16},
      {"UInt32", ElementType::kUint32}, {"UInt64", ElementType::kUint64},
      {"Char", ElementType::kInt8}};
  if (!types.is_array() || types.empty() || !types[0].is_string()) return ElementType::kUint8;
  const auto found = kTypes.find(types[0].get<std::string>());
  return found == kTypes.end() ? ElementType::kUint8 : found->second;  // of one byte: bool, float8
}

// Elements of all tensors.
uint64_t elements_of(const ForeignJson& sizes) {
  uint64_t sum = 0;
  for (const ForeignJson& size : sizes) {
    uint64_t product = 1;
    for (const ForeignJson& side : size) product *= whole_number(side);
    sum += product;
  }
  return sum;
}

// The other side of "send 0->1" and "recv 1<-0": the second number.
uint32_t peer_of(const std::string& name) { return trailing_number(name).value_or(0); }

uint64_t count_of(const ForeignJson& entry, Operation operation, uint32_t size) {
  const uint64_t in = elements_of(member_or_empty(entry, "input_sizes"));
  const uint64_t out = elements_of(member_or_empty(entry, "output_sizes"));
  switch (operation) {
    case Operation::kBarrier:
      return 0;
    case Operation::kReducescatter:
    case Operation::kScatter:
    case Operation::kRecv:
      return out;
    case Operation::kAlltoall:
      return in / std::max(1u, size);
    default:
      return in;
  }
}

int64_t time_of(const ForeignJson& entry, const char* name) {
  const auto found = entry.find(name);
  if (found == entry.end() || !found->is_number_integer()) return 0;
  return std::clamp<int64_t>(found->get<int64_t>(), 0, INT64_MAX / 4);
}

bool is_message(Operation operation) {
  return operation == Operation::kSend || operation == Operation::kRecv;
}

ForeignCall call_of(const ForeignJson& entry, Operation operation, const Group& group) {
  ForeignCall call;
  const auto name = entry.at("profiling_name").get<std::string>();
  const bool message = is_message(operation);
  call.communicator = group.communicator;
  call.operation = operation;
  call.number = whole_number(entry.at(message ? "p2p_seq_id" : "collective_seq_id"));
  call.type = type_of(
      member_or_empty(entry, operation == Operation::kRecv ? "output_dtypes" : "input_dtypes"));
  call.count = count_of(entry, operation, group.size);
  call.root = message ? peer_of(name) : 0;
  call.made_ns = time_of(entry, "time_created_ns");
  call.started_ns = std::max(call.made_ns, time_of(entry, "time_discovered_started_ns"));
  call.ended = entry.value("state", "") == "completed";
  call.ended_ns = std::max(call.started_ns, time_of(entry, "time_discovered_completed_ns"));
  if (entry.contains("duration_ms") && entry.at("duration_ms").is_number()) {
    const double given_ns = entry.at("duration_ms").get<double>() * 1e6;
    const double duration_ns = std::isfinite(given_ns) ? given_ns : 0;
    const auto most = static_cast<double>(call.ended_ns - call.made_ns);
    call.started_ns =
        call.ended_ns - static_cast<int64_t>(std::clamp(duration_ns, 0.0, std::max(0.0, most)));
  }
  return call;
}

// A call of TorchComms' hook never has one.
bool has_time(const ForeignJson& entry) {
  return time_of(entry, "time_discovered_started_ns") > 0 ||
         time_of(entry, "time_discovered_completed_ns") > 0;
}

// Numbers of a group's calls where those of the dump count the calls of all groups: their places,
// if the dump begins with the first call.
class GroupNumbers {
 public:
  explicit GroupNumbers(const ForeignJson& entries) {
    counts_all_ = entries.is_array() && !entries.empty() &&
                  std::none_of(entries.begin(), entries.end(), has_time);
    if (counts_all_) whole_ = whole_number(member_or_empty(entries[0], "record_id")) == 0;
  }

  bool counts_all() const { return counts_all_; }
  bool are_known() const { return !counts_all_ || whole_; }
  uint64_t next(uint64_t communicator) { return next_[communicator]++; }

 private:
  bool counts_all_ = false;
  bool whole_ = false;
  std::map<uint64_t, uint64_t> next_;
};

// Why a call cannot be compared with other ranks'; empty: it can.
std::string obstacle(const std::string& name, Operation operation, const GroupNumbers& numbers) {
  if (is_message(operation) && !trailing_number(name)) return "a send or receive without its peer";
  if (!numbers.are_known()) {
    return "its place among the group's calls is not known: the dump has lost older ones";
  }
  return {};
}

}  // namespace

bool looks_like_flight_recorder(const ForeignJson& document) {
  return document.is_object() && document.contains("version") && document.contains("pg_config");
}

Result<ForeignProcess> read_flight_recorder(const ForeignJson& document, const std::string& file) {
  const std::string what = "cannot read the Flight Recorder's dump " + file;
  const auto rank = trailing_number(file);
  if (!rank) {
    return fail(ErrorCode::kInvalid, what, "its name does not end in the rank",
                "call it as PyTorch does, nccl_trace_rank_0 and so on");
  }
  try {
    ForeignProcess process;
    process.identity = {{"rank", std::to_string(*rank)},
                        {"source", "PyTorch Flight Recorder"},
                        {"host", "host of rank " + std::to_string(*rank)},
                        {"pid", std::to_string(*rank)},
                        {"command", file}};
    const std::map<std::string, Group> groups = groups_of(document.at("pg_config"), *rank);
    for (const auto& [name, group] : groups) {
      process.communicators[group.communicator] = {group.rank, group.size};
    }
    const ForeignJson& entries = member_or_empty(document, "entries");
    GroupNumbers numbers(entries);
    for (const ForeignJson& entry : entries) {
      const auto name = entry.at("profiling_name").get<std::string>();
      const auto operation = operation_of(name);
      const auto group = groups.find(entry.at("process_group").at(0).get<std::string>());
      if (!operation) {
        ++process.left_out["an operation that is not known here: " + name];
      } else if (group == groups.end()) {
        ++process.left_out["a group that pg_config does not name with this rank"];
      } else if (const std::string why = obstacle(name, *operation, numbers); !why.empty()) {
        ++process.left_out[why];
      } else {
        ForeignCall call = call_of(entry, *operation, group->second);
        if (numbers.counts_all()) {
          call.number = numbers.next(call.communicator);
          call.ended = entry.value("retired", false);
        }
        process.calls.push_back(call);
      }
    }
    return process;
  } catch (const ForeignJson::exception& error) {
    return fail(ErrorCode::kInvalid, what, error.what(), "give the file as PyTorch wrote it");
  }
}

}  // namespace heddle::recordings
