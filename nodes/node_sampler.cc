// See node_sampler.h.
#include "nodes/node_sampler.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "nodes/counted.h"
#include "nodes/tree_files.h"

namespace heddle::nodes {
namespace {

// "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234", then a line of "full"; in microseconds.
// Nothing: it is not there, or cannot be read.
std::optional<uint64_t> total_stall(const std::string& text) {
  constexpr std::string_view kTotal = "total=";
  const size_t at = text.find(kTotal);
  if (at == std::string::npos) return std::nullopt;
  uint64_t micros = 0;
  const char* const begin = text.data() + at + kTotal.size();
  const auto parsed = std::from_chars(begin, text.data() + text.size(), micros);
  return parsed.ec == std::errc() ? std::optional(micros) : std::nullopt;
}

}  // namespace

NodeSampler::NodeSampler(const SamplerSources& sources, Clock clock)
    : NodeSampler(sources, clock, KernelLog(sources.kernel_log)) {}

NodeSampler::NodeSampler(const SamplerSources& sources, Clock clock, KernelLog log)
    : clock_(clock),
      log_(std::move(log)),
      rdma_(sources.sys),
      cpu_{sources.proc / "pressure/cpu"},
      memory_{sources.proc / "pressure/memory"},
      io_{sources.proc / "pressure/io"} {
  Result<LinkReader> links = LinkReader::open();
  if (links) links_.emplace(std::move(*links));
  if (!links) links_complaint_ = links.error().message();
  if (!total_stall(bytes_in(cpu_.path))) {
    stalls_complaint_ = "stalls of tasks are not recorded: " + cpu_.path +
                        " cannot be read (the kernel needs CONFIG_PSI, and psi=1 at its start)";
  }
  class : public events::Sink {
  } ignored;  // of the first sample, which has no span
  sample(ignored);
}

std::vector<std::string> NodeSampler::complaints() const {
  std::vector<std::string> made;
  for (const std::string& each : {log_.complaint(), links_complaint_, stalls_complaint_}) {
    if (!each.empty()) made.push_back(each);
  }
  return made;
}

Nanos NodeSampler::stalled(Pressure& pressure) const {
  const std::optional<uint64_t> now = total_stall(bytes_in(pressure.path));
  if (!now) return {};
  const std::optional<uint64_t> before = std::exchange(pressure.micros, now);
  return before ? micros(static_cast<int64_t>(counted_since(*before, *now))) : Nanos{};
}

void NodeSampler::sample_links(Nanos now, events::Sink& sink) {
  if (!links_) return;
  take_links(sink);
  const Result<std::vector<LinkState>> links = links_->read();
  if (!links) return;
  LinkDeltas::Taken taken = deltas_.take(*links, now, &LinkReader::has_address);
  for (events::NicSampled& each : taken.samples) {
    each.speed_mbits_per_s = links_->speed_of(std::string(each.interface.view()));
    sink.on(each);
  }
  for (const events::NicLinkChanged& each : taken.changes) sink.on(each);
}

void NodeSampler::sample(events::Sink& sink) {
  const Nanos now = clock_();
  sample_links(now, sink);
  for (const events::RdmaPortSampled& each : rdma_.take(now)) sink.on(each);
  events::NodeSampled event{now,          now - sampled_at_, stalled(cpu_), stalled(memory_),
                            stalled(io_), log_.take_lost()};
  sampled_at_ = now;
  sink.on(event);
}

void NodeSampler::take_messages(events::Sink& sink) {
  for (const events::KernelMessage& each : log_.take(clock_())) sink.on(each);
}

void NodeSampler::take_links(events::Sink& sink) {
  const Nanos now = clock_();
  for (const LinkState& each : links_->take_notified()) {
    if (const auto changed = deltas_.note(each, now)) sink.on(*changed);
  }
}

bool NodeSampler::wait(Nanos span, int stop, events::Sink& sink) {
  const Nanos until = clock_() + span;
  while (true) {
    const Nanos left = std::max(until - clock_(), Nanos{});
    std::array<pollfd, 3> watched = {pollfd{stop, POLLIN, 0}, pollfd{log_.descriptor(), POLLIN, 0},
                                     pollfd{links_ ? links_->notifications() : -1, POLLIN, 0}};
    const int ready = ::poll(watched.data(), watched.size(),
                             static_cast<int>((left + millis(1) - Nanos{1}) / millis(1)));
    // First what came before the stop: a thread that had no core finds both at once.
    if (watched[1].revents != 0) take_messages(sink);
    if (watched[2].revents != 0) take_links(sink);
    if (watched[0].revents != 0) return false;
    if (ready <= 0 && clock_() >= until) return true;
    if (clock_() >= until) return true;
  }
}

}  // namespace heddle::nodes
