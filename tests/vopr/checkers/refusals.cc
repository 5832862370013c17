// Drop reasons that a run without an adversary must not have: see refusals.h.
#include "tests/vopr/checkers/refusals.h"

#include <algorithm>
#include <string>

#include "transport/send/receive_quota.h"

namespace heddle::vopr {

using events::DropReason;

namespace {

// Whether the memory suffices for the eager blocks promised to all connections.
bool has_eager_memory_for_all(const Options& options, const Ledger& ledger) {
  for (uint32_t host = 0; host < options.hosts.size(); ++host) {
    const transport::EndpointOptions& endpoint = options.hosts[host].endpoint;
    const auto sides = std::count_if(ledger.sides().begin(), ledger.sides().end(),
                                     [host](const auto& side) { return side->host == host; });
    const uint64_t promised = static_cast<uint64_t>(sides) * endpoint.eager_blocks;
    if (endpoint.eager_bytes.count / endpoint.eager_block_bytes < promised) return false;
  }
  return true;
}

// A control packet received in one GRO batch after data with a predicted placement is truncated.
bool may_cut_short(const Options& options) {
  return std::any_of(options.hosts.begin(), options.hosts.end(),
                     [](const HostOptions& host) { return host.coalesces && host.predicts; });
}

}  // namespace

void judge_capacity(const Options& options, const simulator::FateCounts& fates, Report& report) {
  const WorkloadOptions& workload = options.workload;
  const FaultOptions& faults = options.faults;
  const bool lone = options.hosts.size() == 2 && workload.conversations == 1 &&
                    workload.reconnects == 0 && !options.chunks.placed() &&
                    faults.hostile_packets == 0 && !faults.byzantine.there() && faults.crashes == 0;
  // Packets that are in no sender's count: duplicates, and what was declared lost but is held back
  // by the network or waits in the socket of a paused host, while its retransmission is in flight.
  const bool counted = faults.steady.duplicate_per_million == 0 &&
                       faults.steady.reorder_per_million == 0 && faults.pauses == 0;
  // Above a round trip of kServiceInterval, the sender's quota assumes that the receiver reads its
  // socket within kServiceInterval. A caller that is away does not until the helper thread takes
  // over, some ms later: what arrives meanwhile is retransmitted.
  const bool prompt = faults.idles == 0 &&
                      std::all_of(options.hosts.begin(), options.hosts.end(), [](const auto& host) {
                        return host.wake_delay_most <= transport::ReceiveQuota::kServiceInterval;
                      });
  const uint64_t full = fates[simulator::Fate::kReceiveQueueFull];
  if (lone && counted && prompt && full > 0) {
    report.fail(std::to_string(full) + " packets of a lone sender found a full socket");
  }
}

void judge_refusals(const Options& options, const Ledger& ledger,
                    const events::CountingSink& events, Report& report) {
  if (options.faults.hostile_packets > 0 || options.faults.byzantine.there()) return;
  const auto forbid = [&](DropReason reason) {
    const uint64_t count = events.count(reason);
    if (count == 0) return;
    report.fail(std::to_string(count) + " packets were dropped as '" +
                std::string(events::name_of(reason)) +
                "', which nobody sends who keeps to the rules");
  };
  forbid(DropReason::kOverWindow);
  if (!may_cut_short(options)) forbid(DropReason::kBadField);
  forbid(DropReason::kBadLength);
  forbid(DropReason::kBadType);
  // A chunk may arrive for a receive that is over.
  if (!options.chunks.placed()) forbid(DropReason::kNoReceive);
  if (has_eager_memory_for_all(options, ledger)) forbid(DropReason::kOverEager);
}

}  // namespace heddle::vopr
