// See live_figures.h.
#include "acceptance/live_figures.h"

#include <algorithm>

#include "lab/link_meter.h"
#include "topology/names.h"

namespace heddle::acceptance {
namespace {

LiveStage* find(std::vector<LiveStage>& stages, const std::string& name) {
  const auto found = std::find_if(stages.begin(), stages.end(),
                                  [&](const LiveStage& stage) { return stage.name == name; });
  return found == stages.end() ? nullptr : &*found;
}

double number(const Json& data, const char* name) { return data.value(name, 0.0); }

FromTo from_to(const Json& data) { return {data.value("from", ""), data.value("to", "")}; }

LiveLatency latency_of(const Json& data) {
  return {number(data, "half_round_trip_us_p50"), number(data, "half_round_trip_us_p99")};
}

void take_data(const Json& data, LiveSnapshot& now) {
  for (const Json& pair : data.value("pairs", Json::array())) {
    const double segments = number(pair, "segments");
    now.pairs[from_to(pair)] = {
        .goodput_bits_per_s = number(pair, "goodput_bits_per_s"),
        .allowed_bits_per_s = number(pair, "allowed_bits_per_s"),
        .retransmitted_share = segments == 0 ? 0 : number(pair, "retransmitted") / segments,
        .latency = latency_of(pair)};
    for (const Json& path : pair.value("paths", Json::array())) {
      now.paths[{from_to(pair), path.value("path", 0U)}] = {number(path, "goodput_bits_per_s"),
                                                            number(path, "rtt_us"),
                                                            number(path, "lost_segments")};
    }
  }
  for (const Json& size : data.value("sizes", Json::array())) {
    now.all_reduces[size.value("bytes", uint64_t{0})] = {number(size, "bus_bits_per_s"),
                                                         number(size, "bound_bits_per_s")};
  }
  if (const auto victim = data.find("victim"); victim != data.end()) {
    now.bystanders[from_to(*victim)] = latency_of(*victim);
  }
}

void raise(const LinkLoad& now, LinkLoad& load) {
  load.peak_bits_per_s = std::max(load.peak_bits_per_s, now.peak_bits_per_s);
  load.bytes = std::max(load.bytes, now.bytes);
  load.dropped = std::max(load.dropped, now.dropped);
  load.errors = std::max(load.errors, now.errors);
  load.marked = std::max(load.marked, now.marked);
}

}  // namespace

void LiveFigures::begin(const topology::Topology& fabric, const std::vector<std::string>& stages,
                        const std::vector<std::vector<HostPair>>& rounds) {
  const std::map<LinkUse, double> offered = offered_by(fabric, rounds);
  const auto offered_to = [&](uint32_t link, bool forward) {
    const auto found = offered.find({link, forward});
    return found == offered.end() ? 0 : found->second;
  };
  const std::lock_guard lock(mutex_);
  for (const std::string& name : stages) now_.stages.push_back({.name = name});
  for (uint32_t i = 0; i < fabric.links.size(); ++i) {
    const topology::Link& link = fabric.links[i];
    const std::string a = topology::node_label(fabric, link.a);
    const std::string b = topology::node_label(fabric, link.b);
    const std::string label = topology::link_label(fabric, i);
    const auto rate = static_cast<double>(link.shape.rate.count);
    now_.links.push_back({a, b, label, rate, offered_to(i, true), {}});
    now_.links.push_back({b, a, label, rate, offered_to(i, false), {}});
  }
}

void LiveFigures::begin_stage(const std::string& name) {
  const std::lock_guard lock(mutex_);
  stage_start_ = lab::meter_now();
  LiveStage* stage = find(now_.stages, name);
  if (stage == nullptr) stage = &now_.stages.emplace_back(LiveStage{.name = name});
  stage->running = true;
}

void LiveFigures::end_stage(const StageReport& report) {
  const std::lock_guard lock(mutex_);
  LiveStage* const stage = find(now_.stages, report.name);
  if (stage == nullptr) return;
  stage->running = false;
  stage->outcome = report.outcome;
  stage->seconds = report.seconds;
  stage->grade = grade_of(report);
  for (const Row& row : report.rows) {
    if (!is_information(row)) ++stage->checks[row.grade];
  }
  take_data(report.data, now_);
}

void LiveFigures::set_loads(const std::vector<CarriedLoad>& totals, double others_busy_share) {
  const std::lock_guard lock(mutex_);
  now_.others_busy_share = others_busy_share;
  for (size_t i = 0; i < totals.size() && 2 * i + 1 < now_.links.size(); ++i) {
    raise(totals[i].forward, now_.links[2 * i].load);
    raise(totals[i].backward, now_.links[2 * i + 1].load);
    now_.links[2 * i].counted = now_.links[2 * i + 1].counted = totals[i].known;
  }
}

void LiveFigures::set_nics(const std::vector<PlaceCounts>& now) {
  const std::lock_guard lock(mutex_);
  for (const PlaceCounts& place : now) {
    if (place.is_switch || !place.known) continue;
    for (const NicCounts& nic : place.nics) {
      const HostDevice key{place.place, nic.device};
      auto& first = first_nics_[key];
      LiveNic& live = now_.nics[key];
      live.is_rdma = nic.is_rdma;
      live.carrier = nic.carrier;
      for (const auto& [name, count] : nic.counts) {
        const uint64_t before = first.try_emplace(name, count).first->second;
        uint64_t& counted = live.counts[name];
        counted = std::max(counted, count < before ? 0 : count - before);
      }
    }
  }
}

LiveSnapshot LiveFigures::snapshot() const {
  const std::lock_guard lock(mutex_);
  LiveSnapshot snapshot = now_;
  for (LiveStage& stage : snapshot.stages) {
    if (stage.running) stage.seconds = to_seconds(lab::meter_now() - stage_start_);
  }
  return snapshot;
}

}  // namespace heddle::acceptance
