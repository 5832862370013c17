// Node files: recordings of the machines beside those of a job's processes, in the folder `nodes`
// of its folder, which readers of processes do not see.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "events/recording_reader.h"
#include "insight/clocks.h"
#include "insight/machine_hosts.h"
#include "insight/node_history.h"

namespace heddle::recordings {

// Of a job's folder.
std::string nodes_folder(const std::string& folder);
// The recordings of machines in a job's folder, by name; none: nothing was sampled, or `path` is a
// file.
std::vector<std::string> node_files(const std::string& path);

// Nodes: the events of machines on the clock of a job.
class Nodes {
 public:
  // Files that cannot be read are errors. `clocks`: of the job's processes; a machine without one
  // is placed by its wall clock.
  Nodes(const std::vector<std::string>& files, const insight::MachineClocks& clocks);

  size_t files() const { return sources_.size(); }
  const events::RecordingFacts& facts(size_t file) const { return sources_[file].facts; }
  const std::string& path(size_t file) const { return sources_[file].path; }
  std::string host(size_t file) const;
  // Why something of a machine is not there, once each: "HOST: SENTENCE; SENTENCE".
  std::vector<std::string> complaints() const;
  const std::vector<Error>& unreadable() const { return unreadable_; }

  // How its times become those of the job, since 1970.
  const insight::Clock& clock(size_t file) const { return sources_[file].clock; }
  // All events, file by file, ns since 1970.
  using Take = std::function<void(size_t file, const events::AnyEvent& event, int64_t realtime_ns)>;
  void read(const Take& take) const;

 private:
  struct Source {
    std::string path;
    events::RecordingFacts facts;
    insight::Clock clock;
  };
  std::vector<Source> sources_;
  std::vector<Error> unreadable_;
};

// Of a machine's recording: one for each host of the job that runs on it.
std::vector<insight::NodePlace> node_places(const insight::MachineHosts& hosts,
                                            const insight::Identity& machine, size_t file);

// Why something of the machine is not in its recording; empty: all is.
std::string node_complaint(const insight::Identity& identity);

}  // namespace heddle::recordings
