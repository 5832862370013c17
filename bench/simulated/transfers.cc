// Transfers: see transfers.h.
#include "bench/simulated/transfers.h"

#include <algorithm>
#include <memory>

namespace heddle::bench {
namespace {

constexpr Nanos kLookEvery = millis(1);
constexpr int kLooksAnInterval = 20;
constexpr uint16_t kFirstPort = 5000;
constexpr uint16_t kPortsAFlow = 300;  // an endpoint sends from up to 256 ports

struct Watched {
  std::unique_ptr<BulkFlow> flow;
  uint64_t bytes_before = 0;
  uint64_t bytes = 0;
  uint64_t messages = 0;
  uint64_t silent_ms = 0;
  TransferResult result;
};

void look(Watched& watched, int number) {
  const uint64_t now = watched.flow->payload_bytes_received();
  const uint64_t more = now - std::min(now, watched.bytes);
  TransferResult& result = watched.result;
  const uint64_t messages = watched.flow->messages_received();
  watched.silent_ms = messages == watched.messages ? watched.silent_ms + 1 : 0;
  watched.messages = messages;
  result.longest_gap_ms = std::max(result.longest_gap_ms, watched.silent_ms);
  if (number % kLooksAnInterval == 0) result.interval_bytes.push_back(0);
  result.interval_bytes.back() += more;
  watched.bytes = std::max(watched.bytes, now);
}

TransferResult finish(Watched& watched, Nanos span) {
  TransferResult& result = watched.result;
  result.goodput_mbits_per_s = static_cast<double>(watched.bytes - watched.bytes_before) * 8e3 /
                               static_cast<double>(span.count);
  result.messages_failed = watched.flow->messages_failed();
  if (const transport::ConnectionStatistics* sender = watched.flow->sender()) {
    result.segments_sent = sender->segments_sent;
    result.segments_retransmitted = sender->segments_retransmitted;
    result.segments_retransmitted_spuriously = sender->segments_retransmitted_spuriously;
    result.segment_bytes = sender->segment_bytes;
    result.smoothed_rtt_us = to_micros(sender->smoothed_rtt);
    result.window_bytes = sender->window_bytes;
  }
  return result;
}

// A host's queue is as long as its own link's, as its queueing discipline in the lab is.
Bytes shortest_host_queue(const topology::Topology& topology) {
  Bytes shortest = simulator::NetworkOptions{}.nic_queue;
  for (const topology::Link& link : topology.links) {
    const bool of_host =
        link.a.kind == topology::NodeKind::kNic || link.b.kind == topology::NodeKind::kNic;
    if (of_host) shortest = std::min(shortest, link.shape.queue);
  }
  return shortest;
}

}  // namespace

std::vector<TransferResult> run_transfers(const topology::Topology& topology,
                                          const TransferOptions& options) {
  simulator::World world({.topology = topology,
                          .network = {.nic_queue = shortest_host_queue(topology)},
                          .changes = {}},
                         options.seed);
  std::vector<Watched> all(options.flows.size());
  for (size_t i = 0; i < all.size(); ++i) {
    BulkFlowOptions flow = options.flow;
    flow.from = options.flows[i].from;
    flow.to = options.flows[i].to;
    flow.port = static_cast<uint16_t>(kFirstPort + i * kPortsAFlow);
    all[i].flow = std::make_unique<BulkFlow>(world, flow);
  }
  world.run_for(options.warm_up);
  for (Watched& each : all) {
    each.bytes = each.bytes_before = each.flow->payload_bytes_received();
  }
  const int looks = static_cast<int>(options.span.count / kLookEvery.count);
  for (int number = 0; number < looks; ++number) {
    world.run_for(kLookEvery);
    for (Watched& each : all) look(each, number);
  }
  std::vector<TransferResult> results;
  for (Watched& each : all) results.push_back(finish(each, options.span));
  return results;
}

}  // namespace heddle::bench
