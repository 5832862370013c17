// See sheet_report.h.
#include "apps/cli/size/sheet_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "apps/cli/pages/pages.h"
#include "apps/cli/size/params.h"
#include "base/quantity.h"
#include "base/version.h"

namespace heddle::cli {
namespace {

using planner::Gain;
using planner::NoAdvantage;
using planner::Verdict;

// Where the second column of the text begins, and where lines end.
constexpr size_t kIndent = 27;

std::string verdict_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGo:
      return "GO";
    case Verdict::kNoGo:
      return "NO-GO";
    case Verdict::kNoEvidence:
      return "NOT ENOUGH EVIDENCE";
  }
  return "";
}

std::string time_text(double seconds) {
  return duration_text(nanos(static_cast<int64_t>(std::llround(seconds * 1e9))));
}

std::string bytes_text(double bytes) {
  const std::string rate = byte_rate_text(8 * bytes);  // "4.53 GB/s"
  return rate.substr(0, rate.size() - 2);
}

// In per cent, to a tenth; nothing is below 0 by less.
double percent_of(double share) {
  const double tenths = std::round(1'000 * share);
  return tenths == 0 ? 0 : tenths / 10;
}

std::string interval_text(const Gain& gain) {
  return fmt::format("{:.1f} to {:.1f}%", percent_of(gain.low), percent_of(gain.high));
}

// A text after what begins its first line, in lines that begin at the same column.
std::string wrapped(std::string made, std::string_view text) {
  const size_t indent = made.size();
  size_t column = indent;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (column > indent && column + end > params::size::kColumns) {
      made.back() = '\n';
      made += std::string(indent, ' ');
      column = indent;
    }
    made += text.substr(0, end);
    made += ' ';
    column += end + 1;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  while (made.ends_with(' ')) made.pop_back();
  return made + "\n";
}

std::string labelled(std::string_view label, std::string_view text) {
  return wrapped(fmt::format("{:<{}}", label, kIndent), text);
}

std::string cores_text(double cores) {
  return cores > 0 && cores < 0.005 ? "<0.01" : fmt::format("{:.2f}", cores);
}

std::string facts_text(const Sheet& sheet) {
  return labelled("recorded",
                  fmt::format("{}, {} of {} (median; they differ by {:.1f}%)",
                              counted_text(sheet.ranks, "rank"), counted_text(sheet.steps, "step"),
                              time_text(sheet.step_s), 100 * sheet.variation)) +
         labelled("network's share",
                  fmt::format("{:.1f}% of a step ({}) ranks wait: no network can save more",
                              100 * sheet.waiting.mean, interval_text(sheet.waiting))) +
         labelled("sent",
                  fmt::format("{} a step by the busiest host; heddle's transport takes {} of a "
                              "core of it ({:.2f} s a GB)",
                              bytes_text(sheet.sent_bytes), cores_text(sheet.host_cores),
                              sheet.cpu_s_per_gbyte)) +
         labelled("simulated",
                  fmt::format("{:+.1f}% off the recorded step (bound {:.0f}%), {}{}",
                              percent_of(sheet.off_by), 100 * sheet.bound,
                              counted_text(sheet.seeds, "seed"),
                              sheet.fabric_known ? "" : ", on one switch: no --topology"));
}

std::string rows_text(const Sheet& sheet) {
  std::string text = fmt::format("\n{:<18}{:>7}  {:<16}  {:>9}  {}\n", "measure", "gain",
                                 "95% interval", "CPU cores", "change");
  for (const SheetRow& row : sheet.rows) {
    if (row.change.empty()) {
      text += wrapped(fmt::format("{:<18}{:>7}  ", row.measure, "-"), row.reason);
      continue;
    }
    text += wrapped(
        fmt::format("{:<18}{:>6.1f}%  {:<16}  {:>9}  ", row.measure, percent_of(row.gain.mean),
                    interval_text(row.gain), cores_text(row.host_cores)),
        row.change + (row.in_use ? " (in use)" : ""));
    if (row.why != NoAdvantage::kGains) {
      text += wrapped(std::string(kIndent, ' '), "no gain: " + row.reason);
    }
  }
  return text;
}

std::string stages_text(const Sheet& sheet) {
  std::string text = "\n";
  for (const TrialStage& stage : sheet.stages) {
    text += labelled(stage.name, stage.todo);
    text += labelled("", "go on if " + stage.proceed);
    text += labelled("", "roll back: " + stage.undo);
  }
  return text;
}

Json gain_json(const Gain& gain) {
  return {{"mean", gain.mean}, {"low", gain.low}, {"high", gain.high}};
}

Json row_json(const SheetRow& row) {
  const bool simulated = !row.change.empty();
  return {{"measure", row.measure},
          {"change", row.change},
          {"kind", planner::name_of(row.kind)},
          {"effort", planner::name_of(planner::effort_of(row.kind))},
          {"gain", simulated ? gain_json(row.gain) : Json(nullptr)},
          {"in_use", row.in_use},
          {"why_not", planner::name_of(row.why)},
          {"reason", row.reason},
          {"host_cores", simulated ? Json(row.host_cores) : Json(nullptr)},
          {"todo", row.todo},
          {"undo", row.undo}};
}

const std::vector<std::pair<std::string, const char*>>& catalogues() {
  static const std::vector<std::pair<std::string, const char*>> all = {{"en", ""},
                                                                       {"ja", kSheetWords_ja}};
  return all;
}

void put(std::string& page, std::string_view mark, const std::string& text) {
  const size_t at = page.find(mark);
  if (at != std::string::npos) page.replace(at, mark.size(), text);
}

}  // namespace

std::string sheet_text(const Sheet& sheet) {
  std::string text = verdict_text(sheet.verdict) + "\n" + labelled("", sheet.conclusion);
  if (!sheet.beside.empty()) text += labelled("", sheet.beside);
  text += "\n";
  text += facts_text(sheet) + rows_text(sheet) + stages_text(sheet);
  for (const std::string& note : sheet.notes) text += labelled("note", note);
  return text;
}

Json sheet_json(const Sheet& sheet) {
  Json rows = Json::array();
  for (const SheetRow& row : sheet.rows) rows.push_back(row_json(row));
  Json stages = Json::array();
  for (const TrialStage& stage : sheet.stages) {
    stages.push_back({{"name", stage.name},
                      {"todo", stage.todo},
                      {"proceed", stage.proceed},
                      {"undo", stage.undo}});
  }
  const bool go = sheet.verdict == Verdict::kGo;
  return {{"heddle", kVersion},
          {"verdict", planner::name_of(sheet.verdict)},
          {"conclusion", sheet.conclusion},
          {"beside", sheet.beside},
          {"recording", sheet.recording},
          {"setting", sheet.setting},
          {"first", go ? Json(sheet.first) : Json(nullptr)},
          {"ranks", sheet.ranks},
          {"steps", sheet.steps},
          {"step_us", sheet.step_s * 1e6},
          {"variation", sheet.variation},
          {"waiting", gain_json(sheet.waiting)},
          {"sent_bytes", sheet.sent_bytes},
          {"host_cores", sheet.host_cores},
          {"cpu_s_per_gbyte", sheet.cpu_s_per_gbyte},
          {"off_by", sheet.off_by},
          {"bound", sheet.bound},
          {"least_gain", sheet.least_gain},
          {"seeds", sheet.seeds},
          {"fabric_known", sheet.fabric_known},
          {"measures", std::move(rows)},
          {"stages", std::move(stages)},
          {"notes", sheet.notes}};
}

std::vector<std::string> sheet_languages() {
  std::vector<std::string> names;
  for (const auto& [name, words] : catalogues()) names.push_back(name);
  return names;
}

std::string sheet_page(const Json& document, const std::string& language) {
  std::string page = kSheetPage;
  for (const auto& [name, words] : catalogues()) {
    if (name != language) continue;
    put(page, "@LANGUAGE@", name);
    put(page, "@WORDS@", words);
  }
  return fill_page(page.c_str(), "Change the network? Go/no-go sheet", document);
}

}  // namespace heddle::cli
