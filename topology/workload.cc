// Validation of workloads: see workload.h.
#include "topology/workload.h"

#include <algorithm>
#include <string>
#include <utility>

namespace heddle::topology {
namespace {

Unexpected wrong(const Flow& flow, const std::string& why, const std::string& todo) {
  return fail(ErrorCode::kInvalid, "flow " + std::to_string(flow.id) + " makes no sense", why,
              todo);
}

Result<void> check(const Flow& flow, const Workload& workload, size_t hosts) {
  const uint32_t last = std::max(flow.from, flow.to);
  if (last >= hosts) {
    return wrong(
        flow,
        "it names host " + std::to_string(last) + ", and the topology has " + std::to_string(hosts),
        "hosts count from 0; use a topology with more of them");
  }
  if (flow.from == flow.to) return wrong(flow, "its host sends to itself", "name two hosts");
  if (flow.bytes.count == 0 || flow.bytes.count > kMaxFlowBytes) {
    return wrong(flow, "its size is " + std::to_string(flow.bytes.count) + " bytes",
                 "give 1 byte to 65,535 GiB");
  }
  for (const uint32_t trigger : {flow.waits_for, flow.when_sent, flow.when_received}) {
    if (trigger != kNoTrigger && trigger >= workload.triggers.size()) {
      return wrong(flow, "it names a trigger that is not there", "declare the trigger");
    }
  }
  return {};
}

}  // namespace

Result<void> validate(const Workload& workload, const Topology& topology) {
  if (workload.flows.empty() && workload.jobs.empty()) {
    return fail(ErrorCode::kInvalid, "the workload makes no sense", "it has no flows and no jobs",
                "add a [[job]] or a [[flow]]");
  }
  std::vector<uint64_t> ids;
  std::vector<std::pair<uint64_t, uint32_t>> pairs;  // (from, to), and a flow's number of messages
  ids.reserve(workload.flows.size());
  pairs.reserve(workload.flows.size());
  for (const Flow& flow : workload.flows) {
    if (Result<void> sound = check(flow, workload, topology.hosts.size()); !sound) return sound;
    ids.push_back(flow.id);
    pairs.push_back({uint64_t{flow.from} << 32 | flow.to, messages_of(flow.bytes)});
  }
  std::sort(ids.begin(), ids.end());
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice != ids.end()) {
    return fail(ErrorCode::kInvalid, "the workload makes no sense",
                "two flows have the id " + std::to_string(*twice), "give each its own");
  }
  std::sort(pairs.begin(), pairs.end());
  uint64_t messages = 0;  // of the current pair
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (i > 0 && pairs[i].first != pairs[i - 1].first) messages = 0;
    messages += pairs[i].second;
    if (messages <= kMaxMessagesOfPair) continue;
    return fail(ErrorCode::kInvalid, "the workload makes no sense",
                "one host sends another more than " + std::to_string(kMaxMessagesOfPair) +
                    " messages (a flow is one for each GiB)",
                "use fewer and larger flows, of up to 1 GiB");
  }
  for (const Job& job : workload.jobs) {
    if (Result<void> sound = validate(job, topology); !sound) return sound;
  }
  for (const uint32_t link : workload.failed_links) {
    if (link < topology.links.size()) continue;
    return fail(ErrorCode::kInvalid, "the workload makes no sense",
                "it names a failed link that is not there", "use it with its own topology");
  }
  return {};
}

}  // namespace heddle::topology
