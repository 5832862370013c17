// The fabric's part of the results: see links.h.
#include "apps/cli/sim/links.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "apps/cli/sim/link_names.h"
#include "apps/cli/sim/params.h"
#include "apps/cli/sim/unevenness.h"
#include "base/quantity.h"

namespace heddle::cli {
namespace {

using nlohmann::json;
using simulator::FlowRun;
using simulator::LinkId;
using simulator::LinkSpan;
using simulator::RunSpan;
using simulator::Series;

double utilization(const Series& series, LinkId link) {
  return series.part_of_rate(link, series.whole(link).bytes);
}

// The links that come first by `more`, at most `count`; without those that did nothing.
template <typename Key>
std::vector<LinkId> first_by(const FlowRun& run, const Series& series, size_t count, Key key) {
  std::vector<LinkId> order(2 * run.network().topology().links.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order,
                [&](LinkId link) { return series.whole(link).bytes == 0 || key(link) <= 0; });
  count = std::min(count, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](LinkId a, LinkId b) {
                      const auto of_a = key(a);
                      const auto of_b = key(b);
                      return of_a != of_b ? of_a > of_b : a < b;
                    });
  order.resize(count);
  return order;
}

std::vector<LinkId> busiest(const FlowRun& run, const Series& series, size_t count) {
  return first_by(run, series, count, [&](LinkId link) { return utilization(series, link); });
}

// A NIC's own queue is its host's matter: it pushes back and drops nothing.
std::vector<LinkId> longest_queues(const FlowRun& run, const Series& series, size_t count) {
  const topology::Topology& topology = run.network().topology();
  return first_by(run, series, count, [&](LinkId link) -> uint64_t {
    if (simulator::start_of(topology, link) < topology.nics.size()) return 0;
    return series.whole(link).queue_peak;
  });
}

std::string bar(double part) {
  const double most = std::clamp(part, 0.0, 1.0) * 30;
  return std::string(static_cast<size_t>(most + 0.5), '#');
}

std::string queue_text(uint64_t bytes) { return fmt::format("{:.1f} kB", double(bytes) * 1e-3); }

std::string whole_text(const FlowRun& run, const Series& series, const LinkNames& names) {
  std::string text = "\nbusiest links, of their rate" + std::string(33, ' ') + "  longest queue\n";
  const auto line = [&](LinkId link, double part, const std::string& part_text) {
    text += fmt::format("  {:<{}} {:<30} {:>5}  {}", names(link), params::sim::kNameColumns,
                        bar(part), part_text, queue_text(series.whole(link).queue_peak));
    if (const uint32_t drops = series.whole(link).drops; drops > 0) {
      text += fmt::format(", {} dropped", count_text(drops));
    }
    if (const uint32_t marks = series.whole(link).marks; marks > 0) {
      text += fmt::format(", {} marked", count_text(marks));
    }
    text += "\n";
  };
  for (const LinkId link : busiest(run, series, params::sim::kTextLinks)) {
    const double part = utilization(series, link);
    line(link, part, fmt::format("{:.0f}%", part * 100));
  }
  text += "longest queues, of their room\n";
  for (const LinkId link : longest_queues(run, series, params::sim::kTextLinks)) {
    const double part = static_cast<double>(series.whole(link).queue_peak) /
                        static_cast<double>(run.network().room(link));
    line(link, part, fmt::format("{:.0f}%", part * 100));
  }
  return text;
}

// A character a column: the largest of its bins, from nothing to all.
template <typename Part>
std::string strip(std::span<const LinkSpan> bins, Part part) {
  constexpr std::string_view kShades = " .:-=+*#%@";
  const size_t columns = std::min(bins.size(), params::sim::kChartColumns);
  std::string text;
  for (size_t column = 0; column < columns; ++column) {
    double largest = 0;
    const size_t end = (column + 1) * bins.size() / columns;
    for (size_t i = column * bins.size() / columns; i < end; ++i) {
      largest = std::max(largest, part(i));
    }
    const auto shade = static_cast<size_t>(std::clamp(largest, 0.0, 1.0) * 9 + 0.5);
    text += kShades[shade];
  }
  return text;
}

std::string over_time_text(const FlowRun& run, const Series& series, const LinkNames& names) {
  std::string text =
      fmt::format("\nover time, {} of {}: '.' a tenth, '@' all of the rate\n",
                  counted_text(series.run_bins().size(), "bin"), duration_text(series.bin()));
  const auto strips = [&](const std::vector<LinkId>& links, auto part) {
    for (const LinkId link : links) {
      const auto kept = std::find(series.links().begin(), series.links().end(), link);
      if (kept == series.links().end()) continue;
      const auto bins = series.bins(static_cast<size_t>(kept - series.links().begin()));
      text += fmt::format("  {:<{}} |{}|\n", names(link), params::sim::kNameColumns,
                          strip(bins, [&](size_t i) { return part(link, bins[i], i); }));
    }
  };
  strips(busiest(run, series, params::sim::kTextLinks),
         [&](LinkId link, const LinkSpan& span, size_t number) {
           return series.part_of_rate(link, span.bytes, number);
         });
  text += "queues over time: '.' a tenth, '@' all of the longest that each was\n";
  strips(longest_queues(run, series, params::sim::kTextLinks),
         [&](LinkId link, const LinkSpan& span, size_t /*number*/) {
           return static_cast<double>(span.queue_peak) /
                  static_cast<double>(series.whole(link).queue_peak);
         });
  return text;
}

json link_row(const FlowRun& run, const LinkNames& names, LinkId link) {
  const topology::LinkShape& shape = run.network().shape(link);
  return {{"from", names.from(link)},
          {"to", names.to(link)},
          {"number", names.number(link)},
          {"rate_gbits_per_s", static_cast<double>(shape.rate.count) * 1e-9},
          {"queue_bytes", run.network().room(link)}};
}

// As many digits as a chart needs.
double rounded(double part) {
  return static_cast<double>(static_cast<int64_t>(part * 1e4 + 0.5)) / 1e4;
}

template <typename Span, typename Value>
json column(std::span<const Span> bins, Value value) {
  json values = json::array();
  for (const Span& each : bins) values.push_back(value(each));
  return values;
}

// What each direction carried, nothing as well: a link that is not there was not measured.
json counters_of(const Series& series, const LinkNames& names, size_t directions) {
  json counters = json::array();
  for (LinkId link = 0; link < std::min(directions, params::sim::kJsonCounters); ++link) {
    counters.push_back(
        {{"from", names.from(link)}, {"to", names.to(link)}, {"bytes", series.whole(link).bytes}});
  }
  return counters;
}

}  // namespace

std::string links_text(const FlowRun& run, const Series& series) {
  if (series.length() <= Nanos{}) return "";
  const LinkNames names(run.network().topology());
  std::string text = whole_text(run, series, names);
  text += unevenness_text(run, series, names);
  if (series.run_bins().size() > 1) text += over_time_text(run, series, names);
  return text;
}

json links_json(const FlowRun& run, const Series& series) {
  const LinkNames names(run.network().topology());
  const auto rows = [&](const std::vector<LinkId>& links) {
    json array = json::array();
    for (const LinkId link : links) {
      const LinkSpan& whole = series.whole(link);
      json row = link_row(run, names, link);
      row.update({{"carried_bytes", whole.bytes},
                  {"utilization", rounded(utilization(series, link))},
                  {"queue_peak_bytes", whole.queue_peak},
                  {"drops", whole.drops},
                  {"marks", whole.marks}});
      array.push_back(std::move(row));
    }
    return array;
  };
  const size_t directions = 2 * run.network().topology().links.size();
  return {{"directions", directions},
          {"counters", counters_of(series, names, directions)},
          {"busiest", rows(busiest(run, series, params::sim::kJsonLinks))},
          {"longest_queues", rows(longest_queues(run, series, params::sim::kJsonLinks))}};
}

json series_json(const FlowRun& run, const Series& series, size_t most_links) {
  const LinkNames names(run.network().topology());
  std::vector<size_t> order(series.links().size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](size_t i) { return series.whole(series.links()[i]).bytes == 0; });
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return series.busyness(series.links()[a]) > series.busyness(series.links()[b]);
  });
  if (order.size() > most_links) order.resize(most_links);
  json links = json::array();
  for (const size_t i : order) {
    const LinkId link = series.links()[i];
    json row = link_row(run, names, link);
    json used = json::array();
    for (const LinkSpan& span : series.bins(i)) {
      used.push_back(rounded(series.part_of_rate(link, span.bytes, used.size())));
    }
    row["utilization"] = std::move(used);
    row["queue_peak_bytes"] =
        column(series.bins(i), [](const LinkSpan& s) { return s.queue_peak; });
    if (series.whole(link).drops > 0) {
      row["drops"] = column(series.bins(i), [](const LinkSpan& span) { return span.drops; });
    }
    if (series.whole(link).marks > 0) {
      row["marks"] = column(series.bins(i), [](const LinkSpan& span) { return span.marks; });
    }
    links.push_back(std::move(row));
  }
  const auto total = [&](auto value) { return column(series.run_bins(), value); };
  return {{"bin_us", to_micros(series.bin())},
          {"length_us", to_micros(series.length())},
          {"bins", series.run_bins().size()},
          {"acked_bytes", total([](const RunSpan& span) { return span.acked_bytes; })},
          {"segments_sent", total([](const RunSpan& span) { return span.segments_sent; })},
          {"segments_retransmitted",
           total([](const RunSpan& span) { return span.segments_retransmitted; })},
          {"drops", total([](const RunSpan& span) { return span.drops; })},
          {"marks", total([](const RunSpan& span) { return span.marks; })},
          {"links", std::move(links)}};
}

}  // namespace heddle::cli
