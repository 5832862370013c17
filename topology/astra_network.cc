// See astra_network.h. Of YAML only what these files have: "key: [ a, b ]" and comments.
#include "topology/astra_network.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <vector>

#include "topology/generators.h"
#include "topology/htsim/words.h"
#include "topology/params.h"

namespace heddle::topology {
namespace {

constexpr double kMostGigabytes = 12'500;  // a second: 100 Tbit/s
constexpr const char* kForm =
    "write it like topology: [ Switch ], npus_count: [ 8 ], bandwidth: "
    "[ 50.0 ], latency: [ 500.0 ]";

struct Entry {
  std::vector<std::string> items;
  int line = 0;
};

// Hosts with a cable each to one switch.
Topology star(uint32_t hosts, const LinkShape& link) {
  Topology topology;
  topology.switches.push_back({"switch0", 1, {}});
  for (uint32_t i = 0; i < hosts; ++i) {
    topology.hosts.push_back({"h" + std::to_string(i)});
    topology.nics.push_back({i});
    topology.links.push_back({{NodeKind::kNic, i}, {NodeKind::kSwitch, 0}, link, {}, {}});
  }
  return topology;
}

class NetworkReader {
 public:
  NetworkReader(std::string_view text, const std::string& name) : words_("", name), text_(text) {}

  Result<Topology> read() {
    if (Result<void> taken = read_lines(); !taken) return fail(taken.error());
    for (const char* key : {"topology", "npus_count", "bandwidth", "latency"}) {
      if (!entries_.contains(key))
        return words_.wrong_at(0, std::string("it has no ") + key, kForm);
    }
    const Entry& kinds = entries_["topology"];
    if (kinds.items.size() != 1) {
      return words_.wrong_at(
          kinds.line,
          "it has " + std::to_string(kinds.items.size()) +
              " dimensions, between which NPUs forward, and hosts do not",
          "describe the fabric in heddle's topology file, with several NICs a host");
    }
    const std::string& kind = kinds.items.front();
    const auto npus = number("npus_count", 2, params::astra::kMostNpus);
    const auto gigabytes = number("bandwidth", 1e-3, kMostGigabytes);
    const auto nanos = number("latency", 0, params::astra::kMostNanos);
    for (const auto* each : {&npus, &gigabytes, &nanos}) {
      if (!*each) return fail(each->error());
    }
    LinkShape link;
    link.rate = {static_cast<uint64_t>(std::llround(*gigabytes * 8e9))};
    link.delay = {std::llround(*nanos)};
    const auto hosts = static_cast<uint32_t>(*npus);
    if (kind == "Switch") return star(hosts, link);
    if ((kind == "Ring" || kind == "FullyConnected") && hosts == 2) return point_to_point(link);
    return words_.wrong_at(kinds.line,
                           quoted(kind) + " of " + std::to_string(hosts) +
                               " NPUs has no switch: " + "its NPUs have cables to each other",
                           "use Switch, or describe the fabric in heddle's topology file");
  }

 private:
  Result<void> read_lines() {
    int line = 0;
    for (std::string_view rest = text_; !rest.empty();) {
      ++line;
      const size_t end = std::min(rest.find('\n'), rest.size());
      std::string_view each = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      each = each.substr(0, each.find('#'));
      if (each.find_first_not_of(" \t\r-") == std::string_view::npos) continue;
      const size_t colon = each.find(':');
      if (colon == std::string_view::npos) {
        return words_.wrong_at(line, "there is no key", kForm);
      }
      Entry entry{.items = {}, .line = line};
      for (const char letter : each.substr(colon + 1)) {
        const bool parts = letter == ' ' || letter == ',' || letter == '[' || letter == ']' ||
                           letter == '\t' || letter == '\r' || letter == '"';
        if (parts) {
          in_word_ = false;
        } else {
          if (!in_word_) entry.items.emplace_back();
          in_word_ = true;
          entry.items.back() += letter;
        }
      }
      in_word_ = false;
      std::string key(each.substr(0, colon));
      key.erase(0, key.find_first_not_of(" \t\""));
      key.erase(key.find_last_not_of(" \t\"") + 1);
      entries_[key] = std::move(entry);
    }
    return {};
  }

  Result<double> number(const char* key, double least, double most) {
    const Entry& entry = entries_[key];
    double value = 0;
    if (entry.items.size() == 1) {
      const std::string& word = entry.items.front();
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
      const bool whole = error == std::errc() && end == word.data() + word.size();
      if (whole && value >= least && value <= most) return value;
    }
    return words_.wrong_at(entry.line,
                           std::string(key) + " is not one number from " +
                               std::to_string(static_cast<int64_t>(least)) + " to " +
                               std::to_string(static_cast<int64_t>(most)),
                           kForm);
  }

  WordReader words_;
  std::string_view text_;
  bool in_word_ = false;
  std::map<std::string, Entry> entries_;
};

}  // namespace

bool is_astra_network(std::string_view path) {
  return path.ends_with(".yml") || path.ends_with(".yaml");
}

Result<Topology> parse_astra_network(std::string_view text, const std::string& name) {
  return NetworkReader(text, name).read();
}

}  // namespace heddle::topology
