// SiteOutput: where a watched job's faults, state and series go beside this program's output: to a
// site's NATS, to a ClickHouse database, or both. The watch calls it after each look; it never
// waits for a network.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/nanos.h"
#include "base/result.h"
#include "messaging/publisher.h"
#include "monitor/publication.h"
#include "monitor/store.h"

namespace heddle::cli {

struct SiteOptions {
  std::string publish;  // address; empty: nothing is published
  std::string access;   // file; empty: the environment
  std::string state_every = "2s";
  std::string store;  // address; empty: nothing is stored
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
  // Between looks, often.
  void poll(Nanos now);
  // Says that this monitor ends, and waits for what is in flight: 5 s at most, after an interrupt
  // one.
  void finish(bool interrupted);

 private:
  // How much a destination has dropped, and its complaint: each is reported once.
  struct Reported {
    std::string complaint;  // that lasts
    uint64_t dropped = 0;
    Nanos at;
  };
  SiteOutput(Nanos every, Warn warn) : every_(every), warn_(std::move(warn)) {}
  Result<void> open_publisher(const SiteOptions& options, const monitor::PublishedJob& job);
  Result<void> open_store(const SiteOptions& options, const monitor::PublishedJob& job);
  messaging::PublisherState published() const;
  void finish_store(Nanos within);
  void warn_of_changes();
  void warn_of(Reported& reported, const std::string& complaint, uint64_t dropped,
               const char* what);

  std::unique_ptr<messaging::Publisher> publisher_;
  std::unique_ptr<monitor::Publication> publication_;
  std::unique_ptr<monitor::Store> store_;
  Nanos every_;
  Warn warn_;
  Nanos state_at_;
  monitor::WatchDocument last_;
  Reported of_publisher_;
  Reported of_store_;
};

}  // namespace heddle::cli
