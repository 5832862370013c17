// Largest share over mean share: see unevenness.h.
#include "apps/cli/sim/unevenness.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <vector>

#include "apps/cli/sim/links.h"
#include "apps/cli/sim/params.h"
#include "base/quantity.h"
#include "simulator/link_groups.h"

namespace heddle::cli {
namespace {

using nlohmann::json;
using simulator::FlowRun;
using simulator::LinkGroup;
using simulator::LinkId;
using simulator::PathShares;
using simulator::Series;

// Nothing where nothing was carried, or by one alone because there was but one.
std::optional<double> max_over_mean(const std::vector<uint64_t>& bytes) {
  const uint64_t sum = std::accumulate(bytes.begin(), bytes.end(), uint64_t{0});
  if (sum == 0 || bytes.size() < 2) return std::nullopt;
  const uint64_t most = *std::max_element(bytes.begin(), bytes.end());
  return static_cast<double>(most) * static_cast<double>(bytes.size()) / static_cast<double>(sum);
}

// One that shares: a switch's group of links, or a connection.
struct Sharer {
  size_t index = 0;
  uint64_t sum = 0;
  double unevenness = 1;
  std::vector<uint64_t> bytes;
};

// The least even first; of those as uneven, the one that carried most. What is of no weight, less
// than a twentieth of the mean, is left out: two packets are hard to share.
std::vector<Sharer> by_unevenness(std::vector<std::vector<uint64_t>> shares) {
  std::vector<Sharer> sharers;
  uint64_t all = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    const auto uneven = max_over_mean(shares[i]);
    if (!uneven) continue;
    const uint64_t sum = std::accumulate(shares[i].begin(), shares[i].end(), uint64_t{0});
    all += sum;
    sharers.push_back({i, sum, *uneven, std::move(shares[i])});
  }
  const uint64_t least = sharers.empty() ? 0 : all / sharers.size() / 20;
  std::erase_if(sharers, [least](const Sharer& each) { return each.sum < least; });
  std::stable_sort(sharers.begin(), sharers.end(), [](const Sharer& a, const Sharer& b) {
    return a.unevenness != b.unevenness ? a.unevenness > b.unevenness : a.sum > b.sum;
  });
  return sharers;
}

std::vector<Sharer> group_sharers(const Series& series, const std::vector<LinkGroup>& groups) {
  std::vector<std::vector<uint64_t>> shares;
  for (const LinkGroup& group : groups) {
    shares.emplace_back();
    for (const LinkId link : group.links) shares.back().push_back(series.whole(link).bytes);
  }
  return by_unevenness(std::move(shares));
}

std::vector<Sharer> connection_sharers(const std::vector<PathShares>& paths) {
  std::vector<std::vector<uint64_t>> shares;
  for (const PathShares& each : paths) shares.push_back(each.payload_bytes);
  return by_unevenness(std::move(shares));
}

double median(const std::vector<Sharer>& sorted) { return sorted[sorted.size() / 2].unevenness; }

json summary(const std::vector<Sharer>& sharers, const char* counted) {
  if (sharers.empty()) return {{counted, 0}};
  return {{counted, sharers.size()},
          {"max_over_mean_largest", sharers.front().unevenness},
          {"max_over_mean_median", median(sharers)}};
}

}  // namespace

std::string unevenness_text(const FlowRun& run, const Series& series, const LinkNames& names) {
  std::string text;
  const std::vector<LinkGroup> groups = simulator::link_groups(run.network());
  const std::vector<Sharer> switches = group_sharers(series, groups);
  if (!switches.empty()) {
    const Sharer& worst = switches.front();
    const LinkGroup& group = groups[worst.index];
    const auto most = std::max_element(worst.bytes.begin(), worst.bytes.end());
    const LinkId link = group.links[static_cast<size_t>(most - worst.bytes.begin())];
    text += fmt::format(
        "\nuplinks     the fullest of each switch's choice carried {:.2f} times the mean"
        ", at worst {:.2f}: {}\n",
        median(switches), worst.unevenness, names(link));
  }
  const std::vector<PathShares> paths = run.path_shares();
  const std::vector<Sharer> connections = connection_sharers(paths);
  if (!connections.empty()) {
    const PathShares& worst = paths[connections.front().index];
    const std::vector<topology::Host>& hosts = run.network().topology().hosts;
    text += fmt::format(
        "{}paths       the fullest of each connection carried {:.2f} times the mean, at "
        "worst {:.2f}: {} -> {}\n",
        text.empty() ? "\n" : "", median(connections), connections.front().unevenness,
        hosts[worst.from].name, hosts[worst.to].name);
  }
  return text;
}

json routes_json(const FlowRun& run, const Series& series) {
  const LinkNames names(run.network().topology());
  const std::vector<LinkGroup> groups = simulator::link_groups(run.network());
  const std::vector<Sharer> sharers = group_sharers(series, groups);
  json document = summary(sharers, "groups");
  json rows = json::array();
  for (size_t i = 0; i < std::min(params::sim::kJsonRows, sharers.size()); ++i) {
    const LinkGroup& group = groups[sharers[i].index];
    json links = json::array();
    for (const LinkId link : group.links) links.push_back(names(link));
    rows.push_back({{"switch", run.network().topology().switches[group.switch_index].name},
                    {"links", std::move(links)},
                    {"carried_bytes", sharers[i].bytes},
                    {"max_over_mean", sharers[i].unevenness}});
  }
  document["least_even"] = std::move(rows);
  return document;
}

json paths_json(const FlowRun& run) {
  const std::vector<PathShares> paths = run.path_shares();
  const std::vector<Sharer> sharers = connection_sharers(paths);
  json document = summary(sharers, "connections");
  json rows = json::array();
  for (size_t i = 0; i < std::min(params::sim::kJsonRows, sharers.size()); ++i) {
    const PathShares& of = paths[sharers[i].index];
    rows.push_back({{"src", of.from},
                    {"dst", of.to},
                    {"payload_bytes", sharers[i].bytes},
                    {"max_over_mean", sharers[i].unevenness}});
  }
  document["least_even"] = std::move(rows);
  return document;
}

}  // namespace heddle::cli
