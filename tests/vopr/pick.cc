// Derives options from a seed. The seed enables and disables kinds of faults and behaviors, so that
// runs differ in kind and not only in degree; extremes are as likely as middle values.
#include <algorithm>
#include <initializer_list>

#include "base/random.h"
#include "tests/vopr/options.h"
#include "transport/names.h"
#include "transport/wire/handshake.h"

namespace heddle::vopr {
namespace {

template <typename T>
T one_of(Random& random, std::initializer_list<T> choices) {
  return *(choices.begin() + random.below(choices.size()));
}

bool percent(Random& random, uint32_t chance) { return random.below(100) < chance; }

Nanos between(Random& random, Nanos low, Nanos high) {
  return nanos(static_cast<int64_t>(
      random.between(static_cast<uint64_t>(low.count), static_cast<uint64_t>(high.count))));
}

// Later names are drawn separately.
constexpr size_t kControllersDrawn = 3;
// "plan", the last of the table, is "reps" until a plan is posted.
constexpr size_t kSelectorsDrawn = 3;

FabricOptions pick_fabric(Random& random) {
  FabricOptions fabric;
  fabric.shape = one_of(
      random, {FabricShape::kPointToPoint, FabricShape::kParallelPaths, FabricShape::kLeafSpine});
  fabric.parallel_paths = static_cast<uint32_t>(random.between(1, 8));
  fabric.leaves = static_cast<uint32_t>(random.between(1, 3));
  fabric.spines = static_cast<uint32_t>(random.between(1, 4));
  fabric.hosts_per_leaf = fabric.leaves == 1 ? static_cast<uint32_t>(random.between(2, 4))
                                             : static_cast<uint32_t>(random.between(1, 2));
  fabric.hash_seed = random.next();
  const uint64_t megabits = one_of<uint64_t>(random, {200, 1'000, 10'000, 25'000, 100'000});
  fabric.host_rate = megabits_per_s(megabits);
  fabric.fabric_rate = megabits_per_s(one_of<uint64_t>(random, {megabits, megabits, megabits / 4}));
  fabric.host_delay = one_of(random, {nanos(200), micros(1), micros(5)});
  fabric.fabric_delay = one_of(random, {nanos(500), micros(2), micros(10), micros(50), millis(1)});
  fabric.queue = one_of(random, {kibibytes(32), kibibytes(128), mebibytes(1), mebibytes(16)});
  if (percent(random, 40)) {
    fabric.ecn_threshold = one_of(random, {Bytes{0}, kibibytes(16), kibibytes(64)});
  }
  fabric.host_mtu = one_of(random, {1500u, 4096u, 9000u});
  fabric.fabric_mtu = percent(random, 25) ? one_of(random, {1280u, 1500u}) : fabric.host_mtu;
  fabric.nic_queue = one_of(random, {kibibytes(16), kibibytes(64), kibibytes(256)});
  fabric.reports_errors = percent(random, 80);
  return fabric;
}

topology::LinkFaults pick_steady(Random& random) {
  topology::LinkFaults faults;
  const auto rate = [&random] { return one_of(random, {500u, 5'000u, 20'000u, 80'000u}); };
  if (percent(random, 45)) faults.loss_per_million = rate();
  if (percent(random, 20)) faults.duplicate_per_million = rate();
  if (percent(random, 15)) faults.corrupt_header_per_million = rate();
  if (percent(random, 15)) faults.corrupt_payload_per_million = rate();
  if (percent(random, 25)) {
    faults.reorder_per_million = one_of(random, {1'000u, 30'000u, 300'000u});
    faults.reorder_min = one_of(random, {nanos(100), micros(5), micros(200)});
    faults.reorder_max = faults.reorder_min * one_of<int64_t>(random, {1, 3, 30});
  }
  return faults;
}

FaultOptions pick_faults(Random& random, bool long_run) {
  FaultOptions faults;
  if (percent(random, 15)) return faults;
  faults.steady = pick_steady(random);
  faults.steady_everywhere = percent(random, 60);
  const auto few = [&random] { return static_cast<uint32_t>(random.between(1, 4)); };
  if (percent(random, 20)) faults.bursts = few();
  faults.burst_most = one_of(random, {micros(100), millis(1), millis(10)});
  if (percent(random, 30)) faults.outages = few();
  faults.outage_most = one_of(random, {micros(500), millis(10), millis(200)});
  if (long_run && percent(random, 50)) faults.outage_most = seconds(8);
  faults.outages_noticed = percent(random, 30);
  if (percent(random, 15)) faults.rate_changes = few();
  if (percent(random, 20)) faults.pauses = few();
  faults.pause_most = one_of(random, {millis(1), millis(20), millis(400)});
  if (long_run && percent(random, 50)) faults.pause_most = seconds(7);
  if (percent(random, 25)) faults.idles = few();
  faults.idle_most = one_of(random, {millis(8), millis(50)});
  if (long_run && percent(random, 50)) faults.idle_most = seconds(6);
  if (percent(random, 15)) faults.crashes = static_cast<uint32_t>(random.between(1, 2));
  faults.down_most = one_of(random, {micros(100), millis(20), millis(500)});
  if (long_run && percent(random, 50)) faults.down_most = seconds(8);
  faults.crash_with_host = percent(random, 40);
  if (percent(random, 25)) faults.hostile_packets = one_of(random, {20u, 200u});
  faults.foreign_peer = percent(random, 5);
  return faults;
}

WorkloadOptions pick_workload(Random& random, uint32_t hosts) {
  WorkloadOptions workload;
  workload.virtual_memory = percent(random, 50);
  workload.conversations = static_cast<uint32_t>(random.between(1, hosts == 2 ? 2 : 6));
  workload.reconnects = percent(random, 30) ? static_cast<uint32_t>(random.between(1, 4)) : 0;
  workload.channels = one_of<uint16_t>(random, {1, 1, 2, 4, 8});
  workload.messages = one_of(random, {3u, 10u, 30u, 100u});
  workload.message_most =
      one_of<uint64_t>(random, {0, 200, 4'000, 20'000, 200'000, 1 << 20, 8 << 20});
  workload.bytes_most = one_of<uint64_t>(random, {1 << 16, 1 << 20, 4 << 20});
  if (workload.virtual_memory)
    workload.bytes_most = std::max(workload.bytes_most, workload.message_most);
  workload.sends_ahead = one_of(random, {1u, 4u, 16u, 64u});
  workload.receives_ahead = one_of(random, {1u, 4u, 16u, 64u});
  workload.receive_eagerness = one_of(random, {10u, 50u, 90u});
  workload.act_every = one_of(random, {micros(1), micros(20), micros(300)});
  if (percent(random, 30)) workload.cancel_per_thousand = one_of(random, {5u, 50u, 200u});
  if (percent(random, 30)) workload.truncate_per_thousand = one_of(random, {20u, 300u});
  if (percent(random, 20)) workload.close_per_thousand = one_of(random, {2u, 20u});
  if (percent(random, 15)) workload.abort_per_thousand = one_of(random, {2u, 20u});
  if (percent(random, 30)) workload.misuse_per_thousand = 20;
  return workload;
}

ChunkOptions pick_chunks(Random& random) {
  ChunkOptions chunks;
  chunks.shape = one_of(random, {PayloadShape::kDatagrams, PayloadShape::kDatagrams,
                                 PayloadShape::kUnreliableChunks, PayloadShape::kReliableChunks});
  chunks.bytes = one_of(random, {4096u, 16'384u, 65'536u});
  chunks.events = one_of(random, {1024u, 1024u, 8u});
  chunks.fence_takes = one_of(random, {micros(1), micros(10), millis(1)});
  chunks.repeat_after = one_of(random, {micros(500), millis(4)});
  chunks.tries = one_of(random, {2u, 7u});
  return chunks;
}

void pick_stalls(Options& options) {
  Random random(options.seed ^ 0x7374616c6c);
  if (!options.chunks.placed() || !percent(random, 40)) return;
  options.chunks.stall_every = one_of(random, {8u, 64u});
  options.chunks.stall_for = one_of(random, {millis(5), millis(30)});
}

// All hosts hold keys, not always in the same order, as during a key rotation.
void pick_keys(Random& random, Options& options) {
  transport::ClusterKey first;
  transport::ClusterKey second;
  for (std::byte& byte : first.secret) byte = static_cast<std::byte>(random.below(256));
  for (std::byte& byte : second.secret) byte = static_cast<std::byte>(random.below(256));
  const bool rotates = percent(random, 30);
  const auto packets = one_of<uint64_t>(random, {uint64_t{1} << 22, 2'000, 100});
  const bool unsealed_chunks = percent(random, 50);
  for (HostOptions& host : options.hosts) {
    const bool ahead = rotates && percent(random, 50);
    host.endpoint.keys = {ahead ? second : first};
    if (rotates) host.endpoint.keys.push_back(ahead ? first : second);
    host.endpoint.packets_a_key = packets;
    host.endpoint.unsealed_chunks = unsealed_chunks;
  }
  // Drawn last, so that earlier options of a seed stay the same.
  if (!percent(random, 40)) return;
  for (HostOptions& host : options.hosts)
    host.endpoint.protection = transport::Protection::kHeaders;
}

// Hosts with path discovery; switches may reply rarely, or one not at all.
void pick_discovery(Random& random, Options& options) {
  for (HostOptions& host : options.hosts) {
    host.endpoint.discovery =
        percent(random, 80) ? transport::DiscoveryMode::kAuto : transport::DiscoveryMode::kNever;
    const auto paths = one_of<uint16_t>(random, {8, 16, 64});
    host.endpoint.default_paths = std::min(paths, host.endpoint.max_paths);
    host.connect_paths = 0;
  }
  const bool has_switch = options.fabric.shape != FabricShape::kPointToPoint;
  options.fabric.silent_switch = has_switch && percent(random, 15);
  if (percent(random, 20)) {
    options.fabric.time_exceeded_apart = one_of(random, {micros(200), millis(20)});
  }
}

// Hosts with several NICs; some use only the first.
void pick_nics(Random& random, Options& options) {
  FabricOptions& fabric = options.fabric;
  fabric.further_nics = static_cast<uint32_t>(random.between(1, 3));
  fabric.one_rail = percent(random, 30);
  const auto hosts = static_cast<uint32_t>(options.hosts.size());
  for (uint32_t host = 0; host < hosts; ++host) {
    if (percent(random, 15)) continue;
    std::vector<uint32_t>& further = options.hosts[host].further_nics;
    for (uint32_t rank = 1; rank <= fabric.further_nics; ++rank) {
      further.push_back(rank * hosts + host);
    }
    // In a different order, or with one missing.
    if (percent(random, 15)) std::reverse(further.begin(), further.end());
    if (percent(random, 15)) further.pop_back();
  }
}

// The buffers of switches.
void pick_queues(Random& random, FabricOptions& fabric) {
  if (percent(random, 50)) {
    fabric.ecn_threshold = one_of(random, {kibibytes(4), kibibytes(16), kibibytes(64)});
    fabric.ecn_ramp = one_of(random, {kibibytes(8), kibibytes(64), mebibytes(1)});
    fabric.ecn_ramp_per_million = one_of(random, {10'000u, 100'000u, 1'000'000u});
  }
  if (percent(random, 25)) return;
  topology::SwitchShape& switches = fabric.switches;
  fabric.some_switches_plain = percent(random, 15);
  if (percent(random, 60)) {
    switches.lossless = true;
    fabric.lossless_packets = one_of(random, {3u, 3u, 10u, 50u});
    return;
  }
  fabric.shared_packets = one_of(random, {2u, 4u, 16u, 200u});
  switches.alpha = one_of(random, {1u, 1u, 8u});
  switches.alpha_divisor = one_of(random, {1u, 2u});
  // A port's share of the memory holds a packet and its reserve.
  if (percent(random, 30)) switches.reserve = {fabric.host_mtu + 64};
  switches.trims = percent(random, 50);
}

// Many hosts send much data at once, over links with loss but without duplication or reordering:
// queues grow, and lossless switches must pause senders.
void pick_crowd(Random& random, Options& options) {
  FaultOptions& faults = options.faults;
  faults.steady.duplicate_per_million = faults.steady.reorder_per_million = 0;
  faults.outages = faults.rate_changes = 0;
  options.faults_for = std::min(options.faults_for, millis(20));
  options.fabric.fabric_mtu = options.fabric.host_mtu;
  options.fabric.host_delay = one_of(random, {nanos(200), micros(1)});
  options.fabric.fabric_delay = one_of(random, {nanos(500), micros(2)});
  if (percent(random, 50)) {
    options.fabric.fabric_rate = {options.fabric.host_rate.count / 4};
  }
  for (HostOptions& host : options.hosts) {
    host.socket_bytes = mebibytes(4);
    host.endpoint.receive_capacity = mebibytes(2);
    host.endpoint.initial_window = mebibytes(1);
  }
  WorkloadOptions& workload = options.workload;
  workload.virtual_memory = true;
  workload.conversations = options.fabric.hosts() == 2 ? 2 : 6;
  workload.messages = 30;
  workload.message_most = one_of<uint64_t>(random, {20'000, 200'000, 1 << 20});
  workload.bytes_most = one_of<uint64_t>(random, {2 << 20, 8 << 20});
  workload.sends_ahead = workload.receives_ahead = 16;
  workload.act_every = micros(1);
}

bool has_ways_around(const FabricOptions& fabric) {
  return (fabric.shape == FabricShape::kParallelPaths && fabric.parallel_paths > 1) ||
         (fabric.shape == FabricShape::kLeafSpine && fabric.leaves > 1 && fabric.spines > 1);
}

// Options that all hosts of a run share.
transport::EndpointOptions pick_endpoint(Random& random, bool long_run) {
  transport::EndpointOptions endpoint;
  endpoint.accept = true;
  const auto congestion = transport::controller_names();
  endpoint.congestion = congestion[random.below(kControllersDrawn)];
  endpoint.selector = transport::selector_names()[random.below(kSelectorsDrawn)];
  endpoint.default_paths = one_of<uint16_t>(random, {1, 2, 8, 64});
  endpoint.window_limit = one_of(random, {mebibytes(64), mebibytes(1)});
  endpoint.max_sent_runs = one_of(random, {1u << 16, 1u << 16, 256u});
  if (!long_run) return endpoint;
  endpoint.peer_dead_after = one_of(random, {seconds(5), seconds(5), seconds(1)});
  return endpoint;
}

HostOptions pick_host(Random& random, const transport::EndpointOptions& all) {
  HostOptions host;
  host.endpoint = all;
  transport::EndpointOptions& endpoint = host.endpoint;
  endpoint.max_paths = one_of<uint16_t>(random, {1, 4, 64, 64, 64});
  endpoint.default_paths = std::min(endpoint.default_paths, endpoint.max_paths);
  host.socket_bytes = one_of(random, {Bytes{212'992}, Bytes{212'992}, kibibytes(32), mebibytes(4)});
  endpoint.receive_capacity = {host.socket_bytes.count / 2};
  endpoint.max_channels = one_of(random, {64u, 64u, 8u});
  endpoint.max_posted = one_of(random, {4096u, 256u, 8u});
  endpoint.eager_block_bytes = one_of(random, {8192u, 8192u, 512u, 64u});
  endpoint.eager_blocks = one_of<uint16_t>(random, {16, 16, 2, 0});
  endpoint.eager_bytes = {endpoint.eager_block_bytes *
                          one_of<uint64_t>(random, {64, 64, 20, 4, 0})};
  endpoint.max_connections = one_of(random, {4096u, 4096u, 4096u, 3u, 2u});
  endpoint.accept = !percent(random, 3);
  host.coalesces = percent(random, 75);
  host.predicts = percent(random, 75);
  host.timestamps = percent(random, 60);
  host.ecn = percent(random, 80);
  host.clock_offset = one_of(random, {Nanos{}, seconds(100'000), millis(-900)});
  host.turn_time = one_of(random, {nanos(200), micros(1), micros(20)});
  host.wake_delay_most = one_of(random, {Nanos{}, micros(5), micros(60), millis(1)});
  if (percent(random, 50)) {
    host.connect_paths = static_cast<uint16_t>(random.between(1, endpoint.max_paths));
  }
  return host;
}

// Without keys, since a host without a key cannot complete a handshake. Small limits reveal growth
// beyond them soonest.
void pick_byzantine(Random& random, Options& options) {
  ByzantineOptions& byzantine = options.faults.byzantine;
  byzantine.steps = one_of(random, {50u, 300u, 1'500u});
  byzantine.connections = one_of(random, {1u, 4u, 40u});
  byzantine.asked = static_cast<uint32_t>(random.below(3));
  byzantine.posted = one_of(random, {8u, 256u, transport::kMostPosted});
  byzantine.half_open = percent(random, 40);
  byzantine.abandons = percent(random, 30);
  byzantine.guesses = percent(random, 40);
  byzantine.forges = percent(random, 40);
  byzantine.vanishes = percent(random, 50);
  const bool small = percent(random, 60);
  for (HostOptions& host : options.hosts) {
    host.endpoint.keys.clear();
    if (!small) continue;
    host.endpoint.max_posted = std::min(host.endpoint.max_posted, 256u);
    host.endpoint.max_sent_runs = 256;
  }
}

// One connection to a host that wakes up late and has a small socket: a sender that exceeds the
// advertised capacity overruns it. Without faults: data declared lost while it waits in the socket
// is retransmitted, and may then find the socket full.
void pick_small_sockets(Options& options) {
  options.workload.conversations = 1;
  options.workload.reconnects = 0;
  options.faults = {};
  options.chunks = {};
  for (HostOptions& host : options.hosts) {
    host.chunk_paths = 0;
    host.socket_bytes = kibibytes(64);
    host.endpoint.receive_capacity = kibibytes(32);
    host.wake_delay_most = millis(1);
  }
}

}  // namespace

bool FaultOptions::may_silence() const {
  const Nanos long_enough = millis(150);
  // A packet with a corrupted header fails its checksum, so it is lost too.
  const uint32_t lost = steady.loss_per_million + steady.corrupt_header_per_million;
  return lost > 30'000 || (outages > 0 && outage_most > long_enough) ||
         (pauses > 0 && pause_most > long_enough) || crashes > 0 || one_stays ||
         (bursts > 0 && burst_most > long_enough);
}

Options pick(uint64_t seed) {
  Random random(seed);
  Options options;
  options.seed = seed;
  const bool long_run = percent(random, 25);
  options.faults_for = one_of(random, {millis(2), millis(20), millis(100)});
  if (long_run) options.faults_for = between(random, seconds(1), seconds(12));
  options.idle_for = percent(random, 10) ? seconds(60) : Nanos{};
  options.fabric = pick_fabric(random);
  options.faults = pick_faults(random, long_run);
  options.workload = pick_workload(random, options.fabric.hosts());
  // Programs of long runs act at most about 20,000 times: more did not find anything and took most
  // of the time.
  if (long_run) {
    options.workload.act_every =
        std::max(options.workload.act_every * 50, options.faults_for / 20'000);
  }
  const transport::EndpointOptions all = pick_endpoint(random, long_run);
  for (uint32_t i = 0; i < options.fabric.hosts(); ++i) {
    options.hosts.push_back(pick_host(random, all));
  }
  // Drawn separately, so that the other options of a seed stay the same.
  Random apart(seed ^ 0x6368756e6b73);
  options.chunks = pick_chunks(apart);
  for (HostOptions& host : options.hosts) {
    const bool can = options.chunks.placed() && !percent(apart, 10);
    host.chunk_paths = can ? one_of<uint16_t>(apart, {1, 2, 8, 64}) : 0;
  }
  // Many packets are delayed beyond the time for which the receiver tracks their numbers.
  if (percent(apart, 8)) {
    topology::LinkFaults& steady = options.faults.steady;
    steady.loss_per_million = 80'000;
    steady.reorder_per_million = 300'000;
    steady.reorder_min = micros(200);
    steady.reorder_max = millis(6);
  }
  Random credits(seed ^ 0x63726564);
  if (percent(credits, 30)) {
    const BitsPerSec told = percent(credits, 30) ? options.fabric.host_rate : BitsPerSec{};
    for (HostOptions& host : options.hosts) {
      host.endpoint.congestion = "credits";
      host.endpoint.receive_rate = told;
      // Credits are for datagrams; one host in ten does not use them.
      if (!percent(credits, 10)) host.chunk_paths = 0;
    }
  }
  Random gso(seed ^ 0x726f7773);
  for (HostOptions& host : options.hosts) host.drops_gso_bursts = percent(gso, 3);
  Random keys(seed ^ 0x6b657973);
  if (percent(keys, 30)) pick_keys(keys, options);
  Random sockets(seed ^ 0x736f636b6574);
  if (percent(sockets, 8) && options.hosts.size() == 2) pick_small_sockets(options);
  Random ways(seed ^ 0x77617973);
  if (percent(ways, 25)) pick_discovery(ways, options);
  Random nics(seed ^ 0x6e696373);
  if (percent(nics, 20)) pick_nics(nics, options);
  Random queues(seed ^ 0x717565756573);
  if (percent(queues, 25)) {
    pick_queues(queues, options.fabric);
    if (percent(queues, 50)) pick_crowd(queues, options);
  }
  Random byzantine(seed ^ 0x62797a);
  if (percent(byzantine, 12)) pick_byzantine(byzantine, options);
  options.faults.one_stays = percent(apart, 10) && has_ways_around(options.fabric);
  pick_stalls(options);
  return options;
}

}  // namespace heddle::vopr
