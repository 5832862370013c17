// GpuReader: figures of this machine's GPUs at intervals, from nvidia-smi, which runs beside the
// watch in a process group of its own, with a time limit. A reading that fails leaves the figures
// of the rows that it gave, and none of an earlier one.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "base/nanos.h"
#include "launch/background_command.h"
#include "monitor/gpus.h"
#include "monitor/params.h"

namespace heddle::monitor {

struct GpuReaderOptions {
  std::string program = "nvidia-smi";
  Nanos every = seconds(5);  // from one reading's begin to the next
  Nanos limit = params::kLongestGpuReading;
};

class GpuReader {
 public:
  // `warn` gets a sentence where a reading fails, once for each reason while that lasts.
  GpuReader(GpuReaderOptions options, std::function<void(const std::string& text)> warn);

  // Begins a reading where one is due, and takes its end; whether one has ended. Never waits. To be
  // called often.
  bool poll(Nanos now);
  const GpuState& state() const { return state_; }

 private:
  void start(Nanos now);
  void take(const launch::CommandResult& result);
  void settle(GpuRows rows, std::string complaint);
  std::string why_failed(const launch::CommandResult& result) const;

  GpuReaderOptions options_;
  std::function<void(const std::string& text)> warn_;
  std::optional<launch::BackgroundCommand> running_;
  Nanos next_;            // begin of a reading
  size_t field_ = 0;      // of kClockLimitFields, that the driver knows
  std::string reported_;  // complaint that lasts
  GpuState state_;
};

}  // namespace heddle::monitor
