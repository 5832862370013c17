// Writes options as text, table by table: see options.h.
#include <string>
#include <string_view>

#include "tests/vopr/options.h"

namespace heddle::vopr {
namespace {

class Table {
 public:
  Table(std::string& text, std::string_view name) : text_(text) {
    text_ += "[" + std::string(name) + "]\n";
  }

  void add(std::string_view key, uint64_t value) { line(key, std::to_string(value)); }
  void add(std::string_view key, bool value) { line(key, value ? "true" : "false"); }
  void add(std::string_view key, Bytes value) { line(key, std::to_string(value.count)); }
  void add(std::string_view key, BitsPerSec value) { line(key, std::to_string(value.count)); }
  void add(std::string_view key, Nanos value) { line(key, std::to_string(value.count)); }
  void add(std::string_view key, const std::string& value) { line(key, '"' + value + '"'); }

 private:
  void line(std::string_view key, const std::string& value) {
    text_ += std::string(key) + " = " + value + "\n";
  }

  std::string& text_;
};

const char* name_of(FabricShape shape) {
  switch (shape) {
    case FabricShape::kPointToPoint:
      return "point_to_point";
    case FabricShape::kParallelPaths:
      return "parallel_paths";
    case FabricShape::kLeafSpine:
      return "leaf_spine";
  }
  return "?";
}

void write(std::string& text, const FabricOptions& fabric) {
  Table table(text, "fabric");
  table.add("shape", std::string(name_of(fabric.shape)));
  table.add("parallel_paths", uint64_t{fabric.parallel_paths});
  table.add("leaves", uint64_t{fabric.leaves});
  table.add("spines", uint64_t{fabric.spines});
  table.add("hosts_per_leaf", uint64_t{fabric.hosts_per_leaf});
  table.add("hash_seed", fabric.hash_seed);
  table.add("host_rate_bits_per_s", fabric.host_rate);
  table.add("fabric_rate_bits_per_s", fabric.fabric_rate);
  table.add("host_delay_ns", fabric.host_delay);
  table.add("fabric_delay_ns", fabric.fabric_delay);
  table.add("queue_bytes", fabric.queue);
  table.add("ecn_threshold_bytes", fabric.ecn_threshold);
  table.add("host_mtu_bytes", uint64_t{fabric.host_mtu});
  table.add("fabric_mtu_bytes", uint64_t{fabric.fabric_mtu});
  table.add("nic_queue_bytes", fabric.nic_queue);
  table.add("ecn_ramp_bytes", fabric.ecn_ramp);
  table.add("ecn_ramp_per_million", uint64_t{fabric.ecn_ramp_per_million});
  table.add("shared_packets", uint64_t{fabric.shared_packets});
  table.add("alpha", uint64_t{fabric.switches.alpha});
  table.add("alpha_divisor", uint64_t{fabric.switches.alpha_divisor});
  table.add("reserve_bytes", fabric.switches.reserve);
  table.add("trimming", fabric.switches.trims);
  table.add("lossless", fabric.switches.lossless);
  table.add("lossless_packets", uint64_t{fabric.lossless_packets});
  table.add("some_switches_plain", fabric.some_switches_plain);
  table.add("reports_errors", fabric.reports_errors);
  table.add("time_exceeded_apart_ns", fabric.time_exceeded_apart);
  table.add("silent_switch", fabric.silent_switch);
  table.add("further_nics", uint64_t{fabric.further_nics});
  table.add("one_rail", fabric.one_rail);
}

void write(std::string& text, const ChunkOptions& chunks) {
  Table table(text, "chunks");
  table.add("shape", std::string(name_of(chunks.shape)));
  table.add("bytes", uint64_t{chunks.bytes});
  table.add("events", uint64_t{chunks.events});
  table.add("fence_takes_ns", chunks.fence_takes);
  table.add("repeat_after_ns", chunks.repeat_after);
  table.add("tries", uint64_t{chunks.tries});
  table.add("stall_every", uint64_t{chunks.stall_every});
  table.add("stall_for_ns", chunks.stall_for);
}

void write(std::string& text, const FaultOptions& faults) {
  Table table(text, "faults");
  table.add("loss_per_million", uint64_t{faults.steady.loss_per_million});
  table.add("duplicate_per_million", uint64_t{faults.steady.duplicate_per_million});
  table.add("corrupt_header_per_million", uint64_t{faults.steady.corrupt_header_per_million});
  table.add("corrupt_payload_per_million", uint64_t{faults.steady.corrupt_payload_per_million});
  table.add("reorder_per_million", uint64_t{faults.steady.reorder_per_million});
  table.add("reorder_min_ns", faults.steady.reorder_min);
  table.add("reorder_max_ns", faults.steady.reorder_max);
  table.add("steady_everywhere", faults.steady_everywhere);
  table.add("bursts", uint64_t{faults.bursts});
  table.add("burst_most_ns", faults.burst_most);
  table.add("outages", uint64_t{faults.outages});
  table.add("outage_most_ns", faults.outage_most);
  table.add("outages_noticed", faults.outages_noticed);
  table.add("one_stays", faults.one_stays);
  table.add("rate_changes", uint64_t{faults.rate_changes});
  table.add("pauses", uint64_t{faults.pauses});
  table.add("pause_most_ns", faults.pause_most);
  table.add("idles", uint64_t{faults.idles});
  table.add("idle_most_ns", faults.idle_most);
  table.add("crashes", uint64_t{faults.crashes});
  table.add("down_most_ns", faults.down_most);
  table.add("crash_with_host", faults.crash_with_host);
  table.add("hostile_packets", uint64_t{faults.hostile_packets});
  table.add("foreign_peer", faults.foreign_peer);
  const ByzantineOptions& byzantine = faults.byzantine;
  table.add("byzantine_steps", uint64_t{byzantine.steps});
  table.add("byzantine_connections", uint64_t{byzantine.connections});
  table.add("byzantine_asked", uint64_t{byzantine.asked});
  table.add("byzantine_posted", uint64_t{byzantine.posted});
  table.add("byzantine_half_open", byzantine.half_open);
  table.add("byzantine_abandons", byzantine.abandons);
  table.add("byzantine_guesses", byzantine.guesses);
  table.add("byzantine_forges", byzantine.forges);
  table.add("byzantine_vanishes", byzantine.vanishes);
}

void write(std::string& text, const WorkloadOptions& workload) {
  Table table(text, "workload");
  table.add("virtual_memory", workload.virtual_memory);
  table.add("conversations", uint64_t{workload.conversations});
  table.add("reconnects", uint64_t{workload.reconnects});
  table.add("channels", uint64_t{workload.channels});
  table.add("messages", uint64_t{workload.messages});
  table.add("message_most_bytes", workload.message_most);
  table.add("total_most_bytes", workload.bytes_most);
  table.add("sends_ahead", uint64_t{workload.sends_ahead});
  table.add("receives_ahead", uint64_t{workload.receives_ahead});
  table.add("receive_eagerness_percent", uint64_t{workload.receive_eagerness});
  table.add("act_every_ns", workload.act_every);
  table.add("cancel_per_thousand", uint64_t{workload.cancel_per_thousand});
  table.add("truncate_per_thousand", uint64_t{workload.truncate_per_thousand});
  table.add("close_per_thousand", uint64_t{workload.close_per_thousand});
  table.add("abort_per_thousand", uint64_t{workload.abort_per_thousand});
  table.add("misuse_per_thousand", uint64_t{workload.misuse_per_thousand});
}

void write(std::string& text, const HostOptions& host) {
  Table table(text, "[host]");
  const transport::EndpointOptions& endpoint = host.endpoint;
  table.add("accept", endpoint.accept);
  table.add("max_paths", uint64_t{endpoint.max_paths});
  table.add("default_paths", uint64_t{endpoint.default_paths});
  table.add("connect_paths", uint64_t{host.connect_paths});
  table.add("chunk_paths", uint64_t{host.chunk_paths});
  table.add("receive_capacity_bytes", endpoint.receive_capacity);
  table.add("congestion", endpoint.congestion);
  table.add("receive_rate_bits_per_s", endpoint.receive_rate.count);
  table.add("selector", endpoint.selector);
  table.add("discovers", endpoint.discovery == transport::DiscoveryMode::kAuto);
  table.add("window_limit_bytes", endpoint.window_limit);
  table.add("peer_dead_after_ns", endpoint.peer_dead_after);
  table.add("handshake_timeout_ns", endpoint.handshake_timeout);
  table.add("close_timeout_ns", endpoint.close_timeout);
  table.add("max_connections", uint64_t{endpoint.max_connections});
  table.add("max_channels", uint64_t{endpoint.max_channels});
  table.add("max_posted", uint64_t{endpoint.max_posted});
  table.add("eager_block_bytes", uint64_t{endpoint.eager_block_bytes});
  table.add("eager_blocks", uint64_t{endpoint.eager_blocks});
  table.add("eager_bytes", endpoint.eager_bytes);
  table.add("max_sent_runs", uint64_t{endpoint.max_sent_runs});
  table.add("keys", uint64_t{endpoint.keys.size()});
  table.add("packets_a_key", endpoint.packets_a_key);
  table.add("protection", std::string(name_of(endpoint.protection)));
  table.add("unsealed_chunks", endpoint.unsealed_chunks);
  table.add("socket_bytes", host.socket_bytes);
  table.add("coalesces", host.coalesces);
  table.add("drops_gso_bursts", host.drops_gso_bursts);
  table.add("predicts", host.predicts);
  table.add("timestamps", host.timestamps);
  table.add("ecn", host.ecn);
  table.add("clock_offset_ns", host.clock_offset);
  table.add("turn_time_ns", host.turn_time);
  table.add("wake_delay_most_ns", host.wake_delay_most);
}

}  // namespace

const char* name_of(PayloadShape shape) {
  switch (shape) {
    case PayloadShape::kDatagrams:
      return "datagrams";
    case PayloadShape::kUnreliableChunks:
      return "unreliable_chunks";
    case PayloadShape::kReliableChunks:
      return "reliable_chunks";
  }
  return "?";
}

std::string to_text(const Options& options) {
  std::string text;
  text += "seed = " + std::to_string(options.seed) + "\n";
  text += "faults_for_ns = " + std::to_string(options.faults_for.count) + "\n";
  text += "idle_for_ns = " + std::to_string(options.idle_for.count) + "\n";
  write(text, options.fabric);
  write(text, options.chunks);
  write(text, options.faults);
  write(text, options.workload);
  for (const HostOptions& host : options.hosts) write(text, host);
  return text;
}

}  // namespace heddle::vopr
