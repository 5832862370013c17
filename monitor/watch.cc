// See watch.h.
#include "monitor/watch.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include "base/clocks.h"
#include "monitor/host_feed.h"
#include "monitor/params.h"

namespace heddle::monitor {
namespace {

namespace fs = std::filesystem;

class Watch {
 public:
  explicit Watch(const WatchOptions& options) : options_(options) {}
  // All at once: each may take its time to end.
  ~Watch() {
    for (const auto& feed : feeds_) feed->stop();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  Result<WatchState> run() {
    if (Result<void> made = make_feeds(); !made) return fail(made.error());
    Observer observer(folders_, node_records());
    WatchState state;
    Nanos next = steady_now();
    Nanos sample_at = next + options_.series_every;
    bool caught_up = false;
    while (!options_.interrupted()) {
      take_feeds(next);
      const Nanos now = steady_now();
      if (now < next) continue;
      next = std::max(next + options_.every, now);
      const std::vector<AlarmChange> changes = observer.look(now, heard(now));
      for (const Error& error : observer.take_errors()) options_.warned(error.message());
      warn_of_hosts();
      state = observer.state();
      warn_of_nodes(state);
      for (const AlarmChange& change : changes) options_.changed(change, state);
      const bool due = now >= sample_at || state.over;
      if (due) sample_at = std::max(sample_at + options_.series_every, now);
      const WatchDocument document{fs::path(options_.folder).filename().string(), state,
                                   hosts(now)};
      options_.looked(document);
      if (!caught_up && (due || is_caught_up(document))) {
        // What was before the watch is no interval of it, and another monitor may have had it.
        caught_up = true;
        observer.cut_series();
        sample_at = now + options_.series_every;
      } else if (due) {
        options_.sampled(document, observer.cut_series());
      }
      if (state.over) break;
    }
    return state;
  }

 private:
  // Those of other machines are in the copies.
  std::vector<std::string> node_records() const {
    const bool here = options_.hosts.empty() && !options_.node_records.empty();
    return here ? std::vector{options_.node_records} : std::vector<std::string>();
  }

  Result<void> make_feeds() {
    if (options_.hosts.empty()) folders_.push_back(options_.folder);
    for (const launch::RemoteHost& host : options_.hosts) {
      const std::string copy = options_.copies + "/" + host.name;
      std::error_code error;
      fs::create_directory(copy, error);
      if (error) {
        return fail(ErrorCode::kSystem, "cannot make the folder " + copy, error.message(),
                    "give another one with -o");
      }
      folders_.push_back(copy);
      feeds_.push_back(std::make_unique<HostFeed>(
          FeedOptions{options_.shell, host.name, options_.folder, copy, options_.node_records}));
      complaints_.emplace_back();
    }
    return {};
  }

  // Until `next`, or until something has come.
  void take_feeds(Nanos next) {
    std::vector<pollfd> watched;
    for (const auto& feed : feeds_) watched.push_back({feed->descriptor(), POLLIN, 0});
    const Nanos left = std::clamp(next - steady_now(), Nanos{}, millis(100));
    ::poll(watched.data(), watched.size(), static_cast<int>((left + millis(1)) / millis(1)));
    for (size_t i = 0; i < feeds_.size(); ++i) {
      if (options_.interrupted()) return;
      feeds_[i]->poll(steady_now(),
                      watched[i].revents == 0 ? std::span<char>() : std::span<char>(buffer_));
    }
  }

  // A look that has seen all that was recorded before it.
  static bool is_caught_up(const WatchDocument& document) {
    return !document.state.processes.empty() &&
           std::all_of(document.hosts.begin(), document.hosts.end(),
                       [](const WatchedHost& each) { return each.heard; });
  }

  std::vector<Heard> heard(Nanos now) const {
    std::vector<Heard> made;
    for (const auto& feed : feeds_) {
      made.push_back({feed->copy(), feed->heard_at(), feed->is_heard(now)});
    }
    return made;
  }

  std::vector<WatchedHost> hosts(Nanos now) const {
    std::vector<WatchedHost> made;
    for (const auto& feed : feeds_) {
      const double ago =
          feed->was_heard() ? 1e-9 * static_cast<double>((now - feed->heard_at()).count) : -1;
      made.push_back({feed->host(), feed->is_heard(now), ago, feed->bytes(), feed->losses(),
                      feed->complaint()});
    }
    return made;
  }

  // Once for each complaint.
  void warn_of_hosts() {
    for (size_t i = 0; i < feeds_.size(); ++i) {
      const HostFeed& feed = *feeds_[i];
      if (feed.complaint().empty()) complaints_[i].clear();
      if (feed.complaint().empty() || !complaints_[i].empty()) continue;
      complaints_[i] = feed.complaint();
      options_.warned(fmt::format("{} is not heard: {}", feed.host(), feed.complaint()));
    }
  }

  // Once each; the list grows.
  void warn_of_nodes(const WatchState& state) {
    for (; warned_of_nodes_ < state.not_sampled.size(); ++warned_of_nodes_) {
      options_.warned("not sampled: " + state.not_sampled[warned_of_nodes_]);
    }
  }

  const WatchOptions& options_;
  size_t warned_of_nodes_ = 0;
  std::vector<std::string> folders_;
  std::vector<std::unique_ptr<HostFeed>> feeds_;
  std::vector<char> buffer_ = std::vector<char>(size_t{256} << 10);
  std::vector<std::string> complaints_;  // reported ones that last, by feed
};

}  // namespace

Result<WatchState> watch(const WatchOptions& options) { return Watch(options).run(); }

}  // namespace heddle::monitor
