// Traffic: all data that moved between processes, and its purpose, from recordings. ComScribe
// (arXiv 2110.10401) derived it from formulas; here measured deliveries stand next to the formulas'
// values. One pass over each process's events; matrix.h arranges the result. A pure function of
// events.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "events/events.h"
#include "insight/party.h"

namespace heddle::topology {
struct NcclGraphs;
}

namespace heddle::insight {

// Counters of different kinds, and the time.
struct Cell {
  uint64_t bytes = 0;            // delivered: payload that arrived, each byte once
  uint64_t messages = 0;         // delivered messages
  uint64_t nanos = 0;            // sum over calls: from a call's beginning to its last arrival
  uint64_t sent_bytes = 0;       // payload sent, with retransmissions
  uint64_t wire_bytes = 0;       // on the wire: all packets sent, with all headers
  uint64_t packets = 0;          // packets sent; in recordings without bins, only those with
                                 // payload
  uint64_t memory_bytes = 0;     // payload sent through memory that ranks of a host share
  uint64_t memory_messages = 0;  // messages sent through it
  uint64_t expected_bytes = 0;   // by the formula of the call's algorithm

  Cell& operator+=(const Cell& more);
  bool operator==(const Cell&) const = default;
};

// The purpose for which bytes moved.
struct Purpose {
  uint64_t communicator = 0;  // 0: none
  std::optional<events::Operation> operation;
  std::optional<events::Algorithm> algorithm;
  std::string phase;  // of the sender, or of the process that recorded it; empty: before the first
                      // mark
  bool own = false;   // heddle's own messages between ranks, not a user's payload
  auto operator<=>(const Purpose&) const = default;
};

inline constexpr uint32_t kAnyPath = UINT32_MAX;
inline constexpr uint32_t kMemoryPath = UINT32_MAX - 1;  // memory that ranks of a host share

// A router's address in two halves, most significant first; zeros: no reply.
using Router = std::pair<uint64_t, uint64_t>;
inline constexpr uint32_t kNoRoute = UINT32_MAX;

struct Flow {
  uint32_t from = 0;  // index into parties, as is `to`
  uint32_t to = 0;
  uint32_t from_nic = 0;  // index into nics, as is `to_nic`
  uint32_t to_nic = 0;
  uint32_t purpose = 0;
  uint32_t path = kAnyPath;  // kAnyPath where the path is unknown; only bytes sent are known by
                             // path
  Cell cell;
  uint32_t route = kNoRoute;  // the routers that it passed, where its path was traced
};

struct CommunicatorFacts {
  uint64_t communicator = 0;
  uint32_t size = 0;
};

struct Traffic {
  std::vector<Party> parties;     // ordered by rank, then by name
  std::vector<std::string> nics;  // addresses; `nic_hosts` has their hosts where known
  std::vector<std::string> nic_hosts;
  std::vector<Purpose> purposes;
  std::vector<CommunicatorFacts> communicators;
  std::vector<Flow> flows;
  std::vector<std::vector<Router>> routes;  // each hop by hop
  // Messages of connections whose beginning was not recorded, so that their peer is unknown. Also
  // bytes on the wire to peers that did not become connections: inits without an answer, answers to
  // unknown senders.
  Cell unplaced;
  bool has_messages = false;  // false: delivered bytes are unknown
  uint64_t calls = 0;
  uint64_t calls_without_formula = 0;  // no formula gives their expected bytes
};

// Takes the events of processes, one after the other or interleaved, each process's in order.
class TrafficBuilder {
 public:
  TrafficBuilder();
  ~TrafficBuilder();

  // Returns the process number that add() takes.
  uint32_t add_process(const Identity& identity);
  // `writer`: the endpoint of the process that recorded the event.
  void add(uint32_t process, const events::AnyEvent& event, uint32_t writer = 0);

  // Delivered bytes are those that the receiver recorded; where it was not recorded, those that the
  // sender recorded. Expected bytes follow the rings and trees of `graphs` in communicators of
  // which it has a graph, and rank order else; null: in all.
  Traffic finish(const topology::NcclGraphs* graphs = nullptr) const;

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace heddle::insight
