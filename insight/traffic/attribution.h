// Attribution: which call each message of a process was of. Calls say which channels are theirs
// from their start to their end; sends and receives share one and come in turn.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/nanos.h"
#include "events/events.h"
#include "insight/expected.h"
#include "insight/traffic.h"
#include "insight/traffic/under_way.h"

namespace heddle::insight {

// All purposes of a recording, each once.
class Purposes {
 public:
  uint32_t number_of(const Purpose& purpose);
  const std::vector<Purpose>& all() const { return all_; }

 private:
  std::map<Purpose, uint32_t> numbers_;
  std::vector<Purpose> all_;
};

// What a connection carried for one purpose.
struct Carried {
  uint32_t purpose = 0;
  Cell sent;
  Cell received;
};

// What left on one path of a connection, between two NICs.
struct Left {
  uint32_t path = 0;
  uint32_t purpose = 0;
  uint8_t nic = 0;
  uint8_t peer_nic = 0;
  Cell cell;
  uint32_t route = kNoRoute;  // of its connection's
};

// The routers on the way of a path, hop by hop, from when they were found to when they were again.
struct PathRoute {
  uint16_t path = 0;
  std::vector<Router> routers;
};

// A message that was completed, by whichever way it went.
struct Whole {
  Nanos time;
  uint32_t connection = 0;
  uint16_t channel = 0;
  uint64_t bytes = 0;
  events::Direction direction = events::Direction::kSent;
  bool through_memory = false;  // its call's heading is not among its bytes
};

using NicAddress = std::pair<uint64_t, uint64_t>;  // two halves; zeros: not known

struct ConnectionTraffic {
  uint32_t id = 0;
  uint32_t peer_id = 0;
  bool opened = false;
  uint64_t peer_high = 0;
  uint64_t peer_low = 0;
  uint16_t peer_port = 0;
  uint32_t writer = 0;        // the endpoint that it is of
  uint64_t communicator = 0;  // 0: none, or not yet told
  uint32_t peer_rank = 0;     // there
  std::vector<Carried> carried;
  std::vector<Left> left;  // as bins tell, and else as bursts do
  bool binned = false;
  std::vector<PathRoute> routes;  // as they were found, the latest last
  PathRoute looking;              // what is being told

  // What a call did on one of its channels, both ways apart.
  struct Channel {
    uint16_t channel = 0;
    events::Direction direction = events::Direction::kSent;
    uint32_t call = 0;
    Nanos last;
  };
  std::vector<Channel> channels;
  // Its first messages, while it is of no communicator: the word that it is may come behind them,
  // since messages are told with the time at which they came.
  static constexpr size_t kMostEarly = 16;
  struct Early {
    Whole message;
    uint32_t purpose = 0;  // that it was counted for
  };
  std::vector<Early> early;

  Cell& carried_for(uint32_t purpose, events::Direction direction);
  Left& left_on(const Left& key);
  void add_router(const events::PathTraced& event);
  // The latest of a path, as its place in `routes`; kNoRoute: none yet.
  uint32_t latest_route(uint32_t path) const;
};

// A process's part in a communicator.
struct Membership {
  uint32_t rank = 0;
  uint32_t size = 0;

  struct Made {
    CallShape shape;
    uint32_t phase = 0;
  };
  // A call that has channels of its own, the latest on them.
  struct Live {
    uint16_t channel = 0;
    uint16_t channels = 0;
    uint16_t heading_bytes = 0;
    uint32_t call = 0;
    uint32_t purpose = 0;
    bool own = false;  // all of it is heddle's own
    Nanos started;
  };
  // A send or receive whose messages are to come.
  struct Turn {
    Live call;
    uint64_t left_bytes = 0;
    bool begun = false;
  };
  std::unordered_map<uint32_t, Made> made;
  std::vector<Live> lanes;
  std::map<std::pair<uint32_t, events::Direction>, std::deque<Turn>> turns;
  UnderWay under_way;
  std::map<std::pair<CallShape, uint32_t>, uint64_t> expected;  // calls of a shape and purpose
};

class Attribution {
 public:
  explicit Attribution(Purposes& purposes) : purposes_(&purposes) {}

  void add(const events::AnyEvent& event, uint32_t writer);

  const std::map<uint64_t, Membership>& memberships() const { return memberships_; }
  const std::unordered_map<uint32_t, ConnectionTraffic>& connections() const {
    return connections_;
  }
  uint64_t calls() const { return calls_; }
  bool tells_messages() const { return tells_messages_; }
  // Of one of an endpoint's NICs.
  NicAddress address_of(uint32_t writer, uint8_t nic) const;
  // What left for nobody who became a connection.
  const Cell& astray() const { return astray_; }

 private:
  void on(const events::ConnectionOpened& event);
  void on(const events::CommunicatorLinked& event);
  void on(const events::CallMade& event);
  void on(const events::CallStarted& event);
  void on(const events::CallEnded& event);
  void on(const Whole& message);
  void on(const events::BurstSent& event);
  void on(const events::WireBin& event);
  ConnectionTraffic& connection(uint32_t id);
  uint32_t purpose_of(uint64_t communicator, const events::CallStarted& call, uint32_t phase);
  uint32_t own_purpose(uint64_t communicator);
  // Of what is known by path and time, and not by call.
  uint32_t purpose_between(const ConnectionTraffic& connection, Nanos from, Nanos to);
  void count(ConnectionTraffic& connection, const Whole& message, const Membership::Live& call,
             bool first);

  Purposes* purposes_;
  std::map<uint64_t, Membership> memberships_;
  std::unordered_map<uint32_t, ConnectionTraffic> connections_;
  std::vector<std::string> phases_{""};
  std::map<std::string, uint32_t> phase_numbers_{{"", 0}};
  uint32_t phase_ = 0;
  std::map<std::pair<uint32_t, uint8_t>, NicAddress> nics_;  // by endpoint and number
  Cell astray_;
  uint64_t calls_ = 0;
  bool tells_messages_ = false;
  ConnectionTraffic* latest_ = nullptr;  // connections_ keeps its elements where they are
};

}  // namespace heddle::insight
