// Flows and what became of them: see flow_report.h.
#include "apps/cli/job/flow_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "apps/cli/params.h"
#include "base/error_code.h"
#include "base/quantity.h"

namespace heddle::cli {
namespace {

using simulator::FlowOutcome;

bool arrived(const FlowOutcome& outcome) { return outcome.received != Nanos::never(); }

// Completion times of the flows that arrived, from their starts, sorted.
std::vector<Nanos> completion_times(const Flows& flows) {
  std::vector<Nanos> times;
  for (const FlowOutcome& outcome : flows.outcomes) {
    if (arrived(outcome)) times.push_back(outcome.received - outcome.started);
  }
  std::sort(times.begin(), times.end());
  return times;
}

// By nearest rank: the smallest value that `per_thousand` of 1,000 do not exceed.
Nanos percentile(const std::vector<Nanos>& sorted, size_t per_thousand) {
  return sorted[(sorted.size() * per_thousand + 999) / 1'000 - 1];
}

struct Counted {
  uint64_t arrived = 0;
  uint64_t failed = 0;
  uint64_t unfinished = 0;  // not ended when the run ended
  uint64_t not_started = 0;
  uint64_t bytes = 0;
  Nanos first = Nanos::never();  // start
  Nanos last;                    // arrival
};

Counted count(const Flows& flows) {
  Counted counted;
  for (size_t i = 0; i < flows.outcomes.size(); ++i) {
    const FlowOutcome& outcome = flows.outcomes[i];
    if (outcome.started == Nanos::never()) {
      ++(outcome.failed ? counted.failed : counted.not_started);
      continue;
    }
    counted.first = std::min(counted.first, outcome.started);
    if (arrived(outcome)) {
      ++counted.arrived;
      counted.bytes += flows.flows[i].bytes.count;
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
  const int64_t width =
      std::max<int64_t>((sorted.back() - least).count / params::flows::kBars + 1, 1);
  std::vector<size_t> bars(params::flows::kBars);
  for (const Nanos time : sorted) ++bars[static_cast<size_t>((time - least).count / width)];
  const size_t most = *std::max_element(bars.begin(), bars.end());
  std::string text;
  for (size_t i = 0; i < params::flows::kBars; ++i) {
    if (bars[i] == 0 && width == 1) continue;
    const Nanos from = least + nanos(static_cast<int64_t>(i) * width);
    const size_t length = (bars[i] * params::flows::kBarWidth + most - 1) / most;
    text += fmt::format("  {:>9}  {:<40}  {}\n", duration_text(from), std::string(length, '#'),
                        count_text(bars[i]));
  }
  return text;
}

// "3 the peer stopped answering, 1 no answer in time".
std::string failures_text(const Flows& flows) {
  std::array<uint64_t, kErrorCodes> counts = {};
  for (const FlowOutcome& outcome : flows.outcomes) {
    const bool failed = outcome.failed && outcome.received == Nanos::never();
    if (failed) ++counts[static_cast<size_t>(outcome.error)];
  }
  std::string text;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count_text(counts[i]),
                        reason_of(static_cast<ErrorCode>(i)));
  }
  return text;
}

nlohmann::json rows_json(const Flows& all) {
  nlohmann::json rows = nlohmann::json::array();
  for (size_t i = 0; i < all.outcomes.size(); ++i) {
    const topology::Flow& flow = all.flows[i];
    const FlowOutcome& outcome = all.outcomes[i];
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
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

std::string flows_text(const Flows& flows, uint64_t changed, bool over) {
  if (flows.outcomes.empty()) return {};
  const Counted counted = count(flows);
  std::string text = fmt::format("flows       {} of {} arrived", count_text(counted.arrived),
                                 count_text(flows.outcomes.size()));
  if (counted.failed > 0) text += fmt::format(", {} failed", count_text(counted.failed));
  if (counted.unfinished > 0) {
    text += fmt::format(", {} in flight", count_text(counted.unfinished));
  }
  if (counted.not_started > 0) {
    text += fmt::format(", {} not begun{}", count_text(counted.not_started),
                        over ? ": nothing is left to set them off" : "");
  }
  if (changed > 0) text += fmt::format(", {} ARRIVED CHANGED", count_text(changed));
  text += "\n";
  if (counted.failed > 0) text += "failed      " + failures_text(flows) + "\n";
  const std::vector<Nanos> times = completion_times(flows);
  if (!times.empty()) {
    text += fmt::format("took        tail {}, p99 {}, median {}, shortest {}\n",
                        duration_text(times.back()), duration_text(percentile(times, 990)),
                        duration_text(percentile(times, 500)), duration_text(times.front()));
    text +=
        fmt::format("goodput     {} in all, within {}\n", rate_text(goodput_bits_per_s(counted)),
                    duration_text(counted.last - counted.first));
  }
  return text;
}

std::string flow_times_text(const Flows& flows) {
  const std::vector<Nanos> times = completion_times(flows);
  return times.empty() ? "" : "\nflows by completion time, from\n" + histogram(times);
}

nlohmann::json flows_json(const Flows& flows, uint64_t changed) {
  const Counted counted = count(flows);
  const std::vector<Nanos> times = completion_times(flows);
  Nanos with_handshake;
  Nanos acked = Nanos::never();
  for (const FlowOutcome& outcome : flows.outcomes) {
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
  return {{"flows", rows_json(flows)},
          {"flows_arrived", counted.arrived},
          {"flows_failed", counted.failed},
          {"flows_unfinished", counted.unfinished + counted.not_started},
          {"flows_changed", changed},
          {"tail_fct_us", time(1'000)},
          {"p99_fct_us", time(990)},
          {"median_fct_us", time(500)},
          {"tail_fct_with_handshake_us", known(!times.empty(), with_handshake)},
          {"tail_acked_us", known(acked != Nanos::never(), acked)},
          {"goodput_gbits_per_s", goodput_bits_per_s(counted) * 1e-9}};
}

}  // namespace heddle::cli
