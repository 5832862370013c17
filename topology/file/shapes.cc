// The keys of a link: see shapes.h.
#include "topology/file/shapes.h"

#include <algorithm>
#include <string>

#include "topology/fault_order.h"

namespace heddle::topology {
namespace {

constexpr uint32_t kFrameHeaderBytes = 64;  // validate() wants room for it in every queue

// A queue that marks early: a quarter of it, at least two packets.
Bytes usual_threshold(const LinkShape& shape) {
  return {std::max<uint64_t>(shape.queue.count / 4, 2 * uint64_t{shape.mtu_bytes})};
}

void read_ecn(TableReader& table, const LinkSettings& base, LinkShape& shape) {
  const bool was_on = base.shape.ecn_threshold.count != UINT64_MAX;
  const bool on = table.boolean("ecn", was_on || table.has("ecn_threshold"));
  if (!on && table.has("ecn_threshold")) {
    table.wrong("ecn_threshold", "'ecn' is false", "remove one of the two keys");
  }
  const Bytes usual =
      was_on && !table.has("queue") ? base.shape.ecn_threshold : usual_threshold(shape);
  const Bytes threshold = table.bytes("ecn_threshold", usual);
  shape.ecn_threshold = on ? threshold : Bytes{UINT64_MAX};
}

}  // namespace

LinkSettings read_link_settings(TableReader& table, const LinkSettings& base) {
  LinkSettings settings = base;
  LinkShape& shape = settings.shape;
  shape.rate = table.rate("rate", shape.rate);
  shape.delay = table.time("delay", shape.delay);
  shape.mtu_bytes = static_cast<uint32_t>(table.integer("mtu", shape.mtu_bytes, 1'280, 65'535));
  shape.queue = table.bytes("queue", shape.queue);
  if (shape.queue.count < uint64_t{shape.mtu_bytes} + kFrameHeaderBytes) {
    table.wrong(
        table.has("queue") ? "queue" : "mtu", "the queue does not hold one full packet",
        "make 'queue' at least " + std::to_string(shape.mtu_bytes + kFrameHeaderBytes) + " bytes");
  }
  read_ecn(table, base, shape);
  LinkFaults& faults = settings.faults;
  faults.loss_per_million = table.share_per_million("loss", faults.loss_per_million);
  const uint32_t corrupt = faults.corrupt_header_per_million + faults.corrupt_payload_per_million;
  set_corruption(faults, table.share_per_million("corrupt", corrupt));
  set_reordering(faults, table.share_per_million("reorder", faults.reorder_per_million));
  return settings;
}

}  // namespace heddle::topology
