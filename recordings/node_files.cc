// See node_files.h.
#include "recordings/node_files.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <variant>

#include "insight/party.h"
#include "nodes/node_recorder.h"
#include "recordings/contents.h"

namespace heddle::recordings {

std::string nodes_folder(const std::string& folder) { return folder + "/" + nodes::kNodesFolder; }

std::vector<std::string> node_files(const std::string& path) {
  std::error_code none;
  const std::string folder = nodes_folder(path);
  if (!std::filesystem::is_directory(folder, none)) return {};
  const auto files = recording_files(folder);
  return files ? *files : std::vector<std::string>();
}

Nodes::Nodes(const std::vector<std::string>& files, const insight::MachineClocks& clocks) {
  for (const std::string& file : files) {
    auto facts = events::RecordingReader::facts_of(file);
    if (!facts) {
      unreadable_.push_back(facts.error());
      continue;
    }
    insight::Clock own;
    own.offset_from_ns = own.offset_to_ns = facts->first_offset_ns;
    insight::Clock clock = clocks.find(facts->identity).value_or(own);
    sources_.push_back({file, std::move(*facts), std::move(clock)});
  }
}

std::string Nodes::host(size_t file) const {
  return insight::value_of(sources_[file].facts.identity, "host");
}

std::vector<insight::NodePlace> node_places(const insight::MachineHosts& hosts,
                                            const insight::Identity& machine, size_t file) {
  std::vector<insight::NodePlace> places;
  for (const std::string& host : hosts.of(machine)) {
    places.push_back({host, static_cast<uint32_t>(file), insight::value_of(machine, "host")});
  }
  return places;
}

std::string node_complaint(const insight::Identity& identity) {
  const std::string why = insight::value_of(identity, nodes::kNotSampled);
  return why.empty() ? why : insight::value_of(identity, "host") + ": " + why;
}

std::vector<std::string> Nodes::complaints() const {
  std::vector<std::string> made;
  for (const Source& each : sources_) {
    std::string why = node_complaint(each.facts.identity);
    // A machine has several files where its sampler ended, and another process took over.
    const bool is_new = std::find(made.begin(), made.end(), why) == made.end();
    if (!why.empty() && is_new) made.push_back(std::move(why));
  }
  return made;
}

void Nodes::read(const Take& take) const {
  for (size_t file = 0; file < sources_.size(); ++file) {
    auto reader = events::RecordingReader::open(sources_[file].path);
    events::RecordedEvent recorded;
    while (reader && reader->next(recorded)) {
      const Nanos own = std::visit([](const auto& each) { return each.time; }, recorded.event);
      take(file, recorded.event, sources_[file].clock.to_job(own.count));
    }
  }
}

}  // namespace heddle::recordings
