// Store: changes, states and series of a watched job as rows of tables in a ClickHouse database,
// sent in batches by the program curl beside the watch. Without the server rows wait, up to a
// bound.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "launch/background_command.h"
#include "monitor/documents.h"
#include "monitor/publication.h"
#include "monitor/rank_series.h"
#include "recordings/http_post.h"

namespace heddle::monitor {

struct StoreAddress {
  std::string url;  // of the HTTP interface
  std::string database;
};

// "clickhouse://HOST:PORT/DATABASE", "clickhouses://…" for TLS; the port is 8123 or 8443 (HTTP's
// own with "http://…" and "https://…"), and the database "heddle", where there is none. Errors:
// kInvalid, also for credentials, which other users could read on a command line.
Result<StoreAddress> parse_store_address(const std::string& text);

struct StoreState {
  uint64_t stored = 0;   // rows that the server has confirmed
  uint64_t dropped = 0;  // that it will never get
  uint64_t waiting = 0;
  uint64_t waiting_changes = 0;  // of these
  std::string complaint;         // of the last try; empty: it was well
};

class Store {
 public:
  // `post`: to the address's URL, with credentials.
  Store(const recordings::HttpPost& post, std::string database, PublishedJob job);

  void add(const AlarmChange& change, const WatchState& state);
  void add(const WatchDocument& document);
  void add(const WatchDocument& document, const SeriesInterval& interval);

  // Sends what is due. To be called often.
  void poll(Nanos now);
  // From now on all that waits is due.
  void finish() { finishes_ = true; }
  bool busy() const { return running_ || state().waiting > 0; }
  StoreState state() const;

 private:
  enum class Table : uint8_t { kChanges, kStates, kSeries };
  static constexpr size_t kTables = 3;
  struct Batch {
    Table table = Table::kChanges;
    std::string rows;  // a line of JSON each
    uint64_t count = 0;
    int refused = 0;  // times
  };
  void put(Table table, Json row);
  Json head(int64_t job_ns, int64_t began_realtime_ns) const;
  void close(Table table);
  void close_due(Nanos now);
  void drop_too_many();
  void start(Nanos now);
  void take(const launch::CommandResult& result, Nanos now);
  void settle_failure(const launch::CommandResult& result, Nanos now);
  std::string next_statement() const;

  std::string settings_;
  std::string shown_;
  std::string database_;
  PublishedJob job_;
  std::array<Batch, kTables> open_;
  std::deque<Batch> ready_;
  size_t bytes_ = 0;  // of all of them
  std::optional<launch::BackgroundCommand> running_;
  size_t made_ = 0;  // statements that make the tables
  Nanos close_at_;
  Nanos retry_at_;
  Nanos retry_wait_;
  StoreState state_;
  bool finishes_ = false;
};

}  // namespace heddle::monitor
