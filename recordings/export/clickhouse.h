// A job's tables in ClickHouse, over its HTTP interface: processes, flows (sender, receiver, bytes
// and cause) and moments (calls, waits, phases, messages, recovery). Plain SQL and Int64
// nanoseconds, which servers from 18.16 on support.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "recordings/http_post.h"

namespace heddle::recordings {

// As a line of the format TabSeparated, field by field.
class Row {
 public:
  Row& operator<<(const std::string& text);
  Row& operator<<(const char* text) { return *this << std::string(text); }
  Row& operator<<(int64_t number);
  Row& operator<<(uint64_t number);
  Row& operator<<(uint32_t number) { return *this << uint64_t{number}; }
  Row& operator<<(bool flag) { return *this << uint64_t{flag ? 1u : 0u}; }
  std::string line() const { return text_ + "\n"; }

 private:
  void separate() { text_ += text_.empty() ? "" : "\t"; }
  std::string text_;
};

// Makes the tables where they are not there, and fills them with one job. Until it is
// finished, the database has what it had.
class ClickHouse {
 public:
  enum class Table : uint8_t { kProcesses, kFlows, kMoments };

  // `database` of letters, digits and underscores.
  ClickHouse(HttpPost server, std::string database, std::string job);
  ~ClickHouse();
  ClickHouse(const ClickHouse&) = delete;
  ClickHouse& operator=(const ClickHouse&) = delete;

  // Errors: those of HttpPost::send(); kInUse (the job is there, and is not to be replaced).
  Result<void> begin(bool replace);
  // Rows are sent in batches; after an error all further calls return it.
  Result<void> add(Table table, const Row& row);
  Result<void> finish();

 private:
  std::string name_of(Table table) const;
  std::string name_of_arriving(Table table) const;
  Result<void> make_arriving();
  Result<void> flush(Table table);
  Error torn(Error error);
  Result<void> run(const std::string& sql);

  const HttpPost server_;
  const std::string database_;
  const std::string job_;
  std::vector<std::string> held_;
  bool begun_ = false;
  bool was_there_ = false;
};

}  // namespace heddle::recordings
