// FecPeers: the peers that something was sent to, and which of them read parity. Only sending adds
// one, so packets of strangers change nothing. Its memory is there from the start. Driven by
// FecDatapath.
#pragma once

#include <cstdint>
#include <vector>

#include "base/nanos.h"
#include "datapath/fec/params.h"
#include "transport/address.h"

namespace heddle::datapath {

class FecPeers {
 public:
  struct Sending {
    bool announce = false;      // an announcement is due
    bool reads_parity = false;  // the peer
  };

  FecPeers();

  // Something of a connection leaves to this address, or is about to: it may be called again.
  // Neither is set while all places are those of other peers in use.
  Sending on_send(Nanos now, const transport::Address& to);
  // The announcement that was due has left.
  void on_announced(Nanos now, const transport::Address& to);
  // An announcement arrived from this host, whose sender receives on `port`. False: of a stranger.
  bool on_announcement(Nanos now, const transport::Address& from, uint16_t port);
  // Whether a peer at this host reads parity, and so may send some.
  bool takes_part(Nanos now, const transport::Address& from) const;

 private:
  struct Peer {
    transport::Address to;
    Nanos sent_at;
    Nanos announce_at;
    uint32_t announcements = 0;
    bool announced = false;  // by the peer
    Nanos announced_at;

    bool reads_parity(Nanos now) const {
      return announced && now - announced_at < fec_params::kAnnouncedFor;
    }
  };
  Peer* find(const transport::Address& to);
  Peer* add(Nanos now, const transport::Address& to);
  bool forget_one(Nanos now);

  std::vector<Peer> peers_;  // sorted by address
  size_t latest_ = 0;        // the one that was found
  Nanos full_until_;         // no peer can be forgotten before
};

}  // namespace heddle::datapath
