// Results of a simulation: see report.h.
#include "apps/cli/sim/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "apps/cli/job/flow_report.h"
#include "apps/cli/sim/links.h"
#include "apps/cli/sim/params.h"
#include "base/quantity.h"

namespace heddle::cli {
namespace {

using simulator::FlowOutcome;
using simulator::FlowRun;

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
  std::string text =
      fmt::format("segments    {} of up to {} bytes, {} retransmitted ({} of them spurious)\n",
                  count_text(totals.segments_sent), totals.segment_bytes,
                  count_text(totals.segments_retransmitted),
                  count_text(totals.segments_retransmitted_spuriously));
  text += "packets     ";
  std::string befell;
  for (size_t i = 0; i < static_cast<size_t>(simulator::Fate::kCount); ++i) {
    const auto fate = static_cast<simulator::Fate>(i);
    if (fates[fate] == 0) continue;
    befell +=
        fmt::format("{}{}: {}", befell.empty() ? "" : ", ", name_of(fate), count_text(fates[fate]));
  }
  text += (befell.empty() ? "none was lost, delayed or changed" : befell) + "\n";
  const Pauses pauses = pauses_of(run);
  if (pauses.count == 0) return text;
  return text + fmt::format("pauses      {}, of {}, {} all together\n", count_text(pauses.count),
                            counted_text(pauses.links, "link"), duration_text(pauses.time));
}

// Counts that only RoCE NICs have.
std::string roce_text(const FlowRun& run) {
  if (!run.options().roce) return "";
  const simulator::RoceCounters counts = run.roce_counters();
  return fmt::format(
      "RoCE NICs   {} NAKs, {} timeouts, {} CNPs, {} packets discarded, {} "
      "reordered, {} failed\n",
      count_text(counts.naks), count_text(counts.timeouts), count_text(counts.cnps),
      count_text(counts.discarded), count_text(counts.reordered),
      counted_text(counts.queue_pairs_failed, "queue pair"));
}

nlohmann::json roce_json(const FlowRun& run) {
  if (!run.options().roce) return nullptr;
  const simulator::RoceCounters counts = run.roce_counters();
  return {{"naks", counts.naks},
          {"timeouts", counts.timeouts},
          {"cnps", counts.cnps},
          {"discarded_packets", counts.discarded},
          {"reordered_packets", counts.reordered},
          {"queue_pairs_failed", counts.queue_pairs_failed}};
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
          {"segments_retransmitted", totals.segments_retransmitted},
          {"segments_retransmitted_spuriously", totals.segments_retransmitted_spuriously},
          {"segment_bytes", totals.segment_bytes},
          {"acknowledgements", totals.acks_received},
          {"pauses", pauses.count},
          {"paused_us", to_micros(pauses.time)},
          {"packets", fates}};
}

}  // namespace

nlohmann::json sim_options(const SimFacts& facts) {
  const auto bytes = [](bool given, uint64_t count) {
    return given ? nlohmann::json(count) : nlohmann::json(nullptr);
  };
  const uint64_t initial = facts.options.initial_window.count;
  const uint64_t burst = facts.options.longest_burst.count;
  const topology::HtsimLinkUse links = facts.links.value_or(topology::HtsimLinkUse{});
  const topology::SwitchShape& shape = links.switches;
  const std::optional<simulator::RoceOptions>& roce = facts.options.roce;
  const bool limited = facts.until != Nanos::never();
  const Nanos convergence = facts.options.routes_converge_after;
  return {
      {"transport", roce ? "roce" : "heddle"},
      {"cc", facts.options.congestion},
      {"selector", roce ? nlohmann::json(nullptr) : nlohmann::json(facts.options.selector)},
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
      {"ecn_max_share", links.ecn_ramp.count > 0 ? nlohmann::json(links.ecn_ramp_per_million / 1e6)
                                                 : nlohmann::json(nullptr)},
      {"buffer_bytes", bytes(shape.buffer.count > 0, shape.buffer.count)},
      {"alpha", shape.buffer.count > 0
                    ? nlohmann::json(fmt::format("{}/{}", shape.alpha, shape.alpha_divisor))
                    : nlohmann::json(nullptr)},
      {"xoff_bytes", bytes(shape.xoff.count > 0, shape.xoff.count)},
      {"xon_bytes", bytes(shape.xon.count > 0, shape.xon.count)},
      {"trimming", facts.links ? nlohmann::json(shape.trims) : nlohmann::json(nullptr)},
      {"pfc", facts.links ? nlohmann::json(shape.lossless) : nlohmann::json(nullptr)},
      {"balancing",
       facts.links ? nlohmann::json(name_of(shape.balancing)) : nlohmann::json(nullptr)},
      {"rdma_mtu_bytes", bytes(roce.has_value(), roce ? roce->mtu_bytes : 0)},
      {"ack_timeout_us",
       roce ? nlohmann::json(to_micros(roce->ack_timeout)) : nlohmann::json(nullptr)},
      {"convergence_us", convergence != Nanos::never() ? nlohmann::json(to_micros(convergence))
                                                       : nlohmann::json(nullptr)},
      {"until_us", limited ? nlohmann::json(to_micros(facts.until)) : nlohmann::json(nullptr)}};
}

std::string sim_text(const FlowRun& run, const simulator::Series& series, const SimFacts& facts) {
  const Flows flows{run.workload().flows, run.outcomes()};
  std::string text = fmt::format("{} over {}, {} hosts\n{}cc {}, {}, seed {}\n\n", facts.workload,
                                 facts.topology, count_text(run.network().topology().hosts.size()),
                                 facts.options.roce ? "RoCE NICs, " : "", facts.options.congestion,
                                 counted_text(facts.options.paths, "path"), facts.options.seed);
  text += flows_text(flows, run.wrong(), run.over());
  text += counters_text(run) + roce_text(run);
  const uint64_t events = run.network().events_handled();
  text += fmt::format("simulated   {} in {:.2f} s, {} events, {} a second\n",
                      duration_text(run.now()), facts.wall_s, count_text(events),
                      count_text(static_cast<uint64_t>(static_cast<double>(events) /
                                                       std::max(facts.wall_s, 1e-9))));
  return text + flow_times_text(flows) + links_text(run, series);
}

nlohmann::json sim_document(const FlowRun& run, const simulator::Series& series,
                            const SimFacts& facts) {
  nlohmann::json document = sim_options(facts);
  document.update(flows_json({run.workload().flows, run.outcomes()}, run.wrong()));
  document.update({{"topology", facts.topology},
                   {"workload", facts.workload},
                   {"counters", counters_json(run)},
                   {"roce", roce_json(run)},
                   {"simulated_us", to_micros(run.now())},
                   {"events", run.network().events_handled()},
                   {"history", fmt::format("{:016x}", run.network().trace_hash())},
                   {"stopped", facts.stopped},
                   {"wall_s", facts.wall_s}});
  document["links"] = links_json(run, series);
  document["routes"] = routes_json(run, series);
  document["paths_used"] = paths_json(run);
  if (!series.run_bins().empty()) {
    document["series"] = series_json(run, series, params::sim::kSeriesLinks);
  }
  return document;
}

}  // namespace heddle::cli
