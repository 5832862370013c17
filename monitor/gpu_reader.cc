// See gpu_reader.h.
#include "monitor/gpu_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/exec.h"
#include "base/printable.h"
#include "base/quantity.h"

namespace heddle::monitor {
namespace {

constexpr int kBySignal = 128;  // an exit status above it: the number of the signal is added

// Of its output, in which nvidia-smi explains its failures.
std::string first_line(const std::string& output) {
  const size_t begin = output.find_first_not_of(" \r\n\t");
  if (begin == std::string::npos) return {};
  const size_t end = output.find('\n', begin);
  return printable(output.substr(begin, std::min(end - begin, params::kLongestText)));
}

}  // namespace

GpuReader::GpuReader(GpuReaderOptions options, std::function<void(const std::string& text)> warn)
    : options_(std::move(options)), warn_(std::move(warn)) {}

bool GpuReader::poll(Nanos now) {
  const uint64_t before = state_.readings_ok + state_.readings_failed;
  if (running_) {
    const std::optional<launch::CommandResult> result = running_->poll(now);
    if (!result) return false;
    running_.reset();
    take(*result);
  }
  if (now >= next_) start(now);
  return state_.readings_ok + state_.readings_failed != before;
}

void GpuReader::start(Nanos now) {
  next_ = now + options_.every;
  launch::CommandOptions command{.words = gpu_query(kClockLimitFields[field_]),
                                 .input = {},
                                 .settings = {},
                                 .limit = options_.limit,
                                 .keep_output = true};
  command.words.insert(command.words.begin(), options_.program);
  Result<launch::BackgroundCommand> started = launch::BackgroundCommand::start(command, now);
  if (started) {
    running_ = std::move(*started);
  } else {
    settle({}, started.error().message());
  }
}

void GpuReader::take(const launch::CommandResult& result) {
  const bool last_field = field_ + 1 == std::size(kClockLimitFields);
  if (result.exit_status != 0 && refuses_field(result.output) && !last_field) {
    ++field_;  // an older driver, which is asked again at once
    next_ = Nanos{};
    return;
  }
  GpuRows rows = parse_gpu_rows(result.output, *kClockLimitFields[field_] != '\0');
  std::string why = why_failed(result);
  if (why.empty() && !rows.not_read.empty()) {
    why = fmt::format("it printed '{}', which is no row of figures", rows.not_read);
  }
  if (why.empty() && rows.gpus.empty()) why = "it lists none";
  settle(std::move(rows), std::move(why));
}

// Empty: it ended well.
std::string GpuReader::why_failed(const launch::CommandResult& result) const {
  if (result.timed_out) {
    return fmt::format("it ran for longer than {}, and was ended", duration_text(options_.limit));
  }
  if (result.exit_status == kNotFound) return "there is no such program";
  if (result.exit_status > kBySignal) {
    return fmt::format("signal {} ended it", result.exit_status - kBySignal);
  }
  if (result.exit_status == 0) return {};
  std::string why = first_line(result.output);
  if (why.empty()) why = result.last_error;
  return fmt::format("it ended with {}{}{}", result.exit_status, why.empty() ? "" : ": ", why);
}

void GpuReader::settle(GpuRows rows, std::string complaint) {
  ++(complaint.empty() ? state_.readings_ok : state_.readings_failed);
  if (!complaint.empty()) {
    complaint = fmt::format("cannot read all GPUs by {}: {}", options_.program, complaint);
  }
  state_.gpus = std::move(rows.gpus);
  state_.complaint = std::move(complaint);
  if (state_.complaint != reported_ && !state_.complaint.empty()) warn_(state_.complaint);
  reported_ = state_.complaint;
}

}  // namespace heddle::monitor
