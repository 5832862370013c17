// See host_cover.h.
#include "acceptance/host_cover.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace heddle::acceptance {
namespace {

// Hosts with those that they are in pairs with; none has no pair.
using Pairs = std::map<uint32_t, std::set<uint32_t>>;

void remove(Pairs& pairs, uint32_t host) {
  for (const uint32_t other : pairs[host]) {
    const auto at = pairs.find(other);
    at->second.erase(host);
    if (at->second.empty()) pairs.erase(at);
  }
  pairs.erase(host);
}

Pairs::const_iterator busiest(const Pairs& pairs) {
  return std::max_element(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) {
    return a.second.size() < b.second.size();
  });
}

std::vector<uint32_t> greedy_cover(Pairs pairs) {
  std::vector<uint32_t> cover;
  while (!pairs.empty()) {
    cover.push_back(busiest(pairs)->first);
    remove(pairs, cover.back());
  }
  return cover;
}

class ExactCover {
 public:
  explicit ExactCover(std::vector<uint32_t> known) : best_(std::move(known)) {}

  std::vector<uint32_t> of(const Pairs& pairs) {
    search(pairs);
    return best_;
  }

 private:
  // A cover has the host, or all that it is in pairs with.
  void search(const Pairs& pairs) {
    if (pairs.empty()) {
      if (chosen_.size() < best_.size()) best_ = chosen_;
      return;
    }
    const auto host = busiest(pairs);
    if (chosen_.size() + least_of(pairs, host->second.size()) >= best_.size()) return;
    choose(pairs, {host->first});
    choose(pairs, host->second);
  }

  void choose(const Pairs& pairs, const std::set<uint32_t>& hosts) {
    Pairs left = pairs;
    for (const uint32_t host : hosts) {
      chosen_.push_back(host);
      if (left.count(host) > 0) remove(left, host);
    }
    search(left);
    chosen_.resize(chosen_.size() - hosts.size());
  }

  // Each host is in `most` pairs at most.
  static size_t least_of(const Pairs& pairs, size_t most) {
    size_t ends = 0;
    for (const auto& [host, others] : pairs) ends += others.size();
    return (ends / 2 + most - 1) / most;
  }

  std::vector<uint32_t> best_;
  std::vector<uint32_t> chosen_;
};

}  // namespace

HostCover cover_of(const std::vector<HostPair>& pairs, size_t most_exact) {
  std::set<uint32_t> alone;  // in a pair with themselves: every cover has them
  for (const HostPair& pair : pairs) {
    if (pair.from == pair.to) alone.insert(pair.from);
  }
  Pairs of_hosts;
  for (const HostPair& pair : pairs) {
    if (alone.contains(pair.from) || alone.contains(pair.to)) continue;
    of_hosts[pair.from].insert(pair.to);
    of_hosts[pair.to].insert(pair.from);
  }
  HostCover cover{.hosts = greedy_cover(of_hosts), .least = of_hosts.size() <= most_exact};
  if (cover.least) cover.hosts = ExactCover(std::move(cover.hosts)).of(of_hosts);
  cover.hosts.insert(cover.hosts.begin(), alone.begin(), alone.end());
  return cover;
}

}  // namespace heddle::acceptance
