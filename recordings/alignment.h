// The clocks of a recording: estimated from its messages, or as `heddle record gather` has kept
// them in the folder's manifest.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "events/events.h"
#include "insight/clocks.h"

namespace heddle::recordings {

struct Alignment {
  insight::Clocks clocks;
  std::map<std::string, uint32_t> clock_of;  // by the file's name, without its folder
  std::string warning;                       // a manifest that could not be used; empty: none

  // How the times of a file become those of the job, ns since 1970; of a file that is not known, as
  // they are.
  int64_t to_job(const std::string& file, int64_t ns) const;
  // Null: the file is not known.
  const insight::Clock* clock(const std::string& file) const;
};

// For callers that read the files anyway, in one pass. Files that cannot be read are left out.
class AlignmentBuilder {
 public:
  // Uses the manifest beside the files where that knows them all.
  explicit AlignmentBuilder(const std::vector<std::string>& files);
  // True if events are needed: several clocks, and no manifest with their offsets.
  bool needs_events() const { return !kept_ && builder_.needs_events(); }
  // `file`: by its place among the files.
  void add(size_t file, const events::AnyEvent& event) {
    if (process_of_[file]) builder_.add(*process_of_[file], event);
  }
  Alignment finish() const;

 private:
  friend Alignment align_files(const std::vector<std::string>& files);
  AlignmentBuilder() = default;
  void begin(const std::vector<std::string>& files);

  std::string warning_;
  std::optional<Alignment> kept_;
  insight::ClockBuilder builder_;
  std::vector<std::string> files_;
  std::vector<std::optional<uint32_t>> process_of_;
};

// Reads all of the files where they are of several clocks, whatever a manifest holds.
Alignment align_files(const std::vector<std::string>& files);
// As the manifest beside the files has it, where that knows them all; else align_files().
Alignment alignment_of(const std::vector<std::string>& files);

}  // namespace heddle::recordings
