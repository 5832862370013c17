// See background.h.
#include "apps/cli/plan/background.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "apps/cli/plan/csv.h"
#include "apps/cli/plan/plan_file.h"
#include "base/quantity.h"
#include "planner/shared_fabric.h"
#include "topology/fingerprint.h"
#include "topology/names.h"

namespace heddle::cli {
namespace {

using planner::LinkId;

// Times are kept to the nanosecond.
std::optional<Nanos> time_of(const std::string& text) {
  double value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (wrong != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!(value >= 0) || value > 9e9) return std::nullopt;
  return nanos(std::llround(value * 1e9));
}

// Links by their names, each looked up once.
class NamedLinks {
 public:
  explicit NamedLinks(const topology::Topology& topology) : topology_(topology) {}

  // Nothing for a link that the topology lacks.
  std::optional<LinkId> find(const std::string& name) {
    const auto known = links_.find(name);
    if (known != links_.end()) return known->second;
    const std::optional<LinkId> link = look_up(name);
    if (!link) unknown_.push_back(name);
    links_[name] = link;
    return link;
  }
  const std::vector<std::string>& unknown() const { return unknown_; }

 private:
  std::optional<LinkId> look_up(const std::string& name) const {
    const size_t arrow = name.find(" -> ");
    const size_t colon = name.find(':');
    if (arrow == std::string::npos && colon == std::string::npos) return std::nullopt;
    const std::string from = name.substr(0, arrow != std::string::npos ? arrow : colon);
    std::string to = name.substr(arrow != std::string::npos ? arrow + 4 : colon + 1);
    uint32_t number = 0;
    if (const size_t hash = to.find('#'); hash != std::string::npos) {
      const char* const end = to.data() + to.size();
      if (std::from_chars(to.data() + hash + 1, end, number).ptr != end) return std::nullopt;
      to.resize(hash);
      while (to.ends_with(' ')) to.pop_back();
    }
    const Result<topology::LinkEnds> ends = topology::find_link(topology_, from, to, number);
    if (!ends) return std::nullopt;
    return 2 * ends->link + (ends->forward ? 0 : 1);
  }

  const topology::Topology& topology_;
  std::unordered_map<std::string, std::optional<LinkId>> links_;
  std::vector<std::string> unknown_;
};

// A lease without a period counts as sent as fast as its most loaded link allows.
double period_seconds(const leases::Lease& lease) {
  if (lease.period.count > 0) return to_seconds(lease.period);
  return lease.busiest.empty() ? 0 : lease.busiest.front().busy_us * 1e-6;
}

void subtract_leases(const std::vector<leases::StoredLease>& leases, uint32_t links,
                     const std::string& fabric, planner::LinkHistories& histories) {
  for (const leases::StoredLease& each : leases) {
    const double period_s = period_seconds(each.lease);
    if (period_s <= 0 || each.lease.fabric != fabric) continue;
    std::vector<double> rates(links);
    for (const leases::LinkBytes& load : each.lease.loads) {
      if (load.link < links) rates[load.link] = static_cast<double>(load.bytes) / period_s;
    }
    planner::subtract(histories, rates, seconds(each.lease.since_s));
  }
}

// The time that the plan takes without a background.
Result<Nanos> fastest(const topology::Topology& topology, const planner::Demand& demand,
                      const planner::PathPlanOptions& options) {
  planner::Demand alone = demand;
  alone.background.clear();
  const Result<planner::PathPlan> plan = planner::plan_paths(topology, alone, options);
  if (!plan) return fail(plan.error());
  return nanos(std::llround(plan->planned.longest()));
}

}  // namespace

Result<Background> read_background(const BackgroundSource& source,
                                   const topology::Topology& topology,
                                   const planner::Demand& demand,
                                   const planner::PathPlanOptions& options,
                                   const std::vector<leases::StoredLease>& leases) {
  const auto links = static_cast<uint32_t>(2 * topology.links.size());
  NamedLinks named(topology);
  std::vector<planner::CounterReading> readings;
  const Result<void> read = read_csv(
      {source.file,
       {"time", "link", "bytes"},
       "give columns time (seconds since 1970), link (like leaf0:spine1) and bytes (a counter)"},
      [&](const std::vector<std::string>& fields) {
        const std::optional<Nanos> at = time_of(fields[0]);
        if (!at) return "'" + fields[0] + "' is no time in seconds since 1970";
        const std::optional<uint64_t> bytes = csv_number(fields[2]);
        if (!bytes) return "'" + fields[2] + "' is no number of bytes";
        if (const auto link = named.find(fields[1])) readings.push_back({*link, *at, *bytes});
        return std::string();
      });
  if (!read) return fail(read.error());
  planner::LinkHistories histories = planner::histories_of(std::move(readings));
  subtract_leases(leases, links, topology::fingerprint(topology), histories);
  Background background{.forecast = planner::forecast_loads(histories, links),
                        .share = 0,
                        .interval = histories.interval,
                        .period = source.period,
                        .bytes = {},
                        .notes = {}};
  std::vector<LinkId> known;
  for (const planner::LinkHistory& each : histories.links) known.push_back(each.link);
  background.share = planner::share_of_capacity(topology, background.forecast.bytes_per_s, known);
  if (!named.unknown().empty()) {
    background.notes.push_back(
        fmt::format("{} of {} are no links of the topology, '{}' is one: they are left out",
                    named.unknown().size(), source.file, named.unknown().front()));
  }
  if (background.period.count == 0) {
    const Result<Nanos> period = fastest(topology, demand, options);
    if (!period) return fail(period.error());
    background.period = *period;
  }
  background.bytes = background.forecast.background(background.period);
  return background;
}

std::string background_text(const Background& background) {
  const planner::LoadForecast& forecast = background.forecast;
  if (forecast.method == planner::ForecastMethod::kTooShort) {
    return fmt::format("Background: none is forecast, {} of counters are too few\n",
                       counted_text(forecast.intervals, "interval"));
  }
  std::string text = fmt::format(
      "Background: forecast ({}) for {} from {} of {}; it was {:.0f}% off in the past, so {:.0f}% "
      "of it counts\n",
      name_of(forecast.method), counted_text(forecast.links, "direction") + " of links",
      counted_text(forecast.intervals, "interval"), duration_text(background.interval),
      forecast.error * 100, forecast.used * 100);
  if (planner::spraying_suits(forecast, background.share)) {
    text += fmt::format(
        "It takes {:.0f}% of the capacity between switches: beside that, with this error, heddle "
        "without a plan is likely to be as fast\n",
        background.share * 100);
  }
  return text;
}

nlohmann::json background_json(const Background& background) {
  const planner::LoadForecast& forecast = background.forecast;
  return {{"method", name_of(forecast.method)},
          {"links", forecast.links},
          {"intervals", forecast.intervals},
          {"interval_s", to_seconds(background.interval)},
          {"period_intervals", forecast.period},
          {"error", forecast.error},
          {"used", forecast.used},
          {"share_of_capacity", background.share},
          {"spraying_suits", planner::spraying_suits(forecast, background.share)},
          {"plan_period_s", to_seconds(background.period)}};
}

}  // namespace heddle::cli
