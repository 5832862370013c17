// UdPeers: the peers that something of a connection was sent to, and by which queue pair each
// receives; each engine of an endpoint is a peer. It is asked by UDP; once it has answered, by
// queue pair, and only if it answers that too do its datagrams travel so. From then on it is asked
// now and then; one that is silent, restarted or cut off gets its datagrams by UDP again. Only
// sending adds a peer, so packets of strangers change nothing. Pure: UdDatapath drives it.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "base/nanos.h"
#include "datapath/ud/greeting.h"
#include "transport/address.h"

namespace heddle::datapath {

// An engine of the endpoint at an address.
struct UdPeer {
  transport::Address to;
  uint8_t engine = 0;

  auto operator<=>(const UdPeer&) const = default;
};

// Where a peer's queue pair is.
struct UdDestination {
  UdPeer peer;
  uint32_t queue_pair = 0;
  uint32_t key = 0;
  uint32_t mtu_bytes = 0;
};

class UdPeers {
 public:
  enum class Ask : uint8_t { kNone, kByUdp, kByPair };
  struct Sending {
    Ask ask = Ask::kNone;               // is due
    bool by_pair = false;               // its datagrams travel by queue pair
    const UdDestination* to = nullptr;  // where ask or by_pair needs it, until the next call
  };

  UdPeers();

  // How many engines the endpoint at this address has, by its latest answer; 1: unknown.
  uint8_t engines_of(const transport::Address& to);

  // Something leaves to this peer, or is about to: it may be called again. `of_connection`: false
  // for an answer to a stranger, which adds no peer.
  Sending on_send(Nanos now, const UdPeer& to, bool of_connection);
  // The ask that was due has left, with this nonce.
  void on_asked(Nanos now, const UdPeer& to, uint64_t nonce);
  // An answer came from this host. False: to no ask, or of a stranger.
  bool on_answer(Nanos now, const transport::Address& from, const Greeting& answer);
  // This peer's queue pair has moved: it says so, or nothing can be sent there.
  void on_moved(Nanos now, const UdPeer& to);
  // What has arrived by UDP was taken: only then does silence mean something.
  void on_look(Nanos now) { looked_at_ = now; }

  // Calls visit(peer) for each.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const Peer& peer : peers_) visit(peer.at.peer);
  }
  size_t size() const { return peers_.size(); }

 private:
  enum class State : uint8_t { kUnknown, kAnswered, kProven };
  struct Peer {
    UdDestination at;
    uint8_t engines = 1;  // of its endpoint
    Nanos sent_at;
    State state = State::kUnknown;
    Nanos ask_at;          // the next ask is due
    Nanos span;            // until an ask is repeated
    Nanos back;            // until the first one, where those by queue pair stayed unanswered
    uint32_t asks = 0;     // without an answer
    bool by_pair = false;  // the latest ask
    uint64_t nonce = 0;    // of it; 0: it was answered, or there is none
  };
  Peer* find(const UdPeer& to);
  std::span<Peer> at(const transport::Address& to);
  Peer& add(Nanos now, const UdPeer& to);
  void begin(Nanos at, Peer& peer) const;
  bool is_due(Nanos now, Peer& peer) const;

  std::vector<Peer> peers_;  // sorted by address and engine
  size_t latest_ = 0;        // the one that was found
  Nanos looked_at_;
};

}  // namespace heddle::datapath
