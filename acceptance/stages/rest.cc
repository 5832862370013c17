// See rest.h.
#include "acceptance/stages/rest.h"

#include <fmt/format.h>

#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "acceptance/machine_rows.h"
#include "acceptance/params.h"
#include "acceptance/session.h"
#include "acceptance/stages/stages.h"
#include "base/quantity.h"

namespace heddle::acceptance {
namespace {

std::string names_of(const topology::Topology& topology, const std::vector<uint32_t>& hosts) {
  std::string names;
  for (size_t i = 0; i < hosts.size() && i < params::kMostNamedHosts; ++i) {
    names += (i == 0 ? "" : ", ") + topology.hosts[hosts[i]].name;
  }
  return hosts.size() > params::kMostNamedHosts ? names + ", ..." : names;
}

std::string size_of(const topology::Topology& whole, const GoodGroup& group) {
  return fmt::format("{} of {} hosts", group.hosts.size(), whole.hosts.size());
}

Row group_row(const topology::Topology& whole, const GoodGroup& group, bool works) {
  Row row{group.largest ? "largest good group" : "good group", size_of(whole, group),
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

Unexpected stopped() { return fail(ErrorCode::kCancelled, "stopped", "interrupted by a signal"); }

// Tests of groups, one after the other.
class RestTest {
 public:
  RestTest(const Fabric& fabric, const AcceptanceOptions& options)
      : fabric_(fabric),
        whole_(options.plan ? *options.plan : fabric.topology()),
        options_(options) {
    options_.depth = Depth::kQuick;
    options_.plan.reset();
    options_.live = nullptr;  // its links are those of the whole
  }

  // What it found and what names failed places: its rows, and pairs that have none of their own.
  // Errors: those of the stages; kCancelled where the test is interrupted, which proves nothing.
  Result<std::vector<Row>> run(const GoodGroup& group) {
    if (options_.interrupted()) return stopped();
    tests_ = {};
    group_ = group;
    const auto part = part_of_fabric(fabric_, part_of(whole_, group));
    Result<std::unique_ptr<Session>> session = Session::open(*part, options_);
    if (!session) return fail(std::move(session).error());
    std::vector<Row> pairs;
    Result<void> tested = test_part(**session, pairs);
    const bool failed = !tested || grade_of(tests_) == Grade::kFail;
    if (failed && !options_.interrupted()) part->find_silent((*session)->commands());
    for (const SilentHost& each : part->silent()) {
      tests_.rows.push_back(silent_row((*session)->host(each.host), each.complaint));
      tested = {};
    }
    for (std::string& line : (*session)->commands().take_lines()) {
      commands_.push_back(std::move(line));
    }
    if (options_.interrupted()) return stopped();
    if (!tested) return fail(std::move(tested).error());
    pairs.insert(pairs.end(), tests_.rows.begin(), tests_.rows.end());
    return pairs;
  }

  const topology::Topology& whole() const { return whole_; }
  const GoodGroup& group() const { return group_; }  // the last one
  StageReport& tests() { return tests_; }            // of the last group
  std::vector<std::string>& commands() { return commands_; }

 private:
  // Each stage only if the one before passed.
  Result<void> test_part(Session& session, std::vector<Row>& pairs) {
    constexpr std::pair<const char*, Result<void> (*)(Session&, StageReport&)> kStages[] = {
        {"reach", run_reach}, {"pairs", run_pairs}, {"collectives", run_collectives}};
    for (const auto& [name, run] : kStages) {
      StageReport made;
      if (Result<void> ran = run(session, made); !ran) return ran;
      const std::vector<Row> failed = failed_pairs(made);
      pairs.insert(pairs.end(), failed.begin(), failed.end());
      tests_.data[name] = made.data;
      tests_.rows.insert(tests_.rows.end(), made.rows.begin(), made.rows.end());
      if (session.interrupted() || grade_of(made) == Grade::kFail) return {};
    }
    return {};
  }

  const Fabric& fabric_;
  const topology::Topology& whole_;
  AcceptanceOptions options_;
  GoodGroup group_;
  StageReport tests_;
  std::vector<std::string> commands_;
};

void add_groups(const topology::Topology& whole, const ProvedGroup& proved, StageReport& report) {
  for (const LeftOut& each : proved.group.left_out) {
    report.rows.push_back({"left out", each.place, each.why, "", Grade::kWarn,
                           "mend it, then test the fabric again"});
  }
  for (const GoodGroup& group : proved.tried) {
    report.rows.push_back({"tried before", size_of(whole, group),
                           names_of(whole, group.hosts) + " do not work together", ""});
  }
  report.data["hosts"] = Json::array();
  for (const uint32_t host : proved.group.hosts) {
    report.data["hosts"].push_back(whole.hosts[host].name);
  }
  report.data["groups_tested"] = proved.tried.size() + 1;
}

}  // namespace

std::vector<Row> failed_pairs(const StageReport& stage) {
  std::vector<Row> rows;
  for (const Json& pair : stage.data.value("pairs", Json::array())) {
    if (!pair.is_object()) continue;
    const bool reached = pair.value("reached", true);
    if (reached && !pair.value("failed", false)) continue;
    rows.push_back({"pair", pair.value("from", "") + " to " + pair.value("to", ""),
                    reached ? rate_text(pair.value("goodput_bits_per_s", 0.0)) : "not reached", "",
                    Grade::kFail});
  }
  return rows;
}

Result<void> run_rest(const Fabric& fabric, const AcceptanceOptions& options,
                      const std::vector<Row>& rows, StageReport& report) {
  RestTest rest(fabric, options);
  const Result<ProvedGroup> proved =
      prove_group(rest.whole(), rows, [&](const GoodGroup& group) { return rest.run(group); });
  report.commands = std::move(rest.commands());
  if (options.interrupted()) return {};
  if (!proved) {
    add_groups(rest.whole(), {.group = rest.group(), .works = false, .tried = {}}, report);
    return fail(proved.error());
  }
  add_groups(rest.whole(), *proved, report);
  report.rows.push_back(group_row(rest.whole(), proved->group, proved->works));
  StageReport& tests = rest.tests();
  report.rows.insert(report.rows.end(), std::make_move_iterator(tests.rows.begin()),
                     std::make_move_iterator(tests.rows.end()));
  report.data["stages"] = std::move(tests.data);
  return {};
}

}  // namespace heddle::acceptance
