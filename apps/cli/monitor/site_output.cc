// See site_output.h.
#include "apps/cli/monitor/site_output.h"

#include <fmt/format.h>

#include <utility>

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
  Result<messaging::NatsAddress> address = messaging::parse_nats_address(options.publish);
  if (!address) return fail(std::move(address).error());
  Result<messaging::NatsAccess> access = messaging::read_nats_access(options.access);
  if (!access) return fail(std::move(access).error());
  const Nanos every = *parse_duration(options.state_every);
  monitor::Publication publication(address->subject, job, every);
  Result<std::unique_ptr<messaging::Publisher>> publisher =
      messaging::Publisher::start({.address = std::move(*address),
                                   .access = std::move(*access),
                                   .name = "heddle monitor " + messaging::subject_token(job.name)});
  if (!publisher) return fail(std::move(publisher).error());
  return std::unique_ptr<SiteOutput>(
      new SiteOutput(std::move(*publisher), std::move(publication), every, std::move(warn)));
}

SiteOutput::SiteOutput(std::unique_ptr<messaging::Publisher> publisher,
                       monitor::Publication publication, Nanos every, Warn warn)
    : publisher_(std::move(publisher)),
      publication_(std::move(publication)),
      every_(every),
      warn_(std::move(warn)) {}

void SiteOutput::change(const monitor::AlarmChange& change, const monitor::WatchState& state) {
  publisher_->post(publication_.change(change, state));
}

void SiteOutput::look(const monitor::WatchDocument& document, Nanos now) {
  last_ = document;
  if (now >= state_at_ && !document.state.over) {
    state_at_ = now + every_;
    publisher_->post(publication_.state(document, publisher_->state(), false));
  }
  warn_of_changes();
}

void SiteOutput::sample(const monitor::WatchDocument& document,
                        const monitor::SeriesInterval& interval) {
  for (messaging::Message& each : publication_.series(document, interval)) {
    publisher_->post(std::move(each));
  }
}

void SiteOutput::finish(bool interrupted) {
  const messaging::PublisherState state = publisher_->state();
  publisher_->post(publication_.state(last_, state, true));
  const Nanos within = !interrupted      ? kFinishWithin
                       : state.connected ? kInterruptedWithin
                                         : Nanos{};
  if (!publisher_->finish(within)) {
    warn_(fmt::format("{} could not be published",
                      counted_text(publisher_->state().waiting, "message")));
  }
  warn_of_changes();
}

// Each complaint once, and at intervals how much was dropped.
void SiteOutput::warn_of_changes() {
  const messaging::PublisherState state = publisher_->state();
  if (state.complaint != complaint_ && !state.complaint.empty()) warn_(state.complaint);
  complaint_ = state.complaint;
  const Nanos now = steady_now();
  if (state.dropped <= dropped_ || now < dropped_at_ + kWarnEvery) return;
  warn_(fmt::format("{} could not be published in time and {} dropped, {} in all",
                    counted_text(state.dropped - dropped_, "message"),
                    state.dropped - dropped_ == 1 ? "was" : "were", state.dropped));
  dropped_ = state.dropped;
  dropped_at_ = now;
}

}  // namespace heddle::cli
