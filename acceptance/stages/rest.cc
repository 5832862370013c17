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

Row group_row(const topology::Topology& whole, const GoodGroup& group, bool works) {
  Row row{"largest good group",
          fmt::format("{} of {} hosts", group.hosts.size(), whole.hosts.size()),
          names_of(whole, group.hosts), "the rest works"};
  if (!works) {
    row.measured += " do not work together";
    row.grade = Grade::kFail;
    row.todo = "what is left out is not the only fault: see the rows below";
  } else if (group.links_carry) {
    row.measured += " work together, by paths that avoid the links that are left out";
    row.grade = Grade::kWarn;
    row.todo =
        "take these links out of service: they still carry packets, and programs that keep to one "
        "path, as TCP, may be on them";
  } else {
    row.measured += " work together";
  }
  return row;
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
  report.rows.push_back(group_row(whole, group, grade_of(tests) != Grade::kFail));
  report.rows.insert(report.rows.end(), tests.rows.begin(), tests.rows.end());
  return {};
}

}  // namespace heddle::acceptance
