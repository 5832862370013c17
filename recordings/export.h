// A recording into a ClickHouse database: its processes, flows and moments. Rows are sent as they
// are read, so that a long recording needs no memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "events/recording_reader.h"
#include "insight/clocks.h"
#include "insight/summary.h"
#include "insight/timeline.h"
#include "insight/traffic.h"
#include "recordings/alignment.h"
#include "recordings/export/clickhouse.h"
#include "recordings/http_post.h"

namespace heddle::recordings {

struct ExportOptions {
  std::string url;          // of ClickHouse's HTTP interface
  Credentials credentials;  // unless the URL has some
  std::string database;     // of letters, digits and underscores
  std::string job;          // the name of its rows
  bool replace = false;     // a job of this name
};

class Export {
 public:
  // Errors: kInvalid (the URL, or credentials that cannot be sent).
  static Result<std::unique_ptr<Export>> to(const ExportOptions& options);
  Export(const Export&) = delete;
  Export& operator=(const Export&) = delete;

  // All of the files; the database has what it had unless all were sent. SIGPIPE must be ignored.
  // Errors: those of the server, kInUse (the job is there, and is not to be replaced), kCancelled.
  Result<void> send(const std::vector<std::string>& files);

  // Files that could not be read, and a warning about their clocks; empty: none.
  const std::vector<Error>& unreadable() const { return unreadable_; }
  const std::string& warning() const { return warning_; }
  bool whole() const { return whole_; }
  size_t processes() const { return facts_.size(); }
  uint64_t moments() const { return moments_; }
  // The address for messages, without credentials.
  const std::string& address() const { return address_; }

 private:
  Export(const HttpPost& server, const ExportOptions& options);
  Result<void> read_file(const std::string& file, const Alignment& alignment);
  void add_moment(const insight::Moment& moment);
  Result<void> add_processes();
  Result<void> add_flows();

  const std::string job_;
  const bool replace_;
  const std::string address_;
  ClickHouse server_;
  insight::SummaryBuilder summary_;
  insight::TrafficBuilder traffic_;
  insight::TimelineBuilder timeline_{[this](const insight::Moment& moment) { add_moment(moment); }};
  std::vector<insight::Clock> clocks_;
  std::vector<events::RecordingFacts> facts_;
  std::vector<Error> unreadable_;
  std::string warning_;
  std::optional<Error> error_;
  uint64_t moments_ = 0;
  bool whole_ = true;
};

}  // namespace heddle::recordings
