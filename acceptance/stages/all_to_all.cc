// See all_to_all.h.
#include "acceptance/stages/all_to_all.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "acceptance/stages/one_collective.h"

namespace heddle::acceptance {
namespace {

constexpr const char* kAllToAll = "all-to-all";

struct Measured {
  OneCollective call;
  LinkLosses losses;
};

Result<Measured> measure(Session& session, uint64_t bytes) {
  if (const auto before = session.take_loads(); !before) return fail(before.error());
  Result<OneCollective> call = run_collective(session, "alltoall", {bytes, bytes});
  if (!call) return fail(std::move(call).error());
  Measured made{.call = std::move(*call), .losses = {}};
  if (session.interrupted()) return made;
  Result<LinkLosses> losses = take_losses(session);
  if (!losses) return fail(std::move(losses).error());
  made.losses = std::move(*losses);
  return made;
}

void add(const Session& session, const Measured& made, const CollectiveBound& bound,
         StageReport& report) {
  report.rows.push_back(collective_row(bound, made.call, [&session](double reached, double least) {
    return session.grade_of_speed(reached, least);
  }));
  if (made.call.sizes.empty()) return;
  const BenchSize& size = made.call.sizes.back();
  report.data["all_to_all"] = {{"bytes", size.bytes},
                               {"time_us", size.time_us},
                               {"bus_bits_per_s", size.bus_bits_per_s},
                               {"bound_bits_per_s", bound.bound_bits_per_s},
                               {"goodput_bits_per_s", size.bus_bits_per_s * session.hosts()},
                               {"allowed_bits_per_s", bound.bound_bits_per_s * session.hosts()},
                               {"dropped", made.losses.dropped},
                               {"marked", made.losses.marked},
                               {"segments", made.call.segments.sent},
                               {"retransmitted", made.call.segments.retransmitted},
                               {"marked_segments", made.call.segments.marked}};
  const size_t flows = size_t{session.hosts()} * (session.hosts() - 1);
  if (made.call.segments.sent > 0) {
    report.rows.push_back(shown_retransmission_row(kAllToAll, flows, made.call.segments));
  }
  if (auto lost = losses_row(kAllToAll, made.losses)) {
    report.rows.push_back(std::move(*lost));
  }
}

}  // namespace

Result<AllToAllLoad> run_all_to_all(Session& session, StageReport& report) {
  const double most = all_to_all_bound(session);
  const CollectiveBound bound{kAllToAll, fmt::format("{} hosts", session.hosts()), most,
                              most * session.expectations().all_to_all_share, kUneven};
  Result<Measured> best = measure(session, size_for(most));
  for (int again = 0;
       best && best->call.bus_bits_per_s() < bound.least_bits_per_s && session.may_repeat(again);
       ++again) {
    Result<Measured> next = measure(session, size_for(most));
    if (!next || next->call.bus_bits_per_s() > best->call.bus_bits_per_s()) best = std::move(next);
  }
  if (!best) return fail(std::move(best).error());
  if (!session.interrupted()) add(session, *best, bound, report);
  return AllToAllLoad{std::move(best->losses), best->call.segments,
                      best->call.bus_bits_per_s() * session.hosts()};
}

}  // namespace heddle::acceptance
