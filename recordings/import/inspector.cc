// See inspector.h.
#include "recordings/import/inspector.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "recordings/import/bounded_json.h"
#include "recordings/params.h"

namespace heddle::recordings {
namespace {

using events::Operation;

// A field in microseconds; a missing one is 0, and a wrong time is no harm.
int64_t nanos_of(const ForeignJson& about, const std::string& name) {
  const auto found = about.find(name);
  const uint64_t micros = found == about.end() ? 0 : whole_number(*found);
  return static_cast<int64_t>(std::min<uint64_t>(micros, INT64_MAX / 4000) * 1000);
}

std::optional<Operation> operation_of(const std::string& name) {
  static const std::map<std::string, Operation> kOperations = {
      {"AllReduce", Operation::kAllreduce}, {"AllGather", Operation::kAllgather},
      {"Broadcast", Operation::kBroadcast}, {"ReduceScatter", Operation::kReducescatter},
      {"Reduce", Operation::kReduce},       {"Send", Operation::kSend},
      {"Recv", Operation::kRecv},           {"All2All", Operation::kAlltoall}};
  const auto found = kOperations.find(name);
  if (found == kOperations.end()) return std::nullopt;
  return found->second;
}

// Of the event trace; false: there is none.
bool take_times(const ForeignJson& about, const std::string& prefix, ForeignCall& call) {
  const auto trace = about.find("event_trace_ts");
  if (trace == about.end()) return false;
  call.made_ns = nanos_of(*trace, prefix + "_start_ts");
  int64_t first = INT64_MAX;
  int64_t last = 0;
  for (const ForeignJson& kernel : member_or_empty(*trace, "kernel_events")) {
    const int64_t start = nanos_of(kernel, "kernel_start_ts");
    if (start > 0) first = std::min(first, start);
    last = std::max(last, nanos_of(kernel, "kernel_stop_ts"));
  }
  call.started_ns = first == INT64_MAX ? call.made_ns : std::max(call.made_ns, first);
  const int64_t took = last == 0 ? nanos_of(about, prefix + "_exec_time_us") : 0;
  call.ended_ns = std::max(last, call.started_ns + took);
  return true;
}

}  // namespace

// A process may have several ranks, each with a device of its own.
ForeignProcess* InspectorReader::process_of(const std::string& name, uint64_t communicator,
                                            uint32_t rank) {
  for (int device = 0; device < params::foreign::kMostDevices; ++device) {
    ForeignProcess& process = processes_[name + " " + std::to_string(device)];
    const auto known = process.communicators.find(communicator);
    if (known == process.communicators.end() || known->second.first == rank) return &process;
  }
  return nullptr;
}

bool looks_like_inspector(const ForeignJson& line) {
  return line.is_object() && line.contains("header") && line.contains("metadata");
}

Result<void> InspectorReader::add(const ForeignJson& line) {
  try {
    const ForeignJson& header = line.at("header");
    const ForeignJson& metadata = line.at("metadata");
    const auto host = metadata.value("hostname", "unknown");
    const std::string pid = std::to_string(whole_number(metadata.at("pid")));
    const uint64_t communicator = number_of_name(header.at("id").get<std::string>());
    const auto rank = static_cast<uint32_t>(whole_number(header.at("rank")));
    const auto size = static_cast<uint32_t>(whole_number(header.at("n_ranks")));
    ForeignProcess* const found = process_of(host + " " + pid, communicator, rank);
    if (found == nullptr) {
      return fail(ErrorCode::kInvalid, "cannot read a line of NCCL Inspector",
                  fmt::format("process {} of {} would have more than {} devices", pid, host,
                              params::foreign::kMostDevices),
                  "give its files as they were written");
    }
    ForeignProcess& process = *found;
    if (process.identity.empty()) {
      process.identity = {{"host", host},
                          {"pid", pid},
                          {"source", "NCCL Inspector"},
                          {"command", "seen by NCCL Inspector"}};
    }
    process.communicators[communicator] = {rank, size};
    const std::string prefix = line.contains("p2p_perf") ? "p2p" : "coll";
    const ForeignJson& about = line.at(prefix + "_perf");
    const auto name = about.at(prefix).get<std::string>();
    const auto operation = operation_of(name);
    if (!operation) {
      ++process.left_out["an operation that is not known here: " + name];
      return {};
    }
    ForeignCall call;
    call.communicator = communicator;
    call.operation = *operation;
    call.number = whole_number(about.at(prefix + "_sn"));
    call.count = whole_number(about.at(prefix + "_msg_size_bytes"));
    if (*operation == Operation::kAlltoall) call.count /= std::max(1u, size);
    if (prefix == "p2p") call.root = static_cast<uint32_t>(whole_number(about.at("p2p_peer")));
    if (!take_times(about, prefix, call)) {
      ++without_times_;
      call.ended_ns = nanos_of(metadata, "dump_timestamp_us");
      const int64_t took = nanos_of(about, prefix + "_exec_time_us");
      call.made_ns = call.started_ns = std::max<int64_t>(0, call.ended_ns - took);
    }
    process.calls.push_back(call);
    return {};
  } catch (const ForeignJson::exception& error) {
    return fail(ErrorCode::kInvalid, "cannot read a line of NCCL Inspector", error.what(),
                "give its files as they were written");
  }
}

}  // namespace heddle::recordings
