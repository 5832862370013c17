// Groups, rounds of probes, and which pair a group takes.
#include "transport/path/nic_pairs.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "transport/params.h"

namespace heddle::transport {
namespace {

using namespace params::nic_pairs;

Address without_port(Address address) {
  address.port = 0;
  return address;
}

}  // namespace

NicPairs::NicPairs(Nanos now, const NicPairsOptions& options)
    : own_(options.own.first(std::min<size_t>(options.own.size(), kMaxNics))),
      paths_(std::max<uint16_t>(options.paths, 1)),
      round_at_(options.asked_first ? now + kFirstWait : now),
      round_wait_(kFirstWait) {
  own_count_ = std::max(static_cast<uint32_t>(own_.size()), 1u);
  add_peers(options);
  form_groups(options);
}

// In the order of the peer's list, which includes the address that the handshake used.
void NicPairs::add_peers(const NicPairsOptions& options) {
  const size_t bytes = sizeof(Address::host);
  for (size_t at = 0; at + bytes <= options.peer.size() && peer_count_ < kMaxNics; at += bytes) {
    Address address;
    for (size_t i = 0; i < bytes; ++i) {
      address.host[i] = static_cast<uint8_t>(options.peer[at + i]);
    }
    if (find(address) == peer_count_) peers_[peer_count_++].address = address;
  }
  uint32_t home = find(options.home_peer);
  if (home == peer_count_) {
    home = std::min(peer_count_, kMaxNics - 1);
    peer_count_ = home + 1;
  }
  peers_[home].address = without_port(options.home_peer);
  peers_[home].proven = true;
}

// The group that the handshake went by stands first: a connection of few paths has that one.
void NicPairs::form_groups(const NicPairsOptions& options) {
  const uint32_t all = std::max(own_count_, peer_count_);
  const NicPair home{options.home_nic, static_cast<uint8_t>(find(options.home_peer))};
  CHECK(home.nic < own_count_);
  uint32_t first = home.nic;
  for (uint32_t i = 0; i < all; ++i) {
    if (aligned_of(i) == home) first = i;
  }
  groups_.resize(std::min<uint32_t>(all, paths_));
  for (uint32_t i = 0; i < groups_.size(); ++i) {
    groups_[i].pair = home;
    groups_[i].aligned = aligned_of((first + i) % all);
  }
  groups_[0].own = true;
}

NicPair NicPairs::aligned_of(uint32_t group) const {
  return {static_cast<uint8_t>(group % own_count_), static_cast<uint8_t>(group % peer_count_)};
}

uint32_t NicPairs::find(const Address& host) const {
  uint32_t at = 0;
  while (at < peer_count_ && peers_[at].address.host != host.host) ++at;
  return at;
}

bool NicPairs::possible(const NicPair& pair) const {
  return own_.empty() || same_family(own_[pair.nic], peers_[pair.peer_nic].address);
}

// NICs that a working group uses give nothing more to another one; only where none works is any way
// better than none.
bool NicPairs::may_cross(const NicPair& pair) const {
  return std::none_of(groups_.begin(), groups_.end(), [&pair](const PathGroup& group) {
    return group.settled() && (group.pair.nic == pair.nic || group.pair.peer_nic == pair.peer_nic);
  });
}

bool NicPairs::next_crossed(PathGroup& group, NicPair& pair) const {
  const uint32_t all = own_count_ * peer_count_;
  for (uint32_t tried = 0; tried < all; ++tried) {
    const uint32_t at = group.crossed++ % all;
    // Other NICs of the peer first.
    pair.nic = static_cast<uint8_t>((group.aligned.nic + at / peer_count_) % own_count_);
    pair.peer_nic = static_cast<uint8_t>((group.aligned.peer_nic + at) % peer_count_);
    if (pair != group.aligned && possible(pair) && may_cross(pair)) return true;
  }
  return false;
}

void NicPairs::set_works(Nanos now, uint32_t at, bool works) {
  PathGroup& group = groups_[at];
  if (group.works == works) return;
  group.works = works;
  if (works) return;
  round_wait_ = kGrace;
  round_at_ = std::min(round_at_, now + kGrace);
}

void NicPairs::move_home(const Address& peer, uint8_t nic) {
  const uint32_t at = find(peer);
  if (at == peer_count_ || nic >= own_count_) return;
  peers_[at].proven = true;
  move(0, {nic, static_cast<uint8_t>(at)});
}

// Probes pairs that are not aligned, and pairs that might replace them.
void NicPairs::begin_round(Nanos now, Secrets& secrets) {
  asked_ = asking_ = 0;
  for (Peer& peer : peers_) peer.token = 0;
  bool complete = true;
  for (uint32_t i = 0; i < groups_.size(); ++i) {
    // Another one first each time: an address that never answered is asked once a round.
    PathGroup& group = groups_[(i + round_) % groups_.size()];
    if (group.settled() && group.pair == group.aligned) continue;
    // Where payload flows already, loss detection notices a failure: no probe.
    const bool astray = !group.own || group.pair != group.aligned;
    if (astray) ask(now, secrets, group.aligned);
    complete = complete && !(astray && possible(group.aligned));
    NicPair crossed;
    if (group.settled() || !next_crossed(group, crossed)) continue;
    complete = false;
    ask(now, secrets, crossed);
  }
  ++round_;
  round_at_ = complete ? Nanos::never() : now + round_wait_;
  round_wait_ = std::min(2 * round_wait_, kLongestWait);
}

void NicPairs::ask(Nanos now, Secrets& secrets, const NicPair& pair) {
  Peer& peer = peers_[pair.peer_nic];
  if (!possible(pair) || (!peer.proven && now < peer.ask_at)) return;
  if (!peer.proven) {
    peer.ask_at = now + std::min(kFirstWait * (int64_t{1} << peer.asked), kLongestWait);
    peer.asked = std::min<uint8_t>(static_cast<uint8_t>(peer.asked + 1), kMostAsked);
  }
  if (peer.token == 0) peer.token = secrets.draw_nonzero(SecretUse::kProbeToken);
  asking_ |= bit_of(pair);
}

bool NicPairs::poll_probe(Nanos now, Secrets& secrets, Message& probe) {
  if (asking_ == 0 && round_at_ <= now) begin_round(now, secrets);
  if (asking_ == 0) return false;
  const auto at = static_cast<uint32_t>(std::countr_zero(asking_));
  probe.pair = {static_cast<uint8_t>(at / kMaxNics), static_cast<uint8_t>(at % kMaxNics)};
  probe.path = next_path();
  probe.token = peers_[probe.pair.peer_nic].token;
  asking_ &= asking_ - 1;
  asked_ |= bit_of(probe.pair);
  return true;
}

// In turn, since the way of one of them may be dead.
uint16_t NicPairs::next_path() {
  next_path_ = static_cast<uint16_t>((next_path_ + 1u) % paths_);
  return next_path_;
}

void NicPairs::on_probe(Nanos now, const Address& from, uint8_t nic, uint64_t token) {
  const uint32_t at = find(from);
  if (at == peer_count_ || nic >= own_count_) return;
  peers_[at].answer = token;
  peers_[at].answer_from = nic;
  answers_ |= static_cast<uint8_t>(1u << at);
  if (round_ == 0) round_at_ = now;
}

bool NicPairs::poll_answer(Message& answer) {
  if (answers_ == 0) return false;
  const auto at = static_cast<uint8_t>(std::countr_zero(answers_));
  answers_ &= static_cast<uint8_t>(answers_ - 1);
  answer = {{peers_[at].answer_from, at}, next_path(), peers_[at].answer};
  return true;
}

uint32_t NicPairs::on_answer(const Address& from, uint8_t nic, uint64_t token) {
  const uint32_t at = find(from);
  if (at == peer_count_ || nic >= own_count_ || token == 0 || peers_[at].token != token) return 0;
  const NicPair pair{nic, static_cast<uint8_t>(at)};
  if ((asked_ & bit_of(pair)) == 0) return 0;
  asked_ &= ~bit_of(pair);
  peers_[at].proven = true;
  for (uint32_t i = 0; i < groups_.size(); ++i) {
    const PathGroup& group = groups_[i];
    if (group.aligned != pair) continue;
    return group.own && group.pair == pair ? 0 : move(i, pair);
  }
  if (!may_cross(pair)) return 0;
  uint32_t best = groups();
  for (uint32_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i].settled() || (groups_[i].own && groups_[i].pair == pair)) continue;
    if (best == groups() || groups_[i].aligned.nic == nic) best = i;
  }
  return best == groups() ? 0 : move(best, pair);
}

// Groups without a pair of their own go where the first goes.
uint32_t NicPairs::move(uint32_t at, const NicPair& pair) {
  uint32_t moved = uint32_t{1} << at;
  groups_[at].pair = pair;
  groups_[at].own = true;
  if (at != 0) return moved;
  for (uint32_t i = 1; i < groups_.size(); ++i) {
    if (groups_[i].own) continue;
    groups_[i].pair = pair;
    moved |= uint32_t{1} << i;
  }
  return moved;
}

Nanos NicPairs::next_timeout() const { return asking_ != 0 || answers_ != 0 ? Nanos{} : round_at_; }

}  // namespace heddle::transport
