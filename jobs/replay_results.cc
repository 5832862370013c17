// What processes of a replay saw: see replay_results.h. It travels as CBOR.
#include "jobs/replay_results.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error_code.h"

namespace heddle::jobs {
namespace {

using nlohmann::json;
using simulator::FlowOutcome;

// A process sends arrays of numbers; times in nanoseconds.
json step_row(const StepOutcome& step) {
  return {step.begun.count,    step.ended.count,   step.computed_most.count,
          step.computed.count, step.exposed.count, step.exposed_most.count,
          step.ranks_ended};
}

StepOutcome step_of(const json& row) {
  StepOutcome step;
  step.begun = nanos(row.at(0).get<int64_t>());
  step.ended = nanos(row.at(1).get<int64_t>());
  step.computed_most = nanos(row.at(2).get<int64_t>());
  step.computed = nanos(row.at(3).get<int64_t>());
  step.exposed = nanos(row.at(4).get<int64_t>());
  step.exposed_most = nanos(row.at(5).get<int64_t>());
  step.ranks_ended = row.at(6).get<uint32_t>();
  return step;
}

constexpr int kNone = -1;

json call_row(const CallOutcome& call) {
  return {static_cast<int>(call.call),
          call.algorithm ? static_cast<int>(*call.algorithm) : kNone,
          call.communicator,
          call.step,
          call.bytes,
          call.called.count,
          call.last_called.count,
          call.ended.count,
          call.ranks_ended};
}

// As numbers that a process may have sent wrong; at() and get() throw, and add_record() catches.
template <typename Enum>
Enum enum_of(const json& value, uint32_t count) {
  const auto number = value.get<uint32_t>();
  if (number >= count) throw json::other_error::create(501, "no such value", nullptr);
  return static_cast<Enum>(number);
}

CallOutcome call_of(const json& row) {
  CallOutcome call;
  call.call = enum_of<topology::CallKind>(row.at(0), topology::kCallKinds);
  if (row.at(1).get<int>() != kNone) {
    call.algorithm = enum_of<topology::CallAlgorithm>(row.at(1), topology::kCallAlgorithms);
  }
  call.communicator = row.at(2).get<uint32_t>();
  call.step = row.at(3).get<uint32_t>();
  call.bytes = row.at(4).get<uint64_t>();
  call.called = nanos(row.at(5).get<int64_t>());
  call.last_called = nanos(row.at(6).get<int64_t>());
  call.ended = nanos(row.at(7).get<int64_t>());
  call.ranks_ended = row.at(8).get<uint32_t>();
  return call;
}

void add_step(StepOutcome& all, const StepOutcome& one) {
  all.begun = std::min(all.begun, one.begun);
  all.ended = std::max(all.ended, one.ended);
  all.computed_most = std::max(all.computed_most, one.computed_most);
  all.computed += one.computed;
  all.exposed += one.exposed;
  all.exposed_most = std::max(all.exposed_most, one.exposed_most);
  all.ranks_ended += one.ranks_ended;
}

void add_call(CallOutcome& all, const CallOutcome& one) {
  const Nanos called = std::min(all.called, one.called);
  const Nanos last_called = std::max(all.last_called, one.last_called);
  const Nanos ended = std::max(all.ended, one.ended);
  const uint32_t ranks = all.ranks_ended + one.ranks_ended;
  all = one;
  all.called = called;
  all.last_called = last_called;
  all.ended = ended;
  all.ranks_ended = ranks;
}

void add_job(const json& reported, JobOutcome& all) {
  const json& steps = reported.at("steps");
  if (all.steps.size() < steps.size()) all.steps.resize(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) add_step(all.steps[i], step_of(steps[i]));
  const json& communicators = reported.at("calls");
  for (size_t i = 0; i < communicators.size(); ++i) {
    std::vector<CallOutcome>& calls = all.calls.at(i);
    if (calls.size() < communicators[i].size()) calls.resize(communicators[i].size());
    for (size_t k = 0; k < communicators[i].size(); ++k) {
      CallOutcome call = call_of(communicators[i][k]);
      call.communicator = static_cast<uint32_t>(i);
      add_call(calls[k], call);
    }
  }
  all.messages += reported.at("messages").get<uint64_t>();
  all.message_bytes += reported.at("message_bytes").get<uint64_t>();
  all.ranks_done += reported.at("ranks_done").get<uint32_t>();
  const Nanos failed_at = nanos(reported.at("failed_at").get<int64_t>());
  if (failed_at < all.failed_at) {
    all.failed_at = failed_at;
    all.error = reported.at("error").get<std::string>();
  }
}

json flow_row(uint32_t flow, const FlowOutcome& outcome) {
  return {flow,
          outcome.started.count,
          outcome.received.count,
          outcome.acked.count,
          outcome.handshake.count,
          outcome.failed,
          static_cast<int>(outcome.error)};
}

// Sender and receiver each report a part of the same flow.
void add_flow(const json& row, std::vector<FlowOutcome>& flows) {
  FlowOutcome& flow = flows.at(row.at(0).get<size_t>());
  flow.started = std::min(flow.started, nanos(row.at(1).get<int64_t>()));
  flow.received = std::min(flow.received, nanos(row.at(2).get<int64_t>()));
  flow.acked = std::min(flow.acked, nanos(row.at(3).get<int64_t>()));
  flow.handshake = std::max(flow.handshake, nanos(row.at(4).get<int64_t>()));
  if (!row.at(5).get<bool>()) return;
  flow.failed = true;
  flow.error = enum_of<ErrorCode>(row.at(6), kErrorCodes);
}

std::string packed(json record, const ReplayCounts& counts) {
  record["segments"] = {counts.segments_sent, counts.segments_retransmitted};
  const std::vector<uint8_t> bytes = json::to_cbor(record);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

ReplayResults::ReplayResults(const topology::Workload& workload)
    : jobs(workload.jobs.size()), flows(workload.flows.size()) {
  for (size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].calls.resize(workload.jobs[i].communicators.size());
  }
}

std::string record_of_job(uint32_t job, const JobOutcome& outcome, const ReplayCounts& counts) {
  json steps = json::array();
  for (const StepOutcome& step : outcome.steps) steps.push_back(step_row(step));
  json communicators = json::array();
  for (const auto& calls : outcome.calls) {
    json rows = json::array();
    for (const CallOutcome& call : calls) rows.push_back(call_row(call));
    communicators.push_back(std::move(rows));
  }
  return packed({{"job", job},
                 {"steps", std::move(steps)},
                 {"calls", std::move(communicators)},
                 {"messages", outcome.messages},
                 {"message_bytes", outcome.message_bytes},
                 {"ranks_done", outcome.ranks_done},
                 {"error", outcome.error},
                 {"failed_at", outcome.failed_at.count}},
                counts);
}

std::string record_of_flows(const topology::Workload& workload, uint32_t host,
                            std::span<const FlowOutcome> outcomes, const ReplayCounts& counts) {
  json rows = json::array();
  for (uint32_t i = 0; i < outcomes.size(); ++i) {
    const topology::Flow& flow = workload.flows[i];
    if (flow.from == host || flow.to == host) rows.push_back(flow_row(i, outcomes[i]));
  }
  return packed({{"flows", std::move(rows)}}, counts);
}

Result<void> add_record(const topology::Workload& workload, const std::string& record,
                        ReplayResults& results) {
  try {
    const json all = json::from_cbor(record);
    results.counts.segments_sent += all.at("segments").at(0).get<uint64_t>();
    results.counts.segments_retransmitted += all.at("segments").at(1).get<uint64_t>();
    if (all.contains("flows")) {
      for (const json& row : all["flows"]) add_flow(row, results.flows);
      return {};
    }
    const auto job = all.at("job").get<size_t>();
    if (job < workload.jobs.size()) {
      add_job(all, results.jobs[job]);
      return {};
    }
  } catch (const std::exception&) {
    // reported below
  }
  return fail(ErrorCode::kInvalid, "cannot put the results together",
              "a process sent a malformed record", "run the same heddle everywhere");
}

}  // namespace heddle::jobs
