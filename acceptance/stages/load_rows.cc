// See load_rows.h.
#include "acceptance/stages/load_rows.h"

#include <fmt/format.h>

#include <utility>

#include "acceptance/agent_numbers.h"
#include "acceptance/params.h"
#include "base/quantity.h"

namespace heddle::acceptance {
namespace {

double per_million(const LoadSegments& segments) {
  if (segments.sent == 0) return 0;
  return static_cast<double>(segments.retransmitted) * 1e6 / static_cast<double>(segments.sent);
}

Row shown(const std::string& load, size_t flows, const LoadSegments& segments) {
  return {
      load + ", retransmitted", fmt::format("{} flows", flows),
      fmt::format("{:.2g}% of {} segments", per_million(segments) / 1e4, count_text(segments.sent)),
      ""};
}

}  // namespace

Row retransmission_row(const std::string& load, size_t flows, const LoadSegments& segments,
                       uint32_t most_per_million) {
  Row row = shown(load, flows, segments);
  row.expected = fmt::format("at most {:g}%", most_per_million / 1e4);
  if (per_million(segments) <= most_per_million) return row;
  row.grade = Grade::kWarn;
  row.todo =
      "queues overflow: turn on ECN with HEDDLE_CONGESTION=dctcp, or deepen the queues of the "
      "ports that drop";
  return row;
}

Row shown_retransmission_row(const std::string& load, size_t flows, const LoadSegments& segments) {
  return shown(load, flows, segments);
}

Row received_marks_row(size_t hosts,
                       const std::vector<std::pair<std::string, LoadSegments>>& loads) {
  Row row{"ECN marks received", fmt::format("{} hosts", hosts), "", ""};
  for (const auto& [name, segments] : loads) {
    row.measured += fmt::format("{}{} {} of {} segments", row.measured.empty() ? "" : ", ", name,
                                count_text(segments.marked), count_text(segments.sent));
  }
  return row;
}

Row switch_ports_row(size_t hosts) {
  return {"switch ports", fmt::format("{} hosts", hosts),
          "not read: the switches' drops, marks and pauses come from the site's exporters (SNMP, "
          "gNMI)",
          ""};
}

Row too_few_hosts_row(const std::string& check, size_t hosts) {
  return {check, fmt::format("{} hosts", hosts),
          "not measured: it takes three hosts, of which two send to one", ""};
}

std::optional<Nanos> most_bystander_latency(Nanos queues, const LatencyFigures& idle,
                                            bool is_emulated) {
  if (is_emulated) return queues + params::kHostTime;
  if (!idle.complaint.empty() || idle.us_p99 <= 0) return std::nullopt;
  const double us = to_seconds(queues) * 1e6 + idle.us_p99 * params::kIdleLatencies;
  return nanos(static_cast<int64_t>(count_of(us * 1e3, INT64_MAX)));
}

Row bystander_row(const std::string& where, const LatencyFigures& victim,
                  const LatencyFigures& idle, std::optional<Nanos> most) {
  if (!victim.complaint.empty()) {
    return {"latency beside it", where,        victim.complaint,
            "a figure",          Grade::kFail, "see what this pair does in the stage pairs"};
  }
  Row row{"latency beside it", where, us_text(victim.us_p99) + " at p99",
          most ? "at most " + duration_text(*most) : ""};
  if (idle.complaint.empty() && idle.us_p99 > 0) {
    row.measured += fmt::format(", {:.1f} times the {} of the idle fabric",
                                victim.us_p99 / idle.us_p99, us_text(idle.us_p99));
  }
  if (!most || victim.us_p99 * 1e3 <= static_cast<double>(most->count)) return row;
  row.grade = Grade::kWarn;
  row.todo =
      "the incast fills queues that others need: separate queues, ECN, or "
      "HEDDLE_CONGESTION=credits for the many-to-one job";
  return row;
}

}  // namespace heddle::acceptance
