// See report_diff.h.
#include "acceptance/report_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "acceptance/agent_numbers.h"
#include "acceptance/params.h"
#include "acceptance/printed_text.h"
#include "acceptance/report_document.h"
#include "base/quantity.h"

namespace heddle::acceptance {
namespace {

// A figure of a report that has a number.
struct Figure {
  double value = 0;
  bool more_is_better = true;
  std::string text;
};
using FigureKey = std::tuple<std::string, std::string, std::string>;  // stage, what, where
using Figures = std::map<FigureKey, Figure>;

std::string pair_of(const Json& pair) {
  return pair.at("from").get<std::string>() + " to " + pair.at("to").get<std::string>();
}

void add_rate(Figures& figures, const FigureKey& key, double rate) {
  if (rate > 0) figures[key] = {rate, true, rate_text(rate)};
}

void add_latency(Figures& figures, const FigureKey& key, double us) {
  if (us > 0) figures[key] = {us, false, us_text(us)};
}

Figures figures_of(const Json& report) {
  Figures figures;
  if (const Json* const pairs = stage_data(report, "pairs", "pairs")) {
    for (const Json& pair : *pairs) {
      const std::string where = pair_of(pair);
      add_rate(figures, {"pairs", "goodput", where}, pair.value("goodput_bits_per_s", 0.0));
      add_rate(figures, {"pairs", "tcp_bw", where}, pair.value("tcp_bits_per_s", 0.0));
      add_latency(figures, {"pairs", "latency, median", where},
                  pair.value("half_round_trip_us_p50", 0.0));
      // What arrives of udp_bw is not: it depends on the port that the kernel chose, by its hash.
      add_latency(figures, {"pairs", "tcp_lat", where}, pair.value("tcp_lat_us", 0.0));
      add_latency(figures, {"pairs", "udp_lat", where}, pair.value("udp_lat_us", 0.0));
      add_rate(figures, {"pairs", "rc_bw", where}, pair.value("rc_bw_bits_per_s", 0.0));
      add_latency(figures, {"pairs", "rc_lat", where}, pair.value("rc_lat_us", 0.0));
    }
  }
  if (const Json* const nics = stage_data(report, "pairs", "nic_pairs")) {
    for (const Json& pair : *nics) {
      add_rate(figures,
               {"pairs", "goodput of " + pair.at("device").get<std::string>(), pair_of(pair)},
               pair.value("goodput_bits_per_s", 0.0));
    }
  }
  if (const Json* const sizes = stage_data(report, "collectives", "sizes")) {
    for (const Json& size : *sizes) {
      // The time of a smaller call is a latency, and of few calls.
      if (size.at("bytes").get<uint64_t>() < params::kSmallest.count) continue;
      add_rate(figures, {"collectives", "all-reduce, bus bandwidth", size_text(size.at("bytes"))},
               size.value("bus_bits_per_s", 0.0));
    }
  }
  if (const Json* const others = stage_data(report, "collectives", "others")) {
    for (const Json& each : *others) {
      add_rate(figures, {"collectives", each.at("test"), size_text(each.at("bytes"))},
               each.value("bus_bits_per_s", 0.0));
    }
  }
  if (const Json* const load = stage_data(report, "stress", "all_to_all")) {
    add_rate(figures, {"stress", "all-to-all, bus bandwidth", size_text(load->at("bytes"))},
             load->value("bus_bits_per_s", 0.0));
  }
  for (const char* const load : {"permutation", "incast"}) {
    if (const Json* const found = stage_data(report, "stress", load)) {
      add_rate(figures, {"stress", load, "all hosts"}, found->value("goodput_bits_per_s", 0.0));
    }
  }
  if (const Json* const victim = stage_data(report, "stress", "victim")) {
    add_latency(figures, {"stress", "latency beside the incast, p99", pair_of(*victim)},
                victim->value("half_round_trip_us_p99", 0.0));
  }
  if (const Json* const runs = stage_data(report, "training", "torch")) {
    for (const Json& run : *runs) {
      const double images = run.value("images_per_s", 0.0);
      if (images <= 0) continue;
      figures[{"training",
               "ResNet-18 over " + run.at("backend").get<std::string>() + ", images a second",
               fmt::format("hosts: {}", run.at("ranks").get<uint32_t>())}] = {
          images, true, fmt::format("{:.1f}", images)};
    }
  }
  if (const Json* const trained = stage_data(report, "training", "built_in")) {
    const double step_s = trained->value("step_s", 0.0);
    if (step_s > 0) {
      figures[{"training", "training step", "all hosts"}] = {
          step_s, false, duration_text(nanos(std::llround(step_s * 1e9)))};
    }
  }
  return figures;
}

// By host and name.
std::map<std::pair<std::string, std::string>, std::string> facts_of(const Json& report) {
  std::map<std::pair<std::string, std::string>, std::string> facts;
  const auto add = [&facts](const Json& each) {
    const auto name = each.at("name").get<std::string>();
    for (const auto& [fact, value] : each.at("facts").items()) {
      facts[{name, fact}] = value.get<std::string>();
    }
  };
  const Json* const places = stage_data(report, "inventory", "places");
  if (places == nullptr) return facts;
  if (const Json* const machines = stage_data(report, "inventory", "machines")) {
    for (const Json& machine : *machines) add(machine);
  }
  for (const Json& place : *places) {
    add(place);
    const auto name = place.at("name").get<std::string>();
    for (const Json& port : place.at("ports")) {
      const auto device = port.at("device").get<std::string>();
      facts[{name, "MTU of " + device}] = fmt::format("{}", port.at("mtu_bytes").get<uint32_t>());
    }
  }
  return facts;
}

struct Graded {
  int grade = 0;  // 0 pass, 1 warn, 2 fail
  std::string text;
};

int grade_number(const Json& row) {
  const auto grade = row.at("grade").get<std::string>();
  return grade == "fail" ? 2 : grade == "warn" ? 1 : 0;
}

// Rows that are not fine, and of each check whether there is any row.
std::map<FigureKey, Graded> wrong_rows(const Json& report) {
  std::map<FigureKey, Graded> rows;
  for (const Json& stage : report.at("stages")) {
    for (const Json& row : stage.at("rows")) {
      const int grade = grade_number(row);
      if (grade == 0) continue;
      rows[{stage.at("name"), row.at("check"), row.at("where")}] = {
          grade, fmt::format("{}: {}", row.at("grade").get<std::string>(),
                             row.at("measured").get<std::string>())};
    }
  }
  return rows;
}

std::map<std::string, std::string> outcomes_of(const Json& report) {
  std::map<std::string, std::string> outcomes;
  for (const Json& stage : report.at("stages")) outcomes[stage.at("name")] = stage.at("outcome");
  return outcomes;
}

class Comparison {
 public:
  Comparison(const Json& before, const Json& after, double tolerance)
      : before_(before), after_(after), tolerance_(tolerance) {}

  ReportDiff compare() {
    diff_.verdict_before = before_.at("verdict");
    diff_.verdict_after = after_.at("verdict");
    add_notes();
    compare_outcomes();
    compare_rows();
    compare_figures();
    compare_facts();
    std::stable_sort(diff_.changes.begin(), diff_.changes.end(),
                     [](const ReportChange& a, const ReportChange& b) { return a.kind < b.kind; });
    return std::move(diff_);
  }

 private:
  void add(ChangeKind kind, const FigureKey& key, std::string before, std::string after) {
    const auto& [stage, what, where] = key;
    diff_.changes.push_back({kind, stage, what, where, std::move(before), std::move(after)});
  }

  void add_notes() {
    for (const char* const field : {"topology", "depth"}) {
      const auto was = before_.at(field).get<std::string>();
      const auto is = after_.at(field).get<std::string>();
      if (was == is) continue;
      diff_.notes.push_back(fmt::format("{} was '{}' and is '{}'", field, was, is));
    }
    for (const auto& [report, name] : {std::pair(&before_, "earlier"), {&after_, "later"}}) {
      if (report->at("emulated") == true && report->at("others_busy_share") > params::kDisturbed) {
        diff_.notes.push_back(fmt::format(
            "the {} one was disturbed by other programs: its figures are too low", name));
      }
    }
  }

  void compare_outcomes() {
    const auto was = outcomes_of(before_);
    for (const auto& [stage, outcome] : outcomes_of(after_)) {
      const auto found = was.find(stage);
      if (found == was.end() || found->second == outcome) continue;
      const ChangeKind kind = outcome == "passed"         ? ChangeKind::kBetter
                              : found->second == "passed" ? ChangeKind::kWorse
                                                          : ChangeKind::kOther;
      add(kind, {stage, "stage", ""}, found->second, outcome);
    }
  }

  void compare_rows() {
    const auto was = wrong_rows(before_);
    const auto is = wrong_rows(after_);
    const auto outcomes = outcomes_of(after_);
    for (const auto& [key, row] : is) {
      const auto found = was.find(key);
      if (found == was.end()) {
        add(ChangeKind::kWorse, key, "fine", row.text);
      } else if (found->second.grade != row.grade) {
        const bool worse = row.grade > found->second.grade;
        add(worse ? ChangeKind::kWorse : ChangeKind::kBetter, key, found->second.text, row.text);
      }
    }
    for (const auto& [key, row] : was) {
      const auto stage = outcomes.find(std::get<0>(key));
      const bool ran =
          stage != outcomes.end() && (stage->second == "passed" || stage->second == "failed");
      if (is.count(key) == 0 && ran) add(ChangeKind::kBetter, key, row.text, "fine");
    }
  }

  void compare_figures() {
    const Figures was = figures_of(before_);
    for (const auto& [key, figure] : figures_of(after_)) {
      const auto found = was.find(key);
      if (found == was.end()) continue;
      ++diff_.figures;
      const double ratio = figure.value / found->second.value;
      if (std::abs(ratio - 1) <= tolerance_) continue;
      const bool better = (ratio > 1) == figure.more_is_better;
      add(better ? ChangeKind::kBetter : ChangeKind::kWorse, key, found->second.text,
          fmt::format("{} ({:+.0f}%)", figure.text, (ratio - 1) * 100));
    }
  }

  void compare_facts() {
    const auto was = facts_of(before_);
    const auto is = facts_of(after_);
    for (const auto& [key, value] : is) {
      const auto found = was.find(key);
      if (found == was.end() || found->second == value) continue;
      add(ChangeKind::kOther, {"inventory", key.second, key.first}, found->second, value);
    }
    std::set<std::string> hosts_before;
    std::set<std::string> hosts_after;
    for (const auto& [key, value] : was) hosts_before.insert(key.first);
    for (const auto& [key, value] : is) hosts_after.insert(key.first);
    if (hosts_before.empty() || hosts_after.empty()) return;  // one of them did not look
    for (const std::string& host : hosts_before) {
      if (hosts_after.count(host) == 0)
        add(ChangeKind::kOther, {"inventory", "host", host}, "there", "not there");
    }
    for (const std::string& host : hosts_after) {
      if (hosts_before.count(host) == 0)
        add(ChangeKind::kOther, {"inventory", "host", host}, "not there", "there");
    }
  }

  const Json& before_;
  const Json& after_;
  double tolerance_;
  ReportDiff diff_;
};

const char* word_of(ChangeKind kind) {
  if (kind == ChangeKind::kWorse) return "worse";
  return kind == ChangeKind::kBetter ? "better" : "other";
}

}  // namespace

Result<ReportDiff> compare_reports(const Json& before, const Json& after, double tolerance) {
  try {
    return Comparison(before, after, tolerance).compare();
  } catch (const Json::exception& error) {
    return fail(no_report(error.what()));
  }
}

bool is_worse(const ReportDiff& diff) {
  return std::any_of(diff.changes.begin(), diff.changes.end(),
                     [](const ReportChange& change) { return change.kind == ChangeKind::kWorse; });
}

std::string text_of(const ReportDiff& diff) {
  PrintedText text;
  size_t what = 0;
  size_t where = 0;
  for (const ReportChange& change : diff.changes) {
    what = std::max(what, change.what.size());
    where = std::max(where, change.where.size());
  }
  for (const ReportChange& change : diff.changes) {
    text.line("{:<6}  {:<11}  {:<{}}  {:<{}}  {} -> {}", word_of(change.kind), change.stage,
              change.what, what, change.where, where, change.before, change.after);
  }
  for (const std::string& note : diff.notes) text.line("note: {}", note);
  const auto count = [&](ChangeKind kind) {
    return std::count_if(diff.changes.begin(), diff.changes.end(),
                         [kind](const ReportChange& change) { return change.kind == kind; });
  };
  text.line("{} -> {}: {} worse, {} better, {} other changes; {} figures compared",
            diff.verdict_before, diff.verdict_after, count(ChangeKind::kWorse),
            count(ChangeKind::kBetter), count(ChangeKind::kOther), diff.figures);
  return text.take();
}

Json json_of(const ReportDiff& diff) {
  Json changes = Json::array();
  for (const ReportChange& change : diff.changes) {
    changes.push_back({{"kind", word_of(change.kind)},
                       {"stage", change.stage},
                       {"what", change.what},
                       {"where", change.where},
                       {"before", change.before},
                       {"after", change.after}});
  }
  return {{"verdict_before", diff.verdict_before},
          {"verdict_after", diff.verdict_after},
          {"worse", is_worse(diff)},
          {"figures", diff.figures},
          {"notes", diff.notes},
          {"changes", changes}};
}

}  // namespace heddle::acceptance
