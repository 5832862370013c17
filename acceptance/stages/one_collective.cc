// See one_collective.h.
#include "acceptance/stages/one_collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "acceptance/agent_numbers.h"
#include "acceptance/params.h"
#include "base/quantity.h"

namespace heddle::acceptance {
namespace {

LoadSegments segments_of(const Json& document) {
  const Json traffic = document.value("heddle", Json::object()).value("traffic", Json::object());
  return {count_of(number_of(traffic, "segments_sent")),
          count_of(number_of(traffic, "segments_retransmitted")),
          count_of(number_of(traffic, "segments_marked"))};
}

struct Calls {
  uint32_t count = 0;  // that are timed, out of place and in place each
  Nanos limit;
};

Result<OneCollective> measure_calls(Session& session, const std::string& test,
                                    const CollectiveSizes& sizes, const Calls& calls) {
  std::vector<std::string> words = {"heddle", "bench", test};
  const auto ranks = session.fabric().options_for_ranks(session.all_hosts());
  words.insert(words.end(), ranks.begin(), ranks.end());
  words.insert(words.end(),
               {"-b", std::to_string(sizes.smallest), "-e", std::to_string(sizes.largest)});
  if (sizes.smallest < sizes.largest) {
    words.insert(words.end(), {"-f", std::to_string(params::kCollectiveFactor)});
  }
  words.insert(words.end(), {"-n", std::to_string(calls.count), "--json"});
  const auto id = session.commands().start_here(words, {});
  if (!id) return fail(id.error());
  session.wait({*id}, calls.limit);
  OneCollective made;
  if (session.interrupted()) return made;
  const CommandEnd end = session.commands().result_of(*id);
  try {
    if (const std::optional<Json> document = document_of(end)) {
      made.sizes = sizes_of(*document);
      made.segments = segments_of(*document);
    }
  } catch (const Json::exception& error) {
    made.complaint = error.what();
  }
  if (made.sizes.empty() && made.complaint.empty()) made.complaint = complaint_of(end);
  return made;
}

}  // namespace

uint64_t OneCollective::wrong() const {
  uint64_t all = 0;
  for (const BenchSize& size : sizes) all += size.wrong;
  return all;
}

uint32_t calls_in(Nanos time, const BenchSize& size) {
  const double both_us = size.time_us + (size.in_place ? size.in_place->time_us : 0);
  const double calls = both_us > 0 ? to_micros(time) / both_us : 0;
  return static_cast<uint32_t>(
      std::clamp<double>(calls, params::kCollectiveCalls, params::kMostCollectiveCalls));
}

uint64_t size_for(double bound_bits_per_s) {
  if (bound_bits_per_s == 0) return params::kLargestUnbounded.count;
  const double most = bound_bits_per_s / 8 * to_seconds(params::kCallTime);
  uint64_t bytes = params::kSmallest.count;
  while (bytes < params::kMostLargest.count && static_cast<double>(2 * bytes) <= most) bytes *= 2;
  return bytes;
}

CollectiveSizes table_sizes(const Session& session, uint64_t largest) {
  CollectiveSizes sizes{largest, largest};
  if (session.options().depth == Depth::kQuick) return sizes;
  const uint64_t least = sizeof(float) * session.hosts();
  for (uint32_t i = 1; i < params::kCollectiveSizes; ++i) {
    if (sizes.smallest / params::kCollectiveFactor < least) break;
    sizes.smallest /= params::kCollectiveFactor;
  }
  return sizes;
}

Result<OneCollective> run_collective(Session& session, const std::string& test,
                                     const CollectiveSizes& sizes) {
  Result<OneCollective> few =
      measure_calls(session, test, sizes, {params::kCollectiveCalls, params::kBenchTime});
  if (!few || few->sizes.empty() || session.interrupted()) return few;
  // Wrong values are as wrong after a minute.
  if (session.options().depth != Depth::kFull || few->wrong() > 0) return few;
  BenchSize& largest = few->sizes.back();
  Result<OneCollective> many = measure_calls(
      session, test, {sizes.largest, sizes.largest},
      {calls_in(params::kFullFlow, largest), params::kFullFlow * params::kCollectivePatience});
  if (!many || many->sizes.empty()) return many;
  largest = std::move(many->sizes.back());
  few->segments += many->segments;
  return few;
}

Result<OneCollective> best_collective(Session& session, const std::string& test,
                                      const CollectiveSizes& sizes, double least_bits_per_s) {
  Result<OneCollective> best = run_collective(session, test, sizes);
  for (int again = 0;
       best && best->bus_bits_per_s() < least_bits_per_s && session.may_repeat(again); ++again) {
    Result<OneCollective> next = run_collective(session, test, sizes);
    if (!next || next->bus_bits_per_s() > best->bus_bits_per_s()) best = std::move(next);
  }
  return best;
}

Row collective_row(const CollectiveBound& bound, const OneCollective& measured,
                   const std::function<Grade(double reached, double least)>& grade) {
  if (measured.sizes.empty()) {
    return {bound.check, bound.where,  measured.complaint,
            "results",   Grade::kFail, "repeat the command of this stage and see what it reports"};
  }
  const BenchSize& size = measured.sizes.back();
  Row row{bound.check, bound.where,
          fmt::format("{} bus bandwidth of {}, {} a call", rate_text(size.bus_bits_per_s),
                      size_text(size.bytes), us_text(size.time_us)),
          size.wrong_out_of_place ? "right results" : ""};
  if (bound.bound_bits_per_s > 0) {
    row.expected = fmt::format("at least {} of {}", rate_text(bound.least_bits_per_s),
                               rate_text(bound.bound_bits_per_s));
    row.grade = grade(size.bus_bits_per_s, bound.least_bits_per_s);
    if (row.grade != Grade::kOk) row.todo = bound.todo;
  }
  if (measured.wrong() > 0) {
    row.grade = Grade::kFail;
    row.expected = "right results";
    row.measured = fmt::format("{} values are wrong", measured.wrong());
    row.todo = "data was changed in transit or in memory: test the hosts' memory";
  }
  return row;
}

double all_to_all_bound(const Session& session) {
  const topology::Topology& fabric = session.topology();
  uint32_t mtu_bytes = UINT32_MAX;
  double least = 0;  // of one of all ordered pairs
  for (const auto& [use, flows] : Routes(fabric).all_to_all()) {
    const topology::LinkShape& shape = fabric.links[use.link].shape;
    mtu_bytes = std::min(mtu_bytes, shape.mtu_bytes);
    const double each = static_cast<double>(shape.rate.count) / flows;
    if (each > 0 && (least == 0 || each < least)) least = each;
  }
  return least * payload_share(mtu_bytes, version_of(session.fabric().address(0))) *
         (session.hosts() - 1);
}

}  // namespace heddle::acceptance
