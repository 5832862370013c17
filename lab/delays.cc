// See delays.h. Every limit includes data of kStall, so that frames that arrive while a busy
// machine delays the forwarder are held, not dropped.
#include "lab/delays.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>

#include "lab/params.h"
#include "lab/tool.h"
#include "lab/worker.h"

namespace heddle::lab {
namespace {

constexpr uint32_t kFrameHeaderBytes = 18;  // Ethernet, and a VLAN tag
constexpr uint64_t kLeastFrame = 64;

DelayedLink cut(const topology::Topology& topology, uint32_t number) {
  const topology::LinkShape& shape = topology.links[number].shape;
  const BitsPerSec rate = shape.rate.count == 0 ? params::kUnlimited : shape.rate;
  DelayedLink link;
  link.link = number;
  link.device_a = delay_device(number, true);
  link.device_b = delay_device(number, false);
  link.delay = shape.delay;
  link.largest_frame = shape.mtu_bytes + kFrameHeaderBytes;
  link.in_flight = std::clamp(bytes_within(shape.delay + params::kStall, rate),
                              params::kLeastInFlight, params::kMostInFlight);
  link.ring = std::clamp(bytes_within(params::kStall, rate), params::kLeastRing, params::kMostRing);
  return link;
}

std::string too_fast(const topology::Topology& topology) {
  BitsPerSec all;
  bool one = false;
  for (const topology::Link& link : topology.links) {
    if (!is_delayed(link)) continue;
    const BitsPerSec rate = link.shape.rate.count == 0 ? params::kUnlimited : link.shape.rate;
    one = one || rate > kTrueRate;
    all.count += 2 * rate.count;
  }
  if (!one && all <= kTrueRateOfAll) return "";
  return fmt::format(
      "delays are true up to {} Gbit/s of a link's direction and {} Gbit/s of all together: above, "
      "frames may leave late (`heddle lab status` counts them)",
      kTrueRate.count / 1'000'000'000, kTrueRateOfAll.count / 1'000'000'000);
}

}  // namespace

const char* delay_method_name(DelayMethod method) {
  switch (method) {
    case DelayMethod::kNone:
      return "none";
    case DelayMethod::kNetem:
      return "netem";
    case DelayMethod::kForwarder:
      return "forwarder";
  }
  return "";
}

bool is_delayed(const topology::Link& link) { return link.shape.delay >= params::kLeastDelay; }

std::vector<DelayedLink> delayed_links(const topology::Topology& topology) {
  std::vector<DelayedLink> list;
  for (uint32_t i = 0; i < topology.links.size(); ++i) {
    if (is_delayed(topology.links[i])) list.push_back(cut(topology, i));
  }
  return list;
}

// No host or switch has a name with this prefix.
std::string delay_netns(const Layout& layout) {
  const auto& links = layout.topology.links;
  if (!std::any_of(links.begin(), links.end(), is_delayed)) return "";
  return fmt::format("heddle.{}._delay", layout.lab);
}

std::string delay_device(uint32_t link, bool to_a) {
  return fmt::format("cut{}{}", link, to_a ? "a" : "b");
}

std::string delay_batch(const std::vector<DelayedLink>& links) {
  std::string text;
  for (const DelayedLink& link : links) {
    for (const std::string& device : {link.device_a, link.device_b}) {
      text += fmt::format("link set dev {} addrgenmode none arp off up\n", device);
    }
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> delay_sysctls() {
  return {{"ipv6/conf/all/disable_ipv6", "1"}, {"ipv6/conf/default/disable_ipv6", "1"}};
}

std::string netem_batch(const std::vector<DelayedLink>& links) {
  std::string text;
  for (const DelayedLink& link : links) {
    const uint64_t packets =
        std::min(link.in_flight.count / kLeastFrame, params::kMostNetemPackets);
    for (const std::string& device : {link.device_a, link.device_b}) {
      text += fmt::format("qdisc replace dev {} root netem delay {}us limit {}\n", device,
                          (link.delay.count + 500) / 1'000, packets);
    }
  }
  return text;
}

std::string pass_on_filter(const std::vector<DelayedLink>& links) {
  std::string text = "add table netdev heddle\n";
  const auto direction = [&text](const std::string& from, const std::string& to) {
    text += fmt::format(
        "add chain netdev heddle pass_{} {{ type filter hook ingress device \"{}\" priority 0; }}\n"
        "add rule netdev heddle pass_{} fwd to \"{}\"\n",
        from, from, from, to);
  };
  for (const DelayedLink& link : links) {
    direction(link.device_a, link.device_b);
    direction(link.device_b, link.device_a);
  }
  return text;
}

bool kernel_has_netem() {
  const Result<std::string> tried = run_apart([]() -> Result<std::string> {
    if (unshare(CLONE_NEWNET) != 0) return fail(ErrorCode::kPermission, "no namespace", "");
    const DelayedLink link{.device_a = "cut0a",
                           .device_b = "cut0b",
                           .delay = millis(1),
                           .in_flight = params::kLeastInFlight};
    if (auto made = run_batch({"ip"}, "link add name cut0a type veth peer name cut0b\n"); !made) {
      return fail(made.error());
    }
    if (auto made = run_batch({"tc"}, netem_batch({link})); !made) return fail(made.error());
    if (auto made = run_filter(pass_on_filter({link})); !made) return fail(made.error());
    return std::string("yes");
  });
  return tried.has_value();
}

std::vector<std::string> delay_notes(const topology::Topology& topology, DelayMethod method) {
  std::vector<std::string> notes;
  const Nanos usual = topology::LinkShape{}.delay;
  for (const topology::Link& link : topology.links) {
    if (is_delayed(link) || link.shape.delay == usual || link.shape.delay.count == 0) continue;
    notes.push_back(
        fmt::format("delays below {} us are not made: a lab's own hops take about as long",
                    to_micros(params::kLeastDelay)));
    break;
  }
  if (method == DelayMethod::kForwarder) {
    if (std::string note = too_fast(topology); !note.empty()) notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace heddle::lab
