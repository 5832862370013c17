// See report.h.
#include "apps/cli/plan/advise/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "base/version.h"

namespace heddle::cli {
namespace {

using planner::Gain;
using planner::NoAdvantage;

std::string time_text(double seconds) {
  return duration_text(nanos(static_cast<int64_t>(std::llround(seconds * 1e9))));
}

std::string interval_text(const Gain& gain) {
  return fmt::format("{:.1f} to {:.1f}%", 100 * gain.low, 100 * gain.high);
}

std::string head_text(const RecordedSetting& setting, const Advised& advised) {
  std::string text =
      fmt::format("{}, {} of {} alike{}, of {} each (median)\n",
                  counted_text(setting.hosts.size(), "rank"), setting.steps.jobs.size(),
                  counted_text(setting.steps.jobs.size() + setting.steps.left_out, "step"),
                  setting.steps.marked ? "" : " by their calls", time_text(advised.recorded_s));
  text += fmt::format(
      "simulated as it is: {}, {:+.1f}% against the recording (bound {:.0f}%); a rank computes {} "
      "and waits {}\n",
      time_text(advised.facts.step_s), 100 * advised.off_by, 100 * advised.bound,
      time_text(advised.computed_s), time_text(advised.facts.exposed_s));
  if (advised.enough_evidence()) return text;
  return text +
         "NOT ENOUGH EVIDENCE: the simulation does not reproduce the recorded step, so gains "
         "below\nare of another job. Check topology, --paths and --hosts.\n";
}

std::string tried_text(const AdvisedChange& change) {
  if (!change.tried) return "";
  return fmt::format("{:27}tried for real: {:.1f}% ({})\n", "", 100 * change.tried->mean,
                     interval_text(*change.tried));
}

std::string gains_text(const Advised& advised, size_t top) {
  std::string text;
  size_t shown = 0;
  size_t more = 0;
  for (const AdvisedChange& change : advised.changes) {
    if (change.why != NoAdvantage::kGains) continue;
    if (shown == top) {
      ++more;
      continue;
    }
    ++shown;
    text += fmt::format("{:>5.1f}%  {:<18} {}\n", 100 * change.gain.mean,
                        interval_text(change.gain), change.candidate.name);
    text += fmt::format("{:27}{}\n", "", change.candidate.todo);
    if (!change.candidate.note.empty()) {
      text += fmt::format("{:27}({})\n", "", change.candidate.note);
    }
    text += tried_text(change);
  }
  if (shown == 0) return "\nNo change gains anything.\n";
  text = fmt::format("\n{:>6}  {:<18} {}\n", "gain", "95% interval", "change, and how to make it") +
         text;
  if (more > 0) text += fmt::format("and {} more that gain less: --top\n", more);
  return text;
}

// Reasons, each once, with the changes that they are of.
std::string others_text(const Advised& advised) {
  std::vector<std::pair<std::string, std::string>> reasons;
  for (const AdvisedChange& change : advised.changes) {
    if (change.why == NoAdvantage::kGains) continue;
    auto same = std::find_if(reasons.begin(), reasons.end(),
                             [&change](const auto& each) { return each.first == change.reason; });
    if (same == reasons.end()) same = reasons.insert(reasons.end(), {change.reason, ""});
    same->second += "    " + change.candidate.name + "\n";
  }
  std::string text = reasons.empty() ? "" : "\nno gain\n";
  for (const auto& [reason, names] : reasons) text += "  " + reason + "\n" + names;
  if (advised.left_out.empty()) return text;
  text += "\nnot considered\n";
  for (const NotConsidered& each : advised.left_out) {
    text += fmt::format("  {}: {}\n", planner::name_of(each.kind), each.why);
  }
  return text;
}

nlohmann::json gain_json(const Gain& gain) {
  return {{"mean", gain.mean}, {"low", gain.low}, {"high", gain.high}};
}

nlohmann::json micros_json(const std::vector<double>& seconds) {
  nlohmann::json values = nlohmann::json::array();
  for (const double each : seconds) values.push_back(each * 1e6);
  return values;
}

nlohmann::json change_json(const AdvisedChange& change) {
  return {{"kind", planner::name_of(change.candidate.kind)},
          {"name", change.candidate.name},
          {"todo", change.candidate.todo},
          {"note", change.candidate.note},
          {"simulated", !change.step_s.empty()},
          {"step_us", micros_json(change.step_s)},
          {"gain", gain_json(change.gain)},
          {"why_not", planner::name_of(change.why)},
          {"reason", change.reason},
          {"tried", change.tried ? gain_json(*change.tried) : nlohmann::json(nullptr)}};
}

}  // namespace

std::string advised_text(const RecordedSetting& setting, const Advised& advised, size_t top) {
  std::string text = head_text(setting, advised) + gains_text(advised, top) + others_text(advised);
  if (advised.rounds == 0) return text;
  double sum = 0;
  for (const double each : advised.real_step_s) sum += each;
  text += fmt::format("\ntried with real packets in a lab, {}: a step as it is takes {}\n",
                      counted_text(advised.rounds, "round"),
                      time_text(sum / static_cast<double>(advised.real_step_s.size())));
  if (advised.slowed > 1) {
    text += fmt::format("(links and computation slowed by {:.0f}, as this machine carries)\n",
                        advised.slowed);
  }
  return text;
}

nlohmann::json advised_json(const RecordedSetting& setting, const Advised& advised) {
  nlohmann::json changes = nlohmann::json::array();
  for (const AdvisedChange& change : advised.changes) changes.push_back(change_json(change));
  nlohmann::json left_out = nlohmann::json::array();
  for (const NotConsidered& each : advised.left_out) {
    left_out.push_back({{"kind", planner::name_of(each.kind)}, {"why", each.why}});
  }
  return {{"heddle", kVersion},
          {"ranks", setting.hosts.size()},
          {"steps", setting.steps.jobs.size()},
          {"steps_left_out", setting.steps.left_out},
          {"steps_marked", setting.steps.marked},
          {"fabric_known", setting.fabric_known},
          {"notes", setting.notes},
          {"recorded_step_us", advised.recorded_s * 1e6},
          {"simulated_step_us", micros_json(advised.step_s)},
          {"computed_us", advised.computed_s * 1e6},
          {"exposed_us", advised.facts.exposed_s * 1e6},
          {"busiest_host_link_us", advised.facts.longest_host_link_s * 1e6},
          {"busiest_switch_link_us", advised.facts.longest_switch_link_s * 1e6},
          {"off_by", advised.off_by},
          {"bound", advised.bound},
          {"enough_evidence", advised.enough_evidence()},
          {"changes", std::move(changes)},
          {"not_considered", std::move(left_out)},
          {"real_rounds", advised.rounds},
          {"real_step_us", micros_json(advised.real_step_s)},
          {"real_slowed_by", advised.slowed}};
}

}  // namespace heddle::cli
