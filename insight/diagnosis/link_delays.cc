// See link_delays.h.
#include "insight/diagnosis/link_delays.h"

#include <algorithm>
#include <vector>

#include "insight/diagnosis/params.h"
#include "insight/diagnosis/robust.h"

namespace heddle::insight {
namespace {

// Within a host its scheduler is measured.
bool within_host(const JobFacts& facts, const Operation& operation, uint32_t from, uint32_t to) {
  const std::string& host = facts.processes()[operation.parts[from].process].party.host;
  return !host.empty() && host == facts.processes()[operation.parts[to].process].party.host;
}

std::map<Link, const Inflow*> inflows_between_hosts(const JobFacts& facts,
                                                    const Operation& operation) {
  std::map<Link, const Inflow*> inflows;
  for (uint32_t to = 0; to < operation.parts.size(); ++to) {
    for (const Inflow& inflow : operation.parts[to].inflows) {
      if (inflow.from >= operation.parts.size()) continue;
      if (!within_host(facts, operation, inflow.from, to)) inflows[{inflow.from, to}] = &inflow;
    }
  }
  return inflows;
}

// By transits. A link that is surely slower than the usual one can be is late.
std::map<Link, double> transit_delays(const std::map<Link, const Inflow*>& inflows) {
  std::vector<double> paces;  // ns a byte
  for (const auto& [link, inflow] : inflows) {
    if (inflow->most_transit_ns < 0) return {};
    if (inflow->bytes > 0) {
      paces.push_back(inflow->most_transit_ns / static_cast<double>(inflow->bytes));
    }
  }
  if (paces.size() < 2) return {};
  const double usual = quantile(std::move(paces), params::kUsualLink);
  std::map<Link, double> delays;
  for (const auto& [link, inflow] : inflows) {
    delays[link] = inflow->least_transit_ns - usual * static_cast<double>(inflow->bytes);
  }
  return delays;
}

// A transfer's time as NCCL's proxy measured it, over all of an operation's transfer: half of the
// surplus, so that a link of half the rate counts as in a ring.
std::map<Link, double> proxy_delays(const std::map<Link, const Inflow*>& inflows,
                                    int64_t transfer_ns) {
  std::vector<double> waits;
  for (const auto& [link, inflow] : inflows) {
    if (inflow->network_wait_ns >= 0) waits.push_back(inflow->network_wait_ns);
  }
  if (waits.size() < 3) return {};
  const double usual = median(std::move(waits));
  std::map<Link, double> delays;
  for (const auto& [link, inflow] : inflows) {
    if (inflow->network_wait_ns <= 0) continue;
    delays[link] = (1 - usual / inflow->network_wait_ns) / 2 * static_cast<double>(transfer_ns);
  }
  return delays;
}

}  // namespace

std::map<Link, double> link_delays(const JobFacts& facts, const Operation& operation) {
  const auto inflows = inflows_between_hosts(facts, operation);
  std::map<Link, double> delays = transit_delays(inflows);
  if (!delays.empty()) return delays;
  return proxy_delays(inflows, std::max<int64_t>(0, operation.ended - operation.due));
}

}  // namespace heddle::insight
