// `heddle lab fault`: breaks a link or pauses a host of a lab that is up, or makes it good again.
#include <fmt/format.h>

#include <optional>

#include "apps/cli/lab/lab_options.h"
#include "lab/faults.h"
#include "lab/lab.h"
#include "topology/names.h"
#include "topology/quantity.h"

namespace heddle::cli {
namespace {

Unexpected bad_fault(const std::string& why, const std::string& todo) {
  return fail(ErrorCode::kInvalid, "cannot make the fault", why, todo);
}

std::string usage(const std::string& kind) {
  const bool with_share = topology::is_share_fault(kind);
  const char* const value = kind == "rate" ? " 50Mbit/s" : with_share ? " 1%" : "";
  return fmt::format("write: heddle lab fault {} leaf0 spine1{}", kind, value);
}

Result<void> read_value(const std::string& text, topology::FaultOrder& order) {
  if (order.kind == "rate") {
    const auto rate = topology::parse_rate(text);
    if (!rate && text != "unlimited") {
      return bad_fault("'" + text + "' is no rate", "give one like 50Mbit/s, or unlimited");
    }
    order.rate = rate.value_or(BitsPerSec{});
    return {};
  }
  const auto share = topology::parse_share(text);
  if (!share) return bad_fault("'" + text + "' is no share", "give one like 1% or 0.01%");
  order.per_million = *share;
  return {};
}

Result<topology::FaultOrder> read_order(const lab::Lab& lab, const LabOptions& options) {
  topology::FaultOrder order;
  order.kind = options.kind;
  const bool with_value = order.kind == "rate" || topology::is_share_fault(order.kind);
  if (options.words.size() != (with_value ? 3u : 2u)) {
    return bad_fault(
        with_value ? "it takes a link's two ends and a value" : "it takes a link's two ends",
        usage(order.kind));
  }
  order.one_way = options.one_way || (order.kind == "blackhole" && !options.both_ways);
  if (order.one_way && !topology::may_be_one_way(order.kind)) {
    return bad_fault("'" + order.kind + "' takes both directions", "leave --one-way out");
  }
  const auto ends =
      topology::find_link(lab.layout.topology, options.words[0], options.words[1], options.number);
  if (!ends) return fail(ends.error());
  order.ends = *ends;
  if (!with_value) return order;
  if (Result<void> read = read_value(options.words[2], order); !read) return fail(read.error());
  return order;
}

Result<void> make_host_fault(const lab::Lab& lab, const LabOptions& options) {
  const bool pause = options.kind == "pause";
  if (options.words.size() != 1) {
    return bad_fault("it takes a host", fmt::format("write: heddle lab fault {} h2", options.kind));
  }
  const auto host = topology::find_host(lab.layout.topology, options.words[0]);
  if (!host) {
    return bad_fault(fmt::format("the lab '{}' has no host '{}'", lab.state.name, options.words[0]),
                     "see `heddle lab list` for its hosts");
  }
  const Result<size_t> reached = lab::pause_host(lab, *host, pause);
  if (!reached) return fail(reached.error());
  print(fmt::format("{}: {} processes {}\n", options.words[0], *reached,
                    pause ? "stopped" : "go on"));
  return {};
}

Result<void> make_fault(const LabOptions& options) {
  const Result<lab::Lab> lab = lab::open_lab(options.name);
  if (!lab) return fail(lab.error());
  if (topology::is_host_fault(options.kind)) return make_host_fault(*lab, options);
  if (options.kind == "clear" && options.words.empty()) return lab::clear_faults(*lab);
  if (!topology::is_link_fault(options.kind)) {
    return bad_fault("there is no fault '" + options.kind + "'", topology::kFaultKinds);
  }
  const Result<topology::FaultOrder> order = read_order(*lab, options);
  if (!order) return fail(order.error());
  return lab::order_fault(*lab, *order);
}

}  // namespace

int run_lab_fault(const LabOptions& options) {
  const Result<void> made = make_fault(options);
  return made ? kDone : could_not(made.error());
}

}  // namespace heddle::cli
