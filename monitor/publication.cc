// See publication.h.
#include "monitor/publication.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "base/clocks.h"
#include "base/hash.h"
#include "base/version.h"
#include "messaging/nats_address.h"
#include "monitor/params.h"

namespace heddle::monitor {
namespace {

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json known(int64_t ns) { return ns < 0 ? Json() : Json(ns); }

Json first_of(const std::vector<std::string>& texts, size_t most) {
  return std::vector<std::string>(
      texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(std::min(texts.size(), most)));
}

// A fault of all ranks of a large job would be longer than a server takes.
Json cut(Json alarm) {
  for (const auto& [list, count] :
       {std::pair("processes", "processes_in_all"), std::pair("evidence", "evidence_in_all")}) {
    Json& rows = alarm[list];
    if (rows.size() <= params::kMostPublishedNotes) continue;
    const size_t all = rows.size();
    rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(params::kMostPublishedNotes), rows.end());
    alarm[count] = all;  // which moves the rows
  }
  return alarm;
}

Json alarms_json(const std::vector<Alarm>& alarms) {
  Json rows = Json::array();
  for (size_t i = 0; i < std::min(alarms.size(), params::kMostPublishedAlarms); ++i) {
    rows.push_back(cut(json_of(alarms[i])));
  }
  return rows;
}

Json counts_json(const std::vector<WatchedProcess>& processes) {
  std::map<std::string, uint64_t> by_state = {{"running", 0}, {"ended", 0}, {"not_heard", 0}};
  for (const WatchedProcess& each : processes) ++by_state[state_of(each)];
  return by_state;
}

}  // namespace

std::string PublishedJob::id() const {
  std::string text = host + "\n" + folder + "\n" + name;
  std::vector<std::string> sorted = hosts;
  std::sort(sorted.begin(), sorted.end());
  for (const std::string& each : sorted) text += "\n" + each;
  return fmt::format("{:016x}", hash_text(text));
}

std::string whole_folder(const std::string& folder, bool here) {
  namespace fs = std::filesystem;
  std::error_code none;
  fs::path path = here ? fs::absolute(folder, none) : fs::path(folder);
  if (none) path = folder;
  std::string text = path.lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

std::string published_subject(const std::string& job, const std::string& id,
                              std::string_view kind) {
  return fmt::format("{}.{}.{}", messaging::subject_token(job), id, kind);
}

Publication::Publication(std::string subject, PublishedJob job)
    : subject_(std::move(subject)), job_(std::move(job)) {
  // The subject names the job as the text does, where bytes that are no UTF-8 are replaced.
  job_.name = Json::parse(dumped(job_.name)).get<std::string>();
}

std::string Publication::subject_of(std::string_view kind) const {
  return subject_ + "." + published_subject(job_.name, job_.id(), kind);
}

Json Publication::head() {
  return {{"version", kPublicationVersion},
          {"job", job_.name},
          {"id", job_.id()},
          {"monitor", job_.host},
          {"folder", job_.folder},
          {"run_realtime_ns", job_.run_ns},
          {"every_ns", job_.every.count},
          {"sequence", ++sequence_},
          {"sent_realtime_ns", wall_now().count}};
}

messaging::Message Publication::change(const AlarmChange& change, const WatchState& state) {
  Json made = head();
  made.update(cut(json_of(change, state)));
  return {.subject = subject_of("change"), .text = dumped(made), .important = true};
}

messaging::Message Publication::state(const WatchDocument& document,
                                      const messaging::PublisherState& sent, bool last) {
  const WatchState& state = document.state;
  Json silent = Json::array();
  uint64_t not_heard = 0;
  for (const WatchedHost& each : document.hosts) {
    if (each.heard || ++not_heard > params::kMostPublishedHosts) continue;
    silent.push_back({{"host", each.name}, {"complaint", each.complaint}});
  }
  uint64_t events = 0;
  uint64_t missed = 0;
  for (const WatchedProcess& each : state.processes) {
    events += each.events;
    missed += each.missed_events;
  }
  Json made = head();
  made.update(Json{{"heddle", std::string(kVersion)},
                   {"last", last},
                   {"began_realtime_ns", state.began_realtime_ns},
                   {"job_ns", state.now_ns},
                   {"over", state.over},
                   {"whole", state.whole},
                   {"operations", state.operations},
                   {"alarms_raised", state.alarms_raised},
                   {"alarms_lasting", state.lasting.size()},
                   {"alarms", alarms_json(state.lasting)},
                   {"notes", first_of(state.notes, params::kMostPublishedNotes)},
                   {"not_judged", first_of(state.not_judged, params::kMostPublishedNotes)},
                   {"processes", counts_json(state.processes)},
                   {"events", events},
                   {"missed_events", missed},
                   {"hosts", document.hosts.size()},
                   {"hosts_not_heard", not_heard},
                   {"silent_hosts", std::move(silent)},
                   {"published", sent.published},
                   {"dropped", sent.dropped}});
  return {
      .subject = subject_of("state"), .text = dumped(made), .important = last, .newest_only = true};
}

std::vector<messaging::Message> Publication::series(const WatchDocument& document,
                                                    const SeriesInterval& interval) {
  const std::vector<WatchedProcess>& processes = document.state.processes;
  const size_t all = std::min(processes.size(), interval.processes.size());
  std::vector<messaging::Message> messages;
  for (size_t from = 0; from < all; from += params::kRanksInMessage) {
    Json ranks = Json::array();
    for (size_t i = from; i < std::min(all, from + params::kRanksInMessage); ++i) {
      ranks.push_back(json_of(processes[i], interval.processes[i]));
    }
    Json made = head();
    made.update(Json{{"began_realtime_ns", document.state.began_realtime_ns},
                     {"from_ns", interval.from_ns},
                     {"until_ns", interval.until_ns},
                     {"processes", all},
                     {"first", from},
                     {"series", std::move(ranks)}});
    messages.push_back(
        {.subject = subject_of(fmt::format("series.{}", from)), .text = dumped(made)});
  }
  return messages;
}

Json json_of(const WatchedProcess& process, const RankInterval& interval) {
  const RankFigures& figures = interval.figures;
  return {{"name", process.name},
          {"host", process.host},
          {"rank", process.rank < 0 ? Json() : Json(process.rank)},
          {"calls", figures.calls},
          {"calls_failed", figures.calls_failed},
          {"exposed_ns", figures.exposed_ns},
          {"sent_bytes", figures.sent_bytes},
          {"received_bytes", figures.received_bytes},
          {"wire_sent_bytes", figures.wire_sent_bytes},
          {"wire_received_bytes", figures.wire_received_bytes},
          {"lost_segments", figures.lost_segments},
          {"call_ns_p50", known(interval.calls.p50_ns)},
          {"call_ns_p99", known(interval.calls.p99_ns)},
          {"call_ns_most", known(interval.calls.most_ns)},
          {"message_ns_p50", known(interval.messages.p50_ns)},
          {"message_ns_p99", known(interval.messages.p99_ns)},
          {"message_ns_most", known(interval.messages.most_ns)}};
}

}  // namespace heddle::monitor
