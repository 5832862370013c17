// Delays: what a lab makes of links that have a propagation time. Such a link is cut in the middle:
// both halves end in a namespace of its own, in which the kernel's netem or the lab's forwarder
// passes frames on when their time has come. Pure, but for the probe for netem.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "lab/layout.h"

namespace heddle::lab {

// Shorter delays are not made: the lab's own hops take about as long.
inline constexpr Nanos kLeastDelay = micros(50);
// `lab up` warns above these rates of one direction of a link and of all directions together. They
// are chosen: docs/how-to/lab.md has what was measured, on a busy machine, and the command.
inline constexpr BitsPerSec kTrueRate = gigabits_per_s(1);
inline constexpr BitsPerSec kTrueRateOfAll = gigabits_per_s(2);

enum class DelayMethod : uint8_t { kNone, kNetem, kForwarder };
const char* delay_method_name(DelayMethod method);

// Both directions of one cut link.
struct DelayedLink {
  uint32_t link = 0;
  std::string device_a;  // leads to end a
  std::string device_b;
  Nanos delay;
  uint32_t largest_frame = 0;
  Bytes in_flight;  // what one direction holds at most; more is dropped and counted
  Bytes ring;       // what may arrive before the forwarder looks
};

bool is_delayed(const topology::Link& link);
std::vector<DelayedLink> delayed_links(const topology::Topology& topology);
// The namespace in the middle; empty where no link is delayed.
std::string delay_netns(const Layout& layout);
// The device in that namespace which leads to an end of a link.
std::string delay_device(uint32_t link, bool to_a);

// For `ip -batch` in that namespace, and files below /proc/sys/net.
std::string delay_batch(const std::vector<DelayedLink>& links);
std::vector<std::pair<std::string, std::string>> delay_sysctls();
// There for `tc -batch` and `nft -f`, where netem passes frames on.
std::string netem_batch(const std::vector<DelayedLink>& links);
std::string pass_on_filter(const std::vector<DelayedLink>& links);

// Whether this kernel can do what these two ask for.
bool kernel_has_netem();

// What this method cannot do of what the file says; one sentence each.
std::vector<std::string> delay_notes(const topology::Topology& topology, DelayMethod method);

}  // namespace heddle::lab
