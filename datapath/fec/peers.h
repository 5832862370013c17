// FecPeers: the peers that something was sent to, and which of them read parity. Only sending adds
// one, so packets of strangers change nothing. Driven by FecDatapath.
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
    bool announce = false;      // an announcement is due, and is counted as sent
    bool reads_parity = false;  // the peer
  };
  // Something of a connection leaves to this address.
  Sending on_send(Nanos now, const transport::Address& to);
  // An announcement arrived from this host, whose sender receives on `port`.
  void on_announcement(Nanos now, const transport::Address& from, uint16_t port);
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
  Peer& peer_at(Nanos now, const transport::Address& to);

  std::vector<Peer> peers_;
  size_t latest_ = 0;
};

}  // namespace heddle::datapath
