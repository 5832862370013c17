// Hop by hop: all paths are asked, those that did not answer again, since routers limit how many
// answers they give. Where nobody answers a hop, the peer itself is asked whether it is there.
#include "transport/path/discovery.h"

#include <algorithm>
#include <map>

namespace heddle::transport {
namespace {

// Probes leave one by one.
constexpr Nanos kBetweenProbes = micros(100);
// How long a round waits for its answers; each round without one waits four times as long.
constexpr Nanos kFirstWait = millis(20);
constexpr Nanos kLongestWait = millis(1100);  // Linux gives one answer a second once it limits them
constexpr uint8_t kIdleRounds = 5;
// All probes of one discovery.
constexpr uint32_t kMostProbes = 4096;

}  // namespace

Discovery::Discovery(Nanos now, uint16_t paths)
    : seen_(size_t{paths} * kMostHops, kSilent), way_of_(paths) {
  begin_hop(now);
}

void Discovery::begin_hop(Nanos now) {
  ++hop_;
  answered_ = 0;
  idle_rounds_ = 0;
  left_ = paths();
  begin_round(now);
}

void Discovery::begin_round(Nanos now) {
  before_ = answered_;
  cursor_ = 0;
  at_ = now;
}

bool Discovery::poll_probe(Nanos now, Probe& probe) {
  if (done_ || now < at_) return false;
  while (cursor_ < paths() && left_ > 0) {
    const uint16_t path = cursor_++;
    if (seen(path, hop_) != kSilent) continue;
    --left_;
    ++sent_;
    probe = {path, hop_, confirming_};
    const Nanos wait = std::min(kFirstWait * (int64_t{1} << 2 * idle_rounds_), kLongestWait);
    const bool last = left_ == 0 || cursor_ == paths();
    at_ = now + (last ? wait : kBetweenProbes);
    return true;
  }
  end_round(now);
  return !done_ && at_ <= now && poll_probe(now, probe);
}

void Discovery::end_round(Nanos now) {
  const auto fresh = static_cast<uint16_t>(answered_ - before_);
  if (answered_ == paths()) {
    if (hop_ == kMostHops) return finish();
    return begin_hop(now);
  }
  idle_rounds_ = fresh > 0 ? uint8_t{0} : static_cast<uint8_t>(idle_rounds_ + 1);
  if (idle_rounds_ == kIdleRounds || sent_ >= kMostProbes) {
    // Some answered and some do not: what the others pass is not known.
    if (answered_ > 0 || confirming_ || sent_ >= kMostProbes) return finish();
    confirming_ = true;
    idle_rounds_ = 0;
  }
  // A router that limits its answers gives them the sooner the fewer are asked for.
  left_ = confirming_ ? uint16_t{1} : std::max<uint16_t>(static_cast<uint16_t>(2 * fresh), 2);
  begin_round(now);
}

void Discovery::on_answer(uint16_t path, uint8_t hop, const Router& router) {
  if (done_ || path >= paths() || hop == 0 || hop > hop_ || seen(path, hop) != kSilent) return;
  const auto at = std::find(routers_.begin(), routers_.end(), router);
  seen(path, hop) = static_cast<uint16_t>(at - routers_.begin());
  if (at == routers_.end()) routers_.push_back(router);
  if (hop == hop_) ++answered_;
}

// That of hops before it nothing arrived is known: routers answered there.
void Discovery::on_arrived(uint8_t hop) {
  if (done_ || !confirming_ || hop != hop_ || answered_ > 0) return;
  std::map<std::vector<uint16_t>, uint16_t> ways;
  for (uint16_t path = 0; path < paths(); ++path) {
    std::vector<uint16_t> way;
    for (uint8_t each = 1; each < hop_; ++each) way.push_back(seen(path, each));
    way_of_[path] = ways.emplace(way, static_cast<uint16_t>(ways.size())).first->second;
  }
  const auto found = static_cast<uint32_t>(ways.size());
  ways_ = enough(found, paths()) ? found : 0;
  finish();
}

void Discovery::finish() { done_ = true; }

const Discovery::Router* Discovery::router(uint16_t path, uint8_t hop) const {
  const uint16_t at = seen(path, hop);
  return at == kSilent ? nullptr : &routers_[at];
}

std::vector<uint16_t> Discovery::some_of_each_way(uint16_t each) const {
  std::vector<uint16_t> taken(ways_);
  std::vector<uint16_t> some;
  for (uint16_t path = 0; path < paths() && ways_ > 0; ++path) {
    if (taken[way_of_[path]]++ < each) some.push_back(path);
  }
  return some;
}

bool Discovery::enough(uint32_t ways, uint32_t entropies) {
  const double others = 1.0 / (ways + 1.0);
  double chance = ways + 1.0;
  for (uint32_t i = 0; i < entropies; ++i) chance *= 1.0 - others;
  return ways > 0 && chance < 0.01;
}

}  // namespace heddle::transport
