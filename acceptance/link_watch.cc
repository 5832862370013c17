// See link_watch.h.
#include "acceptance/link_watch.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "acceptance/host_facts.h"
#include "acceptance/params.h"
#include "lab/counts.h"
#include "nodes/counted.h"

namespace heddle::acceptance {
namespace {

void set_totals(const lab::DirectionCounts& before, const lab::DirectionCounts& now, LinkLoad& load,
                uint64_t& packets) {
  load.bytes = nodes::counted_since(before.bytes, now.bytes);
  load.dropped = nodes::counted_since(before.dropped, now.dropped);
  load.marked = nodes::counted_since(before.marked, now.marked);
  load.errors = nodes::counted_since(before.lost, now.lost) +
                nodes::counted_since(before.corrupted, now.corrupted) +
                nodes::counted_since(before.swallowed, now.swallowed);
  packets = nodes::counted_since(before.packets, now.packets);
}

class LabWatch final : public LinkWatch {
 public:
  LabWatch(const lab::Lab& lab, lab::LinkMeter meter) : lab_(lab), meter_(std::move(meter)) {}

  Result<void> look() override;
  Result<std::vector<CarriedLoad>> loads() override { return loads_since(start_); }
  Result<void> restart() override;
  Result<std::vector<CarriedLoad>> totals() override { return loads_since(first_); }
  std::vector<PlaceCounts> nics() override {
    return read_lab_counts(lab_).value_or(std::vector<PlaceCounts>());
  }

 private:
  Result<std::vector<CarriedLoad>> loads_since(const lab::Counts& start) const;

  const lab::Lab& lab_;
  lab::LinkMeter meter_;
  lab::Counts first_;  // when the watch began
  lab::Counts start_;
  std::deque<lab::MeterReading> readings_;  // of the last kPeakSpan
  std::vector<CarriedLoad> loads_;          // with the highest rates so far
};

}  // namespace

double rate_between(uint64_t before, uint64_t now, Nanos span) {
  return now < before ? 0 : static_cast<double>(now - before) * 8 / to_seconds(span);
}

void raise_peaks(const lab::MeterReading& before, const lab::MeterReading& now,
                 std::vector<CarriedLoad>& loads) {
  const Nanos span = now.at - before.at;
  if (span.count <= 0) return;
  for (size_t i = 0; i < loads.size(); ++i) {
    double& forward = loads[i].forward.peak_bits_per_s;
    double& backward = loads[i].backward.peak_bits_per_s;
    const lab::LinkBytes& then = before.links[i];
    forward = std::max(forward, rate_between(then.forward, now.links[i].forward, span));
    backward = std::max(backward, rate_between(then.backward, now.links[i].backward, span));
  }
}

Result<std::unique_ptr<LinkWatch>> watch_lab(const lab::Lab& lab) {
  Result<lab::LinkMeter> meter = lab::LinkMeter::open(lab.layout);
  if (!meter) return fail(std::move(meter).error());
  auto watch = std::make_unique<LabWatch>(lab, std::move(*meter));
  if (Result<void> started = watch->restart(); !started) return fail(started.error());
  return std::unique_ptr<LinkWatch>(std::move(watch));
}

Result<void> LabWatch::restart() {
  Result<lab::Counts> counts = lab::read_counts(lab_.layout);
  if (!counts) return fail(std::move(counts).error());
  start_ = std::move(*counts);
  if (first_.links.empty()) first_ = start_;
  readings_.clear();
  loads_.assign(lab_.layout.topology.links.size(), {});
  return look();
}

Result<void> LabWatch::look() {
  if (!readings_.empty() && lab::meter_now() - readings_.back().at < params::kMeterInterval) {
    return {};
  }
  Result<lab::MeterReading> reading = meter_.read();
  if (!reading) return fail(std::move(reading).error());
  while (readings_.size() > 1 && reading->at - readings_[1].at >= params::kPeakSpan) {
    readings_.pop_front();
  }
  if (!readings_.empty() && reading->at - readings_.front().at >= params::kPeakSpan) {
    raise_peaks(readings_.front(), *reading, loads_);
  }
  readings_.push_back(std::move(*reading));
  return {};
}

Result<std::vector<CarriedLoad>> LabWatch::loads_since(const lab::Counts& start) const {
  const Result<lab::Counts> now = lab::read_counts(lab_.layout);
  if (!now) return fail(now.error());
  std::vector<CarriedLoad> loads = loads_;
  for (size_t i = 0; i < loads.size(); ++i) {
    set_totals(start.links[i].forward, now->links[i].forward, loads[i].forward,
               loads[i].forward_packets);
    set_totals(start.links[i].backward, now->links[i].backward, loads[i].backward,
               loads[i].backward_packets);
  }
  return loads;
}

}  // namespace heddle::acceptance
