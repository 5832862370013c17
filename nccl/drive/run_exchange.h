// The exchange of one run: rank 0 draws a run number, which is in the names of all later values, so
// that two runs in one folder cannot mix.
#pragma once

#include <string>

#include "base/result.h"
#include "nccl/drive.h"
#include "nccl/exchange.h"

namespace heddle::nccl {

class RunExchange final : public Exchange {
 public:
  RunExchange(Exchange& exchange, std::string run) : exchange_(exchange), run_(std::move(run)) {}

  Result<void> put(const std::string& key, std::string_view value) override {
    return exchange_.put(run_ + "." + key, value);
  }
  Result<std::optional<std::string>> get(const std::string& key) override {
    return exchange_.get(run_ + "." + key);
  }
  const std::string& run() const { return run_; }

 private:
  Exchange& exchange_;
  std::string run_;
};

// Meets the other ranks: rank 0 publishes the run number and its options, the others compare theirs
// and join. Returns when all have come. Errors: kInvalid (options that differ, with the first of
// them), kInUse (a folder of another run, or a rank that has joined already), kUnavailable (a rank
// has not come in time), kCancelled, and the exchange's.
Result<RunExchange> join_run(Exchange& exchange, const DriveOptions& options,
                             const std::string& plugin);

}  // namespace heddle::nccl
