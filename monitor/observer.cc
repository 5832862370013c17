// See observer.h.
#include "monitor/observer.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <unordered_map>

#include "insight/party.h"
#include "monitor/params.h"
#include "recordings/node_files.h"

namespace heddle::monitor {

namespace {

std::vector<std::string> nodes_folders(const std::vector<std::string>& folders) {
  std::vector<std::string> made;
  for (const std::string& each : folders) made.push_back(recordings::nodes_folder(each));
  return made;
}

}  // namespace

Observer::Observer(const std::vector<std::string>& folders,
                   const std::vector<std::string>& node_records)
    : recording_(folders), nodes_(nodes_folders(folders), node_records) {}

void Observer::take(size_t file, const events::RecordedEvent& recorded, int64_t at_ns) {
  // Files are found in the order of their numbers, and before their first event.
  for (size_t fresh = processes_.size(); fresh < recording_.files(); ++fresh) {
    diagnosis_.builder().add_process(recording_.facts(fresh).identity,
                                     {.closed = recording_.facts(fresh).closed,
                                      .clock_error_ns = recording_.clock_error_ns(fresh)});
    series_.add_process();
    traffic_.add_process(recording_.facts(fresh).identity);
    processes_.push_back(
        {.folder = std::filesystem::path(recording_.path(fresh)).parent_path().string(),
         .party = insight::party_of(recording_.facts(fresh).identity)});
    // Before its first event: later it changes between looks only.
    diagnosis_.builder().set_whole_from(recording_.whole_from_ns());
  }
  diagnosis_.builder().add(static_cast<uint32_t>(file), recorded.event, at_ns);
  series_.add(file, recorded.event, at_ns);
  traffic_.add(file, recorded.event, recorded.writer, at_ns);
  Process& process = processes_[file];
  ++process.events;
  ++events_;
  process.last_at_ns = std::max(process.last_at_ns, at_ns);
  last_at_ns_ = std::max(last_at_ns_, at_ns);
}

void Observer::set_ends(const std::vector<Heard>& heard) {
  std::unordered_map<std::string_view, bool> by_folder;
  for (const Heard& each : heard) by_folder.emplace(each.folder, each.is_heard);
  for (size_t file = 0; file < processes_.size(); ++file) {
    const auto of_folder = by_folder.find(processes_[file].folder);
    processes_[file].heard = of_folder == by_folder.end() || of_folder->second;
    diagnosis_.builder().set_end(static_cast<uint32_t>(file),
                                 {.closed = recording_.facts(file).closed,
                                  .heard = processes_[file].heard,
                                  .clock_error_ns = recording_.clock_error_ns(file)});
  }
}

// After a gap, and of a process that has ended.
void Observer::forget_what_cannot_end() {
  for (size_t file = 0; file < processes_.size(); ++file) {
    Process& process = processes_[file];
    const uint64_t missed = recording_.missed_events(file);
    if (missed > process.missed_events || recording_.facts(file).closed) {
      series_.forget_open(file);
    }
    process.missed_events = missed;
  }
}

std::vector<AlarmChange> Observer::look(Nanos now, const std::vector<Heard>& heard) {
  const uint64_t before = events_;
  recording_.poll(now, [this](size_t file, const events::RecordedEvent& recorded, int64_t at_ns) {
    take(file, recorded, at_ns);
  });
  nodes_.poll(recording_, [this](const insight::NodePlace& place, const events::AnyEvent& event,
                                 int64_t at_ns) { diagnosis_.nodes().add(place, event, at_ns); });
  diagnosis_.builder().set_whole_from(recording_.whole_from_ns());
  set_ends(heard);
  forget_what_cannot_end();
  if (processes_.empty()) return {};
  if (events_ > before || last_seen_ == Nanos{}) last_seen_ = now;
  now_ns_ = std::max(now_ns_, last_at_ns_ + alive_since_last(now, heard).count);
  over_ = is_over(now, heard);
  traffic_.cut(now_ns_, [this](size_t file) { return recording_.facts(file).closed; });
  std::vector<AlarmChange> changes = diagnosis_.look(now_ns_);
  // Nothing will change any more: what was found once is found again.
  for (int i = 1; over_ && i < params::kLooksToRaise; ++i) {
    for (AlarmChange& each : diagnosis_.look(now_ns_)) changes.push_back(std::move(each));
  }
  return changes;
}

// From the newest event until when the job is known to run: a machine that was not heard for a
// second is no evidence against its ranks, and where none is heard time stands still.
Nanos Observer::alive_since_last(Nanos now, const std::vector<Heard>& heard) const {
  Nanos until = heard.empty() ? now : Nanos{};
  bool any = false;
  for (const Heard& each : heard) {
    if (each.is_heard) until = any ? std::min(until, each.until) : each.until;
    any = any || each.is_heard;
  }
  return std::max(Nanos{}, until - last_seen_);
}

bool Observer::is_over(Nanos now, const std::vector<Heard>& heard) const {
  const bool lost =
      std::any_of(heard.begin(), heard.end(), [](const Heard& each) { return !each.is_heard; });
  if (lost || recording_.unreadable() > 0) return false;
  size_t closed = 0;
  for (size_t file = 0; file < processes_.size(); ++file) {
    if (recording_.facts(file).closed) ++closed;
  }
  const Nanos silent = now - last_seen_;
  if (closed == processes_.size()) return silent >= params::kOverAfterAll;
  return silent >= (closed > 0 ? params::kOverAfterSome : params::kOver);
}

WatchState Observer::state() const {
  WatchState state;
  for (size_t file = 0; file < processes_.size(); ++file) {
    const events::RecordingFacts& facts = recording_.facts(file);
    const Process& process = processes_[file];
    const insight::Party& party = process.party;
    state.processes.push_back({party.name, party.host, party.rank, process.events,
                               recording_.missed_events(file), process.last_at_ns, facts.closed,
                               process.heard, series_.total(file), series_.recent_calls(file)});
  }
  state.lasting = diagnosis_.alarms().lasting();
  state.past = {diagnosis_.alarms().past().begin(), diagnosis_.alarms().past().end()};
  state.alarms_raised = diagnosis_.alarms().raised();
  state.not_judged = diagnosis_.recent().not_judged;
  state.not_sampled = nodes_.complaints();
  state.notes = diagnosis_.notes();
  state.operations = diagnosis_.recent().operations;
  state.now_ns = now_ns_;
  state.began_realtime_ns = processes_.empty() ? 0 : recording_.began_ns();
  state.over = over_;
  state.traffic = traffic_.latest();
  state.whole = recording_.whole_from_ns() == INT64_MIN && recording_.unreadable() == 0;
  return state;
}

}  // namespace heddle::monitor
