// See load.h.
#include "insight/load.h"

#include <algorithm>
#include <map>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "insight/load/activity.h"
#include "insight/load/series.h"
#include "insight/params.h"

namespace heddle::insight {
namespace {

using namespace params::load;

// A damaged recording contains arbitrary times; times clamped to this can be added without
// overflow.
constexpr int64_t kFarthest = INT64_MAX / 4;

using events::Direction;

struct Larger {
  bool operator()(const Microburst& a, const Microburst& b) const { return a.peak > b.peak; }
};
// The largest bursts so far; the smallest of them is on top.
using Kept = std::priority_queue<Microburst, std::vector<Microburst>, Larger>;

}  // namespace

class LoadBuilder::Body {
 public:
  explicit Body(const LoadOptions& options) : options_(options) {}

  uint32_t add_process(const Identity& identity) {
    processes_.emplace_back().party = party_of(identity);
    return static_cast<uint32_t>(processes_.size() - 1);
  }

  void on(uint32_t process, const events::NicOpened& event, uint32_t writer, int64_t /*at*/) {
    const bool any = event.address_high == 0 && event.address_low == 0;
    std::string name(event.device.view());
    if (name.empty() && !any) name = host_text(event.address_high, event.address_low);
    numbers_[{process, writer, event.nic}] =
        nic_of(processes_[process].party.host, name, {event.rate_bits_per_s});
  }

  void on(uint32_t process, const events::WireBin& event, uint32_t writer, int64_t at) {
    const int64_t span = event.span_ns;
    if (span < kShortestSpan) return;
    if (load_.bin_ns == 0) load_.bin_ns = load_.column_ns = span;
    const int64_t begin = at - std::clamp(event.ago.count, int64_t{0}, kFarthest);
    // A span longer than a bin is spread over several bins.
    const int64_t parts = std::clamp<int64_t>(span / load_.bin_ns, 1, spread_left_ + 1);
    spread_left_ -= parts - 1;
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t when = begin + part * load_.bin_ns;
      if (when < options_.from_ns || when > options_.to_ns) continue;
      const uint64_t bytes = event.bytes * (part + 1) / parts - event.bytes * part / parts;
      const bool received = event.direction == Direction::kReceived;
      series_[2 * number_of(process, event.nic, writer) + (received ? 1 : 0)].add(
          (when + load_.bin_ns / 2) / load_.bin_ns, bytes);
      load_.end_ns = std::max(load_.end_ns, when + load_.bin_ns);
    }
  }

  void on(uint32_t process, const events::CallMade& event, uint32_t /*writer*/, int64_t at) {
    Process& made = processes_[process];
    ++made.calls_made;
    const Activity::Key key = {process, event.communicator, event.call};
    const std::string operation(name_of(event.operation));
    activities_[made.party.host].begin(key, at, operation);
    if (at > options_.to_ns || made.open.size() == kMostSpans) return;
    made.open[key] = {at, at, operation};
  }

  void on(uint32_t process, const events::CallEnded& event, uint32_t /*writer*/, int64_t at) {
    Process& made = processes_[process];
    const Activity::Key key = {process, event.communicator, event.call};
    activities_[made.party.host].end(key, at);
    const auto open = made.open.find(key);
    if (open == made.open.end()) return;
    open->second.end_ns = at;
    if (at >= options_.from_ns && made.calls.size() < kMostSpans)
      made.calls.push_back(open->second);
    made.open.erase(open);
  }

  void on(uint32_t process, const events::Mark& event, uint32_t /*writer*/, int64_t at) {
    Process& marked = processes_[process];
    const std::string phase = std::string(event.name.view()) + " " + std::to_string(event.step);
    activities_[marked.party.host].mark(at, phase);
    end_phase(marked, at);
    if (at <= options_.to_ns) marked.phase = LoadSpan{at, at, phase};
  }

  template <typename Event>
  void on(uint32_t /*process*/, const Event& /*event*/, uint32_t /*writer*/, int64_t /*at*/) {}

  // Periodically converts old bins to columns.
  void pass(int64_t at) {
    if (at < next_pass_ || load_.bin_ns == 0) return;
    next_pass_ = at + kLate / 2;
    settle((at - kLate) / load_.bin_ns);
    for (auto& [host, activity] : activities_) activity.forget(at - 2 * kLate);
  }

  Load finish() {
    if (load_.bin_ns > 0) settle(INT64_MAX / load_.bin_ns / 2);
    add_spans();
    return settled();
  }

  Load take(int64_t until) {
    if (load_.bin_ns > 0) settle(until / load_.bin_ns - Series::kAroundBins);
    spread_left_ = kMostSpread;
    for (Process& process : processes_) {
      process.calls.clear();
      process.phases.clear();
    }
    return settled();
  }

 private:
  struct Process {
    Party party;
    std::vector<LoadSpan> calls;
    std::vector<LoadSpan> phases;
    std::map<Activity::Key, LoadSpan> open;  // calls that have not ended
    std::optional<LoadSpan> phase;           // that has not
    uint64_t calls_made = 0;
  };

  void end_phase(Process& process, int64_t at) const {
    if (!process.phase) return;
    process.phase->end_ns = std::max(process.phase->begin_ns, at);
    const bool wanted = at >= options_.from_ns && process.phases.size() < kMostSpans;
    if (wanted) process.phases.push_back(*process.phase);
    process.phase.reset();
  }

  // What the series have settled since the last time.
  Load settled() {
    Load made = load_;
    for (uint32_t nic = 0; nic < made.nics.size(); ++nic) {
      for (uint32_t way = 0; way < 2; ++way) {
        Series::Settled series = series_[2 * nic + way].take();
        made.nics[nic].columns[way] = std::move(series.columns);
        made.nics[nic].bytes[way] = series.bytes;
        made.nics[nic].peak[way] = series.peak;
      }
      for (uint32_t way = 0; way < 2; ++way) take_bursts(nic, way, made);
    }
    std::sort(made.bursts.begin(), made.bursts.end(), Larger());
    made.bursts.resize(std::min(made.bursts.size(), Load::kMostBursts));
    std::sort(made.bursts.begin(), made.bursts.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.begin_ns, a.nic, a.direction) <
             std::tuple(b.begin_ns, b.nic, b.direction);
    });
    sort_nics(made);
    load_.column_ns = load_.bin_ns;
    return made;
  }

  uint32_t nic_of(const std::string& host, const std::string& name, BitsPerSec rate) {
    const auto [at, fresh] =
        nics_.emplace(std::pair(host, name), static_cast<uint32_t>(load_.nics.size()));
    if (fresh) {
      load_.nics.push_back({host, name, rate, {}, {}, {}});
      series_.resize(2 * load_.nics.size());
      kept_.resize(2 * load_.nics.size());
    }
    return at->second;
  }

  uint32_t number_of(uint32_t process, uint8_t nic, uint32_t writer) {
    const auto found = numbers_.find({process, writer, nic});
    if (found != numbers_.end()) return found->second;
    return numbers_[{process, writer, nic}] = nic_of(processes_[process].party.host, "", {});
  }

  void settle(int64_t until) {
    size_t columns = 0;
    for (uint32_t i = 0; i < series_.size(); ++i) {
      series_[i].settle(until, load_.column_ns / load_.bin_ns,
                        [this, i](const Microburst& burst) { keep(i, burst); });
      columns += series_[i].columns();
    }
    while (columns > options_.most_columns) {
      columns = 0;
      for (Series& series : series_) {
        series.coarsen();
        columns += series.columns();
      }
      load_.column_ns *= 2;
    }
  }

  void keep(uint32_t series, Microburst burst) {
    if (load_.bin_ns > kLongestBin) return;
    Kept& kept = kept_[series];
    if (kept.size() == Load::kMostBursts && kept.top().peak >= burst.peak) return;
    burst.nic = series / 2;
    burst.direction = static_cast<Direction>(series % 2);
    burst.begin_ns *= load_.bin_ns;
    burst.length_ns *= load_.bin_ns;
    const Activity& activity = activities_[load_.nics[burst.nic].host];
    burst.operations = activity.operations(burst.begin_ns, burst.begin_ns + burst.length_ns);
    burst.phase = activity.phase(burst.begin_ns);
    kept.push(std::move(burst));
    if (kept.size() > Load::kMostBursts) kept.pop();
  }

  void take_bursts(uint32_t nic, uint32_t way, Load& made) {
    const BitsPerSec rate = made.nics[nic].rate;
    uint64_t least = std::max(series_[2 * nic].highest(), series_[2 * nic + 1].highest()) / kPart;
    if (rate.count > 0) least = bytes_within(nanos(made.bin_ns), rate).count / kPart;
    Kept& kept = kept_[2 * nic + way];
    for (; !kept.empty(); kept.pop()) {
      if (kept.top().peak < least) continue;
      ++made.bursts_in_all;
      made.bursts.push_back(kept.top());
    }
  }

  // By host and name.
  void sort_nics(Load& made) const {
    std::vector<uint32_t> place(made.nics.size());
    std::vector<NicLoad> sorted;
    for (const auto& [name, nic] : nics_) {
      place[nic] = static_cast<uint32_t>(sorted.size());
      sorted.push_back(std::move(made.nics[nic]));
    }
    made.nics = std::move(sorted);
    for (Microburst& burst : made.bursts) burst.nic = place[burst.nic];
  }

  void add_spans() {
    const auto most =
        std::max_element(processes_.begin(), processes_.end(), [](const auto& a, const auto& b) {
          return std::tuple(a.calls_made, a.phases.size() + a.phase.has_value(), -a.party.rank) <
                 std::tuple(b.calls_made, b.phases.size() + b.phase.has_value(), -b.party.rank);
        });
    if (most == processes_.end()) return;
    for (auto& [key, call] : most->open) {
      call.end_ns = std::max(call.begin_ns, load_.end_ns);
      if (most->calls.size() < kMostSpans) most->calls.push_back(call);
    }
    std::sort(most->calls.begin(), most->calls.end(), [](const LoadSpan& a, const LoadSpan& b) {
      return std::tie(a.begin_ns, a.end_ns) < std::tie(b.begin_ns, b.end_ns);
    });
    end_phase(*most, load_.end_ns);
    load_.calls_of = most->party.rank >= 0 ? "rank " + most->party.name : most->party.name;
    load_.calls = std::move(most->calls);
    load_.phases = std::move(most->phases);
  }

  const LoadOptions options_;
  Load load_;  // what is known of NICs, bins and times; settled() adds the rest
  std::vector<Process> processes_;
  std::map<std::tuple<uint32_t, uint32_t, uint8_t>, uint32_t> numbers_;  // process, writer, NIC
  std::map<std::pair<std::string, std::string>, uint32_t> nics_;         // host and name
  std::vector<Series> series_;                                           // two a NIC
  std::vector<Kept> kept_;
  std::map<std::string, Activity> activities_;  // by host
  int64_t next_pass_ = INT64_MIN;
  int64_t spread_left_ = kMostSpread;
};

LoadBuilder::LoadBuilder(const LoadOptions& options) : body_(std::make_unique<Body>(options)) {}
LoadBuilder::~LoadBuilder() = default;

uint32_t LoadBuilder::add_process(const Identity& identity) { return body_->add_process(identity); }

void LoadBuilder::add(uint32_t process, const events::AnyEvent& event, uint32_t writer,
                      int64_t at_ns) {
  const int64_t at = std::clamp(at_ns, -kFarthest, kFarthest);
  body_->pass(at);
  std::visit([&](const auto& each) { body_->on(process, each, writer, at); }, event);
}

Load LoadBuilder::finish() { return body_->finish(); }

Load LoadBuilder::take(int64_t until_ns) {
  return body_->take(std::clamp(until_ns, -kFarthest, kFarthest));
}

}  // namespace heddle::insight
