// See site_output.h.
#include "apps/cli/monitor/site_output.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>
#include <utility>

#include "apps/cli/monitor/database_access.h"
#include "base/clocks.h"
#include "base/quantity.h"
#include "messaging/nats_address.h"

namespace heddle::cli {
namespace {

constexpr Nanos kFinishWithin = seconds(5);
constexpr Nanos kInterruptedWithin = seconds(1);
constexpr Nanos kWarnEvery = seconds(10);

}  // namespace

Result<std::unique_ptr<SiteOutput>> SiteOutput::make(const SiteOptions& options,
                                                     monitor::PublishedJob job, Warn warn) {
  std::unique_ptr<SiteOutput> made(
      new SiteOutput(*parse_duration(options.state_every), std::move(warn)));
  if (!options.publish.empty()) {
    if (Result<void> opened = made->open_publisher(options, job); !opened) {
      return fail(std::move(opened).error());
    }
  }
  if (!options.store.empty()) {
    if (Result<void> opened = made->open_store(options, job); !opened) {
      return fail(std::move(opened).error());
    }
  }
  return made;
}

Result<void> SiteOutput::open_publisher(const SiteOptions& options,
                                        const monitor::PublishedJob& job) {
  Result<messaging::NatsAddress> address = messaging::parse_nats_address(options.publish);
  if (!address) return fail(std::move(address).error());
  Result<messaging::NatsAccess> access = messaging::read_nats_access(options.access);
  if (!access) return fail(std::move(access).error());
  publication_ = std::make_unique<monitor::Publication>(address->subject, job, every_);
  Result<std::unique_ptr<messaging::Publisher>> publisher =
      messaging::Publisher::start({.address = std::move(*address),
                                   .access = std::move(*access),
                                   .name = "heddle monitor " + messaging::subject_token(job.name)});
  if (!publisher) return fail(std::move(publisher).error());
  publisher_ = std::move(*publisher);
  return {};
}

Result<void> SiteOutput::open_store(const SiteOptions& options, const monitor::PublishedJob& job) {
  Result<monitor::StoreAddress> address = monitor::parse_store_address(options.store);
  if (!address) return fail(std::move(address).error());
  const Result<recordings::HttpPost> post =
      recordings::HttpPost::to(address->url, credentials_of_environment());
  if (!post) return fail(post.error());
  store_ = std::make_unique<monitor::Store>(*post, std::move(address->database), job);
  return {};
}

messaging::PublisherState SiteOutput::published() const {
  return publisher_ ? publisher_->state() : messaging::PublisherState{};
}

void SiteOutput::change(const monitor::AlarmChange& change, const monitor::WatchState& state) {
  if (publisher_) publisher_->post(publication_->change(change, state));
  if (store_) store_->add(change, state);
}

void SiteOutput::look(const monitor::WatchDocument& document, Nanos now) {
  last_ = document;
  if (now >= state_at_ && !document.state.over) {
    state_at_ = now + every_;
    if (publisher_) publisher_->post(publication_->state(document, published(), false));
    if (store_) store_->add(document);
  }
  warn_of_changes();
}

void SiteOutput::sample(const monitor::WatchDocument& document,
                        const monitor::SeriesInterval& interval) {
  if (store_) store_->add(document, interval);
  if (!publisher_) return;
  for (messaging::Message& each : publication_->series(document, interval)) {
    publisher_->post(std::move(each));
  }
}

void SiteOutput::poll(Nanos now) {
  if (store_) store_->poll(now);
}

void SiteOutput::finish(bool interrupted) {
  const messaging::PublisherState state = published();
  if (publisher_) publisher_->post(publication_->state(last_, state, true));
  if (store_) {
    store_->add(last_);
    finish_store(interrupted ? kInterruptedWithin : kFinishWithin);
  }
  const Nanos within = !interrupted      ? kFinishWithin
                       : state.connected ? kInterruptedWithin
                                         : Nanos{};
  if (publisher_ && !publisher_->finish(within)) {
    warn_(fmt::format("{} could not be published",
                      counted_text(publisher_->state().waiting, "message")));
  }
  warn_of_changes();
}

void SiteOutput::finish_store(Nanos within) {
  store_->finish();
  const Nanos end = steady_now() + within;
  while (store_->busy() && steady_now() < end) {
    store_->poll(steady_now());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (!store_->busy()) return;
  warn_(fmt::format("{} could not be stored", counted_text(store_->state().waiting, "row")));
}

void SiteOutput::warn_of_changes() {
  if (publisher_) {
    const messaging::PublisherState state = publisher_->state();
    warn_of(of_publisher_, state.complaint, state.dropped, "message");
  }
  if (store_) {
    const monitor::StoreState state = store_->state();
    warn_of(of_store_, state.complaint, state.dropped, "row");
  }
}

// Each complaint once, and at intervals how much was dropped.
void SiteOutput::warn_of(Reported& reported, const std::string& complaint, uint64_t dropped,
                         const char* what) {
  if (std::exchange(reported.complaint, complaint) != complaint && !complaint.empty()) {
    warn_(complaint);
  }
  const Nanos now = steady_now();
  if (dropped <= reported.dropped || now < reported.at + kWarnEvery) return;
  const uint64_t more = dropped - reported.dropped;
  warn_(fmt::format("{} could not be sent in time and {} dropped, {} in all",
                    counted_text(more, what), more == 1 ? "was" : "were", dropped));
  reported.dropped = dropped;
  reported.at = now;
}

}  // namespace heddle::cli
