// Delays: how a lab implements the propagation time of links. A delayed link is cut in the middle:
// both halves end in a separate namespace, in which the kernel's netem or the lab's forwarder
// passes frames on after the delay. Pure, except for the probe for netem.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "lab/layout.h"
#include "lab/params.h"

namespace heddle::lab {

// `lab up` warns above these rates of one direction of a link, and of all directions together.
// Chosen by judgment: docs/how-to/lab.md has measurements on a busy machine, and the command.
inline constexpr BitsPerSec kTrueRate = params::kTrueRate;
inline constexpr BitsPerSec kTrueRateOfAll = params::kTrueRateOfAll;

enum class DelayMethod : uint8_t { kNone, kNetem, kForwarder };
const char* delay_method_name(DelayMethod method);

// Both directions of a cut link.
struct DelayedLink {
  uint32_t link = 0;
  std::string device_a;  // device towards end a
  std::string device_b;
  Nanos delay;
  uint32_t largest_frame = 0;
  Bytes in_flight;  // limit for one direction; frames beyond it are dropped and counted
  Bytes ring;       // receive ring: bytes that may arrive before the forwarder reads
};

bool is_delayed(const topology::Link& link);
std::vector<DelayedLink> delayed_links(const topology::Topology& topology);
// The name of the middle namespace; empty if no link is delayed.
std::string delay_netns(const Layout& layout);
// The device in that namespace towards an end of a link.
std::string delay_device(uint32_t link, bool to_a);

// Input for `ip -batch` in that namespace, and the files below /proc/sys/net.
std::string delay_batch(const std::vector<DelayedLink>& links);
std::vector<std::pair<std::string, std::string>> delay_sysctls();
// Input for `tc -batch` and `nft -f` in that namespace, if netem passes frames on.
std::string netem_batch(const std::vector<DelayedLink>& links);
std::string pass_on_filter(const std::vector<DelayedLink>& links);

// Whether this kernel supports netem and the filter.
bool kernel_has_netem();

// The parts of the file that this method cannot implement; one sentence each.
std::vector<std::string> delay_notes(const topology::Topology& topology, DelayMethod method);

}  // namespace heddle::lab
