// See machine_clocks.h.
#include "acceptance/machine_clocks.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <utility>

#include "acceptance/commands.h"
#include "acceptance/params.h"
#include "base/clocks.h"

namespace heddle::acceptance {
namespace {

constexpr uint64_t kMostClock = INT64_MAX;

// Questions and answers with one machine.
class Asked {
 public:
  explicit Asked(Commands::Id command) : command_(command) {}

  // Takes lines that have come, and asks again; true once nothing more is to come.
  bool look(Commands& commands) {
    if (done_) return true;
    const std::string text = commands.output_of(command_, read_);
    const Nanos now = steady_now();
    size_t from = 0;
    for (size_t end = 0; (end = text.find('\n', from)) != std::string::npos; from = end + 1) {
      take(text.substr(from, end - from), now);
    }
    read_ += from;
    done_ = readings_.size() >= params::kClockReadings || !commands.was_running(command_);
    if (!done_ && greeted_ && !waiting_) {
      waiting_ = true;
      asked_ = wall_now();
      asked_steady_ = steady_now();
      commands.send_signal(command_, SIGUSR1);
    }
    return done_;
  }

  const std::vector<ClockReading>& readings() const { return readings_; }

 private:
  // What a shell's start-up files write comes before the greeting.
  void take(const std::string& line, Nanos now) {
    greeted_ = greeted_ || line == params::kClockGreeting;
    uint64_t there = 0;
    const auto [rest, wrong] = std::from_chars(line.data(), line.data() + line.size(), there);
    if (!waiting_ || wrong != std::errc() || rest != line.data() + line.size()) return;
    waiting_ = false;
    readings_.push_back({asked_, now - asked_steady_, nanos(std::min(there, kMostClock))});
  }

  Commands::Id command_;
  size_t read_ = 0;  // bytes
  bool greeted_ = false;
  bool waiting_ = false;
  bool done_ = false;
  Nanos asked_;
  Nanos asked_steady_;
  std::vector<ClockReading> readings_;
};

}  // namespace

std::optional<ClockOffset> clock_offset(const std::vector<ClockReading>& readings) {
  const auto best = std::min_element(
      readings.begin(), readings.end(),
      [](const ClockReading& a, const ClockReading& b) { return a.round_trip < b.round_trip; });
  if (best == readings.end()) return std::nullopt;
  const Nanos half = best->round_trip / 2;
  return ClockOffset{to_seconds(best->there - best->asked - half), to_seconds(half)};
}

Result<std::vector<std::optional<ClockOffset>>> read_clocks(
    Commands& commands, const std::vector<std::string>& hosts,
    const std::function<bool()>& interrupted) {
  std::vector<Commands::Id> ids;
  std::vector<Asked> all;
  for (const std::string& host : hosts) {
    const auto id = commands.start(host, {"heddle", "agent", "clock"},
                                   {.at = {}, .input = {}, .listed = false});
    if (!id) return fail(id.error());
    ids.push_back(*id);
    all.emplace_back(*id);
  }
  commands.wait(ids, params::kFactsTime, [&] {
    usleep(200);
    bool done = true;
    for (Asked& each : all) done = each.look(commands) && done;
    return !done && !interrupted();
  });
  std::vector<std::optional<ClockOffset>> offsets;
  for (const Asked& each : all) offsets.push_back(clock_offset(each.readings()));
  return offsets;
}

void answer_clock() {
  sigset_t asked;
  sigemptyset(&asked);
  sigaddset(&asked, SIGUSR1);
  sigprocmask(SIG_BLOCK, &asked, nullptr);
  fmt::print("{}\n", params::kClockGreeting);
  std::fflush(stdout);
  const timespec most{params::kFactsTime / seconds(1), 0};
  for (size_t i = 0; i < params::kClockReadings; ++i) {
    if (sigtimedwait(&asked, nullptr, &most) != SIGUSR1) return;
    fmt::print("{}\n", wall_now().count);
    std::fflush(stdout);
  }
}

}  // namespace heddle::acceptance
