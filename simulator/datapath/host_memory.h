// HostMemory: the memory that a process has registered with a simulated datapath: host regions,
// whose bytes are copied, and virtual ones, whose content is a reference (see VirtualMemory). It
// reports every write to the observer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "datapath/regions.h"
#include "simulator/datapath/options.h"
#include "simulator/network.h"
#include "simulator/virtual_memory.h"
#include "transport/payload.h"

namespace heddle::simulator {

class HostMemory {
 public:
  explicit HostMemory(Network& network) : network_(network) {}

  void set_observer(WriteObserver* observer) { observer_ = observer; }

  transport::RegionId add_host(void* start, uint64_t bytes);
  // Initially holds the bytes of `pattern`.
  transport::RegionId add_virtual(uint64_t pattern, uint64_t bytes);
  void remove(transport::RegionId region);
  // Differs between all registrations; nothing: it is not registered.
  std::optional<uint32_t> generation(transport::RegionId region) const;
  uint64_t bytes(transport::RegionId region) const;
  const datapath::RegionTable& regions() const { return regions_; }

  // The address of host memory; CHECKs that it is registered.
  std::byte* resolve(const transport::Payload& payload) const { return regions_.resolve(payload); }
  // The current content of virtual bytes; a range across pieces of different origin becomes
  // kUnknownBytes.
  Content content_of(const transport::Payload& range);

  // Into a region of either kind; not reported.
  void write(transport::RegionId region, uint64_t offset, const Content& content);
  // Host memory is copied, virtual memory is updated with the content's reference. Copies of a
  // batch act as if every source were read before any target is written. Returns their bytes.
  uint64_t place(std::span<const transport::Placement> placements);
  // Leaves garbage there, like a scattered receive.
  void scribble(const transport::Payload& range);
  // `copied`: by place().
  void report_write(const transport::Payload& range, bool copied);

 private:
  void gather_contents(std::span<const transport::Placement> placements);
  void write_contents(const transport::Placement& placement, std::span<const Content> contents);
  void fill(std::byte* to, const Content& content) const;

  Network& network_;
  WriteObserver* observer_ = nullptr;
  datapath::RegionTable regions_;
  std::map<transport::RegionId, uint32_t> generations_;  // of registered regions
  std::vector<Content> contents_;                        // scratch
  std::vector<size_t> content_ends_;                     // scratch of place()
  std::vector<transport::Placement> host_copies_;        // the same
};

}  // namespace heddle::simulator
