// See htsim_topology.h.
#include "topology/htsim_topology.h"

#include <algorithm>
#include <array>
#include <optional>

#include "topology/generators.h"
#include "topology/htsim/words.h"
#include "topology/params.h"

namespace heddle::topology {
namespace {

constexpr uint32_t kFrameHeaderBytes = 64;  // validate() requires room for it in every queue

// A value of the file, and its line; line 0: not given.
struct Given {
  uint64_t value = 0;
  int line = 0;

  bool there() const { return line > 0; }
};

struct Tier {
  int line = 0;  // of "Tier"; 0: the file has none
  Given speed_gbps, radix_down, radix_up, latency_ns, switch_latency_ns, bundle, oversubscribed,
      queue_down, queue_up;
};

struct Key {
  std::string_view name;
  Given Tier::*value;
  uint64_t most;
};

constexpr std::array<Key, 9> kKeys = {
    {{"downlink_speed_gbps", &Tier::speed_gbps, 1'000},
     {"radix_down", &Tier::radix_down, params::htsim::kMaxRadix},
     {"radix_up", &Tier::radix_up, params::htsim::kMaxRadix},
     {"downlink_latency_ns", &Tier::latency_ns, 1'000'000'000},
     {"switch_latency_ns", &Tier::switch_latency_ns, 1'000'000'000},
     {"bundle", &Tier::bundle, params::htsim::kMaxRadix},
     {"oversubscribed", &Tier::oversubscribed, params::htsim::kMaxRadix},
     {"queue_down", &Tier::queue_down, uint64_t{1} << 40},
     {"queue_up", &Tier::queue_up, uint64_t{1} << 40}}};

std::string lower(std::string_view word) {
  std::string text(word);
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

class TopologyReader {
 public:
  TopologyReader(std::string_view text, const std::string& name, const HtsimLinkUse& use)
      : lines_(text, name), use_(use) {}

  Result<Topology> read();

 private:
  using Part = Result<void>;

  Part read_line();
  Part read_tier_line();
  Part read_key(const std::string& word);
  Part check_given() const;
  Part check_tier(size_t tier) const;
  Part check_shape() const;
  Part check_capacity(size_t tier) const;
  Result<Topology> finish(Topology topology) const;
  Result<LinkShape> link_shape(size_t tier) const;
  Unexpected mismatch(size_t tier, Given Tier::*where, const std::string& why) const;

  bool top(size_t tier) const { return tier + 1 == tiers_count_.value; }
  uint64_t bundle(size_t tier) const {
    return tiers_[tier].bundle.there() ? tiers_[tier].bundle.value : 1;
  }

  WordReader lines_;
  const HtsimLinkUse& use_;
  Given nodes_, tiers_count_, podsize_;
  std::array<Tier, 3> tiers_;
  std::optional<size_t> tier_;  // the tier that the current lines describe
};

Result<Topology> TopologyReader::read() {
  while (lines_.next()) {
    if (Part part = read_line(); !part) return fail(part.error());
  }
  if (Part part = check_given(); !part) return fail(part.error());
  if (Part part = check_shape(); !part) return fail(part.error());
  std::array<LinkShape, 3> links;
  for (size_t tier = 0; tier < tiers_count_.value; ++tier) {
    const Result<LinkShape> shape = link_shape(tier);
    if (!shape) return fail(shape.error());
    links[tier] = *shape;
  }
  const auto number = [](uint64_t value) { return static_cast<uint32_t>(value); };
  const Tier& leaf = tiers_[0];
  if (tiers_count_.value == 2) {
    return finish(leaf_spine({.leaves = number(nodes_.value / leaf.radix_down.value),
                              .spines = number(leaf.radix_up.value / bundle(1)),
                              .hosts_per_leaf = number(leaf.radix_down.value),
                              .host_link = links[0],
                              .spine_link = links[1],
                              .bundle = number(bundle(1))}));
  }
  return finish(fat_tree({.pods = number(nodes_.value / podsize_.value),
                          .leaves_per_pod = number(podsize_.value / leaf.radix_down.value),
                          .spines_per_pod = number(leaf.radix_up.value / bundle(1)),
                          .cores_per_spine = number(tiers_[1].radix_up.value / bundle(2)),
                          .hosts_per_leaf = number(leaf.radix_down.value),
                          .host_link = links[0],
                          .switch_link = links[1],
                          .core_link = links[2],
                          .leaf_bundle = number(bundle(1)),
                          .core_bundle = number(bundle(2))}));
}

Result<Topology> TopologyReader::finish(Topology topology) const {
  for (Switch& each : topology.switches) each.shape = use_.switches;
  if (Result<void> valid = validate(topology); !valid) {
    return lines_.wrong_at(0, valid.error().what + ": " + valid.error().why, valid.error().todo);
  }
  return topology;
}

TopologyReader::Part TopologyReader::read_line() {
  const std::string word = lower(lines_.words().front());
  if (lines_.words().size() > 2) {
    return lines_.wrong(quoted(lines_.words()[2]) + " is not expected here",
                        "a line is a word and a number");
  }
  if (word == "tier") return read_tier_line();
  Given* header = nullptr;
  if (word == "nodes") header = &nodes_;
  if (word == "tiers") header = &tiers_count_;
  if (word == "podsize") header = &podsize_;
  if (header == nullptr) return read_key(word);
  if (header->there()) return lines_.wrong("'" + word + "' is there twice", "remove one");
  const Result<uint64_t> number = lines_.number_behind(0, params::htsim::kMaxNodes);
  if (!number) return fail(number.error());
  *header = {*number, lines_.line()};
  if (header == &tiers_count_ && *number != 2 && *number != 3) {
    return lines_.wrong("'Tiers' is " + std::to_string(*number), "give 2 or 3");
  }
  if (*number == 0) return lines_.wrong("'" + word + "' is 0", "give at least 1");
  return {};
}

TopologyReader::Part TopologyReader::read_tier_line() {
  const Result<uint64_t> number = lines_.number_behind(0, 2);
  if (!number) return fail(number.error());
  tier_ = *number;
  tiers_[*tier_].line = lines_.line();
  return {};
}

TopologyReader::Part TopologyReader::read_key(const std::string& word) {
  const auto key = std::find_if(kKeys.begin(), kKeys.end(),
                                [&word](const Key& each) { return each.name == word; });
  if (key == kKeys.end()) {
    std::string known = "known: nodes, tiers, podsize, tier";
    for (const Key& each : kKeys) known += ", " + std::string(each.name);
    return lines_.wrong(quoted(word) + " is not known", known);
  }
  if (!tier_) return lines_.wrong("'" + word + "' stands before any tier", "write 'Tier 0' first");
  const Result<uint64_t> number = lines_.number_behind(0, key->most);
  if (!number) return fail(number.error());
  Given& given = tiers_[*tier_].*key->value;
  if (given.there()) {
    return lines_.wrong("'" + word + "' of tier " + std::to_string(*tier_) + " is there twice",
                        "remove one");
  }
  given = {*number, lines_.line()};
  return {};
}

TopologyReader::Part TopologyReader::check_given() const {
  const struct {
    const Given& given;
    const char* word;
  } headers[] = {{nodes_, "Nodes"}, {tiers_count_, "Tiers"}, {podsize_, "Podsize"}};
  for (const auto& [given, word] : headers) {
    if (given.there()) continue;
    return lines_.wrong_at(0, "it has no line '" + std::string(word) + "'", "add it at the top");
  }
  for (size_t tier = 0; tier < tiers_count_.value; ++tier) {
    if (Part part = check_tier(tier); !part) return part;
  }
  return {};
}

TopologyReader::Part TopologyReader::check_tier(size_t number) const {
  const Tier& tier = tiers_[number];
  const std::string name = "tier " + std::to_string(number);
  if (tier.line == 0) return lines_.wrong_at(0, "it does not describe " + name, "add it");
  const struct {
    const Given& given;
    const char* word;
    bool needed;
  } keys[] = {{tier.speed_gbps, "Downlink_speed_Gbps", true},
              {tier.radix_down, "Radix_Down", true},
              {tier.latency_ns, "Downlink_Latency_ns", true},
              {tier.radix_up, "Radix_Up", !top(number)},
              {tier.bundle, "Bundle", false}};
  for (const auto& [given, word, needed] : keys) {
    if (needed && !given.there()) {
      return lines_.wrong_at(tier.line, name + " has no '" + word + "'", "add it");
    }
    if (given.there() && given.value == 0) {
      return lines_.wrong_at(given.line, "'" + std::string(word) + "' is 0", "give at least 1");
    }
  }
  if (top(number) && tier.radix_up.there()) {
    return lines_.wrong_at(tier.radix_up.line, "the top tier has a 'Radix_Up'", "remove it");
  }
  return {};
}

Unexpected TopologyReader::mismatch(size_t tier, Given Tier::*where, const std::string& why) const {
  const Given& given = tiers_[tier].*where;
  return lines_.wrong_at(given.there() ? given.line : tiers_[tier].line, why,
                         "correct the numbers of the tiers");
}

TopologyReader::Part TopologyReader::check_shape() const {
  const uint64_t hosts_a_leaf = tiers_[0].radix_down.value;
  const bool pods = tiers_count_.value == 3;
  const uint64_t pod = pods ? podsize_.value : nodes_.value;
  if (nodes_.value % podsize_.value != 0) {
    return lines_.wrong_at(podsize_.line, "the nodes are no multiple of the pod's size",
                           "correct one of them");
  }
  if (bundle(0) != 1) {
    return mismatch(0, &Tier::bundle, "a host has more than one cable to its switch");
  }
  if (pod % hosts_a_leaf != 0) {
    return mismatch(0, &Tier::radix_down, "the nodes of a pod do not fill its switches of tier 0");
  }
  for (size_t tier = 1; tier < tiers_count_.value; ++tier) {
    const uint64_t below = tier == 1 ? pod / hosts_a_leaf : nodes_.value / pod;
    if (tiers_[tier - 1].radix_up.value % bundle(tier) != 0) {
      return mismatch(tier - 1, &Tier::radix_up, "'Radix_Up' is no multiple of the bundle above");
    }
    if (tiers_[tier].radix_down.value != below * bundle(tier)) {
      return mismatch(tier, &Tier::radix_down,
                      "'Radix_Down' is " + std::to_string(tiers_[tier].radix_down.value) +
                          ", and the tier below needs " + std::to_string(below * bundle(tier)));
    }
    if (Part part = check_capacity(tier - 1); !part) return part;
  }
  const uint64_t leaf_links = nodes_.value / hosts_a_leaf * tiers_[0].radix_up.value;
  if (leaf_links > params::htsim::kMaxLinks ||
      (pods && leaf_links * tiers_[1].radix_up.value >
                   params::htsim::kMaxLinks * tiers_[1].radix_down.value)) {
    return lines_.wrong_at(
        nodes_.line,
        "it has more than " + std::to_string(params::htsim::kMaxLinks) + " links in a tier",
        "make it smaller");
  }
  return {};
}

// A switch's downlink capacity is its uplink capacity times the oversubscription.
TopologyReader::Part TopologyReader::check_capacity(size_t tier) const {
  const Tier& low = tiers_[tier];
  const uint64_t times = low.oversubscribed.there() ? low.oversubscribed.value : 1;
  const uint64_t down = low.radix_down.value * low.speed_gbps.value;
  const uint64_t up = low.radix_up.value * tiers_[tier + 1].speed_gbps.value;
  if (down == times * up) return {};
  return mismatch(tier, &Tier::oversubscribed,
                  "a switch of tier " + std::to_string(tier) + " has " + std::to_string(down) +
                      " Gb/s down and " + std::to_string(up) +
                      " Gb/s up, and 'Oversubscribed' is " + std::to_string(times));
}

// The shape of the cables below a tier.
Result<LinkShape> TopologyReader::link_shape(size_t number) const {
  const Tier& tier = tiers_[number];
  uint64_t delay = tier.latency_ns.value + tier.switch_latency_ns.value / 2;
  Given up;
  if (number > 0) {
    delay += tiers_[number - 1].switch_latency_ns.value / 2;
    up = tiers_[number - 1].queue_up;
  }
  const uint64_t queue_down = tier.queue_down.there() ? tier.queue_down.value : use_.queue.count;
  const uint64_t queue_up = up.there() ? up.value : use_.queue.count;
  if (number > 0 && queue_up != queue_down) {
    return lines_.wrong_at(
        up.there() ? up.line : tier.queue_down.line,
        "the queues at both ends of a cable differ: " + std::to_string(queue_up) + " bytes up, " +
            std::to_string(queue_down) + " down",
        "make 'Queue_up' of a tier and 'Queue_down' of the next one equal");
  }
  if (queue_down < uint64_t{use_.mtu_bytes} + kFrameHeaderBytes) {
    return lines_.wrong_at(tier.queue_down.line, "the queue does not hold one full packet",
                           "make it at least " +
                               std::to_string(use_.mtu_bytes + kFrameHeaderBytes) +
                               " bytes, or the MTU smaller");
  }
  const uint64_t threshold = use_.ecn_threshold.count;
  if (threshold != UINT64_MAX && threshold > queue_down) {
    return lines_.wrong_at(tier.queue_down.line,
                           "packets would be marked above " + std::to_string(threshold) +
                               " bytes, and a queue holds " + std::to_string(queue_down),
                           "mark them earlier, or make the queue longer");
  }
  return LinkShape{.rate = gigabits_per_s(tier.speed_gbps.value),
                   .delay = nanos(static_cast<int64_t>(delay)),
                   .queue = {queue_down},
                   .ecn_threshold = use_.ecn_threshold,
                   .mtu_bytes = use_.mtu_bytes,
                   .ecn_ramp_per_million = use_.ecn_ramp_per_million,
                   .ecn_ramp = use_.ecn_ramp};
}

}  // namespace

Result<Topology> parse_htsim_topology(std::string_view text, const std::string& name,
                                      const HtsimLinkUse& use) {
  return TopologyReader(text, name, use).read();
}

}  // namespace heddle::topology
