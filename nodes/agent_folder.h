// AgentFolder: the folder of an agent's recordings, which take a bounded part of the disk: the
// oldest go for a new one. Files that no agent of this machine made are left alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "base/units.h"
#include "events/recording.h"

namespace heddle::nodes {

class AgentFolder {
 public:
  // Makes the folder if needed, and with `with_parents` those above it. Errors: kInvalid (it or a
  // link in its place belongs to another user, or others may write in it), those of
  // events::cannot_record().
  static Result<AgentFolder> open(const std::string& path, bool with_parents);

  // A recording named by its host and the time when it began, so that no name comes again. For it
  // the oldest go until all have at most `most`; on a full disk more of them. Errors: those of
  // events::Recording::create().
  Result<std::shared_ptr<events::Recording>> begin(events::RecordingOptions options, Bytes most);

  const std::string& path() const { return path_; }

 private:
  struct Kept {
    uint64_t began_ms = 0;
    std::string name;
    uint64_t disk_bytes = 0;
  };
  AgentFolder(std::string path, Descriptor folder)
      : path_(std::move(path)), folder_(std::move(folder)) {}
  // Those that agents of this machine made, the oldest first.
  std::vector<Kept> kept(const std::string& host) const;
  bool remove(const Kept& one) const;
  Result<void> publish(const std::string& draft, const std::string& host) const;

  std::string path_;
  Descriptor folder_;
};

}  // namespace heddle::nodes
