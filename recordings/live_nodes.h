// LiveNodes: the events of a job's machines as they are written, on the job's clock. Nodes is its
// counterpart for recordings that have ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "events/recording_reader.h"
#include "insight/node_history.h"
#include "recordings/live_recording.h"

namespace heddle::recordings {

class LiveNodes {
 public:
  // The files are in these folders, which need not be there, and in those of agents, which must;
  // other recordings in them are ignored.
  LiveNodes(std::vector<std::string> folders, const std::vector<std::string>& of_agents);

  // Calls `take` with what was written since the last call, file by file, once the job has begun,
  // for each of the job's hosts that run on the machine. Each file has a number that no other has.
  // `at_ns`: since then.
  using Take = std::function<void(const insight::NodePlace& place, const events::AnyEvent& event,
                                  int64_t at_ns)>;
  void poll(const LiveRecording& job, const Take& take);

  // Why something of a machine is not there, a sentence each.
  const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  struct Folder {
    std::string path;
    bool may_be_absent = true;
  };
  struct Source {
    size_t number = 0;
    std::string path;
    events::RecordingReader reader;
  };
  void find_files();
  void add_file(const std::string& path);
  void complain(const std::string& why);

  std::vector<Folder> folders_;
  std::set<std::string> known_;  // paths
  size_t files_ = 0;             // that were found so far
  std::vector<Source> sources_;
  std::vector<std::string> complaints_;
};

}  // namespace heddle::recordings
