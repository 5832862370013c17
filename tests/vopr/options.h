// Options: all inputs of one run. A seed determines them; a failing run prints them. Nothing else
// influences a run, so equal options give equal runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/units.h"
#include "topology/faults.h"
#include "topology/switch_shape.h"
#include "transport/options.h"

namespace heddle::vopr {

enum class FabricShape : uint8_t { kPointToPoint, kParallelPaths, kLeafSpine };

struct FabricOptions {
  FabricShape shape = FabricShape::kPointToPoint;
  uint32_t parallel_paths = 1;  // kParallelPaths
  uint32_t leaves = 2;          // kLeafSpine
  uint32_t spines = 2;
  uint32_t hosts_per_leaf = 1;
  uint64_t hash_seed = 1;
  BitsPerSec host_rate = gigabits_per_s(10);
  BitsPerSec fabric_rate = gigabits_per_s(10);
  Nanos host_delay = micros(1);
  Nanos fabric_delay = micros(5);
  Bytes queue = mebibytes(1);
  Bytes ecn_threshold = {UINT64_MAX};
  uint32_t host_mtu = 9000;
  uint32_t fabric_mtu = 9000;
  Bytes nic_queue = kibibytes(256);
  Bytes ecn_ramp;  // above the threshold; zero: a step at the threshold
  uint32_t ecn_ramp_per_million = 0;
  topology::SwitchShape switches;    // except sizes, which these give in full packets of a port:
  uint32_t shared_packets = 0;       // of the memory shared by a switch's ports; 0: not shared
  uint32_t lossless_packets = 0;     // received on a port before it pauses its sender
  bool some_switches_plain = false;  // one has separate queues, and does not pause senders
  bool reports_errors = true;        // by ICMP
  Nanos time_exceeded_apart;         // shortest interval between two replies of a switch
  bool silent_switch = false;        // switch 0 does not report exceeded hop limits

  uint32_t further_nics = 0;  // of each host, besides the first
  bool one_rail = false;      // all further NICs are on one switch; else on one switch for each
                              // rank

  // No switch drops packets for lack of buffer.
  bool lossless() const { return switches.lossless && !some_switches_plain; }
  uint32_t hosts() const { return shape == FabricShape::kLeafSpine ? leaves * hosts_per_leaf : 2; }
};

// The transfer method of payload: see transport/placed.h.
enum class PayloadShape : uint8_t { kDatagrams, kUnreliableChunks, kReliableChunks };

const char* name_of(PayloadShape shape);

struct ChunkOptions {
  PayloadShape shape = PayloadShape::kDatagrams;
  uint32_t bytes = 65536;  // largest chunk
  uint32_t events = 1024;  // limit of pending events at a NIC
  Nanos fence_takes = micros(10);
  Nanos repeat_after = millis(4);  // of reliable NICs: without progress
  uint32_t tries = 7;              // retries before a queue pair fails
  uint32_t stall_every = 0;        // chunks between two that hold their queue pair back; 0: none
  Nanos stall_for;                 // for this time

  bool placed() const { return shape != PayloadShape::kDatagrams; }
};

// A peer that sends well-formed packets and breaks the protocol's rules (byzantine.h).
struct ByzantineOptions {
  uint32_t steps = 0;        // until the faults stop; 0: no such peer
  uint32_t connections = 0;  // that it requests
  uint32_t asked = 0;        // connections that programs request from it
  uint32_t posted = 0;       // receives that it announces at a time: the number it may name
  bool half_open = false;    // handshakes that it never completes
  bool abandons = false;     // open connections
  bool guesses = false;      // ids of other connections, from its own
  bool forges = false;       // packets in other hosts' names that must be dropped
  bool vanishes = false;     // at the end its port is closed; else it is silent

  bool there() const { return steps > 0; }
};

// The port of the byzantine peer, on a host's address.
inline constexpr uint16_t kByzantinePort = 4800;

struct FaultOptions {
  topology::LinkFaults steady;  // of all links, or of one, until the faults stop
  bool steady_everywhere = true;
  uint32_t bursts = 0;  // times at which one link drops nearly all packets for a while
  Nanos burst_most = millis(2);
  uint32_t outages = 0;  // times at which one link is down, in one direction or both
  Nanos outage_most = millis(20);
  bool outages_noticed = false;  // switches detect them
  bool one_stays = false;        // one of several parallel links never recovers
  uint32_t rate_changes = 0;     // down to a hundredth of the rate
  uint32_t pauses = 0;           // of a host: no turns, no calls
  Nanos pause_most = millis(50);
  uint32_t idles = 0;  // of a caller: the helper thread drives the endpoint
  Nanos idle_most = millis(50);
  uint32_t crashes = 0;           // of a process, which restarts as a new one
  Nanos down_most = millis(500);  // longest time until the restart
  bool crash_with_host = false;   // the host is down meanwhile and does not reply
  uint32_t hostile_packets = 0;   // garbage, forged and foreign datagrams
  bool foreign_peer = false;      // connections to a host with another wire version are requested
                                  // too
  ByzantineOptions byzantine;

  // Whether a living peer may be silent for long enough to be declared dead.
  bool may_silence() const;
};

struct WorkloadOptions {
  bool virtual_memory = false;
  uint32_t conversations = 1;     // connections requested initially, between random hosts
  uint32_t reconnects = 0;        // connections requested later, when one is over
  uint16_t channels = 1;          // number in use
  uint32_t messages = 20;         // limit for each side of a connection and direction
  uint64_t message_most = 65536;  // bytes
  uint64_t bytes_most = 1 << 20;  // approximate sum over all sends
  uint32_t sends_ahead = 4;       // limit of outstanding ones on a channel
  uint32_t receives_ahead = 4;
  uint32_t receive_eagerness = 50;     // share of receives among posts, in percent
  Nanos act_every = micros(20);        // approximate
  uint32_t cancel_per_thousand = 0;    // of actions
  uint32_t truncate_per_thousand = 0;  // of receives with too small buffers
  uint32_t close_per_thousand = 0;     // of actions
  uint32_t abort_per_thousand = 0;
  uint32_t misuse_per_thousand = 0;  // invalid requests
};

struct HostOptions {
  transport::EndpointOptions endpoint;  // eager_region and max_datagram_bytes are filled in
  Bytes socket_bytes = {212'992};       // of its receive queue
  std::vector<uint32_t> further_nics;   // numbers in the topology
  uint16_t chunk_paths = 0;             // with chunks: number of paths; 0: this host does not
                                        // support them
  bool coalesces = true;
  bool drops_gso_bursts = false;  // the interface drops bursts of several segments
  bool predicts = true;
  bool timestamps = true;
  bool ecn = true;
  Nanos clock_offset;
  Nanos turn_time = nanos(500);  // shortest time of a driver's turn
  Nanos wake_delay_most = micros(5);
  uint16_t connect_paths = 0;  // requested number of paths; 0: the default
};

struct Options {
  uint64_t seed = 0;
  Nanos faults_for = millis(20);  // duration of the fault phase
  Nanos idle_for;                 // afterwards no operation is posted for this time
  FabricOptions fabric;
  ChunkOptions chunks;
  FaultOptions faults;
  WorkloadOptions workload;
  std::vector<HostOptions> hosts;

  // Peers that are not hosts, numbered after the hosts.
  uint32_t foreigner() const { return static_cast<uint32_t>(hosts.size()); }
  uint32_t nobody() const { return foreigner() + 1; }
  uint32_t byzantine() const { return foreigner() + 2; }
};

// All options, from the seed.
Options pick(uint64_t seed);

// As TOML: one table for each struct, durations in nanoseconds.
std::string to_text(const Options& options);

}  // namespace heddle::vopr
