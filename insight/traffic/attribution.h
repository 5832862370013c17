// Attribution: the call to which each message of a process belongs. Collectives own a range of
// channels from start to end; sends and receives share one channel and complete in order.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/nanos.h"
#include "events/events.h"
#include "insight/expected.h"
#include "insight/params.h"
#include "insight/traffic.h"
#include "insight/traffic/under_way.h"

namespace heddle::insight {

// All purposes of a recording, without duplicates.
class Purposes {
 public:
  uint32_t number_of(const Purpose& purpose);
  const std::vector<Purpose>& all() const { return all_; }

 private:
  std::map<Purpose, uint32_t> numbers_;
  std::vector<Purpose> all_;
};

// The bytes that a connection carried for one purpose.
struct Carried {
  uint32_t purpose = 0;
  Cell sent;
  Cell received;
};

// The bytes sent on one path of a connection, between two NICs.
struct Left {
  uint32_t path = 0;
  uint32_t purpose = 0;
  uint8_t nic = 0;
  uint8_t peer_nic = 0;
  Cell cell;
  uint32_t route = kNoRoute;  // index into the connection's routes
};

// The routers of a path, hop by hop, from one trace to the next.
struct PathRoute {
  uint16_t path = 0;
  std::vector<Router> routers;
};

// A completed message, over the network or through shared memory.
struct Whole {
  Nanos time;
  uint32_t connection = 0;
  uint16_t channel = 0;
  uint64_t bytes = 0;
  events::Direction direction = events::Direction::kSent;
  bool through_memory = false;  // the heading of its call is not counted in its bytes
};

using NicAddress = std::pair<uint64_t, uint64_t>;  // two halves; zeros: unknown

struct ConnectionTraffic {
  uint32_t id = 0;
  uint32_t peer_id = 0;
  bool opened = false;
  uint64_t peer_high = 0;
  uint64_t peer_low = 0;
  uint16_t peer_port = 0;
  uint32_t writer = 0;        // the endpoint that owns the connection
  uint64_t communicator = 0;  // 0: none, or not yet known
  uint32_t peer_rank = 0;     // in the communicator
  std::vector<Carried> carried;
  std::vector<Left> left;  // from bins, or from bursts where there are no bins
  bool binned = false;
  std::vector<PathRoute> routes;  // in the order in which they were found
  PathRoute looking;              // the trace that is being received

  // The bytes of a call on one of its channels, by direction.
  struct Channel {
    uint16_t channel = 0;
    events::Direction direction = events::Direction::kSent;
    uint32_t call = 0;
    Nanos last;
  };
  std::vector<Channel> channels;
  // The first messages of a connection without a communicator. The event that links it may follow
  // them, since messages are recorded with the time at which they arrived.
  static constexpr size_t kMostEarly = params::traffic::kMostEarly;
  struct Early {
    Whole message;
    uint32_t purpose = 0;  // the purpose for which it was counted
  };
  std::vector<Early> early;

  Cell& carried_for(uint32_t purpose, events::Direction direction);
  Left& left_on(const Left& key);
  void add_router(const events::PathTraced& event);
  // The index in `routes` of the latest route of a path; kNoRoute: none yet.
  uint32_t latest_route(uint32_t path) const;
};

// The membership of a process in a communicator.
struct Membership {
  uint32_t rank = 0;
  uint32_t size = 0;         // 0: not known
  std::set<uint32_t> ranks;  // of this process: several where it drives several GPUs

  struct Made {
    CallShape shape;
    uint32_t phase = 0;
  };
  // A call that owns channels: the latest on them.
  struct Live {
    uint16_t channel = 0;
    uint16_t channels = 0;
    uint16_t heading_bytes = 0;
    uint32_t call = 0;
    uint32_t purpose = 0;
    bool own = false;  // all of its bytes are heddle's own
    Nanos started;
  };
  // A send or receive with messages outstanding.
  struct Turn {
    Live call;
    uint64_t left_bytes = 0;
    bool begun = false;
  };
  std::unordered_map<uint32_t, Made> made;
  std::vector<Live> lanes;
  std::map<std::pair<uint32_t, events::Direction>, std::deque<Turn>> turns;
  UnderWay under_way;
  std::map<std::pair<CallShape, uint32_t>, uint64_t> expected;  // number of calls by shape and
                                                                // purpose

  // What NCCL's proxy moved for one purpose between two ranks.
  struct Proxied {
    uint32_t rank = 0;  // whose data it is: not always this process's rank
    uint32_t peer = 0;
    uint32_t purpose = 0;
    events::Direction direction = events::Direction::kSent;
    auto operator<=>(const Proxied&) const = default;
  };
  std::map<Proxied, Cell> proxied;
  // The purposes of NCCL's calls; a proxy's last operation may be recorded after the call's end.
  static constexpr size_t kMostPurposes = params::traffic::kMostPurposes;
  std::map<uint32_t, uint32_t> nccl_purposes;
  uint64_t nccl_calls = 0;
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
  bool has_messages() const { return has_messages_; }
  // Whether NCCL's proxy was recorded: then its messages over heddle are not counted once more.
  bool has_proxy() const { return has_proxy_; }
  // The address of one of an endpoint's NICs.
  NicAddress address_of(uint32_t writer, uint8_t nic) const;
  // Bytes sent to peers that did not become connections.
  const Cell& astray() const { return astray_; }

 private:
  void on(const events::ConnectionOpened& event);
  void on(const events::CommunicatorLinked& event);
  void on(const events::CallMade& event);
  void on(const events::CallStarted& event);
  void on(const events::CallEnded& event);
  void on(const Whole& message);
  void on(const events::ProxyOp& event);
  void on(const events::BurstSent& event);
  void on(const events::WireBin& event);
  ConnectionTraffic& connection(uint32_t id);
  uint32_t purpose_of(uint64_t communicator, const events::CallStarted& call, uint32_t phase);
  uint32_t own_purpose(uint64_t communicator);
  // For bytes that are known by path and time, and not by call.
  uint32_t purpose_between(const ConnectionTraffic& connection, Nanos from, Nanos to);
  void count(ConnectionTraffic& connection, const Whole& message, const Membership::Live& call,
             bool first);

  Purposes* purposes_;
  std::map<uint64_t, Membership> memberships_;
  std::unordered_map<uint32_t, ConnectionTraffic> connections_;
  std::vector<std::string> phases_{""};
  std::map<std::string, uint32_t> phase_numbers_{{"", 0}};
  uint32_t phase_ = 0;
  std::map<std::pair<uint32_t, uint8_t>, NicAddress> nics_;  // by endpoint and NIC number
  Cell astray_;
  uint64_t calls_ = 0;
  bool has_messages_ = false;
  bool has_proxy_ = false;
  ConnectionTraffic* latest_ = nullptr;  // elements of connections_ do not move
};

}  // namespace heddle::insight
