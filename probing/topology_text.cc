// See topology_text.h.
#include "probing/topology_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <vector>

#include "probing/graph.h"
#include "topology/file.h"

namespace heddle::probing {
namespace {

constexpr size_t kLongestName = 15;

// A name that a topology file takes, and no other part has.
std::string file_name(const std::string& name, std::set<std::string>& used) {
  std::string text;
  for (const char each : name.substr(0, name.find('.'))) {
    const bool fits = std::isalnum(static_cast<unsigned char>(each)) != 0 || each == '-';
    text += fits ? each : '_';
  }
  if (text.empty() || std::isalpha(static_cast<unsigned char>(text[0])) == 0) text = "h" + text;
  text = text.substr(0, kLongestName);
  std::string free = text;
  for (uint32_t i = 1; !used.insert(free).second; ++i) {
    const std::string number = fmt::format("-{}", i);
    free = text.substr(0, kLongestName - number.size()) + number;
  }
  return free;
}

class Writer {
 public:
  explicit Writer(const FoundFabric& found) : found_(found), linked_(found.nics.size()) {
    for (const FoundLink& link : found.links) {
      if (link.a.kind == topology::NodeKind::kNic) linked_[link.a.index] = true;
    }
  }

  std::string write() {
    text_ = fmt::format(
        "# Found by `heddle probe`. Rates are those that trains of packets reached at least; MTUs "
        "and\n# queues are not probed.\nversion = {}\n",
        topology::kTopologyFileVersion);
    write_hosts();
    write_switches();
    for (const FoundLink& link : found_.links) write_link(link);
    for (const Finding& finding : found_.findings) write_finding(finding);
    return text_;
  }

 private:
  void write_hosts() {
    std::map<std::string, uint32_t> nics;  // that are connected
    std::vector<std::string> order;
    for (uint32_t i = 0; i < found_.nics.size(); ++i) {
      const std::string& host = found_.nics[i].host;
      if (!linked_[i]) {
        text_ += fmt::format("\n# {}: no probe shows what it is connected to\n",
                             name_of(found_, nic_place(i)));
        continue;
      }
      if (!nics.contains(host)) order.push_back(host);
      numbers_[i] = nics[host]++;
    }
    for (const std::string& host : order) {
      host_names_[host] = file_name(host, used_);
      text_ += fmt::format("\n[[host]]\nname = \"{}\"", host_names_[host]);
      text_ += host_names_[host] == host ? "\n" : fmt::format("  # {}\n", host);
      if (nics[host] > 1) text_ += fmt::format("nics = {}\n", nics[host]);
    }
  }

  void write_switches() {
    for (const FoundSwitch& each : found_.switches) {
      switch_names_.push_back(file_name(each.name, used_));
      text_ += fmt::format("\n[[switch]]\nname = \"{}\"  # {}", switch_names_.back(),
                           name_of(each.certainty));
      for (const std::string& address : each.addresses) text_ += ", " + address;
      text_ += each.addresses.empty() ? ", does not answer\n" : "\n";
    }
  }

  std::string end_name(const Place& place) const {
    if (place.kind == topology::NodeKind::kSwitch) return switch_names_[place.index];
    const uint32_t number = numbers_.at(place.index);
    const std::string& host = host_names_.at(found_.nics[place.index].host);
    return number == 0 ? host : fmt::format("{}.{}", host, number);
  }

  void write_link(const FoundLink& link) {
    const BitsPerSec rate = std::max(link.forward.rate, link.backward.rate);
    for (uint32_t i = 0; i < link.cables; ++i) {
      text_ += fmt::format("\n[[link]]\nends = [\"{}\", \"{}\"]  # {}, {} flows there, {} back\n",
                           end_name(link.a), end_name(link.b), name_of(link.certainty),
                           link.forward.flows, link.backward.flows);
      if (rate.count < 1'000) {
        text_ += "# its rate was not measured: the usual one\n";
        continue;
      }
      const bool is_exact =
          rate == link.forward.rate ? link.forward.rate_is_exact : link.backward.rate_is_exact;
      text_ += fmt::format("rate = \"{}\"{}\n", rate_of_file(rate), is_exact ? "" : "  # at least");
    }
  }

  static std::string rate_of_file(BitsPerSec rate) {
    const double megabits = static_cast<double>(rate.count) / 1e6;
    return megabits < 1 ? fmt::format("{}kbit/s", rate.count / 1'000)
                        : fmt::format("{:.1f}Mbit/s", megabits);
  }

  // What is certain enough becomes a fault from the beginning on, so that a simulation has it.
  void write_finding(const Finding& finding) {
    std::string names;
    for (const Hop& hop : finding.places) {
      names += (names.empty() ? "" : " or ") + name_of(found_, hop);
    }
    text_ += fmt::format("\n# {}: {} ({}): {}\n", name_of(finding.kind), names,
                         name_of(finding.certainty), finding.evidence);
    const bool has_place = finding.places.size() == 1 && finding.places.front().to.is_known() &&
                           finding.places.front().from.is_known();
    if (!has_place || !link_between(found_, finding.places[0].from, finding.places[0].to)) return;
    std::string fault;
    if (finding.kind == FindingKind::kDead) fault = "kind = \"blackhole\"\n";
    if (finding.kind == FindingKind::kLossy) {
      fault =
          fmt::format("kind = \"loss\"\nloss = \"{:.4f}%\"\none_way = true\n", finding.loss * 100);
    }
    if (finding.kind == FindingKind::kSlow) {
      fault = fmt::format("kind = \"rate\"\nrate = \"{}\"\none_way = true\n",
                          rate_of_file(finding.rate));
    }
    if (fault.empty()) return;
    text_ += fmt::format("[[fault]]\nat = \"0s\"\nlink = [\"{}\", \"{}\"]\n{}",
                         end_name(finding.places[0].from), end_name(finding.places[0].to), fault);
  }

  const FoundFabric& found_;
  std::vector<bool> linked_;
  std::string text_;
  std::set<std::string> used_;
  std::map<std::string, std::string> host_names_;
  std::map<uint32_t, uint32_t> numbers_;  // of NICs, within their hosts, in the file
  std::vector<std::string> switch_names_;
};

}  // namespace

std::string topology_text(const FoundFabric& found) { return Writer(found).write(); }

}  // namespace heddle::probing
