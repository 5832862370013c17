// PathOutages: the paths of a connection that failed, when, and the routers that they passed.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

namespace heddle::insight {

// A router's address as an IPv6 address; zero: it did not answer.
struct Router {
  uint64_t high = 0;
  uint64_t low = 0;
  auto operator<=>(const Router&) const = default;
};
using Route = std::vector<Router>;  // hop by hop

// Times are since the beginning of the job, ns; -1: not yet.
struct Outage {
  uint16_t path = 0;
  int64_t from = 0;
  int64_t to = -1;        // until it worked again, or its connection was closed
  bool returned = false;  // it worked again
  // When the first message of the connection completed meanwhile, which other paths carried.
  int64_t others_worked = -1;
  Route route;  // when it failed; empty: not known
};

class PathOutages {
 public:
  void begin(uint16_t path, int64_t at);
  void end(uint16_t path, int64_t at);
  // The connection is over: no path of it works again.
  void close(int64_t at);
  void on_message(int64_t at);
  // `hop` counts from 1, up to `hops`. A router that does not answer is the one that was there
  // before.
  struct Hop {
    uint32_t hop = 0;
    uint32_t hops = 0;
    Router router;
  };
  void trace(uint16_t path, const Hop& seen);

  const std::vector<Outage>& lasting() const { return lasting_; }
  const std::deque<Outage>& ended() const { return ended_; }  // the newest kMostOutages
  // By path, as last seen, of the first kMostRoutes.
  const std::map<uint16_t, Route>& routes() const { return routes_; }
  // Messages are not recorded at all levels.
  bool knows_messages() const { return knows_messages_; }

 private:
  void keep(Outage outage, int64_t at);

  std::vector<Outage> lasting_;  // one of each path at most
  std::deque<Outage> ended_;
  std::map<uint16_t, Route> routes_;
  bool knows_messages_ = false;
};

}  // namespace heddle::insight
