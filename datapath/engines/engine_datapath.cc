// See engine_datapath.h, and datapath/datapath.h for the contract.
#include "datapath/engines/engine_datapath.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "datapath/engines.h"

namespace heddle::datapath {

using transport::kAnyEngine;
using transport::kEveryEngine;
using transport::PayloadAt;
using transport::Prediction;
using transport::RegionId;
using transport::RxRun;

std::vector<std::unique_ptr<Datapath>> with_engines(std::vector<std::unique_ptr<Datapath>> inner) {
  CHECK(!inner.empty() && inner.size() <= transport::kMostEngines);
  auto inboxes = std::make_shared<EngineDatapath::Inboxes>();
  for (size_t i = 0; i < inner.size(); ++i) inboxes->push_back(std::make_unique<Inbox>());
  std::vector<std::unique_ptr<Datapath>> made;
  for (size_t i = 0; i < inner.size(); ++i) {
    made.push_back(
        std::make_unique<EngineDatapath>(std::move(inner[i]), static_cast<uint8_t>(i), inboxes));
  }
  return made;
}

EngineDatapath::EngineDatapath(std::unique_ptr<Datapath> inner, uint8_t index,
                               std::shared_ptr<const Inboxes> inboxes)
    : ForwardingDatapath(std::move(inner)),
      share_{.index = index, .count = static_cast<uint8_t>(inboxes->size())},
      inboxes_(std::move(inboxes)) {
  (*inboxes_)[index]->set_owner(&this->inner());
}

EngineDatapath::~EngineDatapath() { (*inboxes_)[share_.index]->set_owner(nullptr); }

size_t EngineDatapath::receive(RxBatch& batch, const Prediction* prediction) {
  inner().receive(batch, prediction);
  inner_lent_ = batch.count + batch.event_count > 0;
  sort_out(batch);
  take_handed(batch);
  // A batch for others alone holds nothing for the caller, who then does not release it.
  if (inner_lent_ && batch.count + batch.event_count == 0) release(batch);
  return batch.count;
}

void EngineDatapath::release(RxBatch& batch) {
  if (handed_.all_taken()) handed_.clear();
  if (std::exchange(inner_lent_, false)) inner().release(batch);
  batch.count = batch.event_count = 0;
}

// --- whose a datagram is ---

uint8_t EngineDatapath::owner_of(const RxRun& run, uint32_t segment) const {
  const bool whole = run.payload_at == PayloadAt::kFrame;
  const uint32_t bytes = segment + 1 == run.segments ? run.last_segment_bytes : run.segment_bytes;
  const size_t step = whole ? run.step() : run.header_bytes;
  const size_t here = whole ? bytes : std::min(bytes, run.header_bytes);
  const uint8_t owner = transport::engine_of({run.frame + segment * step, here}, share_);
  return owner == kAnyEngine ? share_.index : owner;
}

bool EngineDatapath::is_own(const RxRun& run) const {
  for (uint32_t i = 0; i < run.segments; ++i) {
    if (owner_of(run, i) != share_.index) return false;
  }
  return true;
}

// Rare: runs that hold datagrams of others are cut where the owner changes.
void EngineDatapath::sort_out(RxBatch& batch) {
  size_t own = 0;
  while (own < batch.count && is_own(batch.runs[own])) ++own;
  if (own == batch.count) return;
  unsorted_.assign(batch.runs.begin() + static_cast<ptrdiff_t>(own),
                   batch.runs.begin() + static_cast<ptrdiff_t>(batch.count));
  batch.count = own;
  for (const RxRun& run : unsorted_) split(run, batch);
}

void EngineDatapath::split(const RxRun& run, RxBatch& batch) {
  const bool placed = run.payload_at == PayloadAt::kPlaced;
  HandedRuns::Part part{.run = &run};
  if (placed) part.payload = memory_[run.place.region] + run.place.offset;
  for (; part.first < run.segments; part.first = part.end) {
    const uint8_t owner = owner_of(run, part.first);
    part.end = part.first + 1;
    while (part.end < run.segments && owner_of(run, part.end) == owner) ++part.end;
    if (owner == kEveryEngine) {
      for (uint8_t to = 0; to < share_.count; ++to) {
        if (to != share_.index) hand_over(part, to);
      }
    }
    if (owner == share_.index || owner == kEveryEngine) {
      keep(part, batch);
    } else {
      hand_over(part, owner);
    }
  }
}

void EngineDatapath::keep(const HandedRuns::Part& part, RxBatch& batch) {
  // A run was cut into more parts than there are places.
  if (batch.count == batch.runs.size()) return hand_over(part, share_.index);
  const RxRun& from = *part.run;
  RxRun& run = batch.runs[batch.count++] = from;
  run.segments = part.end - part.first;
  run.last_segment_bytes = part.bytes_of(part.end - 1);
  if (from.payload_at == PayloadAt::kPlaced) {
    run.frame += size_t{part.first} * from.header_bytes;
    run.place.offset += uint64_t{part.first} * (from.segment_bytes - from.header_bytes);
  } else {
    run.frame += size_t{part.first} * from.step();
    run.frame_step = from.step();
  }
  if (run.segments == 1) run.segment_bytes = run.last_segment_bytes;
}

void EngineDatapath::hand_over(const HandedRuns::Part& part, uint8_t to) {
  const bool added = (*inboxes_)[to]->add(part);
  (added ? handed_over_ : dropped_) += part.end - part.first;
}

void EngineDatapath::take_handed(RxBatch& batch) {
  if (handed_.all_taken()) {
    handed_.clear();
    if (!(*inboxes_)[share_.index]->take(handed_)) return;
  }
  while (batch.count < batch.runs.size() && handed_.next(batch.runs[batch.count])) ++batch.count;
}

// --- memory and counters ---

Result<RegionId> EngineDatapath::register_memory(void* start, size_t bytes) {
  Result<RegionId> region = inner().register_memory(start, bytes);
  if (region) note_memory(*region, start);
  return region;
}

Result<RegionId> EngineDatapath::register_device_memory(const DeviceMemory& memory, size_t bytes) {
  Result<RegionId> region = inner().register_device_memory(memory, bytes);
  if (region) note_memory(*region, memory.mapping);
  return region;
}

void EngineDatapath::note_memory(RegionId region, void* start) {
  if (region >= memory_.size()) memory_.resize(region + size_t{1});
  memory_[region] = static_cast<std::byte*>(start);
}

const DatapathStatistics& EngineDatapath::statistics() const {
  statistics_ = inner().statistics();
  statistics_.handed_over = handed_over_;
  statistics_.dropped_at_receive += dropped_;
  return statistics_;
}

}  // namespace heddle::datapath
