// TableReader of topology and workload files: the quantities and names that these have, beside what
// every table has (base/table.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/table.h"
#include "base/units.h"

namespace heddle::topology {

class TableReader : public heddle::TableReader {
 public:
  using heddle::TableReader::TableReader;

  // These return the fallback if the key is missing or invalid (then the error is kept).
  BitsPerSec rate(std::string_view key, BitsPerSec fallback);  // "unlimited" is zero
  Bytes bytes(std::string_view key, Bytes fallback);
  Nanos time(std::string_view key, Nanos fallback);
  uint32_t share_per_million(std::string_view key, uint32_t fallback);
  // Two names; nothing if the key is missing or invalid.
  std::optional<std::pair<std::string, std::string>> pair(std::string_view key);
  // The name of a host or switch: 1 to 15 letters, digits, '-' and '_', beginning with a letter.
  std::string name(std::string_view key);

 private:
  struct Words {
    std::string what;
    std::string todo;
  };

  template <typename Quantity, typename Parse>
  Quantity quantity(std::string_view key, Quantity fallback, const Words& words, Parse parse);
};

}  // namespace heddle::topology
