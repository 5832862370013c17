// HostMemory: see host_memory.h.
#include "simulator/datapath/host_memory.h"

#include <cstring>

namespace heddle::simulator {

using transport::Payload;
using transport::PayloadAt;
using transport::Placement;
using transport::RegionId;

namespace {

uint64_t total_bytes(const Placement& placement) {
  if (placement.segments == 0) return 0;
  return uint64_t{placement.segments - 1u} * placement.bytes + placement.last_bytes;
}

bool reads_virtual(const Placement& placement) {
  return placement.payload_at == PayloadAt::kVirtual ||
         (placement.payload_at == PayloadAt::kPlaced && is_virtual(placement.from.region));
}

}  // namespace

// --- registration ---

RegionId HostMemory::add_host(void* start, uint64_t bytes) {
  const RegionId region = regions_.add_host(start, bytes);
  generations_[region] = network_.next_generation();
  return region;
}

RegionId HostMemory::add_virtual(uint64_t pattern, uint64_t bytes) {
  const RegionId region = network_.virtual_memory().add(pattern, bytes);
  generations_[region] = network_.next_generation();
  return region;
}

void HostMemory::remove(RegionId region) {
  generations_.erase(region);
  if (is_virtual(region)) {
    network_.virtual_memory().remove(region);
  } else {
    regions_.remove(region);
  }
}

std::optional<uint32_t> HostMemory::generation(RegionId region) const {
  const auto found = generations_.find(region);
  if (found == generations_.end()) return std::nullopt;
  return found->second;
}

uint64_t HostMemory::bytes(RegionId region) const {
  return is_virtual(region) ? network_.virtual_memory().bytes(region) : regions_.at(region).bytes;
}

// --- contents ---

Content HostMemory::content_of(const Payload& range) {
  contents_.clear();
  network_.virtual_memory().read(range, contents_);
  if (contents_.size() == 1) return contents_.front();
  return {kUnknownBytes, 0, range.length};
}

void HostMemory::write(RegionId region, uint64_t offset, const Content& content) {
  if (is_virtual(region)) {
    network_.virtual_memory().write(region, offset, content);
  } else {
    fill(regions_.resolve({region, offset, content.length}), content);
  }
}

uint64_t HostMemory::place(std::span<const Placement> placements) {
  gather_contents(placements);
  host_copies_.clear();
  for (const Placement& placement : placements) {
    if (!is_virtual(placement.to_region) && !reads_virtual(placement)) {
      host_copies_.push_back(placement);
    }
  }
  regions_.place(host_copies_);
  uint64_t copied = 0;
  size_t first = 0;
  for (size_t i = 0; i < placements.size(); ++i) {
    const Placement& placement = placements[i];
    const uint64_t total = total_bytes(placement);
    const size_t end = content_ends_[i];
    if (end > first) write_contents(placement, std::span(contents_).subspan(first, end - first));
    first = end;
    copied += total;
    if (total > 0) report_write({placement.to_region, placement.to_offset, total}, true);
  }
  return copied;
}

// Collects the content of sources that are not plain host bytes in contents_; content_ends_ has the
// end of each placement.
void HostMemory::gather_contents(std::span<const Placement> placements) {
  contents_.clear();
  content_ends_.clear();
  for (const Placement& placement : placements) {
    const uint64_t total = total_bytes(placement);
    if (total > 0) {
      if (placement.payload_at == PayloadAt::kVirtual) {
        contents_.push_back({placement.from.region, placement.from.offset, total});
      } else if (reads_virtual(placement)) {
        network_.virtual_memory().read({placement.from.region, placement.from.offset, total},
                                       contents_);
      } else if (is_virtual(placement.to_region)) {
        contents_.push_back({kUnknownBytes, 0, total});
      }
    }
    content_ends_.push_back(contents_.size());
  }
}

void HostMemory::write_contents(const Placement& placement, std::span<const Content> contents) {
  uint64_t at = placement.to_offset;
  for (const Content& content : contents) {
    write(placement.to_region, at, content);
    at += content.length;
  }
}

void HostMemory::fill(std::byte* to, const Content& content) const {
  if (content.name == kUnknownBytes) {
    std::memset(to, 0xbd, content.length);
  } else {
    const uint64_t pattern = network_.virtual_memory().pattern(content.name);
    datapath::fill_pattern(pattern, content.at, {to, content.length});
  }
}

void HostMemory::scribble(const Payload& range) {
  if (range.length == 0) return;
  if (is_virtual(range.region)) {
    network_.virtual_memory().write(range.region, range.offset, {kUnknownBytes, 0, range.length});
  } else {
    std::memset(regions_.resolve(range), 0xa5, range.length);
  }
  report_write(range, false);
}

void HostMemory::report_write(const Payload& range, bool copied) {
  if (observer_ != nullptr && range.length > 0) observer_->handle_write(range, copied);
}

}  // namespace heddle::simulator
