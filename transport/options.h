// Options of an endpoint and of a connection, all bounds on memory included.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/units.h"
#include "transport/address.h"
#include "transport/cluster_key.h"
#include "transport/engine_share.h"
#include "transport/payload.h"
#include "transport/protection.h"

namespace heddle::transport {

class EngineBudget;

// Whether a connection looks by itself how many ways the fabric has, and then lets some paths of
// each way carry payload and leaves out the others.
enum class DiscoveryMode : uint8_t { kNever, kAuto };

struct EndpointOptions {
  bool accept = false;      // answer handshakes of others
  uint16_t reply_port = 0;  // where the datapath receives: peers answer to it
  EngineShare engine;       // of those that receive there
  // What all of them count in; null: this is the only one. The limits below that it counts are of
  // all engines.
  std::shared_ptr<EngineBudget> budget;
  // Where the datapath receives: an address a NIC, at most kMaxNics; connections use them together.
  // None, or one: it has one NIC.
  std::vector<Address> nics;
  uint16_t max_paths = 64;             // the most paths (entropies) of a connection to send on
  uint16_t default_paths = 16;         // the number of paths if the connection sets none
  uint32_t max_datagram_bytes = 1472;  // the largest UDP payload this host's interface passes
  // UDP payload that every path is known to pass: paths begin with it. 0: each is probed first.
  uint32_t passed_datagram_bytes = 0;
  uint16_t chunk_paths = 0;      // above 0: the number of paths for remote writes (placed.h)
  uint32_t chunk_bytes = 0;      // the largest such write
  bool reliable_chunks = false;  // the NIC reports for each whether it has landed
  Bytes receive_capacity = {
      106496};              // what may be in flight towards this endpoint, over all senders
  BitsPerSec receive_rate;  // at which credit is given to all senders together; zero: as measured
  std::string congestion = "cubic";  // name of the controller
  std::string selector = "reps";     // name of the path selector
  DiscoveryMode discovery = DiscoveryMode::kNever;
  Bytes initial_window;  // of every connection's congestion control; zero: ten segments, or a burst
  // What leaves at once on one of several paths, at most; zero: as long as suits software. A
  // network that is to be sprayed packet by packet wants one segment.
  Bytes longest_burst;
  // No congestion window grows above it: two round trips of 10 ms at 100 Gb/s. What is in flight
  // costs its sender a record a burst (max_sent_runs), not its bytes.
  Bytes window_limit = mebibytes(256);
  Nanos peer_dead_after = seconds(5);  // time of unanswered probes until the peer is dead
  Nanos handshake_timeout = seconds(5);
  Nanos close_timeout = seconds(3);  // a graceful close that gets no answer ends after this

  // Cluster keys. Empty: nothing is authenticated. The first is used to connect, all are accepted.
  std::vector<ClusterKey> keys;
  Protection protection = Protection::kFull;  // with keys: of all connections
  bool unsealed_chunks = false;  // with keys: allows remote writes, which are not protected
  uint64_t packets_a_key = uint64_t{1} << 22;  // then the next session key is derived

  uint32_t max_connections = 4096;
  // Limit of the memory that peers without a proven key can occupy; connections of such peers are
  // refused beyond it (stranger_budget.h). Zero: only max_connections limits them.
  Bytes stranger_bytes = mebibytes(1024);
  uint32_t max_channels = 64;  // a connection
  uint32_t max_posted = 4096;  // operations outstanding a connection and direction; at most 16,384
  // The largest message that may travel before its receive is posted: 32 KiB, and what its sender
  // writes before them.
  uint32_t eager_block_bytes = 32'768 + 64;
  uint16_t eager_blocks = 16;         // a connection; sent ahead at most
  RegionId eager_region = kNoRegion;  // memory of the endpoint where they wait; kNoRegion: no eager
  Bytes eager_bytes = {0};            // its size: shared by all connections
  uint32_t max_sent_runs = 1u << 16;  // bursts in flight over all connections
};

struct ConnectionOptions {
  uint16_t paths = 0;                      // 0: the endpoint's default
  std::string congestion;                  // empty: the endpoint's
  std::string selector;                    // empty: the endpoint's
  std::optional<DiscoveryMode> discovery;  // nothing: the endpoint's
};

}  // namespace heddle::transport
