// Traffic: all that moved between processes and what it was for, as recordings tell it (ComScribe,
// arXiv 2110.10401, drew it from formulas; here it is what arrived, beside the formula's). Made in
// one pass over each process's events; matrix.h arranges it. A pure function of events.
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

namespace heddle::insight {

// Counts that stay apart, and the time.
struct Cell {
  uint64_t bytes = 0;            // delivered: payload that arrived, each byte once
  uint64_t messages = 0;         // that brought it
  uint64_t nanos = 0;            // from the beginnings of calls to the last arrival of each
  uint64_t sent_bytes = 0;       // payload that left, repeats included
  uint64_t wire_bytes = 0;       // on the wire: every packet with all its headers, as it left
  uint64_t packets = 0;          // in so many; of recordings without bins, those with payload only
  uint64_t memory_bytes = 0;     // payload that left through memory which ranks of a host share
  uint64_t memory_messages = 0;  // in so many
  uint64_t expected_bytes = 0;   // that the formula of the call's algorithm says

  Cell& operator+=(const Cell& more);
  bool operator==(const Cell&) const = default;
};

// What bytes moved for.
struct Purpose {
  uint64_t communicator = 0;  // 0: of none
  std::optional<events::Operation> operation;
  std::optional<events::Algorithm> algorithm;
  std::string phase;  // that the sender, or who tells of it, was in; empty: before any mark
  bool own = false;   // heddle's own words between ranks: nobody's payload
  auto operator<=>(const Purpose&) const = default;
};

inline constexpr uint32_t kAnyPath = UINT32_MAX;
inline constexpr uint32_t kMemoryPath = UINT32_MAX - 1;  // memory that ranks of a host share

// A router's address in two halves, most significant first; zeros: it did not answer.
using Router = std::pair<uint64_t, uint64_t>;
inline constexpr uint32_t kNoRoute = UINT32_MAX;

struct Flow {
  uint32_t from = 0;  // parties
  uint32_t to = 0;
  uint32_t from_nic = 0;  // nics
  uint32_t to_nic = 0;
  uint32_t purpose = 0;
  uint32_t path = kAnyPath;  // of what is known by path: what left
  Cell cell;
  uint32_t route = kNoRoute;  // by which routers it went, where its path was traced
};

struct CommunicatorFacts {
  uint64_t communicator = 0;
  uint32_t size = 0;
};

struct Traffic {
  std::vector<Party> parties;     // in the order of their ranks, then of their names
  std::vector<std::string> nics;  // addresses, with their host where it is known
  std::vector<std::string> nic_hosts;
  std::vector<Purpose> purposes;
  std::vector<CommunicatorFacts> communicators;
  std::vector<Flow> flows;
  std::vector<std::vector<Router>> routes;  // hop by hop
  // Messages of connections whose beginning is not among the events: nobody knows their peer. And
  // what went on the wire to those who became none: inits without an answer, answers to strangers.
  Cell unplaced;
  bool tells_messages = false;  // else what was delivered is not known
  uint64_t calls = 0;
  uint64_t calls_without_formula = 0;  // nothing is expected of these
};

// Takes the events of processes, one after the other or mixed, each process's in their order.
class TrafficBuilder {
 public:
  TrafficBuilder();
  ~TrafficBuilder();

  // Returns the number by which add() knows it.
  uint32_t add_process(const Identity& identity);
  // `writer`: which endpoint of the process tells it.
  void add(uint32_t process, const events::AnyEvent& event, uint32_t writer = 0);

  // Delivered is what the receiver tells of where it was recorded, else what the sender does.
  Traffic finish() const;

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace heddle::insight
