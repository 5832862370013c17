// Results of jobs: see job_report.h.
#include "apps/cli/job/job_report.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "apps/cli/job/job_sums.h"
#include "base/printable.h"
#include "base/quantity.h"

namespace heddle::cli {
namespace {

bool ended(const CallOutcome& call, uint32_t ranks) { return call.ranks_ended == ranks; }

uint32_t size_of(const topology::Job& job, const CallOutcome& call) {
  return static_cast<uint32_t>(job.communicators[call.communicator].ranks.size());
}

std::string call_text(const CallsAlike& call) {
  return std::string(name_of(call.call)) + (call.algorithm ? " " : "") +
         (call.algorithm ? std::string(name_of(*call.algorithm)) : "");
}

// Calls alike, one line.
std::string calls_text(const topology::Job& job, const JobOutcome& outcome) {
  std::string text;
  for (const CallsAlike& each : calls_alike(job, outcome)) {
    text += fmt::format(
        "    {:<30} {:>11}, {:>9}: {:>9}, {} to {}{}\n", call_text(each), size_text(each.bytes),
        counted_text(each.count, "call"), duration_text(each.median), duration_text(each.least),
        duration_text(each.most),
        each.bus_bytes_per_s > 0 ? ", bus " + byte_rate_text(each.bus_bytes_per_s * 8) : "");
  }
  return text;
}

std::string job_text(const topology::Job& job, const JobOutcome& outcome) {
  const std::vector<Nanos> times = step_times(job, outcome);
  std::string text =
      fmt::format("  {}: {}, {} done", printable(job.name), counted_text(job.ranks.size(), "rank"),
                  counted_text(times.size(), "step"));
  if (!times.empty()) {
    text += ", until " + duration_text(outcome.steps[times.size() - 1].ended);
  }
  text += "\n";
  if (!outcome.error.empty()) text += "    FAILED: " + outcome.error + "\n";
  if (outcome.error.empty() && outcome.ranks_done < job.ranks.size()) {
    text += fmt::format("    {} of {} ranks have not ended\n",
                        count_text(job.ranks.size() - outcome.ranks_done),
                        count_text(job.ranks.size()));
  }
  if (!times.empty()) {
    Nanos computed;
    Nanos exposed;
    for (size_t i = 0; i < times.size(); ++i) {
      computed += outcome.steps[i].computed;
      exposed += outcome.steps[i].exposed;
    }
    const auto shares = static_cast<int64_t>(times.size() * job.ranks.size());
    text += fmt::format(
        "    a step takes {} (median); on average a rank computes {} in one and waits {}\n",
        duration_text(median(times)), duration_text(nanos(computed.count / shares)),
        duration_text(nanos(exposed.count / shares)));
  }
  text += calls_text(job, outcome);
  if (outcome.messages > 0) {
    text += fmt::format("    {} between two ranks, {}\n", counted_text(outcome.messages, "message"),
                        size_text(outcome.message_bytes));
  }
  return text;
}

nlohmann::json steps_json(const topology::Job& job, const JobOutcome& outcome) {
  nlohmann::json steps = nlohmann::json::array();
  const std::vector<Nanos> times = step_times(job, outcome);
  const auto ranks = static_cast<int64_t>(job.ranks.size());
  for (size_t i = 0; i < times.size(); ++i) {
    const StepOutcome& step = outcome.steps[i];
    steps.push_back({{"begun_us", to_micros(step.begun)},
                     {"ended_us", to_micros(step.ended)},
                     {"took_us", to_micros(times[i])},
                     {"computed_us", to_micros(nanos(step.computed.count / ranks))},
                     {"computed_most_us", to_micros(step.computed_most)},
                     {"exposed_us", to_micros(nanos(step.exposed.count / ranks))},
                     {"exposed_most_us", to_micros(step.exposed_most)}});
  }
  return steps;
}

nlohmann::json calls_json(const topology::Job& job, const JobOutcome& outcome) {
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& calls : outcome.calls) {
    for (const CallOutcome& call : calls) {
      const uint32_t ranks = size_of(job, call);
      nlohmann::json row = {{"communicator", job.communicators[call.communicator].name},
                            {"communicator_id", call.communicator},
                            {"operation", name_of(call.call)},
                            {"algorithm", nullptr},
                            {"ranks", ranks},
                            {"bytes", call.bytes},
                            {"step", call.step},
                            {"called_us", to_micros(call.called)},
                            {"last_called_us", to_micros(call.last_called)},
                            {"ended_us", nullptr},
                            {"took_us", nullptr},
                            {"busbw_gbytes_per_s", nullptr}};
      if (call.algorithm) row["algorithm"] = name_of(*call.algorithm);
      if (ended(call, ranks)) {
        row["ended_us"] = to_micros(call.ended);
        row["took_us"] = to_micros(call.ended - call.called);
        if (call.bytes > 0) row["busbw_gbytes_per_s"] = bus_bytes_per_s(call, ranks) * 1e-9;
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace

std::string jobs_text(std::span<const topology::Job> jobs, std::span<const JobOutcome> outcomes) {
  std::string text;
  for (size_t i = 0; i < jobs.size(); ++i) text += job_text(jobs[i], outcomes[i]);
  return text.empty() ? text : "\njobs\n" + text;
}

nlohmann::json job_json(const topology::Job& job, const JobOutcome& outcome,
                        const std::optional<insight::Matrix>& matrix) {
  nlohmann::json hosts = nlohmann::json::array();
  for (const topology::JobRank& rank : job.ranks) hosts.push_back(rank.host);
  nlohmann::json row = {{"name", job.name},
                        {"kind", job.kind},
                        {"ranks", job.ranks.size()},
                        {"hosts", std::move(hosts)},
                        {"start_us", to_micros(job.start)},
                        {"ranks_done", outcome.ranks_done},
                        {"steps", steps_json(job, outcome)},
                        {"calls", calls_json(job, outcome)},
                        {"messages", outcome.messages},
                        {"message_bytes", outcome.message_bytes}};
  if (!outcome.error.empty()) row["error"] = outcome.error;
  if (!matrix) return row;
  nlohmann::json delivered = nlohmann::json::array();
  for (const auto& [pair, cell] : matrix->cells) {
    if (cell.bytes > 0) delivered.push_back({pair.first, pair.second, cell.bytes});
  }
  row["delivered"] = std::move(delivered);
  return row;
}

}  // namespace heddle::cli
