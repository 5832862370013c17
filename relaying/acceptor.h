// Acceptor: the sessions that arrive at a program through relays. It reads the hello of each new
// connection, and hands that of a known session to its link.
#pragma once

#include <memory>
#include <vector>

#include "engine/endpoint.h"
#include "relaying/relayed_link.h"

namespace heddle::relaying {

class Acceptor {
 public:
  // All connections of the endpoint are its own. At most `most_links` sessions exist at a time, and
  // with connections that sent no hello yet, or are being turned away, one more; further ones are
  // turned away.
  Acceptor(engine::Endpoint& endpoint, size_t most_links, const LinkOptions& options = {})
      : endpoint_(endpoint), most_links_(most_links), options_(options) {}

  // Takes what has arrived. Returns the link of a new session; null: there is none now. Never
  // blocks.
  std::unique_ptr<RelayedLink> accept();
  uint64_t turned_away() const { return turned_away_; }

 private:
  struct Stranger {
    std::unique_ptr<FramePort> port;
    Nanos came_at;
  };
  void take_connections();
  void turn_away(std::unique_ptr<FramePort> port, const Error& error);
  std::unique_ptr<RelayedLink> admit(Arrival arrival);

  engine::Endpoint& endpoint_;
  const size_t most_links_;
  const LinkOptions options_;
  const std::shared_ptr<SessionTable> table_ = std::make_shared<SessionTable>();
  std::vector<Stranger> strangers_;
  std::vector<Stranger> leaving_;  // turned away, since when
  uint64_t turned_away_ = 0;
};

}  // namespace heddle::relaying
