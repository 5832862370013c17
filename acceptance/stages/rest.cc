// See rest.h.
#include "acceptance/stages/rest.h"

#include <fmt/format.h>

#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "acceptance/session.h"
#include "acceptance/stages/stages.h"

namespace heddle::acceptance {
namespace {

std::string names_of(const topology::Topology& topology, const std::vector<uint32_t>& hosts) {
  constexpr size_t kMost = 16;
  std::string names;
  for (size_t i = 0; i < hosts.size() && i < kMost; ++i) {
    names += (i == 0 ? "" : ", ") + topology.hosts[hosts[i]].name;
  }
  return hosts.size() > kMost ? names + ", ..." : names;
}

// Each stage only if the one before passed.
Result<void> test_part(Session& session, StageReport& report) {
  for (auto* const run : {run_reach, run_pairs, run_collectives}) {
    StageReport made;
    if (Result<void> ran = run(session, made); !ran) return ran;
    report.rows.insert(report.rows.end(), std::make_move_iterator(made.rows.begin()),
                       std::make_move_iterator(made.rows.end()));
    if (session.interrupted() || grade_of(made) == Grade::kFail) return {};
  }
  return {};
}

}  // namespace

Result<void> run_rest(const Fabric& fabric, const AcceptanceOptions& options,
                      const GoodGroup& group, StageReport& report) {
  const topology::Topology& whole = options.plan ? *options.plan : fabric.topology();
  for (const LeftOut& each : group.left_out) {
    report.rows.push_back({"left out", each.place, each.why, "", Grade::kWarn,
                           "mend it, then test the fabric again"});
  }
  const std::string where = fmt::format("{} of {} hosts", group.hosts.size(), whole.hosts.size());
  report.data["hosts"] = Json::array();
  for (const uint32_t host : group.hosts) report.data["hosts"].push_back(whole.hosts[host].name);
  const auto part = part_of_fabric(fabric, part_of(whole, group));
  AcceptanceOptions of_part = options;
  of_part.depth = Depth::kQuick;
  of_part.plan.reset();
  of_part.live = nullptr;  // its links are those of the whole
  Result<std::unique_ptr<Session>> session = Session::open(*part, of_part);
  if (!session) return fail(std::move(session).error());
  StageReport tests;
  const Result<void> tested = test_part(**session, tests);
  report.commands = (*session)->commands().take_lines();
  if (!tested) return tested;
  if ((*session)->interrupted()) return {};
  const bool works = grade_of(tests) != Grade::kFail;
  report.rows.push_back(
      {"largest good group", where,
       names_of(whole, group.hosts) + (works ? " work together" : ": see the rows below"),
       "the rest works", works ? Grade::kOk : Grade::kFail,
       works ? "" : "what is left out disturbs the rest: take it out of service, then test again"});
  report.rows.insert(report.rows.end(), tests.rows.begin(), tests.rows.end());
  return {};
}

}  // namespace heddle::acceptance
