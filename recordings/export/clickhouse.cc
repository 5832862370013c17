// See clickhouse.h. A job is a partition of each table, since a partition can be replaced at once:
// rows are sent to tables of their own, and change places with the old ones when all are there.
#include "recordings/export/clickhouse.h"

#include <fmt/core.h>

#include <array>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "recordings/params.h"

namespace heddle::recordings {
namespace {

struct Shape {
  std::string_view name;
  std::string_view columns;
  std::string_view order;
};

// In the order of ClickHouse::Table.
constexpr std::array kShapes = {
    Shape{"processes",
          "job String, process UInt32, rank Int64, name String, host String, command String, "
          "events UInt64, dropped_events UInt64, first_ns Int64, last_ns Int64, clock_error_ns "
          "Int64, calls UInt64, calls_failed UInt64, communicating_ns Int64, exposed_ns Int64, "
          "segments_lost UInt64, ended_well UInt8",
          "job, process"},
    Shape{"flows",
          "job String, from_rank Int64, to_rank Int64, from_name String, to_name String, "
          "from_host String, to_host String, from_nic String, to_nic String, operation String, "
          "algorithm String, communicator UInt64, phase String, path Int64, own UInt8, "
          "delivered_bytes UInt64, messages UInt64, time_ns UInt64, sent_bytes UInt64, wire_bytes "
          "UInt64, packets UInt64, expected_bytes UInt64",
          "job, operation, from_rank, to_rank"},
    Shape{"moments",
          "job String, process UInt32, kind String, name String, begin_ns Int64, end_ns Int64, "
          "bytes UInt64, communicator UInt64, number UInt64, algorithm String, ok UInt8, ended "
          "UInt8",
          "job, kind, begin_ns"},
};

constexpr std::array kTables = {ClickHouse::Table::kMoments, ClickHouse::Table::kFlows,
                                ClickHouse::Table::kProcesses};

std::string engine_of(const Shape& shape) {
  return fmt::format("ENGINE = MergeTree() PARTITION BY job ORDER BY ({})", shape.order);
}

std::string quoted(const std::string& text) {
  std::string made = "'";
  for (const char each : text) {
    if (each == '\'' || each == '\\') made += '\\';
    made += each;
  }
  return made + "'";
}

}  // namespace

Row& Row::operator<<(const std::string& text) {
  separate();
  for (const char each : text) {
    switch (each) {
      case '\t':
        text_ += "\\t";
        break;
      case '\n':
        text_ += "\\n";
        break;
      case '\\':
        text_ += "\\\\";
        break;
      default:
        text_ += each;
    }
  }
  return *this;
}

Row& Row::operator<<(int64_t number) {
  separate();
  text_ += std::to_string(number);
  return *this;
}

Row& Row::operator<<(uint64_t number) {
  separate();
  text_ += std::to_string(number);
  return *this;
}

ClickHouse::ClickHouse(HttpPost server, std::string database, std::string job)
    : server_(std::move(server)),
      database_(std::move(database)),
      job_(std::move(job)),
      held_(kShapes.size()) {}

ClickHouse::~ClickHouse() {
  if (!begun_) return;
  for (const Table table : kTables) {
    static_cast<void>(run("DROP TABLE IF EXISTS " + name_of_arriving(table)));
  }
}

std::string ClickHouse::name_of(Table table) const {
  return database_ + "." + std::string(kShapes.at(static_cast<size_t>(table)).name);
}

// Of the job, so that the next export of it finds what one that was killed has left.
std::string ClickHouse::name_of_arriving(Table table) const {
  return fmt::format("{}_arriving_{:016x}", name_of(table), hash_text(job_));
}

Result<void> ClickHouse::run(const std::string& sql) {
  auto answer = server_.send(sql);
  if (!answer) return fail(answer.error());
  return {};
}

Result<void> ClickHouse::begin(bool replace) {
  if (Result<void> made = run("CREATE DATABASE IF NOT EXISTS " + database_); !made) return made;
  for (const Table table : kTables) {
    const Shape& shape = kShapes.at(static_cast<size_t>(table));
    const std::string sql = fmt::format("CREATE TABLE IF NOT EXISTS {} ({}) {}", name_of(table),
                                        shape.columns, engine_of(shape));
    if (Result<void> made = run(sql); !made) return made;
  }
  const auto there = server_.send("SELECT count() FROM " + name_of(Table::kProcesses) +
                                  " WHERE job = " + quoted(job_));
  if (!there) return fail(there.error());
  was_there_ = *there != "0\n";
  if (was_there_ && !replace) {
    return fail(ErrorCode::kInUse, "cannot export the job " + job_,
                "the database has one of that name", "give another --job, or --replace it");
  }
  return make_arriving();
}

Result<void> ClickHouse::make_arriving() {
  begun_ = true;
  for (const Table table : kTables) {
    const std::string name = name_of_arriving(table);
    if (Result<void> gone = run("DROP TABLE IF EXISTS " + name); !gone) return gone;
    // As the table is there, which another version may have made.
    const std::string sql = fmt::format("CREATE TABLE {} AS {} {}", name, name_of(table),
                                        engine_of(kShapes.at(static_cast<size_t>(table))));
    if (Result<void> made = run(sql); !made) return made;
  }
  return {};
}

Result<void> ClickHouse::add(Table table, const Row& row) {
  std::string& held = held_.at(static_cast<size_t>(table));
  held += row.line();
  if (held.size() < params::kSentAtOnce) return {};
  return flush(table);
}

Result<void> ClickHouse::flush(Table table) {
  std::string& held = held_.at(static_cast<size_t>(table));
  if (held.empty()) return {};
  Result<void> sent =
      run("INSERT INTO " + name_of_arriving(table) + " FORMAT TabSeparated\n" + held);
  held.clear();
  return sent;
}

Result<void> ClickHouse::finish() {
  for (const Table table : kTables) {
    if (Result<void> sent = flush(table); !sent) return sent;
  }
  for (const Table table : kTables) {
    Result<void> moved = run(fmt::format("ALTER TABLE {} REPLACE PARTITION {} FROM {}",
                                         name_of(table), quoted(job_), name_of_arriving(table)));
    if (!moved) return table == kTables.front() ? moved : fail(torn(moved.error()));
  }
  return {};
}

// Each table changes at once, and all three do not.
Error ClickHouse::torn(Error error) {
  if (was_there_) {
    error.todo = "some tables hold the job as it is now and some as it was: --replace it again";
    return error;
  }
  for (const Table table : kTables) {
    static_cast<void>(run("ALTER TABLE " + name_of(table) + " DROP PARTITION " + quoted(job_)));
  }
  return error;
}

}  // namespace heddle::recordings
