// See report.h.
#include "apps/cli/stragglers/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/cli/params.h"
#include "base/nanos.h"
#include "base/quantity.h"
#include "base/version.h"

namespace heddle::cli {
namespace {

using insight::StragglerCause;
using insight::Stragglers;

using Rows = std::vector<std::pair<std::string, double>>;

std::string span_text(double seconds) {
  return duration_text(nanos(static_cast<int64_t>(seconds * 1e9)));
}

std::string microbatches_text(uint32_t count) {
  return count_text(count) + (count == 1 ? " microbatch" : " microbatches");
}

// The slowest first.
std::string rows_text(Rows rows, size_t most) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  size_t shown = 0;
  for (const auto& [name, slowdown] : rows) {
    if (shown == most || slowdown < 1 + params::stragglers::kShown) break;
    text += fmt::format("  {:<34}{:.3f}\n", name, slowdown);
    ++shown;
  }
  return text;
}

Rows numbered(const char* what, const std::vector<double>& slowdowns) {
  Rows rows;
  for (size_t i = 0; i < slowdowns.size(); ++i)
    rows.emplace_back(fmt::format("{} {}", what, i), slowdowns[i]);
  return rows;
}

Rows operations_of(const Stragglers& found) {
  Rows rows;
  for (size_t i = 0; i < found.by_operation.size(); ++i) {
    if (!found.by_operation[i]) continue;
    rows.emplace_back(name_of(static_cast<insight::PipelineOperation>(i)), *found.by_operation[i]);
  }
  return rows;
}

std::string worker_text(const insight::WorkerSlowdown& worker) {
  return fmt::format("data-parallel rank {}, stage {}", worker.data_rank, worker.stage);
}

Rows workers_of(const Stragglers& found) {
  Rows rows;
  for (const insight::WorkerSlowdown& worker : found.workers)
    rows.emplace_back(worker_text(worker), worker.slowdown);
  return rows;
}

std::string slowest_text(const Stragglers& found) {
  std::string text = worker_text(found.workers.front());
  if (found.slowest_workers > 1) text += fmt::format(" and {} more", found.slowest_workers - 1);
  return text;
}

std::string_view name_of(StragglerCause cause) {
  switch (cause) {
    case StragglerCause::kWorkers:
      return "workers";
    case StragglerCause::kLastStage:
      return "last_stage";
    case StragglerCause::kSequenceLengths:
      return "sequence_lengths";
  }
  return "";
}

std::string cause_text(const Stragglers& found, StragglerCause cause) {
  switch (cause) {
    case StragglerCause::kWorkers:
      return fmt::format(
          "  slow workers: {:.1f}% of the slowdown goes away if these become even: {}\n"
          "    look at the hosts: clocks of GPUs, temperatures, other processes\n",
          100 * found.slowest_workers_share, slowest_text(found));
    case StragglerCause::kLastStage:
      return fmt::format(
          "  the last stage does more than the others: {:.1f}% of the slowdown goes away if it "
          "becomes even\n"
          "    give it fewer layers; it computes the loss, too\n",
          100 * found.last_stage_share);
    case StragglerCause::kSequenceLengths:
      return fmt::format(
          "  microbatches differ in length: their forward and backward times correlate by {:.3f}\n"
          "    put sequences together so that microbatches cost the same\n",
          found.length_correlation);
  }
  return "";
}

std::string causes_text(const Stragglers& found) {
  std::string text;
  for (const StragglerCause cause : found.causes) text += cause_text(found, cause);
  if (!text.empty()) return "why\n" + text;
  return found.is_slow() ? "why: not slow workers, the last stage or sequence lengths\n" : "";
}

}  // namespace

std::string stragglers_text(const Stragglers& found, size_t rows) {
  std::string text = fmt::format(
      "{}, {}, {}, {} a step\n"
      "a replayed step takes {}, and {} if all operations of a kind take equally long: {:.3f} "
      "times\n",
      counted_text(found.steps, "step"), counted_text(found.data_ranks, "data-parallel rank"),
      counted_text(found.stages, "stage"), microbatches_text(found.microbatches),
      span_text(found.measured_s), span_text(found.even_s), found.slowdown);
  if (found.recorded_s > found.measured_s * (1 + params::stragglers::kUncovered)) {
    text += fmt::format(
        "a recorded step takes {}: for {:.1f}% of it no operation runs that others wait for\n",
        span_text(found.recorded_s), 100 * (1 - found.measured_s / found.recorded_s));
  }
  const std::pair<const char*, std::string> tables[] = {
      {"stages", rows_text(numbered("stage", found.by_stage), rows)},
      {"operations", rows_text(operations_of(found), insight::kPipelineOperations)},
      {"data-parallel ranks", rows_text(numbered("data-parallel rank", found.by_data_rank), rows)},
      {"workers", rows_text(workers_of(found), rows)}};
  bool any = false;
  for (const auto& [title, table] : tables) {
    if (table.empty()) continue;
    if (!any)
      text += "\nhow much longer a step takes if only these are as measured and all others even\n";
    any = true;
    text += fmt::format("{}\n{}", title, table);
  }
  const std::string causes = causes_text(found);
  return text + (causes.empty() ? "" : "\n" + causes);
}

Json stragglers_document(const Stragglers& found) {
  Json operations = Json::array();
  for (const auto& [name, slowdown] : operations_of(found))
    operations.push_back({{"operation", name}, {"slowdown", slowdown}});
  Json steps = Json::array();
  for (const insight::StepSlowdown& step : found.by_step)
    steps.push_back({{"step", step.step}, {"slowdown", step.slowdown}});
  Json workers = Json::array();
  for (const insight::WorkerSlowdown& worker : found.workers) {
    workers.push_back(
        {{"data_rank", worker.data_rank}, {"stage", worker.stage}, {"slowdown", worker.slowdown}});
  }
  Json causes = Json::array();
  for (const StragglerCause cause : found.causes) causes.push_back(name_of(cause));
  return {{"heddle", std::string(kVersion)},
          {"steps", found.steps},
          {"steps_left_out", found.steps_left_out},
          {"data_ranks", found.data_ranks},
          {"stages", found.stages},
          {"microbatches", found.microbatches},
          {"recorded_s", found.recorded_s},
          {"measured_s", found.measured_s},
          {"even_s", found.even_s},
          {"slowdown", found.slowdown},
          {"slowdown_by_step", std::move(steps)},
          {"slowdown_by_stage", found.by_stage},
          {"slowdown_by_data_rank", found.by_data_rank},
          {"operations", std::move(operations)},
          {"workers", std::move(workers)},
          {"slowest_workers", found.slowest_workers},
          {"slowest_workers_share", found.slowest_workers_share},
          {"last_stage_share", found.last_stage_share},
          {"length_correlation", found.length_correlation},
          {"slow", found.is_slow()},
          {"causes", std::move(causes)}};
}

}  // namespace heddle::cli
