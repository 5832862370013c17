// The summary of a job for people, one page, and for programs.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/json.h"
#include "insight/clocks.h"
#include "insight/summary.h"
#include "recordings/contents.h"

namespace heddle::cli {

// Facts of one process's file that are not in its events.
struct FileFacts {
  std::string command;
  bool ended_well = true;
  bool sound = true;
  uint64_t dropped_events = 0;
  std::string source;  // whose recording it was made of; empty: heddle's own
  std::string level;   // it was recorded at; empty: unknown

  insight::Clock clock;  // that its events are stamped with, and how its times become the job's

  // Losses are recorded from level bins on, and not by other tools.
  bool has_losses() const { return source.empty() && level != "counters"; }
};

struct JobSummary {
  insight::Summary summary;
  insight::Traffic traffic;
  std::vector<FileFacts> files;  // of each process
  std::vector<insight::Finding> findings;
};

// Includes findings from files: killed processes, dropped or damaged events.
std::vector<insight::Finding> findings_of_files(const JobSummary& job);

std::string summary_text(const JobSummary& job);
Json summary_json(const JobSummary& job);

}  // namespace heddle::cli
