// See live_nodes.h.
#include "recordings/live_nodes.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <variant>

#include "insight/clocks.h"
#include "insight/machine_hosts.h"
#include "insight/party.h"
#include "nodes/node_recorder.h"
#include "recordings/contents.h"
#include "recordings/node_files.h"

namespace heddle::recordings {

namespace fs = std::filesystem;

LiveNodes::LiveNodes(std::vector<std::string> folders, const std::vector<std::string>& of_agents) {
  for (std::string& each : folders) folders_.push_back({std::move(each), true});
  for (const std::string& each : of_agents) folders_.push_back({each, false});
}

void LiveNodes::complain(const std::string& why) {
  const bool is_new = std::find(complaints_.begin(), complaints_.end(), why) == complaints_.end();
  if (!why.empty() && is_new) complaints_.push_back(why);
}

// A file whose sampler has just begun has no header yet: the next poll tries again.
void LiveNodes::add_file(const std::string& path) {
  auto reader = events::RecordingReader::open(path);
  if (!reader) {
    if (reader.error().code == ErrorCode::kPermission) complain(reader.error().message());
    return;
  }
  known_.insert(path);
  const insight::Identity& identity = reader->facts().identity;
  if (insight::value_of(identity, nodes::kKindOfIdentity) != nodes::kNodeKind) return;
  complain(node_complaint(identity));
  sources_.push_back({files_++, path, std::move(*reader)});
}

void LiveNodes::find_files() {
  for (const Folder& folder : folders_) {
    std::error_code error;
    for (fs::directory_iterator at(folder.path, error), end; !error && at != end;
         at.increment(error)) {
      const std::string path = at->path().string();
      if (at->path().extension() == kRecordingSuffix && !known_.contains(path)) add_file(path);
    }
    const bool absent = error == std::errc::no_such_file_or_directory;
    if (!error || (absent && folder.may_be_absent)) continue;
    complain("machines are not read from " + folder.path + ": " + error.message() +
             (absent ? "; give the folder of `heddle agent serve`" : ""));
  }
}

void LiveNodes::poll(const LiveRecording& job, const Take& take) {
  find_files();
  if (job.files() == 0 || sources_.empty()) return;
  insight::MachineClocks clocks;
  insight::MachineHosts hosts;
  for (size_t i = 0; i < job.files(); ++i) {
    clocks.add(job.facts(i).identity, job.clock(i));
    hosts.add(job.facts(i).identity);
  }
  for (Source& source : sources_) {
    // An agent removes its oldest ones; what was not read yet is still there for this reader.
    std::error_code unknown;
    const bool is_removed = !fs::exists(source.path, unknown) && !unknown;
    source.reader.refresh();
    const events::RecordingFacts& facts = source.reader.facts();
    const auto places = node_places(hosts, facts.identity, source.number);
    insight::Clock own;
    own.offset_from_ns = own.offset_to_ns = facts.first_offset_ns;
    const insight::Clock clock = clocks.find(facts.identity).value_or(own);
    events::RecordedEvent recorded;
    while (source.reader.next(recorded)) {
      const Nanos time = std::visit([](const auto& each) { return each.time; }, recorded.event);
      const Nanos at = saturating_difference({clock.to_job(time.count)}, {job.began_ns()});
      for (const insight::NodePlace& each : places) take(each, recorded.event, at.count);
    }
    if (is_removed) known_.erase(source.path);
    if (is_removed) source.path.clear();
  }
  std::erase_if(sources_, [](const Source& each) { return each.path.empty(); });
}

}  // namespace heddle::recordings
