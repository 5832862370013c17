// The parts of a recording that hosts have kept each for itself become one folder, with what is
// known of their clocks beside them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "recordings/job_contents.h"

namespace heddle::recordings {

struct Gathered {
  std::vector<std::string> files;              // of the new folder
  std::vector<std::string> twice;              // that were in two parts, with equal content
  std::map<std::string, std::string> part_of;  // by file, the folder where it was recorded
};

// Copies all files of the parts into a new folder, which is there whole or not at all. Errors:
// those of recording_files(), kInvalid (no file is a recording that can be read), kInUse (the
// folder is there), kExhausted (a full disk), kCancelled (interrupted), kSystem.
Result<Gathered> gather_parts(const std::vector<std::string>& parts, const std::string& folder);

// A warning where one rank was recorded in several parts: these are of two jobs. Empty: none was.
std::string warning_of_two_jobs(const JobContents& contents, const Gathered& gathered);

}  // namespace heddle::recordings
