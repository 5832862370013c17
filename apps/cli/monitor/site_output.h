// SiteOutput: where a watched job's faults, state and series go beside this program's output: to a
// site's NATS. The watch calls it after each look; it never waits for a network.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/nanos.h"
#include "base/result.h"
#include "messaging/publisher.h"
#include "monitor/publication.h"

namespace heddle::cli {

struct SiteOptions {
  std::string publish;  // address; empty: nothing is published
  std::string access;   // file; empty: the environment
  std::string state_every = "2s";
};

class SiteOutput {
 public:
  using Warn = std::function<void(const std::string& text)>;

  // Errors: those of addresses, access files and libnats.
  static Result<std::unique_ptr<SiteOutput>> make(const SiteOptions& options,
                                                  monitor::PublishedJob job, Warn warn);

  void change(const monitor::AlarmChange& change, const monitor::WatchState& state);
  void look(const monitor::WatchDocument& document, Nanos now);
  void sample(const monitor::WatchDocument& document, const monitor::SeriesInterval& interval);
  // Says that this monitor ends, and waits for what is in flight: 5 s at most,
  // after an interrupt one.
  void finish(bool interrupted);
  messaging::PublisherState published() const { return publisher_->state(); }

 private:
  SiteOutput(std::unique_ptr<messaging::Publisher> publisher, monitor::Publication publication,
             Nanos every, Warn warn);
  void warn_of_changes();

  std::unique_ptr<messaging::Publisher> publisher_;
  monitor::Publication publication_;
  Nanos every_;
  Warn warn_;
  Nanos state_at_;
  monitor::WatchDocument last_;
  std::string complaint_;  // that was reported, and lasts
  uint64_t dropped_ = 0;   // that were reported
  Nanos dropped_at_;
};

}  // namespace heddle::cli
