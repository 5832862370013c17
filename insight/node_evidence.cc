// See node_evidence.h.
#include "insight/node_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "insight/diagnosis/params.h"
#include "insight/xids.h"

namespace heddle::insight {
namespace {

using events::KernelMessage;
using events::KernelMessageClass;

// By how grave it is for the machine.
enum class Cure : uint8_t { kNone, kProgram, kLook, kLink, kDrain };

struct Sentence {
  int64_t distance_ns = 0;  // from the verdict's begin
  std::string text;
  Cure cure = Cure::kNone;
  std::string action;
};

struct Window {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

Window window_of(const Verdict& verdict, const Diagnosis& diagnosis) {
  const int64_t end = verdict.until_ns < 0 ? diagnosis.until_ns : verdict.until_ns;
  return {verdict.since_ns, std::max(end, verdict.since_ns)};
}

// The times of a damaged recording may be any.
int64_t minus(int64_t a, int64_t b) { return saturating_difference({a}, {b}).count; }

int64_t distance_of(int64_t a, int64_t b) { return minus(std::max(a, b), std::min(a, b)); }

double seconds_of(int64_t ns) { return 1e-9 * static_cast<double>(ns); }

std::string when_text(int64_t at_ns, int64_t since_ns) {
  const double apart = seconds_of(distance_of(at_ns, since_ns));
  return fmt::format("{:.1f} s {}", apart, at_ns < since_ns ? "before" : "after it began");
}

bool is_near(int64_t at_ns, const Window& window) {
  return minus(window.begin_ns, at_ns) <= params::kNodeBeforeNs &&
         minus(at_ns, window.end_ns) <= params::kNodeSlackNs;
}

double overlap_s(const NodeSpan& span, const Window& window) {
  const int64_t from = std::max(span.from_ns, window.begin_ns);
  const int64_t to = std::min(span.to_ns, window.end_ns);
  return to <= from ? 0 : seconds_of(minus(to, from));
}

// "12,345"
std::string count_text(double value) {
  std::string text = fmt::format("{:.0f}", value);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::pair<Cure, std::string> cure_of(const KernelMessage& message, const std::string& host) {
  switch (message.what) {
    case KernelMessageClass::kGpuXid:
      switch (xid_of(message.code).cure) {
        case XidCure::kProgram:
          return {Cure::kProgram,
                  fmt::format("look for an error of the program at Xid {}", message.code)};
        case XidCure::kRestart:
          return {Cure::kLook,
                  fmt::format("restart the job, and reset the GPU of {} at its next maintenance "
                              "(Xid {})",
                              host, message.code)};
        case XidCure::kReset:
          return {Cure::kDrain, fmt::format("drain {}, and reset the GPU or reboot (Xid {})", host,
                                            message.code)};
        case XidCure::kHardware:
          return {Cure::kDrain,
                  fmt::format("drain {}, and have its GPU checked (Xid {})", host, message.code)};
        case XidCure::kUnknown:
          break;
      }
      return {Cure::kLook, fmt::format("look up Xid {} in NVIDIA's table", message.code)};
    case KernelMessageClass::kNvswitchSxid:
      return {Cure::kDrain, fmt::format("drain {}, and have its NVSwitches checked (SXid {})", host,
                                        message.code)};
    case KernelMessageClass::kNicLinkDown:
    case KernelMessageClass::kNicTimeout:
    case KernelMessageClass::kNicReset:
      return {Cure::kLink, fmt::format("check the NIC {} of {}, its cable and its switch port",
                                       message.device.view(), host)};
    case KernelMessageClass::kMachineCheck:
    case KernelMessageClass::kMemoryError:
    case KernelMessageClass::kPcieError:
      return {Cure::kLook,
              fmt::format("look for failing hardware of {} in its kernel's log", host)};
    case KernelMessageClass::kOutOfMemory:
      return {Cure::kProgram, fmt::format("let the job need less memory on {}", host)};
    case KernelMessageClass::kThermal:
      return {Cure::kLook, fmt::format("check the cooling of {}", host)};
    case KernelMessageClass::kHungTask:
    case KernelMessageClass::kSoftLockup:
    case KernelMessageClass::kIoError:
      return {Cure::kLook, fmt::format("look at the kernel's log of {}", host)};
    case KernelMessageClass::kNicLinkUp:
      break;
  }
  return {};
}

class HostSentences {
 public:
  HostSentences(const std::string& host, const NodeFacts& facts, const Window& window)
      : host_(host), facts_(facts), window_(window) {}

  std::vector<Sentence> make() {
    add_messages();
    add_links();
    add_counts();
    return std::move(made_);
  }

 private:
  // Equal ones are one sentence.
  void add_messages() {
    std::map<std::string, std::vector<const NodeMessage*>> by_text;
    for (const auto& [what, messages] : facts_.messages) {
      if (what == KernelMessageClass::kNicLinkUp) continue;
      for (const NodeMessage& each : messages) {
        if (is_near(each.at_ns, window_)) {
          by_text[kernel_message_text(each.message)].push_back(&each);
        }
      }
    }
    for (const auto& [text, messages] : by_text) {
      const NodeMessage& nearest = **std::min_element(
          messages.begin(), messages.end(), [this](const NodeMessage* a, const NodeMessage* b) {
            return distance(a->at_ns) < distance(b->at_ns);
          });
      const std::string times =
          messages.size() == 1 ? "" : fmt::format(" ({} times)", messages.size());
      const std::string& name = machine(nearest.file);
      auto [cure, action] = cure_of(nearest.message, name);
      made_.push_back({distance(nearest.at_ns),
                       fmt::format("kernel of {}, {}: {}{}", name,
                                   when_text(nearest.at_ns, window_.begin_ns), text, times),
                       cure, std::move(action)});
    }
  }

  void add_links() {
    std::map<std::pair<std::string, std::string>, std::vector<int64_t>> lost;
    for (const NodeLinkChange& each : facts_.links) {
      if (each.up || !is_near(each.at_ns, window_)) continue;
      lost[{machine(each.file), each.interface}].push_back(each.at_ns);
    }
    for (const auto& [key, times] : lost) {
      const auto& [name, interface] = key;
      const int64_t nearest =
          *std::min_element(times.begin(), times.end(),
                            [this](int64_t a, int64_t b) { return distance(a) < distance(b); });
      const std::string often = times.size() == 1 ? "" : fmt::format(" ({} times)", times.size());
      made_.push_back(
          {distance(nearest),
           fmt::format("{} of {} lost its carrier {}{}", interface, name,
                       when_text(nearest, window_.begin_ns), often),
           Cure::kLink,
           fmt::format("check {} of {}, its cable and its switch port", interface, name)});
    }
  }

  // What one file counted, and in how much of the time it did.
  struct Sums {
    double during = 0;
    double before = 0;
    double during_s = 0;
    double before_s = 0;
  };

  Window during() const {
    const int64_t begin = minus(window_.begin_ns, params::kNodeSlackNs);
    const int64_t most = minus(window_.begin_ns, -params::kNodeDuringNs);
    return {begin, std::min(window_.end_ns, most)};
  }

  Sums sums_of(const NodeCounts& counts, const NodeFile& file) const {
    const Window now = during();
    const int64_t earliest = minus(window_.begin_ns, params::kNodeBeforeNs);
    const Window before = {std::max(earliest, counts.whole_from_ns), now.begin_ns};
    Sums sums;
    for (const NodeCount& each : counts.kept) {
      const double whole = seconds_of(minus(each.span.to_ns, each.span.from_ns));
      if (whole <= 0) continue;
      const double rate = static_cast<double>(each.value) / whole;
      sums.during += rate * overlap_s(each.span, now);
      sums.before += rate * overlap_s(each.span, before);
    }
    for (const NodeSpan& each : file.sampled) {
      sums.during_s += overlap_s(each, now);
      sums.before_s += overlap_s(each, before);
    }
    return sums;
  }

  // Of a counter that two files have, the greater rise; they may be of one machine, or of two
  // containers of it.
  void add_counts() {
    std::map<std::pair<std::string, NodeCounter>, Rise> by_counter;
    for (const auto& [key, counts] : facts_.counts) {
      const auto& [device, counter, number] = key;
      const auto file = facts_.files.find(number);
      if (file == facts_.files.end()) continue;
      const Sums sums = sums_of(counts, file->second);
      if (!has_risen(counter, sums)) continue;
      Rise& most = by_counter[{device, counter}];
      if (sums.during > most.sums.during) most = {sums, number};
    }
    for (const auto& [key, rise] : by_counter) {
      // Behind what has a time of its own.
      made_.push_back(
          {params::kNodeBeforeNs, text_of_rise(key.first, key.second, rise), Cure::kNone, {}});
    }
  }

  struct Rise {
    Sums sums;
    uint32_t file = 0;
  };

  // Without a time before there is nothing to compare with.
  static bool has_risen(NodeCounter counter, const Sums& sums) {
    if (sums.before_s < seconds_of(params::kLeastNodeBeforeNs) || sums.during_s <= 0) return false;
    const double rate = sums.during / sums.during_s;
    if (rate < params::kLeastNodeRise * sums.before / sums.before_s) return false;
    return is_stall(counter) ? rate * 1e-9 >= params::kLeastStall
                             : std::round(sums.during) >= params::kLeastNodeCount;
  }

  std::string text_of_rise(const std::string& device, NodeCounter counter, const Rise& rise) const {
    const Sums& sums = rise.sums;
    if (is_stall(counter)) {
      const auto percent = [](double stalled_ns, double of_s) { return 1e-7 * stalled_ns / of_s; };
      return fmt::format("{} on {} {:.0f}% of these {:.1f} s, and {:.0f}% of the {:.0f} s before",
                         text_of(counter), machine(rise.file), percent(sums.during, sums.during_s),
                         sums.during_s, percent(sums.before, sums.before_s), sums.before_s);
    }
    const std::string earlier = count_text(sums.before);
    return fmt::format("{} of {} {} in these {:.1f} s, {} in the {:.0f} s before", device,
                       machine(rise.file),
                       fmt::format(fmt::runtime(text_of(counter)), count_text(sums.during)),
                       sums.during_s, earlier == "0" ? "none" : earlier, sums.before_s);
  }

  const std::string& machine(uint32_t file) const {
    const auto found = facts_.files.find(file);
    return found == facts_.files.end() ? host_ : found->second.machine;
  }

  int64_t distance(int64_t at_ns) const { return distance_of(at_ns, window_.begin_ns); }

  const std::string& host_;
  const NodeFacts& facts_;
  const Window window_;
  std::vector<Sentence> made_;
};

bool is_sample(const events::AnyEvent& event) {
  return std::holds_alternative<events::NodeSampled>(event) ||
         std::holds_alternative<events::NicSampled>(event) ||
         std::holds_alternative<events::RdmaPortSampled>(event);
}

bool is_nearer(const Sentence& a, const Sentence& b) { return a.distance_ns < b.distance_ns; }

// The graver before the nearer.
bool is_graver(const Sentence& a, const Sentence& b) {
  return a.cure == b.cure ? is_nearer(a, b) : a.cure > b.cure;
}

std::set<std::string> hosts_of(const Diagnosis& diagnosis, const Place& place) {
  std::set<std::string> hosts;
  for (const uint32_t process : place.processes) hosts.insert(diagnosis.parties[process].host);
  if (hosts.empty()) hosts.insert(place.host);
  return hosts;
}

void add_evidence(const NodeHistory& nodes, const Diagnosis& diagnosis, Verdict& verdict) {
  const Window window = window_of(verdict, diagnosis);
  std::vector<Sentence> sentences;
  for (const std::string& host : hosts_of(diagnosis, verdict.place)) {
    const NodeFacts* const facts = nodes.of(host);
    if (facts == nullptr) continue;
    for (Sentence& each : HostSentences(host, *facts, window).make()) {
      sentences.push_back(std::move(each));
    }
  }
  if (sentences.empty()) return;
  std::stable_sort(sentences.begin(), sentences.end(), is_graver);
  sentences.resize(std::min(sentences.size(), params::kMostNodeSentences));
  const std::string action = sentences.front().action;
  std::stable_sort(sentences.begin(), sentences.end(), is_nearer);
  for (const Sentence& each : sentences) verdict.evidence.push_back(each.text);
  if (action.empty()) return;
  verdict.action = action + (verdict.action.empty() ? "" : "; else " + verdict.action);
}

}  // namespace

std::string kernel_message_text(const KernelMessage& message) {
  const std::string device(message.device.view());
  const std::string detail(message.detail.view());
  if (message.what == KernelMessageClass::kGpuXid) {
    const Xid xid = xid_of(message.code);
    return fmt::format("NVRM Xid {} ({}), GPU {}", message.code,
                       xid.meaning.empty() ? detail : std::string(xid.meaning), device);
  }
  if (message.what == KernelMessageClass::kNvswitchSxid) {
    return fmt::format("SXid {} ({}), NVSwitch {}", message.code, detail, device);
  }
  std::string text(name_of(message.what));
  std::replace(text.begin(), text.end(), '_', ' ');
  if (!device.empty()) text += ", " + device;
  if (message.what == KernelMessageClass::kOutOfMemory) {
    return text + fmt::format(": process {} ({}) was killed", message.code, detail);
  }
  return detail.empty() ? text : text + ": " + detail;
}

void add_node_evidence(const NodeHistory& nodes, Diagnosis& diagnosis) {
  if (nodes.empty()) return;
  for (Verdict& each : diagnosis.verdicts) add_evidence(nodes, diagnosis, each);
}

NodeEvidence::NodeEvidence(Diagnosis& diagnosis) : diagnosis_(diagnosis) {
  for (const Verdict& each : diagnosis.verdicts) {
    const Window window = window_of(each, diagnosis);
    near_.push_back({.from_ns = minus(window.begin_ns, params::kNodeBeforeNs),
                     .to_ns = minus(window.end_ns, -params::kNodeSlackNs),
                     .samples_to_ns = minus(minus(window.begin_ns, -params::kNodeDuringNs),
                                            -params::kNodeSlackNs),
                     .hosts = hosts_of(diagnosis, each.place),
                     .nodes = {}});
  }
}

void NodeEvidence::add(const NodePlace& place, const events::AnyEvent& event, int64_t at_ns) {
  for (Near& each : near_) {
    if (at_ns < each.from_ns || at_ns > each.to_ns || !each.hosts.contains(place.host)) continue;
    // Those that are compared no more would displace those that are.
    if (is_sample(event) && at_ns > each.samples_to_ns) continue;
    each.nodes.add(place, event, at_ns);
  }
}

void NodeEvidence::finish() {
  for (size_t i = 0; i < near_.size(); ++i) {
    add_evidence(near_[i].nodes, diagnosis_, diagnosis_.verdicts[i]);
  }
}

}  // namespace heddle::insight
