// Results of a sweep: a folder with a file of JSON lines for each share, one line a run. A line
// counts when it is whole, so that one that was being written when the program died does not.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "apps/cli/sim/sweep/variations.h"
#include "base/result.h"

namespace heddle::cli {

struct SweepRows {
  std::vector<nlohmann::json> rows;  // each run ("key") once, the first that was found
  uint64_t unreadable = 0;           // whole lines that are no results
};

// What the folders hold; one that is not there holds nothing. Errors: kUnavailable, kPermission.
Result<SweepRows> read_sweep(const std::vector<std::string>& folders);

// Adds to a share's file in a folder.
class SweepWriter {
 public:
  // Makes the folder where it is missing, and takes away half a line at the file's end. Errors:
  // kInUse (another sweep has the share), kPermission, kExhausted, kSystem.
  static Result<std::unique_ptr<SweepWriter>> open(const std::string& folder, const Share& share);
  ~SweepWriter();
  SweepWriter(const SweepWriter&) = delete;
  SweepWriter& operator=(const SweepWriter&) = delete;

  // When it returns, the row outlives this program. Errors: kExhausted, kSystem.
  Result<void> add(const nlohmann::json& row);

 private:
  SweepWriter(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  Result<void> trim();

  const std::string path_;
  const int descriptor_;
};

}  // namespace heddle::cli
