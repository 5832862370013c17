// See site_output.h.
#include "apps/cli/monitor/site_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "apps/cli/monitor/database_access.h"
#include "apps/cli/monitor/params.h"
#include "base/clocks.h"
#include "base/quantity.h"
#include "messaging/nats_address.h"

namespace heddle::cli {

Result<std::unique_ptr<SiteOutput>> SiteOutput::make(const SiteOptions& options,
                                                     monitor::PublishedJob job, Warn warn) {
  // States come with looks.
  job.every = std::max(job.every, *parse_duration(options.state_every));
  std::unique_ptr<SiteOutput> made(new SiteOutput(job.every, std::move(warn)));
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
  publication_ = std::make_unique<monitor::Publication>(address->subject, job);
  Result<std::unique_ptr<messaging::Publisher>> publisher =
      messaging::Publisher::start({.address = std::move(*address),
                                   .access = std::move(*access),
                                   .name = "heddle monitor " + messaging::subject_token(job.name),
                                   .repeat_every = every_});
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
  warn_of_changes(false);
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

void SiteOutput::finish(const std::function<bool()>& interrupted) {
  if (publisher_) publisher_->post(publication_->state(last_, published(), true));
  if (store_) {
    store_->add(last_);
    store_->finish();
  }
  const Nanos began = steady_now();
  Nanos interrupted_at = Nanos::never();
  while (!finished()) {
    const Nanos now = steady_now();
    if (interrupted()) interrupted_at = std::min(interrupted_at, now);
    const bool in_time = interrupted_at == Nanos::never()
                             ? now - began < params::monitor::kFinishWithin
                             : now - interrupted_at < params::monitor::kInterruptedWithin;
    // What nothing takes is not waited for.
    if (!in_time || (interrupted() && !store_ && !published().connected)) break;
  }
  warn_of_rest();
  warn_of_changes(true);
}

// Waits for a moment.
bool SiteOutput::finished() {
  if (store_) store_->poll(steady_now());
  const bool published = !publisher_ || publisher_->finish(params::monitor::kMoment);
  if (published && (!store_ || !store_->busy())) return true;
  if (published)
    std::this_thread::sleep_for(std::chrono::nanoseconds(params::monitor::kMoment.count));
  return false;
}

void SiteOutput::warn_of_rest() {
  if (publisher_ && published().waiting > 0) {
    warn_(fmt::format("{} could not be published", counted_text(published().waiting, "message")));
  }
  if (!store_ || !store_->busy()) return;
  warn_(fmt::format("{} could not be stored", counted_text(store_->state().waiting, "row")));
}

void SiteOutput::warn_of_changes(bool at_once) {
  if (at_once) of_publisher_.at = of_store_.at = Nanos{};
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
  if (dropped <= reported.dropped || now < reported.at + params::monitor::kWarnEvery) return;
  const uint64_t more = dropped - reported.dropped;
  warn_(fmt::format("{} could not be sent in time and {} dropped, {} in all",
                    counted_text(more, what), more == 1 ? "was" : "were", dropped));
  reported.dropped = dropped;
  reported.at = now;
}

}  // namespace heddle::cli
