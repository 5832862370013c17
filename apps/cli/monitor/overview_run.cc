// See overview_run.h.
#include "apps/cli/monitor/overview_run.h"

#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "apps/cli/json.h"
#include "apps/cli/monitor/live_page.h"
#include "apps/cli/monitor/overview_documents.h"
#include "apps/cli/pages/pages.h"
#include "apps/cli/terminal.h"
#include "base/clocks.h"
#include "base/quantity.h"
#include "lab/run.h"
#include "metrics/server.h"

namespace heddle::cli {
namespace {

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// What the server shows.
class Shown {
 public:
  void set(OverviewDocument document) {
    const std::scoped_lock lock(mutex_);
    document_ = std::move(document);
  }
  std::vector<metrics::Family> families() const {
    const std::scoped_lock lock(mutex_);
    return families_of(document_);
  }
  std::string state() const {
    const std::scoped_lock lock(mutex_);
    return dumped(json_of(document_));
  }

 private:
  mutable std::mutex mutex_;
  OverviewDocument document_;
};

class SiteView {
 public:
  explicit SiteView(const OverviewOptions& options) : options_(options) {}

  Result<int> run() {
    lab::note_signals();
    signal(SIGPIPE, SIG_IGN);  // a reader that has gone is an error of print()
    if (auto begun = subscribe(); !begun) return fail(std::move(begun).error());
    if (auto serving = serve(); !serving) return fail(std::move(serving).error());
    const Nanos began = steady_now();
    const Nanos span = options_.span.empty() ? Nanos::never() : *parse_duration(options_.span);
    while (lab::noted_signal() == 0 && steady_now() - began < span) {
      look();
      if (auto printed = check_output(); !printed) return fail(std::move(printed).error());
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    line_.clear();
    if (lab::noted_signal() != 0) return 128 + lab::noted_signal();
    return finish();
  }

 private:
  Result<void> subscribe() {
    Result<messaging::NatsAddress> address = messaging::parse_nats_address(options_.address);
    if (!address) return fail(std::move(address).error());
    Result<messaging::NatsAccess> access = messaging::read_nats_access(options_.access);
    if (!access) return fail(std::move(access).error());
    subject_ = address->subject;
    Result<std::unique_ptr<messaging::Subscription>> made =
        messaging::Subscription::start({.address = std::move(*address),
                                        .access = std::move(*access),
                                        .name = "heddle monitor --site",
                                        .pattern = subject_ + ".*.*.*"});
    if (!made) return fail(std::move(made).error());
    subscription_ = std::move(*made);
    return {};
  }

  Result<void> serve() {
    Result<std::unique_ptr<metrics::Server>> server =
        cli::serve({.address = options_.serve,
                    .token_file = options_.token_file,
                    .page = kOverviewPage,
                    .title = subject_,
                    .families = [this] { return shown_.families(); },
                    .state = [this] { return shown_.state(); }});
    if (!server) return fail(std::move(server).error());
    server_ = std::move(*server);
    return {};
  }

  void look() {
    const Nanos now = steady_now();
    // Before what has come is taken: it is then at least as new as this.
    const messaging::SubscriptionState server = subscription_->state();
    for (const messaging::Received& each : subscription_->take()) {
      report(overview_.take(each.subject, each.text, now));
    }
    report(overview_.tick(now, {server.connected_at, server.answered_at}));
    warn_of_server();
    if (server_ && now >= shown_at_) {
      shown_at_ = now + millis(500);
      shown_.set(document(now));
    }
    line_.show(fmt::format("{}, {}", counted_text(overview_.jobs().size(), "job"),
                           counted_text(overview_.lasting_alarms(), "fault")));
  }

  void report(const std::vector<monitor::OverviewEvent>& events) {
    if (!events.empty()) line_.clear();
    for (const monitor::OverviewEvent& each : events) {
      print(options_.json ? dumped(json_of(each)) : text_of(each));
    }
  }

  // Each complaint once.
  void warn_of_server() {
    const messaging::SubscriptionState state = subscription_->state();
    if (std::exchange(complaint_, state.complaint) == state.complaint) return;
    if (state.complaint.empty()) return;
    line_.clear();
    print_warning(state.complaint);
  }

  OverviewDocument document(Nanos now) const {
    OverviewDocument made{.jobs = {},
                          .heard_seconds_ago = {},
                          .server = subscription_->state(),
                          .not_read = overview_.not_read(),
                          .ignored = overview_.ignored()};
    for (const auto& [id, job] : overview_.jobs()) {
      made.jobs.push_back(job);
      made.heard_seconds_ago.push_back(1e-9 * static_cast<double>((now - job.heard_at).count));
    }
    return made;
  }

  // After the time that was asked for.
  Result<int> finish() {
    const OverviewDocument last = document(steady_now());
    if (!last.server.connected && last.server.received == 0) {
      return fail(ErrorCode::kUnavailable, "cannot show the jobs of " + options_.address,
                  last.server.complaint, "see that the server runs there");
    }
    if (options_.json) {
      Json end = {{"event", "end"}};
      end.update(json_of(last));
      print(dumped(end));
    } else {
      print(table_of(last));
    }
    bool wrong = false;
    for (const monitor::OverviewJob& job : last.jobs) {
      wrong |= !job.alarms.empty() || job.state == monitor::JobState::kStale;
    }
    return wrong ? kFoundWrong : kDone;
  }

  const OverviewOptions& options_;
  std::string subject_;
  monitor::Overview overview_;
  ProgressLine line_;
  std::string complaint_;  // that was reported, and lasts
  Shown shown_;
  Nanos shown_at_;  // next
  std::unique_ptr<messaging::Subscription> subscription_;
  std::unique_ptr<metrics::Server> server_;  // reads what is shown
};

}  // namespace

int run_overview(const OverviewOptions& options) {
  const Result<int> status = SiteView(options).run();
  if (status) return *status;
  print_error(status.error());
  return kCouldNotRun;
}

}  // namespace heddle::cli
