// Results of a simulation: see report.h.
#include "apps/cli/sim/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "apps/cli/quantity.h"
#include "apps/cli/sim/failures.h"
#include "apps/cli/sim/links.h"
#include "base/error_code.h"

namespace heddle::cli {
namespace {

using simulator::FlowOutcome;
using simulator::FlowRun;

constexpr size_t kBars = 12;
constexpr size_t kBarWidth = 40;
constexpr size_t kSeriesLinks = 1'024;  // in the document

bool arrived(const FlowOutcome& outcome) { return outcome.received != Nanos::never(); }

// Completion times of the flows that arrived, from their starts, sorted.
std::vector<Nanos> completion_times(const FlowRun& run) {
  std::vector<Nanos> times;
  for (const FlowOutcome& outcome : run.outcomes()) {
    if (arrived(outcome)) times.push_back(outcome.received - outcome.started);
  }
  std::sort(times.begin(), times.end());
  return times;
}

// By nearest rank: the least that so many of a thousand do not exceed.
Nanos percentile(const std::vector<Nanos>& sorted, size_t per_thousand) {
  return sorted[(sorted.size() * per_thousand + 999) / 1'000 - 1];
}

struct Counted {
  uint64_t arrived = 0;
  uint64_t failed = 0;
  uint64_t unfinished = 0;  // under way when the run ended
  uint64_t not_started = 0;
  uint64_t bytes = 0;
  Nanos first = Nanos::never();  // start
  Nanos last;                    // arrival
};

Counted count(const FlowRun& run) {
  Counted counted;
  for (size_t i = 0; i < run.outcomes().size(); ++i) {
    const FlowOutcome& outcome = run.outcomes()[i];
    if (outcome.started == Nanos::never()) {
      ++(outcome.failed ? counted.failed : counted.not_started);
      continue;
    }
    counted.first = std::min(counted.first, outcome.started);
    if (arrived(outcome)) {
      ++counted.arrived;
      counted.bytes += run.workload().flows[i].bytes.count;
      counted.last = std::max(counted.last, outcome.received);
    } else {
      ++(outcome.failed ? counted.failed : counted.unfinished);
    }
  }
  return counted;
}

double goodput_bits_per_s(const Counted& counted) {
  if (counted.arrived == 0 || counted.last <= counted.first) return 0;
  return static_cast<double>(counted.bytes) * 8 / to_seconds(counted.last - counted.first);
}

// How many flows took how long, a bar a range.
std::string histogram(const std::vector<Nanos>& sorted) {
  const Nanos least = sorted.front();
  const int64_t width = std::max<int64_t>((sorted.back() - least).count / kBars + 1, 1);
  std::vector<size_t> bars(kBars);
  for (const Nanos time : sorted) ++bars[static_cast<size_t>((time - least).count / width)];
  const size_t most = *std::max_element(bars.begin(), bars.end());
  std::string text;
  for (size_t i = 0; i < kBars; ++i) {
    if (bars[i] == 0 && width == 1) continue;
    const Nanos from = least + nanos(static_cast<int64_t>(i) * width);
    const size_t length = (bars[i] * kBarWidth + most - 1) / most;
    text += fmt::format("  {:>9}  {:<40}  {}\n", span_text(from), std::string(length, '#'),
                        count_text(bars[i]));
  }
  return text;
}

// What links were paused by lossless switches, all together.
struct Pauses {
  uint64_t links = 0;
  uint64_t count = 0;
  Nanos time;
};

Pauses pauses_of(const FlowRun& run) {
  Pauses pauses;
  for (simulator::LinkId id = 0; id < 2 * run.network().topology().links.size(); ++id) {
    const simulator::LinkCounters counters = run.network().counters(id);
    pauses.links += counters.pauses > 0;
    pauses.count += counters.pauses;
    pauses.time += counters.paused_time;
  }
  return pauses;
}

std::string counters_text(const FlowRun& run) {
  const transport::ConnectionStatistics totals = run.totals();
  const simulator::FateCounts& fates = run.network().fates();
  std::string text = fmt::format(
      "segments    {} of up to {} bytes, {} sent again ({} of them needlessly)\n",
      count_text(totals.segments_sent), totals.segment_bytes, count_text(totals.segments_repeated),
      count_text(totals.segments_repeated_spuriously));
  text += "packets     ";
  std::string befell;
  for (size_t i = 0; i < static_cast<size_t>(simulator::Fate::kCount); ++i) {
    const auto fate = static_cast<simulator::Fate>(i);
    if (fates[fate] == 0) continue;
    befell +=
        fmt::format("{}{}: {}", befell.empty() ? "" : ", ", name_of(fate), count_text(fates[fate]));
  }
  text += (befell.empty() ? "nothing befell any" : befell) + "\n";
  const Pauses pauses = pauses_of(run);
  if (pauses.count == 0) return text;
  return text + fmt::format("pauses      {}, of {}, {} all together\n", count_text(pauses.count),
                            counted_text(pauses.links, "link"), span_text(pauses.time));
}

nlohmann::json flows_json(const FlowRun& run) {
  nlohmann::json flows = nlohmann::json::array();
  for (size_t i = 0; i < run.outcomes().size(); ++i) {
    const topology::Flow& flow = run.workload().flows[i];
    const FlowOutcome& outcome = run.outcomes()[i];
    nlohmann::json row = {
        {"id", flow.id}, {"src", flow.from}, {"dst", flow.to}, {"bytes", flow.bytes.count}};
    const auto put = [&row](const char* key, bool known, Nanos value) {
      row[key] = known ? nlohmann::json(to_micros(value)) : nlohmann::json(nullptr);
    };
    const bool started = outcome.started != Nanos::never();
    put("start_us", started, outcome.started);
    put("fct_us", arrived(outcome), outcome.received - outcome.started);
    put("acked_us", outcome.acked != Nanos::never(), outcome.acked - outcome.started);
    put("handshake_us", true, outcome.handshake);
    if (outcome.failed) {
      row["failed"] = true;
      row["error"] = name_of(outcome.error);
    }
    flows.push_back(std::move(row));
  }
  return flows;
}

// What was asked for; null is what was left to the program, or to the topology file.
nlohmann::json options_json(const SimFacts& facts) {
  const auto bytes = [](bool given, uint64_t count) {
    return given ? nlohmann::json(count) : nlohmann::json(nullptr);
  };
  const uint64_t initial = facts.options.initial_window.count;
  const uint64_t burst = facts.options.longest_burst.count;
  const topology::HtsimLinkUse links = facts.links.value_or(topology::HtsimLinkUse{});
  const bool limited = facts.until != Nanos::never();
  return {{"cc", facts.options.congestion},
          {"selector", facts.options.selector},
          {"paths", facts.options.paths},
          {"seed", facts.options.seed},
          {"initial_window_bytes", bytes(initial > 0, initial)},
          {"window_limit_bytes", facts.options.window_limit.count},
          {"burst_bytes", bytes(burst > 0, burst)},
          {"mtu_bytes", bytes(facts.links.has_value(), links.mtu_bytes)},
          {"queue_bytes", bytes(facts.links.has_value(), links.queue.count)},
          {"ecn_threshold_bytes",
           bytes(links.ecn_threshold.count != UINT64_MAX, links.ecn_threshold.count)},
          {"ecn_max_bytes",
           bytes(links.ecn_ramp.count > 0, (links.ecn_threshold + links.ecn_ramp).count)},
          {"buffer_bytes", bytes(links.switches.buffer.count > 0, links.switches.buffer.count)},
          {"pfc", facts.links ? nlohmann::json(links.switches.lossless) : nlohmann::json(nullptr)},
          {"until_us", limited ? nlohmann::json(to_micros(facts.until)) : nlohmann::json(nullptr)}};
}

nlohmann::json counters_json(const FlowRun& run) {
  const transport::ConnectionStatistics totals = run.totals();
  nlohmann::json fates = nlohmann::json::object();
  for (size_t i = 0; i < static_cast<size_t>(simulator::Fate::kCount); ++i) {
    const auto fate = static_cast<simulator::Fate>(i);
    fates[name_of(fate)] = run.network().fates()[fate];
  }
  const Pauses pauses = pauses_of(run);
  return {{"segments_sent", totals.segments_sent},
          {"segments_repeated", totals.segments_repeated},
          {"segments_repeated_needlessly", totals.segments_repeated_spuriously},
          {"segment_bytes", totals.segment_bytes},
          {"acknowledgements", totals.acks_received},
          {"pauses", pauses.count},
          {"paused_us", to_micros(pauses.time)},
          {"packets", fates}};
}

}  // namespace

std::string sim_text(const FlowRun& run, const simulator::Series& series, const SimFacts& facts) {
  const Counted counted = count(run);
  std::string text =
      fmt::format("{} over {}, {} hosts\ncc {}, {}, seed {}\n\n", facts.workload, facts.topology,
                  count_text(run.network().topology().hosts.size()), facts.options.congestion,
                  counted_text(facts.options.paths, "path"), facts.options.seed);
  const bool flows = !run.outcomes().empty();
  if (flows)
    text += fmt::format("flows       {} of {} arrived", count_text(counted.arrived),
                        count_text(run.outcomes().size()));
  if (counted.failed > 0) text += fmt::format(", {} failed", count_text(counted.failed));
  if (counted.unfinished > 0) {
    text += fmt::format(", {} under way", count_text(counted.unfinished));
  }
  if (counted.not_started > 0) {
    text += fmt::format(", {} not begun{}", count_text(counted.not_started),
                        run.over() ? ": nothing is left to set them off" : "");
  }
  if (run.wrong() > 0) text += fmt::format(", {} ARRIVED CHANGED", count_text(run.wrong()));
  if (flows) text += "\n";
  if (counted.failed > 0) text += "failed      " + failures_text(run) + "\n";
  const std::vector<Nanos> times = completion_times(run);
  if (!times.empty()) {
    text += fmt::format("took        tail {}, p99 {}, median {}, shortest {}\n",
                        span_text(times.back()), span_text(percentile(times, 990)),
                        span_text(percentile(times, 500)), span_text(times.front()));
    text +=
        fmt::format("goodput     {} in all, within {}\n", rate_text(goodput_bits_per_s(counted)),
                    span_text(counted.last - counted.first));
  }
  text += counters_text(run);
  const uint64_t events = run.network().events_handled();
  text += fmt::format("simulated   {} in {:.2f} s, {} events, {} a second\n", span_text(run.now()),
                      facts.wall_s, count_text(events),
                      count_text(static_cast<uint64_t>(static_cast<double>(events) /
                                                       std::max(facts.wall_s, 1e-9))));
  if (!times.empty()) text += "\nflows by completion time, from\n" + histogram(times);
  return text + links_text(run, series);
}

nlohmann::json sim_document(const FlowRun& run, const simulator::Series& series,
                            const SimFacts& facts) {
  const Counted counted = count(run);
  const std::vector<Nanos> times = completion_times(run);
  Nanos with_handshake;
  Nanos acked = Nanos::never();
  for (const FlowOutcome& outcome : run.outcomes()) {
    if (!arrived(outcome)) continue;
    with_handshake =
        std::max(with_handshake, outcome.received - outcome.started + outcome.handshake);
    if (outcome.acked == Nanos::never()) continue;
    const Nanos took = outcome.acked - outcome.started;
    acked = acked == Nanos::never() ? took : std::max(acked, took);
  }
  const auto known = [](bool is, Nanos value) {
    return is ? nlohmann::json(to_micros(value)) : nlohmann::json(nullptr);
  };
  const auto time = [&](size_t per_thousand) {
    return known(!times.empty(), times.empty() ? Nanos{} : percentile(times, per_thousand));
  };
  nlohmann::json document = options_json(facts);
  document.update({{"topology", facts.topology},
                   {"workload", facts.workload},
                   {"flows", flows_json(run)},
                   {"flows_arrived", counted.arrived},
                   {"flows_failed", counted.failed},
                   {"flows_unfinished", counted.unfinished + counted.not_started},
                   {"flows_changed", run.wrong()},
                   {"tail_fct_us", time(1'000)},
                   {"p99_fct_us", time(990)},
                   {"median_fct_us", time(500)},
                   {"tail_fct_with_handshake_us", known(!times.empty(), with_handshake)},
                   {"tail_acked_us", known(acked != Nanos::never(), acked)},
                   {"goodput_gbits_per_s", goodput_bits_per_s(counted) * 1e-9},
                   {"counters", counters_json(run)},
                   {"simulated_us", to_micros(run.now())},
                   {"events", run.network().events_handled()},
                   {"history", fmt::format("{:016x}", run.network().trace_hash())},
                   {"stopped", facts.stopped},
                   {"wall_s", facts.wall_s}});
  document["links"] = links_json(run, series);
  document["ways"] = ways_json(run, series);
  document["paths_used"] = paths_json(run);
  if (!series.run_bins().empty()) {
    document["series"] = series_json(run, series, kSeriesLinks);
  }
  return document;
}

}  // namespace heddle::cli
