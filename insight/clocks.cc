// See clocks.h. Times are compared as doubles after a common origin is subtracted.
#include "insight/clocks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "insight/clocks/clock_graph.h"
#include "insight/clocks/host_clocks.h"
#include "insight/clocks/message_samples.h"
#include "insight/params.h"

namespace heddle::insight {
namespace {

using params::clocks::kLeastSamplesEach;
using params::clocks::kMostSamplesEach;

// Wraps on overflow: damaged recordings contain arbitrary times.
int64_t difference(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t sum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
// Clamping is harmless: such a value is reported with an error of years.
int64_t rounded(double value) { return std::llround(std::clamp(value, -4e18, 4e18)); }

struct Process {
  uint32_t clock = 0;          // of the host's clock
  int64_t wall_offset_ns = 0;  // from the host's own clock to its wall clock
  ClockOfProcess own;
};

}  // namespace

const char* name_of(ClockBasis basis) {
  switch (basis) {
    case ClockBasis::kReference:
      return "reference";
    case ClockBasis::kMessages:
      return "messages";
    case ClockBasis::kSameHost:
      return "same_host";
    case ClockBasis::kWallClock:
      return "wall_clock";
  }
  return "?";
}

int64_t Clock::to_job(int64_t ns) const {
  const int64_t turned = difference(offset_to_ns, offset_from_ns);
  int64_t more = 0;
  if (turned != 0 && to_ns > from_ns) {
    const double along = static_cast<double>(difference(ns, from_ns)) /
                         static_cast<double>(difference(to_ns, from_ns));
    more = rounded(along * static_cast<double>(turned));
  }
  return sum(sum(ns, offset_from_ns), more);
}

double Clock::drift_ppm() const {
  if (to_ns <= from_ns) return 0;
  return -1e6 * static_cast<double>(difference(offset_to_ns, offset_from_ns)) /
         static_cast<double>(difference(to_ns, from_ns));
}

// The drift of a line that is off by at most `error_ns` at both ends, in opposite directions.
double Clock::drift_error_ppm() const {
  if (to_ns <= from_ns || error_ns < 0) return 0;
  return 2e6 * static_cast<double>(error_ns) / static_cast<double>(difference(to_ns, from_ns));
}

class ClockBuilder::Body {
 public:
  // Each clock is identified by its first process.
  std::map<std::string, uint32_t> numbers;
  std::vector<Clock> clocks;  // one for each host
  std::vector<Process> processes;
  std::vector<MessageSamples> samples;

  uint32_t reference() const;
  Clocks finish() const;
  Clocks of_hosts() const;
};

ClockBuilder::ClockBuilder() : body_(std::make_unique<Body>()) {}
ClockBuilder::~ClockBuilder() = default;

uint32_t ClockBuilder::add_process(const Identity& identity, int64_t wall_offset_ns) {
  const auto process = static_cast<uint32_t>(body_->processes.size());
  const HostClock own = host_clock(identity, process);
  const auto [at, fresh] =
      body_->numbers.emplace(own.host, static_cast<uint32_t>(body_->clocks.size()));
  if (fresh) {
    Clock clock;
    clock.host = process;
    body_->clocks.push_back(std::move(clock));
  }
  const Party party = party_of(identity);
  body_->processes.push_back(
      {at->second, sum(wall_offset_ns, own.ahead_ns), {party.host, own.ahead_ns, party.rank}});
  body_->samples.emplace_back();
  return process;
}

bool ClockBuilder::needs_events() const { return body_->clocks.size() > 1; }

void ClockBuilder::add(uint32_t process, const events::AnyEvent& event) {
  // A connection has two ends, and most processes have several connections.
  const size_t most = kMostSamples / (8 * body_->processes.size());
  const size_t kept = std::clamp(most, kLeastSamplesEach, kMostSamplesEach);
  const int64_t ahead_ns = body_->processes[process].own.ahead_ns;
  if (ahead_ns == 0) {
    body_->samples[process].add(event, kept);
  } else {
    body_->samples[process].add(on_host_clock(event, ahead_ns), kept);
  }
}

Clocks ClockBuilder::finish() const { return body_->finish(); }

namespace {

// Messages between two clocks; `there`: from the lower number to the higher.
struct Between {
  std::vector<const MessagePair*> there;
  std::vector<const MessagePair*> back;
};
using Betweens = std::map<std::pair<uint32_t, uint32_t>, Between>;

// Offsets that make clocks comparable to within a message's transfer time. Where no messages
// connect a clock to the first, its offset is that of its wall clock.
struct Coarse {
  std::vector<int64_t> offset;
  std::vector<bool> known;
};
Coarse coarse_offsets(const Betweens& betweens, std::vector<int64_t> wall) {
  std::vector<bool> known(wall.size());
  known[0] = true;
  std::vector<std::vector<std::pair<uint32_t, int64_t>>> next(wall.size());
  for (const auto& [pair, between] : betweens) {
    const bool there = !between.there.empty();
    const MessagePair& one = there ? *between.there.front() : *between.back.front();
    const int64_t receiver_less = difference(one.acknowledged_ns, one.arrived_ns);
    const uint32_t sender = there ? pair.first : pair.second;
    const uint32_t receiver = there ? pair.second : pair.first;
    next[sender].emplace_back(receiver, receiver_less);
    next[receiver].emplace_back(sender, difference(0, receiver_less));
  }
  std::vector<uint32_t> turn = {0};
  for (size_t i = 0; i < turn.size(); ++i) {
    for (const auto& [other, less] : next[turn[i]]) {
      if (known[other]) continue;
      known[other] = true;
      wall[other] = sum(wall[turn[i]], less);
      turn.push_back(other);
    }
  }
  return {std::move(wall), std::move(known)};
}

// The span of time that messages cover, on the common coarse clock.
std::array<int64_t, 2> covered_span(const std::vector<MessagePair>& pairs,
                                    const std::vector<uint32_t>& clock_of, const Coarse& coarse) {
  std::array<int64_t, 2> span = {INT64_MAX, INT64_MIN};
  for (const MessagePair& pair : pairs) {
    const uint32_t receiver = clock_of[pair.receiver];
    if (!coarse.known[receiver]) continue;
    const int64_t at = sum(pair.arrived_ns, coarse.offset[receiver]);
    span = {std::min(span[0], at), std::max(span[1], at)};
  }
  return span;
}

LineBounds bounds_between(const Between& between, int64_t first, int64_t second,
                          std::array<int64_t, 2> span) {
  // Bounds how much more than its coarse offset the second clock must be moved than the first.
  // Acknowledgements that one event loop iteration received share one time; the strictest of them
  // counts.
  std::vector<BoundPoint> lows;
  std::vector<BoundPoint> highs;
  for (const MessagePair* pair : between.there) {
    const int64_t left = sum(pair->acknowledged_ns, first);
    const int64_t came = sum(pair->arrived_ns, second);
    highs.push_back({static_cast<double>(difference(left, span[0])),
                     static_cast<double>(difference(left, came)) + kStampNs});
  }
  for (const MessagePair* pair : between.back) {
    const int64_t left = sum(pair->acknowledged_ns, second);
    const int64_t came = sum(pair->arrived_ns, first);
    lows.push_back({static_cast<double>(difference(left, span[0])),
                    static_cast<double>(difference(came, left)) - kStampNs});
  }
  return bound_line(std::move(lows), std::move(highs),
                    {0, static_cast<double>(difference(span[1], span[0]))}, kMostDrift);
}

void name_apart(std::vector<Clock>& clocks) {
  std::map<std::string, uint32_t> named;
  for (Clock& clock : clocks) {
    const uint32_t before = named[clock.name]++;
    if (before > 0) clock.name += ", clock " + std::to_string(before + 1);
  }
}

void place(Clock& clock, const LineBounds& bounds, int64_t coarse, std::array<int64_t, 2> span) {
  std::array<int64_t, 2> offset{};
  double error = 0;
  for (size_t i = 0; i < 2; ++i) {
    if (!std::isfinite(bounds.low.at(i)) || !std::isfinite(bounds.high.at(i))) return;
    offset.at(i) = sum(coarse, rounded((bounds.low.at(i) + bounds.high.at(i)) / 2));
    error = std::max(error, std::abs(bounds.high.at(i) - bounds.low.at(i)) / 2);
  }
  clock.basis = ClockBasis::kMessages;
  clock.error_ns = rounded(std::ceil(error));
  clock.from_ns = difference(span[0], offset[0]);
  clock.to_ns = difference(span[1], offset[1]);
  clock.offset_from_ns = offset[0];
  clock.offset_to_ns = offset[1];
}

}  // namespace

// Returns the clock of the lowest rank.
uint32_t ClockBuilder::Body::reference() const {
  uint32_t found = 0;
  int64_t rank = INT64_MAX;
  for (const Process& process : processes) {
    if (process.own.rank < 0 || process.own.rank >= rank) continue;
    rank = process.own.rank;
    found = process.clock;
  }
  return found;
}

Clocks ClockBuilder::Body::finish() const {
  std::vector<ClockOfProcess> own;
  for (const Process& process : processes) own.push_back(process.own);
  Clocks made = apart(of_hosts(), own);
  name_apart(made.clocks);
  return made;
}

Clocks ClockBuilder::Body::of_hosts() const {
  Clocks made;
  made.clocks = clocks;
  for (const Process& process : processes) made.of_process.push_back(process.clock);
  if (clocks.empty()) return made;
  const uint32_t first = reference();
  std::swap(made.clocks[0], made.clocks[first]);
  for (uint32_t& clock : made.of_process) clock = clock == 0 ? first : clock == first ? 0 : clock;
  std::vector<int64_t> wall;
  for (Clock& clock : made.clocks) {
    wall.push_back(processes[clock.host].wall_offset_ns);
    clock.offset_from_ns = clock.offset_to_ns = wall.back();
    clock.error_ns = -1;
  }

  const std::vector<MessagePair> pairs = MessagePairs::of(samples, made.of_process);
  Betweens betweens;
  for (const MessagePair& pair : pairs) {
    const uint32_t from = made.of_process[pair.sender];
    const uint32_t to = made.of_process[pair.receiver];
    Between& between = betweens[std::minmax(from, to)];
    (from < to ? between.there : between.back).push_back(&pair);
    ++made.clocks[from].messages;
    ++made.clocks[to].messages;
  }
  const Coarse coarse = coarse_offsets(betweens, wall);
  const std::array<int64_t, 2> span = covered_span(pairs, made.of_process, coarse);
  ClockBounds bounds;
  for (const auto& [pair, between] : betweens) {
    if (!coarse.known[pair.first]) continue;
    bounds[pair] =
        bounds_between(between, coarse.offset[pair.first], coarse.offset[pair.second], span);
  }
  const auto from_first = bounds_from_first(static_cast<uint32_t>(made.clocks.size()), bounds);
  for (uint32_t i = 1; i < made.clocks.size(); ++i) {
    place(made.clocks[i], from_first[i], coarse.offset[i], span);
    made.clocks[i].wall_ahead_ns = difference(wall[i], made.clocks[i].offset_from_ns);
  }
  made.clocks[0].basis = ClockBasis::kReference;
  made.clocks[0].error_ns = 0;
  return made;
}

void MachineClocks::add(const Identity& process, const Clock& clock) {
  const HostClock own = host_clock(process, 0);
  by_machine_.insert_or_assign(own.host, std::pair(own.ahead_ns, clock));
}

std::optional<Clock> MachineClocks::find(const Identity& identity) const {
  const HostClock own = host_clock(identity, 0);
  const auto found = by_machine_.find(own.host);
  if (found == by_machine_.end()) return std::nullopt;
  const auto& [ahead_ns, clock] = found->second;
  return in_namespace(clock, saturating_difference({own.ahead_ns}, {ahead_ns}).count);
}

}  // namespace heddle::insight
