// See documents.h.
#include "acceptance/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "acceptance/printed_text.h"
#include "base/printable.h"
#include "base/version.h"

namespace heddle::acceptance {
namespace {

// Of text and of attributes.
std::string xml_text(const std::string& text) {
  std::string safe;
  for (const char each : printable(text)) {
    if (each == '<') {
      safe += "&lt;";
    } else if (each == '>') {
      safe += "&gt;";
    } else if (each == '&') {
      safe += "&amp;";
    } else if (each == '"') {
      safe += "&quot;";
    } else {
      safe += each;
    }
  }
  return safe;
}

Json load_json(const LinkLoad& load) {
  return {{"peak_bits_per_s", load.peak_bits_per_s},
          {"bytes", load.bytes},
          {"dropped", load.dropped},
          {"errors", load.errors},
          {"marked", load.marked}};
}

Json stage_json(const StageReport& stage) {
  Json loads = Json::array();
  for (const BothLoads& each : stage.loads) {
    loads.push_back({{"forward", load_json(each.forward)}, {"backward", load_json(each.backward)}});
  }
  Json rows = Json::array();
  for (const Row& row : stage.rows) {
    rows.push_back({{"check", row.check},
                    {"where", row.where},
                    {"measured", row.measured},
                    {"expected", row.expected},
                    {"grade", word_of(row)},
                    {"todo", row.todo.empty() ? Json() : Json(row.todo)}});
  }
  return {{"name", stage.name},
          {"title", stage.title},
          {"outcome", name_of(stage.outcome)},
          {"reason", stage.reason.empty() ? Json() : Json(stage.reason)},
          {"started", stage.started.empty() ? Json() : Json(stage.started)},
          {"seconds", stage.seconds},
          {"rows", rows},
          {"commands", stage.commands},
          {"loads", loads},
          {"data", stage.data}};
}

void add_rows(const StageReport& stage, PrintedText& text) {
  size_t check = 0;
  size_t where = 0;
  for (const Row& row : stage.rows) {
    check = std::max(check, row.check.size());
    where = std::max(where, row.where.size());
  }
  for (const Row& row : stage.rows) {
    const std::string expected =
        row.expected.empty() ? "" : fmt::format("  (expected: {})", row.expected);
    text.line("  {:<4}  {:<{}}  {:<{}}  {}{}", word_of(row), row.check, check, row.where, where,
              row.measured, expected);
    if (!row.todo.empty()) text.line("{:{}}do:  {}", "", 8, row.todo);
  }
}

// A figure of a size in nccl-tests' form; "N/A": it was not measured, or its report is of an
// earlier heddle.
std::string nccl_cell(const Json& side, const char* name, double unit, int digits) {
  const auto found = side.find(name);
  if (found == side.end() || found->is_null()) return "N/A";
  return fmt::format("{:.{}f}", found->get<double>() / unit, digits);
}

std::string nccl_cells(const Json& side, const char* wrong) {
  return fmt::format(" {:>10} {:>9} {:>9} {:>7}", nccl_cell(side, "time_us", 1, 2),
                     nccl_cell(side, "algorithm_bits_per_s", 8e9, 4),
                     nccl_cell(side, "bus_bits_per_s", 8e9, 4), nccl_cell(side, wrong, 1, 0));
}

// As nccl-tests prints it; nothing for a report of an earlier heddle, without counts.
void add_table(const Json& sizes, const std::string& whose, PrintedText& text) {
  for (const Json& size : sizes) {
    if (!size.contains("count")) return;
  }
  if (sizes.empty()) return;
  text.line("");
  text.line("  # {}", whose);
  text.line("  # {:>46} {:>38} {:>38}", "", "out-of-place", "in-place");
  const auto heading = fmt::format(" {:>10} {:>9} {:>9} {:>7}", "time", "algbw", "busbw", "#wrong");
  const auto units = fmt::format(" {:>10} {:>9} {:>9} {:>7}", "(us)", "(GB/s)", "(GB/s)", "");
  text.line("  # {:>10} {:>13} {:>9} {:>6} {:>5}{}{}", "size", "count", "type", "redop", "root",
            heading, heading);
  text.line("  # {:>10} {:>13} {:>9} {:>6} {:>5}{}{}", "(B)", "(elements)", "", "", "", units,
            units);
  for (const Json& size : sizes) {
    const Json in_place = size.value("in_place", Json());
    text.line("  {:>12} {:>13} {:>9} {:>6} {:>5}{}{}", size.value("bytes", uint64_t{0}),
              size.value("count", uint64_t{0}), size.value("type", ""), size.value("redop", "N/A"),
              size.value("root", "N/A"), nccl_cells(size, "wrong_out_of_place"),
              nccl_cells(in_place.is_object() ? in_place : Json::object(), "wrong"));
  }
}

void add_tables(const StageReport& stage, PrintedText& text) {
  if (stage.name != "collectives") return;
  add_table(stage.data.value("sizes", Json::array()), "heddle", text);
  for (const Json& each : stage.data.value("other_sizes", Json::array())) {
    add_table(each.at("sizes"), "heddle, " + each.at("check").get<std::string>(), text);
  }
  add_table(stage.data.value("nccl_sizes", Json::array()), "NCCL", text);
}

std::string case_xml(const StageReport& stage, const Row& row) {
  const std::string name = xml_text(row.check + ": " + row.where);
  std::string text = fmt::format("    <testcase classname=\"heddle.verify.{}\" name=\"{}\">",
                                 xml_text(stage.name), name);
  if (row.grade == Grade::kFail) {
    text +=
        fmt::format("<failure message=\"{}\">{}</failure>", xml_text(row.measured),
                    xml_text(row.measured + "; expected: " + row.expected + "; do: " + row.todo));
  } else {
    const std::string heading = row.grade == Grade::kWarn ? "warning; do: " + row.todo + "; "
                                : is_information(row)     ? "for information; "
                                                          : "";
    text += fmt::format("<system-out>{}</system-out>",
                        xml_text(heading + "measured: " + row.measured +
                                 (row.expected.empty() ? "" : "; expected: " + row.expected)));
  }
  return text + "</testcase>\n";
}

// Of a stage without an own row for it.
std::string outcome_xml(const StageReport& stage) {
  const std::string start = fmt::format(
      "    <testcase classname=\"heddle.verify.{0}\" name=\"{0}\">", xml_text(stage.name));
  if (stage.outcome == StageOutcome::kBroken) {
    return start + fmt::format("<error message=\"{}\"/></testcase>\n", xml_text(stage.reason));
  }
  const std::string reason = stage.reason.empty() ? name_of(stage.outcome) : stage.reason;
  return start + fmt::format("<skipped message=\"{}\"/></testcase>\n", xml_text(reason));
}

bool has_outcome_case(const StageReport& stage) {
  return stage.outcome != StageOutcome::kPassed && stage.outcome != StageOutcome::kFailed;
}

}  // namespace

const char* word_of(Grade grade) {
  if (grade == Grade::kOk) return "pass";
  return grade == Grade::kWarn ? "warn" : "fail";
}

const char* word_of(const Row& row) { return is_information(row) ? "info" : word_of(row.grade); }

std::string verdict_of(const Report& report) {
  const Grade grade = grade_of(report);
  if (grade == Grade::kFail) return "FAIL";
  if (report.signal != 0 || !report.complete || report.stages.empty()) return "INCOMPLETE";
  return grade == Grade::kWarn ? "WARN" : "PASS";
}

std::string summary_of(const Report& report) {
  const auto passed = std::count_if(
      report.stages.begin(), report.stages.end(),
      [](const StageReport& stage) { return stage.outcome == StageOutcome::kPassed; });
  return fmt::format(
      "{} of {} stages passed; {} checks failed, {} warnings, {} passed, {} for information",
      passed, report.stages.size(), count_rows(report, Grade::kFail),
      count_rows(report, Grade::kWarn), count_rows(report, Grade::kOk), count_information(report));
}

std::string text_of(const Report& report) {
  PrintedText text;
  text.line("fabric {} ({}), {}", report.fabric, report.topology, report.started);
  int number = 0;
  for (const StageReport& stage : report.stages) {
    text.line("");
    const std::string reason = stage.reason.empty() ? "" : ": " + stage.reason;
    const std::string time = stage.seconds > 0 ? fmt::format(" in {:.1f} s", stage.seconds) : "";
    text.line("{} {}: {}, {}{}{}", ++number, stage.name, stage.title, name_of(stage.outcome),
              reason, time);
    add_rows(stage, text);
    add_tables(stage, text);
  }
  text.line("");
  for (const Headline& each : report.headlines) {
    text.line("{:<14}{:<14}{}", each.label, each.value, each.note);
  }
  for (const std::string& note : report.notes) text.line("note: {}", note);
  text.line("{}: {} ({:.0f} s)", verdict_of(report), summary_of(report), report.seconds);
  return text.take();
}

Json json_of(const Report& report) {
  Json headlines = Json::array();
  for (const Headline& each : report.headlines) {
    headlines.push_back({{"label", each.label}, {"value", each.value}, {"note", each.note}});
  }
  Json stages = Json::array();
  for (const StageReport& stage : report.stages) stages.push_back(stage_json(stage));
  Json nodes = Json::array();
  for (const NodeReport& node : report.nodes) {
    nodes.push_back({{"name", node.name}, {"tier", node.tier}, {"named", node.named}});
  }
  Json links = Json::array();
  for (const LinkReport& link : report.links) {
    links.push_back({{"a", link.a},
                     {"b", link.b},
                     {"label", link.label},
                     {"rate_bits_per_s", link.rate_bits_per_s},
                     {"named", link.named},
                     {"counted", link.counted},
                     {"forward", load_json(link.forward)},
                     {"backward", load_json(link.backward)}});
  }
  Json versions = Json::object();
  for (const auto& [name, value] : report.versions) versions[name] = value;
  return {{"verdict", verdict_of(report)},
          {"summary", summary_of(report)},
          {"fabric", report.fabric},
          {"topology", report.topology},
          {"emulated", report.emulated},
          {"depth", report.depth},
          {"coverage", report.coverage},
          {"complete", report.complete},
          {"asked", report.asked},
          {"started", report.started},
          {"seconds", report.seconds},
          {"signal", report.signal},
          {"others_busy_share", report.others_busy_share},
          {"failed", count_rows(report, Grade::kFail)},
          {"warnings", count_rows(report, Grade::kWarn)},
          {"passed", count_rows(report, Grade::kOk)},
          {"information", count_information(report)},
          {"headlines", headlines},
          {"stages", stages},
          {"nodes", nodes},
          {"links", links},
          {"versions", versions},
          {"notes", report.notes}};
}

std::string junit_of(const Report& report) {
  std::string suites;
  size_t all = 0;
  for (const StageReport& stage : report.stages) {
    std::string cases;
    size_t failures = 0;
    for (const Row& row : stage.rows) {
      cases += case_xml(stage, row);
      failures += row.grade == Grade::kFail ? 1 : 0;
    }
    const bool other = has_outcome_case(stage);
    if (other) cases += outcome_xml(stage);
    const bool broken = stage.outcome == StageOutcome::kBroken;
    const size_t tests = stage.rows.size() + (other ? 1 : 0);
    all += tests;
    suites += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" "
        "time=\"{:.3f}\">\n{}  </testsuite>\n",
        xml_text(stage.name), tests, failures, broken ? 1 : 0, other && !broken ? 1 : 0,
        stage.seconds, cases);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"heddle verify {}\" "
      "tests=\"{}\" failures=\"{}\" time=\"{:.3f}\">\n{}</testsuites>\n",
      xml_text(report.fabric), all, count_rows(report, Grade::kFail), report.seconds, suites);
}

Json ctrf_of(const Report& report) {
  Json tests = Json::array();
  std::map<std::string, size_t> counts;
  const auto add = [&](const StageReport& stage, const std::string& name, const char* status,
                       double seconds, const std::string& message) {
    ++counts[status];
    tests.push_back({{"name", name},
                     {"status", status},
                     {"duration", std::llround(seconds * 1e3)},
                     {"suite", stage.name},
                     {"message", message}});
  };
  for (const StageReport& stage : report.stages) {
    for (const Row& row : stage.rows) {
      std::string message = "measured: " + row.measured;
      if (!row.expected.empty()) message += "; expected: " + row.expected;
      if (row.grade != Grade::kOk) message += "; do: " + row.todo;
      const char* const status = row.grade == Grade::kFail ? "failed"
                                 : is_information(row)     ? "other"
                                                           : "passed";
      add(stage, row.check + ": " + row.where, status, 0, message);
    }
    if (!has_outcome_case(stage)) continue;
    const bool broken = stage.outcome == StageOutcome::kBroken;
    add(stage, stage.name, broken ? "failed" : "skipped", stage.seconds,
        stage.reason.empty() ? name_of(stage.outcome) : stage.reason);
  }
  const auto stop = report.start_ms + std::llround(report.seconds * 1e3);
  return {{"reportFormat", "CTRF"},
          {"specVersion", "0.0.0"},
          {"results",
           {{"tool", {{"name", "heddle verify"}, {"version", std::string(heddle::kVersion)}}},
            {"summary",
             {{"tests", tests.size()},
              {"passed", counts["passed"]},
              {"failed", counts["failed"]},
              {"pending", 0},
              {"skipped", counts["skipped"]},
              {"other", counts["other"]},
              {"start", report.start_ms},
              {"stop", stop}}},
            {"tests", tests}}}};
}

}  // namespace heddle::acceptance
