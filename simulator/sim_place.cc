// Placement on the simulated datapath: host memory is copied, virtual memory is updated with the
// content's reference. Copies of a batch act as if every source were read before any target is
// written.
#include <cstring>

#include "base/check.h"
#include "simulator/sim_datapath.h"

namespace heddle::simulator {

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

void SimDatapath::place(std::span<const Placement> placements) {
  const Inside inside(call_observer_);
  gather_contents(placements);
  host_copies_.clear();
  for (const Placement& placement : placements) {
    if (!is_virtual(placement.to_region) && !reads_virtual(placement)) {
      host_copies_.push_back(placement);
    }
  }
  regions_.place(host_copies_);
  size_t first = 0;
  for (size_t i = 0; i < placements.size(); ++i) {
    const Placement& placement = placements[i];
    const uint64_t total = total_bytes(placement);
    const size_t end = content_ends_[i];
    if (end > first) write_contents(placement, std::span(contents_).subspan(first, end - first));
    first = end;
    statistics_.payload_copied_bytes += total;
    if (total > 0) report_write(placement.to_region, placement.to_offset, total, true);
  }
}

// Collects the content of sources that are not plain host bytes in contents_; content_ends_ has the
// end of each placement.
void SimDatapath::gather_contents(std::span<const Placement> placements) {
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

void SimDatapath::write_contents(const Placement& placement, std::span<const Content> contents) {
  uint64_t at = placement.to_offset;
  for (const Content& content : contents) {
    if (is_virtual(placement.to_region)) {
      network_.virtual_memory().write(placement.to_region, at, content);
    } else {
      fill(regions_.resolve({placement.to_region, at, content.length}), content);
    }
    at += content.length;
  }
}

void SimDatapath::fill(std::byte* to, const Content& content) const {
  if (content.name == kUnknownBytes) {
    std::memset(to, 0xbd, content.length);
  } else {
    const uint64_t pattern = network_.virtual_memory().pattern(content.name);
    datapath::fill_pattern(pattern, content.at, {to, content.length});
  }
}

void SimDatapath::report_write(RegionId region, uint64_t offset, uint64_t length, bool copied) {
  if (observer_ != nullptr && length > 0) observer_->handle_write({region, offset, length}, copied);
}

}  // namespace heddle::simulator
