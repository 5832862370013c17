// See store.h.
#include "monitor/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <utility>

#include "base/clocks.h"
#include "monitor/params.h"

namespace heddle::monitor {
namespace {

struct Scheme {
  std::string_view prefix;
  std::string_view http;
  std::string_view port;  // where the address has none; empty: HTTP's own
};

// Those of HTTP mean what they mean in `heddle record export`.
constexpr std::array kSchemes = {
    Scheme{"clickhouse://", "http", ":8123"},
    Scheme{"clickhouses://", "https", ":8443"},
    Scheme{"http://", "http", ""},
    Scheme{"https://", "https", ""},
};
// Of curl, with --fail-with-body: the server answered with an error.
constexpr int kAnsweredWithError = 22;

struct Shape {
  std::string_view name;
  std::string_view columns;
  std::string_view order;
};

// In the order of Store::Table. docs/reference/clickhouse.md explains the columns.
constexpr std::array kShapes = {
    Shape{"watched_changes",
          "time DateTime, at_ns Int64, job String, id String, monitor String, run_ns Int64, event "
          "String, number UInt64, class String, place String, place_text String, host String, "
          "processes Array(String), since_ns Int64, raised_ns Int64, cleared_ns Int64, confidence "
          "Float64, cost_share Float64, summary String, evidence Array(String), action String",
          "job, id, at_ns"},
    Shape{
        "watched_states",
        "time DateTime, at_ns Int64, job String, id String, monitor String, run_ns Int64, job_ns "
        "Int64, over UInt8, whole UInt8, operations UInt64, alarms_raised UInt64, "
        "alarms_lasting UInt64, processes UInt64, running UInt64, ended UInt64, not_heard UInt64, "
        "events UInt64, missed_events UInt64",
        "job, id, at_ns"},
    Shape{
        "watched_series",
        "time DateTime, at_ns Int64, job String, id String, monitor String, run_ns Int64, span_ns "
        "Int64, name String, host String, rank Int64, calls UInt64, calls_failed UInt64, "
        "exposed_ns Int64, sent_bytes UInt64, received_bytes UInt64, wire_sent_bytes UInt64, "
        "wire_received_bytes UInt64, lost_segments UInt64, call_ns_p50 Int64, call_ns_p99 Int64, "
        "call_ns_most Int64, message_ns_p50 Int64, message_ns_p99 Int64, message_ns_most Int64",
        "job, id, at_ns, name"},
};

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char each) {
    return std::isalnum(each) != 0 || each == '_';
  });
}

// Columns of these tables have no nulls, and JSON has no number that is not finite. One such value
// would cost the server all rows that are sent with it.
void replace_nulls(Json& row) {
  for (auto& [name, value] : row.items()) {
    const bool finite = !value.is_number_float() || std::isfinite(value.get<double>());
    if (value.is_null() || !finite) value = -1;
  }
}

}  // namespace

Result<StoreAddress> parse_store_address(const std::string& text) {
  const auto refused = [](const std::string& why) {
    return fail(ErrorCode::kInvalid, "cannot use the address of a store that is given", why,
                "write clickhouse://HOST:PORT/DATABASE or http://HOST:PORT/DATABASE, with TLS "
                "clickhouses:// or https://");
  };
  const auto* const scheme =
      std::find_if(kSchemes.begin(), kSchemes.end(),
                   [&](const Scheme& each) { return text.starts_with(each.prefix); });
  if (scheme == kSchemes.end()) return refused("it begins with none of these");
  std::string_view rest(text);
  rest.remove_prefix(scheme->prefix.size());
  if (rest.find('@') != std::string_view::npos) {
    return refused(
        "other users can read a command line: credentials are not written there but in "
        "HEDDLE_CLICKHOUSE_USER and HEDDLE_CLICKHOUSE_PASSWORD");
  }
  const size_t slash = std::min(rest.find('/'), rest.size());
  std::string host(rest.substr(0, slash));
  rest.remove_prefix(std::min(slash + 1, rest.size()));
  StoreAddress made{.url = {}, .database = rest.empty() ? "heddle" : std::string(rest)};
  if (!is_name(made.database)) {
    return refused("its database has other characters than letters, digits and '_'");
  }
  const size_t port = host.find(':', host.starts_with('[') ? host.find(']') : 0);
  if (port == std::string::npos) host += scheme->port;
  // A table that another version has made may lack a column.
  made.url = fmt::format("{}://{}/?input_format_skip_unknown_fields=1", scheme->http, host);
  return made;
}

Store::Store(const recordings::HttpPost& post, std::string database, PublishedJob job)
    : settings_(post.settings()),
      shown_(post.shown()),
      database_(std::move(database)),
      job_(std::move(job)),
      retry_wait_(params::kFirstRetry) {
  for (size_t i = 0; i < kTables; ++i) open_[i].table = static_cast<Table>(i);
}

Json Store::head(int64_t job_ns, int64_t began_realtime_ns) const {
  // Before a job has recordings its time is not known.
  const int64_t at = began_realtime_ns == 0 ? wall_now().count : began_realtime_ns + job_ns;
  return {{"time", std::clamp<int64_t>(at / seconds(1).count, 0, UINT32_MAX)},  // a DateTime
          {"at_ns", at},
          {"job", job_.name},
          {"id", job_.id()},
          {"monitor", job_.host},
          {"run_ns", job_.run_ns}};
}

void Store::put(Table table, Json row) {
  replace_nulls(row);
  Batch& batch = open_[static_cast<size_t>(table)];
  const std::string line = row.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  batch.rows += line;
  bytes_ += line.size();
  ++batch.count;
  if (batch.rows.size() >= params::kBatchBytes) close(table);
  drop_too_many();
}

void Store::close(Table table) {
  Batch& batch = open_[static_cast<size_t>(table)];
  if (batch.count > 0) ready_.push_back(std::exchange(batch, {.table = table, .rows = {}}));
}

// The oldest of series go first, then of states, and changes last.
void Store::drop_too_many() {
  while (bytes_ > params::kMostStoredBytes && ready_.size() > 1) {
    const auto begin = ready_.begin() + (running_ ? 1 : 0);  // that one is being sent
    auto oldest = begin;
    for (auto each = begin; each != ready_.end(); ++each) {
      if (each->table > oldest->table) oldest = each;
    }
    if (oldest == ready_.end()) return;
    bytes_ -= oldest->rows.size();
    state_.dropped += oldest->count;
    ready_.erase(oldest);
  }
}

void Store::add(const AlarmChange& change, const WatchState& state) {
  Json row = head(state.now_ns, state.began_realtime_ns);
  Json alarm = json_of(change.alarm);
  alarm["action"] = alarm["try"];
  alarm.erase("try");
  alarm.erase("until_ns");
  row["event"] = change.raised ? "raised" : "cleared";
  row.update(alarm);
  put(Table::kChanges, std::move(row));
}

void Store::add(const WatchDocument& document) {
  const WatchState& state = document.state;
  std::array<uint64_t, 3> counts{};  // running, ended, not heard
  uint64_t events = 0;
  uint64_t missed = 0;
  for (const WatchedProcess& each : state.processes) {
    ++counts[each.closed ? 1 : each.heard ? 0 : 2];
    events += each.events;
    missed += each.missed_events;
  }
  Json row = head(state.now_ns, state.began_realtime_ns);
  row.update(Json{{"job_ns", state.now_ns},
                  {"over", state.over ? 1 : 0},
                  {"whole", state.whole ? 1 : 0},
                  {"operations", state.operations},
                  {"alarms_raised", state.alarms_raised},
                  {"alarms_lasting", state.lasting.size()},
                  {"processes", state.processes.size()},
                  {"running", counts[0]},
                  {"ended", counts[1]},
                  {"not_heard", counts[2]},
                  {"events", events},
                  {"missed_events", missed}});
  put(Table::kStates, std::move(row));
}

void Store::add(const WatchDocument& document, const SeriesInterval& interval) {
  const std::vector<WatchedProcess>& processes = document.state.processes;
  const Json first = head(interval.from_ns, document.state.began_realtime_ns);
  for (size_t i = 0; i < std::min(processes.size(), interval.processes.size()); ++i) {
    Json row = first;
    row["span_ns"] = interval.until_ns - interval.from_ns;
    row.update(json_of(processes[i], interval.processes[i]));
    put(Table::kSeries, std::move(row));
  }
}

StoreState Store::state() const {
  StoreState made = state_;
  const auto count = [&made](const Batch& batch) {
    made.waiting += batch.count;
    if (batch.table == Table::kChanges) made.waiting_changes += batch.count;
  };
  for (const Batch& each : open_) count(each);
  for (const Batch& each : ready_) count(each);
  return made;
}

std::string Store::next_statement() const {
  if (made_ == 0) return "CREATE DATABASE IF NOT EXISTS " + database_;
  if (made_ <= kTables) {
    const Shape& shape = kShapes[made_ - 1];
    return fmt::format(
        "CREATE TABLE IF NOT EXISTS {}.{} ({}) ENGINE = MergeTree() PARTITION BY toYYYYMM(time) "
        "ORDER BY ({})",
        database_, shape.name, shape.columns, shape.order);
  }
  const Batch& batch = ready_.front();
  return fmt::format("INSERT INTO {}.{} FORMAT JSONEachRow\n{}", database_,
                     kShapes[static_cast<size_t>(batch.table)].name, batch.rows);
}

void Store::close_due(Nanos now) {
  if (now < close_at_ && !finishes_) return;
  close_at_ = now + params::kStoreEvery;
  for (size_t i = 0; i < kTables; ++i) close(static_cast<Table>(i));
}

void Store::poll(Nanos now) {
  close_due(now);
  if (running_) {
    const std::optional<launch::CommandResult> result = running_->poll(now);
    if (!result) return;
    running_.reset();
    take(*result, now);
  }
  const bool wanted = made_ <= kTables || !ready_.empty();
  if (wanted && now >= retry_at_) start(now);
}

void Store::start(Nanos now) {
  Result<launch::BackgroundCommand> started =
      launch::BackgroundCommand::start({.words = {"curl", "-K", "/dev/fd/3"},
                                        .input = next_statement(),
                                        .settings = settings_,
                                        .limit = params::kLongestRequest,
                                        .keep_output = true},
                                       now);
  if (started) {
    running_ = std::move(*started);
    return;
  }
  state_.complaint = started.error().message();
  retry_at_ = now + retry_wait_;
}

void Store::take(const launch::CommandResult& result, Nanos now) {
  if (result.timed_out || result.exit_status != 0) return settle_failure(result, now);
  state_.complaint.clear();
  retry_wait_ = params::kFirstRetry;
  if (made_ <= kTables) {
    ++made_;
    return;
  }
  state_.stored += ready_.front().count;
  bytes_ -= ready_.front().rows.size();
  ready_.pop_front();
}

// Tables are made again, since the database may be a new one. Rows that the server refuses again
// and again are none that it will ever take.
void Store::settle_failure(const launch::CommandResult& result, Nanos now) {
  std::string why = result.output.substr(0, result.output.find('\n'));
  why.resize(std::min(why.size(), params::kLongestText));
  if (why.empty()) why = result.last_error;
  if (result.timed_out) why = "it does not answer";
  if (result.exit_status == 127) why = "there is no curl (apt-get install curl)";
  state_.complaint = fmt::format("cannot store rows at {}: {}", shown_, why);
  retry_at_ = now + retry_wait_;
  retry_wait_ = std::min(retry_wait_ * 2, params::kLongestRetry);
  const bool refused = result.exit_status == kAnsweredWithError && made_ > kTables;
  made_ = 0;
  if (!refused || ++ready_.front().refused < params::kMostRefusals) return;
  state_.dropped += ready_.front().count;
  bytes_ -= ready_.front().rows.size();
  ready_.pop_front();
}

}  // namespace heddle::monitor
