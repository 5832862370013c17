// A recording from what other tools kept of a job: NCCL Inspector's lines of JSON, dumps of
// PyTorch's Flight Recorder and snapshots of NCCL RAS. A file's content decides what it is, not its
// name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "recordings/import/foreign_job.h"
#include "recordings/import/inspector.h"
#include "recordings/import/ras.h"

namespace heddle::recordings {

// Files are added, then finish(), then write().
class Import {
 public:
  // A file, or all files in a folder in the order of their names. One that cannot be read is a
  // failure().
  void add(const std::string& path);
  void finish();
  // A file a process in a new folder, which is there whole or not at all. Errors: kInUse (the
  // folder is there), kCancelled (interrupted), kPermission, kSystem.
  Result<void> write(const std::string& folder) const;

  // Nothing could be read.
  bool empty() const { return processes_.empty(); }
  // Nothing was left out.
  bool whole() const { return failures_.empty() && left_out_.empty(); }
  // Files and folders that were left out.
  const std::vector<Error>& failures() const { return failures_; }
  // Calls that were left out, times that are unknown, and what NCCL RAS says of ranks.
  std::vector<std::string> warnings() const;

 private:
  void add_file(const std::string& file);
  void add_recorder(const ForeignJson& document, const std::string& file);
  void add_lines(const std::string& bytes, const std::string& file);

  std::vector<ForeignProcess> processes_;
  InspectorReader inspector_;
  RasReader ras_;
  std::map<std::string, uint64_t> left_out_;
  std::vector<Error> failures_;
};

}  // namespace heddle::recordings
