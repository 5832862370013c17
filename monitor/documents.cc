// See documents.h.
#include "monitor/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/printable.h"
#include "base/version.h"
#include "monitor/params.h"

namespace heddle::monitor {
namespace {

using metrics::Family;
using metrics::Label;
using metrics::Type;

double seconds_of(int64_t ns) { return 1e-9 * static_cast<double>(ns); }

// Of a span; there may be none.
double seconds_or_nan(int64_t ns) {
  return ns < 0 ? std::numeric_limits<double>::quiet_NaN() : seconds_of(ns);
}

Json alarms_json(const std::vector<Alarm>& alarms) {
  Json rows = Json::array();
  for (const Alarm& each : alarms) rows.push_back(json_of(each));
  return rows;
}

Json process_json(const WatchedProcess& process) {
  return {{"name", process.name},
          {"host", process.host},
          {"rank", process.rank < 0 ? Json() : Json(process.rank)},
          {"events", process.events},
          {"missed_events", process.missed_events},
          {"last_ns", process.last_at_ns},
          {"closed", process.closed},
          {"heard", process.heard}};
}

Json json_of(const NicWay& way) {
  return {{"bytes", way.bytes},
          {"peak_bits_per_s", way.peak_bits_per_s},
          {"bursts", way.bursts},
          {"peaks_bits_per_s", way.peaks_bits_per_s}};
}

Json json_of(const NicTraffic& nic) {
  return {{"host", nic.host},
          {"name", nic.name},
          {"rate_bits_per_s", nic.bits_per_s == 0 ? Json() : Json(nic.bits_per_s)},
          {"sent", json_of(nic.of[static_cast<size_t>(events::Direction::kSent)])},
          {"received", json_of(nic.of[static_cast<size_t>(events::Direction::kReceived)])}};
}

Json json_of(const insight::Microburst& burst, const TrafficInterval& traffic) {
  const NicTraffic& nic = traffic.nics[burst.nic];
  return {{"host", nic.host},
          {"nic", nic.name},
          {"direction", name_of(burst.direction)},
          {"begin_ns", burst.begin_ns},
          {"length_ns", burst.length_ns},
          {"bytes", burst.bytes},
          {"peak_bits_per_s",
           8e9 * static_cast<double>(burst.peak) / static_cast<double>(traffic.bin_ns)},
          {"times_mean", burst.times_mean},
          {"operations", burst.operations},
          {"phase", burst.phase}};
}

// Families of one job: each sample has its label, which is not "job", as Prometheus has that one.
class Families {
 public:
  explicit Families(const WatchDocument& document) : document_(document) {}

  std::vector<Family> make() {
    const WatchState& state = document_.state;
    begin("build_info", "Always 1; the version of heddle that watches the job.", Type::kGauge);
    add({{"version", std::string(kVersion)}}, 1);
    begin("job_seconds", "Time since the job began.", Type::kGauge);
    add({}, seconds_of(state.now_ns));
    begin("alarms_total", "Faults that were found since the watch began.", Type::kCounter);
    add({}, static_cast<double>(state.alarms_raised));
    add_alarms();
    begin("operations", "Collectives by which slowness was judged, of the last minute at most.",
          Type::kGauge);
    add({}, static_cast<double>(state.operations));
    add_processes();
    add_ranks();
    add_hosts();
    return std::move(families_);
  }

 private:
  void begin(const char* name, const char* help, Type type) {
    families_.push_back({std::string("heddle_monitor_") + name, help, type, {}});
  }
  // To the family that was begun last.
  void add(std::vector<Label> labels, double value) {
    labels.insert(labels.begin(), {"recording", document_.job});
    families_.back().samples.push_back({std::move(labels), value});
  }

  static std::vector<Label> labels_of(const Alarm& alarm) {
    return {{"class", name_of(alarm.verdict.what)},
            {"place", alarm.place},
            {"host", alarm.verdict.place.host}};
  }

  void add_alarms() {
    begin("alarm_confidence", "A fault that lasts, and how sure it is, from 0 to 1.", Type::kGauge);
    for (const Alarm& each : document_.state.lasting) add(labels_of(each), each.verdict.confidence);
    begin("alarm_cost_ratio", "Share of the job's time that a fault costs, where it is known.",
          Type::kGauge);
    for (const Alarm& each : document_.state.lasting) {
      if (each.verdict.cost >= 0) add(labels_of(each), each.verdict.cost);
    }
  }

  void add_processes() {
    begin("processes", "Processes of the job by state.", Type::kGauge);
    std::map<std::string, double> by_state = {{"running", 0}, {"ended", 0}, {"not_heard", 0}};
    double events = 0;
    double missed = 0;
    for (const WatchedProcess& each : document_.state.processes) {
      ++by_state[state_of(each)];
      events += static_cast<double>(each.events);
      missed += static_cast<double>(each.missed_events);
    }
    for (const auto& [name, count] : by_state) add({{"state", name}}, count);
    begin("events_total", "Events that were read.", Type::kCounter);
    add({}, events);
    begin("missed_events_total", "Events that were overwritten before they could be read.",
          Type::kCounter);
    add({}, missed);
  }

  using Value = double (*)(const WatchedProcess& process);

  // Processes of several programs may have one name. A figure that there is not yet has no sample.
  void add_of_ranks(const char* name, const char* help, Type type, Value value) {
    begin(name, help, type);
    const std::vector<WatchedProcess>& processes = document_.state.processes;
    for (size_t i = 0; i < std::min(processes.size(), params::kMostRanksInMetrics); ++i) {
      const WatchedProcess& each = processes[i];
      const double figure = value(each);
      if (std::isnan(figure)) continue;
      add({{"process", std::to_string(i)}, {"rank", each.name}, {"host", each.host}}, figure);
    }
  }

  void add_ranks() {
    add_of_ranks("rank_calls_total", "Calls of a rank that ended.", Type::kCounter,
                 [](const auto& each) { return static_cast<double>(each.total.calls); });
    add_of_ranks("rank_exposed_seconds_total",
                 "Time in which a rank waited for communication and did nothing else.",
                 Type::kCounter,
                 [](const auto& each) { return seconds_of(each.total.exposed_ns); });
    add_of_ranks("rank_sent_bytes_total", "Payload of whole messages that a rank sent.",
                 Type::kCounter,
                 [](const auto& each) { return static_cast<double>(each.total.sent_bytes); });
    add_of_ranks("rank_received_bytes_total", "Payload of whole messages that a rank received.",
                 Type::kCounter,
                 [](const auto& each) { return static_cast<double>(each.total.received_bytes); });
    add_of_ranks("rank_wire_sent_bytes_total",
                 "Bytes that a rank put on the wire, with headers and retransmissions.",
                 Type::kCounter,
                 [](const auto& each) { return static_cast<double>(each.total.wire_sent_bytes); });
    add_of_ranks("rank_lost_segments_total", "Segments of a rank that were declared lost.",
                 Type::kCounter,
                 [](const auto& each) { return static_cast<double>(each.total.lost_segments); });
    add_of_ranks("rank_call_p50_seconds", "Median time of a rank's calls in the last interval.",
                 Type::kGauge,
                 [](const auto& each) { return seconds_or_nan(each.recent_calls.p50_ns); });
    add_of_ranks("rank_call_p99_seconds",
                 "99th percentile of the time of a rank's calls in the last interval.",
                 Type::kGauge,
                 [](const auto& each) { return seconds_or_nan(each.recent_calls.p99_ns); });
  }

  void add_hosts() {
    begin("host_heard", "1: the machine sends what its processes record.", Type::kGauge);
    for (const WatchedHost& each : document_.hosts) add({{"host", each.name}}, each.heard ? 1 : 0);
    begin("host_received_bytes_total", "Bytes of recordings that the machine sent.",
          Type::kCounter);
    for (const WatchedHost& each : document_.hosts) {
      add({{"host", each.name}}, static_cast<double>(each.bytes));
    }
    begin("host_losses_total", "Times that the connection to the machine was lost.",
          Type::kCounter);
    for (const WatchedHost& each : document_.hosts) {
      add({{"host", each.name}}, static_cast<double>(each.losses));
    }
  }

  const WatchDocument& document_;
  std::vector<Family> families_;
};

}  // namespace

std::string text_of(const insight::Verdict& verdict, const std::string& title) {
  std::string text = fmt::format("{}: {}\n  {}\n  since {:.3f} s, confidence {:.0f}%\n", title,
                                 name_of(verdict.what), printable(verdict.summary),
                                 seconds_of(verdict.since_ns), 100 * verdict.confidence);
  for (const std::string& each : verdict.evidence) {
    text += fmt::format("  evidence: {}\n", printable(each));
  }
  return text + fmt::format("  try: {}\n", printable(verdict.action));
}

Json json_of(const insight::Verdict& verdict, const std::string& place,
             const std::vector<std::string>& processes) {
  return {{"class", name_of(verdict.what)},
          {"place", name_of(verdict.place.kind)},
          {"place_text", place},
          {"processes", processes},
          {"host", verdict.place.host},
          {"since_ns", verdict.since_ns},
          {"until_ns", verdict.until_ns < 0 ? Json() : Json(verdict.until_ns)},
          {"confidence", verdict.confidence},
          {"cost_share", verdict.cost < 0 ? Json() : Json(verdict.cost)},
          {"summary", verdict.summary},
          {"evidence", verdict.evidence},
          {"try", verdict.action}};
}

std::string text_of(const AlarmChange& change) {
  const Alarm& alarm = change.alarm;
  if (change.raised) return text_of(alarm.verdict, fmt::format("alarm {}", alarm.number));
  return fmt::format("over: alarm {}, {} of {}, after {:.1f} s\n", alarm.number,
                     name_of(alarm.verdict.what), printable(alarm.place),
                     seconds_of(alarm.cleared_ns - alarm.raised_ns));
}

Json json_of(const Alarm& alarm) {
  Json made = {{"number", alarm.number},
               {"raised_ns", alarm.raised_ns},
               {"cleared_ns", alarm.cleared_ns < 0 ? Json() : Json(alarm.cleared_ns)}};
  made.update(json_of(alarm.verdict, alarm.place, alarm.ranks));
  return made;
}

Json json_of(const TrafficInterval* traffic) {
  if (traffic == nullptr) return {};
  Json parties = Json::array();
  for (const insight::Party& each : traffic->parties) {
    parties.push_back({{"name", each.name},
                       {"host", each.host},
                       {"rank", each.rank < 0 ? Json() : Json(each.rank)}});
  }
  Json nics = Json::array();
  for (const NicTraffic& each : traffic->nics) nics.push_back(json_of(each));
  Json bursts = Json::array();
  for (const insight::Microburst& each : traffic->bursts) {
    bursts.push_back(json_of(each, *traffic));
  }
  return {{"from_ns", traffic->from_ns},
          {"until_ns", traffic->until_ns},
          {"left_out", traffic->left_out},
          {"counted", traffic->delivered ? "delivered" : "wire"},
          {"rows", traffic->by_host ? "host" : "rank"},
          {"parties", std::move(parties)},
          {"bytes", traffic->bytes},
          {"unplaced_bytes", traffic->unplaced_bytes},
          {"bin_ns", traffic->bin_ns},
          {"nics_in_all", traffic->nics_in_all},
          {"nics", std::move(nics)},
          {"bursts_in_all", traffic->bursts_in_all},
          {"bursts", std::move(bursts)}};
}

const char* state_of(const WatchedProcess& process) {
  return process.closed ? "ended" : process.heard ? "running" : "not_heard";
}

Json json_of(const AlarmChange& change, const WatchState& state) {
  Json made = {{"event", change.raised ? "raised" : "cleared"},
               {"job_ns", state.now_ns},
               {"began_realtime_ns", state.began_realtime_ns}};
  made.update(json_of(change.alarm));
  return made;
}

Json json_of(const WatchDocument& document) {
  const WatchState& state = document.state;
  Json processes = Json::array();
  for (const WatchedProcess& each : state.processes) processes.push_back(process_json(each));
  Json hosts = Json::array();
  for (const WatchedHost& each : document.hosts) {
    hosts.push_back(
        {{"host", each.name},
         {"heard", each.heard},
         {"heard_seconds_ago", each.heard_seconds_ago < 0 ? Json() : Json(each.heard_seconds_ago)},
         {"received_bytes", each.bytes},
         {"losses", each.losses},
         {"complaint", each.complaint}});
  }
  return {{"job", document.job},
          {"began_realtime_ns", state.began_realtime_ns},
          {"job_ns", state.now_ns},
          {"over", state.over},
          {"whole", state.whole},
          {"operations", state.operations},
          {"alarms_raised", state.alarms_raised},
          {"alarms", alarms_json(state.lasting)},
          {"past_alarms", alarms_json(state.past)},
          {"notes", state.notes},
          {"not_judged", state.not_judged},
          {"not_sampled", state.not_sampled},
          {"processes", std::move(processes)},
          {"hosts", std::move(hosts)},
          {"traffic", json_of(state.traffic.get())}};
}

std::vector<Family> families_of(const WatchDocument& document) { return Families(document).make(); }

}  // namespace heddle::monitor
