// See shapes.h.
#include "topology/file/shapes.h"

#include <algorithm>
#include <string>

#include "topology/fault_order.h"
#include "topology/params.h"
#include "topology/quantity.h"

namespace heddle::topology {
namespace {

constexpr uint32_t kFrameHeaderBytes = 64;  // validate() requires room for it in every queue

// The default threshold of a marking queue: a quarter of the queue, at least two packets.
Bytes usual_threshold(const LinkShape& shape) {
  return {std::max<uint64_t>(shape.queue.count / 4, 2 * uint64_t{shape.mtu_bytes})};
}

// Equal ends mean no ramp: every packet that finds more than the threshold is marked.
void read_ramp(TableReader& table, const LinkShape& base, LinkShape& shape) {
  const bool given =
      table.has("ecn_min") || table.has("ecn_max") || table.has("ecn_max_probability");
  const bool had = base.ecn_ramp.count > 0;
  const Bytes least = table.bytes("ecn_min", shape.ecn_threshold);
  const Bytes most = table.bytes("ecn_max", least);
  const uint32_t share = table.share_per_million(
      "ecn_max_probability", had ? base.ecn_ramp_per_million : params::kUsualRampPerMillion);
  if (!given) {
    if (had && !table.has("ecn_threshold")) return;
    shape.ecn_ramp = {};
    shape.ecn_ramp_per_million = 0;
    return;
  }
  table.need("ecn_min", "say up to how much waiting nothing is marked, like \"100KB\"");
  table.need("ecn_max", "say above how much waiting all is marked, like \"400KB\"");
  if (table.has("ecn_threshold")) {
    table.wrong("ecn_threshold", "'ecn_min' and 'ecn_max' say when packets are marked",
                "remove it, or these");
  }
  if (most <= least) table.wrong("ecn_max", "it is not above 'ecn_min'", "make it larger");
  shape.ecn_threshold = least;
  shape.ecn_ramp = {most.count - std::min(most.count, least.count)};
  shape.ecn_ramp_per_million = share;
}

void read_ecn(TableReader& table, const LinkSettings& base, LinkShape& shape) {
  const bool was_on = base.shape.ecn_threshold.count != UINT64_MAX;
  const bool told = table.has("ecn_threshold") || table.has("ecn_min") || table.has("ecn_max");
  const bool on = table.boolean("ecn", was_on || told);
  if (!on && told) {
    const char* const key = table.has("ecn_threshold") ? "ecn_threshold" : "ecn_min";
    table.wrong(key, "'ecn' is false", "remove one of the two keys");
  }
  const bool keeps = was_on && (!table.has("queue") || base.shape.ecn_ramp.count > 0);
  const Bytes usual = keeps ? base.shape.ecn_threshold : usual_threshold(shape);
  shape.ecn_threshold = table.bytes("ecn_threshold", usual);
  read_ramp(table, base.shape, shape);
  if (on) return;
  shape.ecn_threshold = {UINT64_MAX};
  shape.ecn_ramp = {};
  shape.ecn_ramp_per_million = 0;
}

}  // namespace

LinkSettings read_link_settings(TableReader& table, const LinkSettings& base) {
  LinkSettings settings = base;
  LinkShape& shape = settings.shape;
  shape.rate = table.rate("rate", shape.rate);
  shape.delay = table.time("delay", shape.delay);
  if (shape.delay > params::file::kMostDelay) {
    table.wrong("delay", "a delay of more than 10 s is on no link", "give 10 s or less");
  }
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

namespace {

void read_balancing(TableReader& table, SwitchShape& shape) {
  const std::string name = table.text("balancing", std::string(name_of(shape.balancing)));
  if (const auto balancing = balancing_named(name)) {
    shape.balancing = *balancing;
  } else {
    table.wrong("balancing", "there is no balancing \"" + name + "\"",
                "give \"ecmp\", \"flowlet\", \"spray\" or \"adaptive\"");
  }
  shape.flowlet_gap = table.time("flowlet_gap", shape.flowlet_gap);
  if (table.has("flowlet_gap") && shape.balancing != Balancing::kFlowlet) {
    table.wrong("flowlet_gap", "'balancing' is not \"flowlet\"", "set it, or remove this key");
  }
}

}  // namespace

SwitchShape read_switch_shape(TableReader& table, const SwitchShape& base) {
  SwitchShape shape = base;
  shape.buffer = table.bytes("buffer", base.buffer);
  const std::string alpha = table.text("alpha", "");
  if (table.has("alpha")) {
    if (const auto parsed = parse_fraction(alpha)) {
      shape.alpha = parsed->first;
      shape.alpha_divisor = parsed->second;
    } else {
      table.wrong("alpha", "'alpha' is \"" + alpha + "\"",
                  "give a whole number or a fraction, like \"8\" or \"1/2\"");
    }
  }
  shape.reserve = table.bytes("reserve", base.reserve);
  shape.trims = table.boolean("trimming", base.trims);
  shape.lossless = table.boolean("pfc", base.lossless);
  shape.xoff = table.bytes("xoff", base.xoff);
  shape.xon = table.bytes("xon", base.xon);
  read_balancing(table, shape);
  for (const char* key : {"alpha", "reserve", "pfc"}) {
    const bool asked = std::string(key) != "pfc" || shape.lossless;
    if (!table.has(key) || !asked || shape.buffer.count > 0) continue;
    table.wrong(key, "the switch has no 'buffer'", "say how much memory its ports share");
  }
  for (const char* key : {"xoff", "xon"}) {
    if (table.has(key) && !shape.lossless) {
      table.wrong(key, "'pfc' is not set: nothing is paused", "set it, or remove this key");
    }
  }
  return shape;
}

}  // namespace heddle::topology
