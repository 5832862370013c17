// Options: everything that one run of the proof is made from. A seed picks all of it; a failing run
// prints all of it. Nothing else decides what happens, so equal options give equal runs.
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
  Bytes ecn_ramp;  // above the threshold; zero: a step there
  uint32_t ecn_ramp_per_million = 0;
  topology::SwitchShape switches;    // but for sizes, which these give in full packets of a port:
  uint32_t shared_packets = 0;       // of the memory that a switch's ports share; 0: none is shared
  uint32_t lossless_packets = 0;     // that a port may receive before it pauses its sender
  bool some_switches_plain = false;  // one has queues of its own, and pauses nobody
  bool tells_errors = true;          // ICMP
  Nanos time_exceeded_apart;         // of a switch: so long after each other at least
  bool silent_switch = false;        // switch 0 tells nobody where a hop limit ends

  uint32_t further_nics = 0;  // of each host, beside the first
  bool one_rail = false;      // all of these are on one switch; else those of each rank are

  // No switch drops what finds no room.
  bool lossless() const { return switches.lossless && !some_switches_plain; }
  uint32_t hosts() const { return shape == FabricShape::kLeafSpine ? leaves * hosts_per_leaf : 2; }
};

// How payload travels: see transport/placed.h.
enum class PayloadShape : uint8_t { kDatagrams, kUnreliableChunks, kReliableChunks };

const char* name_of(PayloadShape shape);

struct ChunkOptions {
  PayloadShape shape = PayloadShape::kDatagrams;
  uint32_t bytes = 65536;  // of a chunk, at most
  uint32_t events = 1024;  // that may wait at a NIC
  Nanos fence_takes = micros(10);
  Nanos repeat_after = millis(4);  // reliable NICs: without progress
  uint32_t tries = 7;              // and so often, before a queue pair fails

  bool placed() const { return shape != PayloadShape::kDatagrams; }
};

// A peer that keeps to the protocol's form and to none of its rules (byzantine.h).
struct ByzantineOptions {
  uint32_t steps = 0;        // until the faults stop; 0: there is none
  uint32_t connections = 0;  // that it asks for
  uint32_t asked = 0;        // connections that programs ask it for
  uint32_t posted = 0;       // receives that it says it posts at a time: so many it may name
  bool half_open = false;    // handshakes that it never ends
  bool abandons = false;     // connections that it opened
  bool guesses = false;      // the ids of others, from its own
  bool forges = false;       // in the names of others, what must be dropped
  bool vanishes = false;     // at the end nobody receives at its port; else it is silent

  bool there() const { return steps > 0; }
};

// Where it receives, beside a host.
inline constexpr uint16_t kByzantinePort = 4800;

struct FaultOptions {
  topology::LinkFaults steady;  // of all links, or of one, until the faults stop
  bool steady_everywhere = true;
  uint32_t bursts = 0;  // times at which one link loses nearly everything for a while
  Nanos burst_most = millis(2);
  uint32_t outages = 0;  // times at which one link is down, in one direction or in both
  Nanos outage_most = millis(20);
  bool outages_noticed = false;  // switches learn of them
  bool one_stays = false;        // one link of several beside each other never comes back
  uint32_t rate_changes = 0;     // down to a hundredth
  uint32_t pauses = 0;           // of a host: no turns, no calls
  Nanos pause_most = millis(50);
  uint32_t idles = 0;  // of a caller: the helper drives
  Nanos idle_most = millis(50);
  uint32_t crashes = 0;           // of a process, which comes back as a new one
  Nanos down_most = millis(500);  // after so long at most
  bool crash_with_host = false;   // nothing answers for it meanwhile
  uint32_t hostile_packets = 0;   // garbage, forged and foreign datagrams
  bool foreign_peer = false;      // a host that speaks another wire version is asked as well
  ByzantineOptions byzantine;

  // Whether a living peer may be silent for so long that it is taken for dead.
  bool may_silence() const;
};

struct WorkloadOptions {
  bool virtual_memory = false;
  uint32_t conversations = 1;     // connections that are asked for at first, between random hosts
  uint32_t reconnects = 0;        // and later, when one is over
  uint16_t channels = 1;          // that are used
  uint32_t messages = 20;         // a side of a conversation and direction, at most
  uint64_t message_most = 65536;  // bytes
  uint64_t bytes_most = 1 << 20;  // of all sends together, about
  uint32_t sends_ahead = 4;       // outstanding a channel, at most
  uint32_t receives_ahead = 4;
  uint32_t receive_eagerness = 50;     // percent of posts that are receives
  Nanos act_every = micros(20);        // about
  uint32_t cancel_per_thousand = 0;    // of actions
  uint32_t truncate_per_thousand = 0;  // of receives: too small ones
  uint32_t close_per_thousand = 0;     // of actions
  uint32_t abort_per_thousand = 0;
  uint32_t misuse_per_thousand = 0;  // requests that make no sense
};

struct HostOptions {
  transport::EndpointOptions endpoint;  // eager_region and max_datagram_bytes are filled in
  Bytes socket_bytes = {212'992};       // of its receive queue
  std::vector<uint32_t> further_nics;   // of it, by their numbers in the topology
  uint16_t chunk_paths = 0;             // where payload travels in chunks; 0: this host cannot
  bool coalesces = true;
  bool drops_rows = false;  // its interface loses bursts of several segments whole
  bool predicts = true;
  bool timestamps = true;
  bool ecn = true;
  Nanos clock_offset;
  Nanos turn_time = nanos(500);  // a turn of the driver takes at least
  Nanos wake_delay_most = micros(5);
  uint16_t connect_paths = 0;  // asks for so many; 0: its default
};

struct Options {
  uint64_t seed = 0;
  Nanos faults_for = millis(20);  // then they stop
  Nanos idle_for;                 // afterwards nothing is posted for so long
  FabricOptions fabric;
  ChunkOptions chunks;
  FaultOptions faults;
  WorkloadOptions workload;
  std::vector<HostOptions> hosts;

  // What is no host, by the number that follows the hosts'.
  uint32_t foreigner() const { return static_cast<uint32_t>(hosts.size()); }
  uint32_t nobody() const { return foreigner() + 1; }
  uint32_t byzantine() const { return foreigner() + 2; }
};

// Everything, from the seed.
Options pick(uint64_t seed);

// As TOML: one table a struct, durations in nanoseconds.
std::string to_text(const Options& options);

}  // namespace heddle::vopr
