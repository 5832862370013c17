// Drive: plays NCCL's part without a GPU. A rank opens comms through a net plugin and moves
// messages of NCCL's sizes over them, with NCCL's threads: a service thread (listen, connect,
// accept, regMr, close) and a progress thread (isend, irecv, test) that spins while it has work and
// sleeps on a condition variable while it has none. `heddle nccl drive` calls it; bench and tests
// do, too.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/latency_histogram.h"
#include "base/nanos.h"
#include "base/result.h"
#include "nccl/exchange.h"
#include "nccl/net_plugin.h"

namespace heddle::nccl {

enum class TrafficPattern : uint8_t {
  kRing,        // 2 (n - 1) steps of slices to the next rank, each after the one received before it
  kTree,        // slices up a binary tree and down again
  kP2p,         // to and from every other rank, received in groups where the plugin allows it
  kRegistered,  // as kRing, in large messages from registered user buffers
};
enum class WireProtocol : uint8_t { kSimple, kLl, kLl128 };

struct DriveOptions {
  int rank = 0;
  int size = 2;
  int device = 0;
  TrafficPattern pattern = TrafficPattern::kRing;
  WireProtocol protocol = WireProtocol::kSimple;
  uint64_t bytes = uint64_t{64} << 20;  // of a rank's buffer in one iteration
  uint64_t message_bytes = 0;           // the most of a message; 0: the pattern's own maximum
  int channels = 1;                     // comms to each neighbor, 1 to 32
  uint64_t iterations = 0;              // 0: as many as `duration` takes
  Nanos duration = seconds(2);
  uint64_t zero_every = 0;        // each k-th message of a comm is empty; 0: none is
  bool check = false;             // compares every byte received with what was sent
  Nanos patience = seconds(60);   // the longest wait for a peer or for any completion
  std::function<bool()> stopped;  // asked while waiting; true ends the drive
  // Called once, with "rank 1" or "ranks 1, 3", where these have not come after `report_after`.
  std::function<void(const std::string& ranks)> waiting;
  Nanos report_after = seconds(3);
};

struct DriveResult {
  std::string run;  // its number, with which the names of its values in the exchange begin
  std::string plugin;
  int version = 0;  // of the net table
  std::string device;
  uint64_t iterations = 0;
  uint64_t bytes_sent = 0;
  uint64_t bytes_received = 0;
  uint64_t messages_sent = 0;
  uint64_t messages_received = 0;
  uint64_t empty_messages_sent = 0;
  uint64_t grouped_receives = 0;  // irecv with several buffers
  uint64_t null_requests = 0;     // isend and irecv that succeeded without a request
  uint64_t unreported_sizes = 0;  // of messages received, where test does not write them
  uint64_t connect_polls = 0;     // calls of connect and accept that gave no comm yet
  Nanos elapsed;                  // of the iterations
  Nanos cpu;                      // of the process, in these
  LatencyHistogram send_latency;  // from isend until test reports done

  double gbytes_per_s() const;        // sent, 1e9 bytes
  double cpu_seconds_per_gb() const;  // of CPU for 1e9 bytes sent
};

// Runs one rank to the end; every rank calls it with the same options but `rank` and `device`.
// Errors of the plugin or the network: kTimeout (a connection or a completion), kTruncated (a size
// or a byte differs from what was sent), kSystem (a broken contract), kPeerDead; with NCCL's name
// of the plugin's result in `why`. Others: kInvalid (options, also those that differ between ranks,
// or the plugin reports no such device), kUnavailable (a rank has not come), kCancelled (stopped),
// and the exchange's. A rank returns the code of the rank that failed first.
Result<DriveResult> drive(NetPlugin& plugin, Exchange& exchange, const DriveOptions& options);

// Whether an error of drive() is one of the plugin or the network.
bool is_plugin_failure(ErrorCode code);

// Errors: kInvalid with the option that is out of range.
Result<void> check_options(const DriveOptions& options);

// The most bytes of a message, and the most messages of a comm in flight, of NCCL 2.28.
uint64_t most_message_bytes(const DriveOptions& options);
int messages_in_flight(const DriveOptions& options);

// "ring" and so on; "simple", "ll", "ll128".
const char* name_of(TrafficPattern pattern);
const char* name_of(WireProtocol protocol);

}  // namespace heddle::nccl
