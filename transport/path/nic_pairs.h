// NicPairs: between which NIC of this host and which of the peer's each path of a connection goes.
// Paths are dealt out over as many groups as the side with more NICs has; a group goes from first
// to first, from second to second, where that pair of NICs answers. No payload goes to an address
// of the peer before a probe to it was answered: until then its group shares the pair of the first
// one. Made only where a side has several NICs; the connection drives it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/nanos.h"
#include "transport/address.h"
#include "transport/security/secrets.h"

namespace heddle::transport {

struct NicPair {
  uint8_t nic = 0;       // of this host
  uint8_t peer_nic = 0;  // of the peer

  bool operator==(const NicPair&) const = default;
};

struct NicPairsOptions {
  std::span<const Address> own;  // of this host's NICs, outliving this; none where it has one
  std::span<const std::byte>
      peer;              // of the peer's NICs, as advertised in its handshake; none likewise
  Address home_peer;     // where the handshake has shown the peer to receive
  uint8_t home_nic = 0;  // of this host, that the handshake went by
  uint16_t paths = 1;
  bool asked_first = false;  // the peer, which knows first that there is a connection, begins
};

class NicPairs {
 public:
  // A probe or an answer that is to leave now.
  struct Message {
    NicPair pair;
    uint16_t path = 0;  // whose entropy it takes
    uint64_t token = 0;
  };

  NicPairs(Nanos now, const NicPairsOptions& options);

  // --- where packets go ---
  NicPair pair_of(uint16_t path) const { return groups_[path % groups_.size()].pair; }
  // Of a NIC of the peer; its port is the connection's to say.
  const Address& peer(uint8_t peer_nic) const { return peers_[peer_nic].address; }
  // Whether the peer said that it sends from there.
  bool knows(const Address& from) const { return find(from) < peer_count_; }

  // --- groups ---
  uint32_t groups() const { return static_cast<uint32_t>(groups_.size()); }
  uint32_t group_of(uint16_t path) const { return path % groups(); }
  // Whether any path of the group works, as recovery sees it. Where none does, other pairs are
  // tried.
  void set_works(Nanos now, uint32_t group, bool works);
  // The peer has shown that it receives at this address, and asks for answers there.
  void move_home(const Address& peer, uint8_t nic);

  // --- probes ---
  bool poll_probe(Nanos now, Secrets& secrets, Message& probe);
  // A probe came in from there, at this NIC.
  void on_probe(Nanos now, const Address& from, uint8_t nic, uint64_t token);
  bool poll_answer(Message& answer);
  // The groups (bits) that go another way from now on.
  uint32_t on_answer(const Address& from, uint8_t nic, uint64_t token);
  // Whether poll_probe() or poll_answer() is worth asking.
  bool due(Nanos now) const { return asking_ != 0 || answers_ != 0 || round_at_ <= now; }
  Nanos next_timeout() const;

  size_t bytes_held() const { return sizeof(*this) + groups_.capacity() * sizeof(PathGroup); }

 private:
  struct PathGroup {
    NicPair pair;         // that its paths take
    NicPair aligned;      // that they should
    uint8_t crossed = 0;  // how many of the other pairs were tried
    bool own = false;     // the pair has answered for it: it does not share the first group's
    bool works = true;

    bool settled() const { return own && works; }
  };

  struct Peer {
    Address address;
    uint64_t token = 0;   // of the probes of this round
    uint64_t answer = 0;  // token that is to be sent back
    Nanos ask_at;         // no probe before, while it has never answered
    uint8_t answer_from = 0;
    uint8_t asked = 0;    // times, while it has never answered
    bool proven = false;  // it receives what is sent to it
  };

  uint32_t find(const Address& host) const;
  void add_peers(const NicPairsOptions& options);
  void form_groups(const NicPairsOptions& options);
  NicPair aligned_of(uint32_t group) const;
  bool possible(const NicPair& pair) const;
  bool may_cross(const NicPair& pair) const;
  bool next_crossed(PathGroup& group, NicPair& pair) const;
  void begin_round(Nanos now, Secrets& secrets);
  void ask(Nanos now, Secrets& secrets, const NicPair& pair);
  uint32_t move(uint32_t group, const NicPair& pair);
  uint16_t next_path();
  static uint64_t bit_of(const NicPair& pair) {
    return uint64_t{1} << (pair.nic * kMaxNics + pair.peer_nic);
  }

  std::span<const Address> own_;
  std::array<Peer, kMaxNics> peers_;
  uint32_t own_count_ = 1;
  uint32_t peer_count_ = 0;
  std::vector<PathGroup> groups_;  // the first is the one that the handshake went by
  uint64_t asking_ = 0;            // pairs whose probe is to leave
  uint64_t asked_ = 0;             // pairs whose answer would count
  uint8_t answers_ = 0;            // NICs of the peer that wait for one
  uint8_t round_ = 0;
  uint16_t paths_;
  uint16_t next_path_ = 0;
  Nanos round_at_;
  Nanos round_wait_;
};

}  // namespace heddle::transport
