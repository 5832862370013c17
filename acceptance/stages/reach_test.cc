// Stage reach: what is wrong with payload, packets and routes has rows that name its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "acceptance/documents.h"
#include "acceptance/stages/stages.h"
#include "acceptance/testing/scripted_fabric.h"
#include "acceptance/testing/shared_flag.h"
#include "topology/generators.h"

namespace heddle::acceptance {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Answer reached(uint64_t wrong_messages, uint32_t packet_bytes) {
  const Json test = {{"wrong_messages", wrong_messages}, {"packet_bytes", packet_bytes}};
  return {Json{{"tests", Json::array({test})}}.dump()};
}

bool is_perf(const Asked& asked, const std::string& from, const std::string& to) {
  return asked.host == from && asked.after("perf") == to;
}

std::vector<std::string> failed_places(const StageMade& made, const std::string& check) {
  std::vector<std::string> places;
  for (const Row& row : made.rows(check)) {
    if (row.grade != Grade::kFail) continue;
    places.push_back(row.where);
    EXPECT_FALSE(row.todo.empty()) << row.check;
  }
  return places;
}

// Four hosts whose second NICs are on a leaf of their own.
topology::Topology two_rails() {
  topology::LeafSpineShape shape{.leaves = 2, .spines = 2, .hosts_per_leaf = 4, .nics_per_host = 2};
  shape.rails = true;
  shape.host_link.mtu_bytes = shape.spine_link.mtu_bytes = 1500;
  return topology::leaf_spine(shape);
}

void add_second_nics(ScriptedFabric& fabric, bool planned) {
  for (uint32_t i = 0; i < fabric.more.size(); ++i) {
    fabric.more[i] = {{"nic1", "10.1.0." + std::to_string(i), planned}};
  }
}

TEST(Reach, AFabricWithoutAFaultPasses) {
  const StageMade made = made_by(run_reach, ScriptedFabric(scripted_leaf_spine(2)));
  EXPECT_EQ(made.error, "");
  EXPECT_EQ(grade_of(made.report), Grade::kOk);
  EXPECT_EQ(made.row("reach").measured, "answered, payload unchanged");
  EXPECT_EQ(made.row("MTU end to end").measured, "1500 bytes");
  EXPECT_EQ(made.row("routes").measured, "2 routes work");
}

// As one whose firewall drops what comes in, but not the answers to what it sent.
TEST(Reach, AHostThatNoneReachesAndThatReachesAllIsNamed) {
  ScriptedFabric fabric(scripted_leaf_spine(2));
  fabric.answer = [](const Asked& asked) {
    const bool dropped = asked.after("perf") == "h2" && asked.is("bw");
    return dropped ? Answer{"", "heddle: no answer\n", 2} : healthy_answer(asked);
  };
  const StageMade made = made_by(run_reach, fabric);
  EXPECT_THAT(failed_places(made, "reach"), ElementsAre("h2"));
  EXPECT_EQ(made.row("reach").measured, "no other host reaches it");
  EXPECT_THAT(made.row("reach").todo, HasSubstr("firewall (UDP port 18700)"));
  EXPECT_EQ(made.row("reach", 1).where, "9 of 12 pairs");
}

// A host that was paused in the middle of it had "packets of 0 bytes", and a port with a smaller
// MTU was searched for.
TEST(Reach, APairWhoseTestBrokeOffIsNotReached) {
  ScriptedFabric fabric(scripted_leaf_spine(2));
  fabric.answer = [](const Asked& asked) {
    const bool breaks_off = is_perf(asked, "h0", "h2") && asked.is("bw");
    return breaks_off ? Answer{R"({"tests": [{"complete": false, "packet_bytes": 0}]})",
                               "heddle: the peer does not answer\n", 1}
                      : healthy_answer(asked);
  };
  const StageMade made = made_by(run_reach, fabric);
  EXPECT_THAT(failed_places(made, "reach"), ElementsAre("h0 to h2"));
  EXPECT_EQ(made.row("reach").measured, "the peer does not answer");
  EXPECT_THAT(failed_places(made, "MTU end to end"), IsEmpty());
}

TEST(Reach, PayloadThatArrivesChangedFailsThePair) {
  ScriptedFabric fabric(scripted_leaf_spine(2));
  fabric.answer = [](const Asked& asked) {
    return is_perf(asked, "h0", "h2") ? reached(3, 1500) : healthy_answer(asked);
  };
  const StageMade made = made_by(run_reach, fabric);
  EXPECT_THAT(failed_places(made, "payload"), ElementsAre("h0 to h2"));
  EXPECT_EQ(made.row("payload").measured, "3 messages arrived changed");
  EXPECT_THAT(made.rows("reach"), IsEmpty()) << "no row says that payload is unchanged";
  EXPECT_EQ(grade_of(made.report), Grade::kFail);
  for (const std::string& line : made.commands) {
    const bool sends = line.find("perf h") != std::string::npos;
    EXPECT_TRUE(!sends || line.find("--check") != std::string::npos) << line;
  }
}

TEST(Reach, PayloadThatArrivesChangedOverAFurtherNicFailsThePair) {
  ScriptedFabric fabric(scripted_leaf_spine(2));
  add_second_nics(fabric, true);
  fabric.answer = [](const Asked& asked) {
    return is_perf(asked, "h1", "10.1.0.3") ? reached(1, 1500) : healthy_answer(asked);
  };
  const StageMade made = made_by(run_reach, fabric);
  EXPECT_THAT(failed_places(made, "reach of NIC"), ElementsAre("h1 to h3"));
  EXPECT_EQ(made.row("reach of NIC").measured, "nic1: messages arrived changed");
  EXPECT_EQ(made.row("reach of NIC", 1).where, "11 of 12 pairs");
  for (const std::string& line : made.commands) {
    const bool sends = line.find("perf 10.1.") != std::string::npos;
    EXPECT_TRUE(!sends || line.find("--check") != std::string::npos) << line;
  }
}

// The size of packets over further NICs was not looked at.
TEST(Reach, PacketsOverAFurtherNicThatAreSmallerFailThePair) {
  ScriptedFabric fabric(two_rails());
  add_second_nics(fabric, true);
  fabric.answer = [](const Asked& asked) {
    return is_perf(asked, "h1", "10.1.0.3") ? reached(0, 1400) : healthy_answer(asked);
  };
  const StageMade made = made_by(run_reach, fabric);
  EXPECT_THAT(failed_places(made, "MTU of NIC"), ElementsAre("h1 to h3"));
  EXPECT_EQ(made.row("MTU of NIC").measured, "nic1: 1400 bytes");
  EXPECT_EQ(made.row("MTU of NIC").expected, "1500 bytes");
  EXPECT_EQ(made.row("MTU of NIC", 1).where, "11 of 12 pairs");
  EXPECT_EQ(made.row("MTU of NIC", 1).measured, "nic1: 1500 bytes");
  EXPECT_EQ(made.row("MTU end to end").grade, Grade::kOk);
}

TEST(Reach, AHostWhosePacketsOverAFurtherNicAreSmallerIsNamed) {
  ScriptedFabric fabric(two_rails());
  add_second_nics(fabric, true);
  fabric.answer = [](const Asked& asked) {
    const std::string to = asked.after("perf");
    const bool small = to == "10.1.0.3" || (asked.host == "h3" && to.starts_with("10.1."));
    return small ? reached(0, 1400) : healthy_answer(asked);
  };
  const StageMade made = made_by(run_reach, fabric);
  EXPECT_THAT(failed_places(made, "MTU of NIC"), ElementsAre("h3"));
  EXPECT_EQ(made.row("MTU of NIC", 1).where, "6 of 12 pairs");
  AcceptanceOptions options;
  options.expectations.mtu_bytes = 1400;
  EXPECT_THAT(failed_places(made_by(run_reach, fabric, options), "MTU of NIC"), IsEmpty());
}

// As of the NICs of a storage network, without a topology.
TEST(Reach, ANicThatIsNotPlannedIsJudgedByTheMtuOfBothEnds) {
  const auto made_with = [](const std::string& from, const std::string& to, bool all) {
    ScriptedFabric fabric(scripted_leaf_spine(2));
    add_second_nics(fabric, false);
    fabric.answer = [=](const Asked& asked) {
      Answer answer = healthy_answer(asked);
      if (!asked.after("perf").starts_with("10.1.")) return answer;
      Json document = Json::parse(answer.output);
      const bool small = all || is_perf(asked, from, to);
      document["tests"][0]["packet_bytes"] = small ? 4096 : 9000;
      document["tests"][0]["offered_packet_bytes"] = 9000;
      return Answer{document.dump()};
    };
    return made_by(run_reach, fabric);
  };
  const StageMade all = made_with("", "", true);
  EXPECT_EQ(all.row("MTU of NIC").grade, Grade::kWarn);
  EXPECT_EQ(all.row("MTU of NIC").where, "12 of 12 pairs");
  EXPECT_EQ(all.row("MTU of NIC").measured, "nic1: 4096 bytes");
  EXPECT_EQ(all.row("MTU of NIC").expected, "9000 bytes");
  EXPECT_THAT(failed_places(made_with("h2", "10.1.0.0", false), "MTU of NIC"),
              ElementsAre("h2 to h0"));
  EXPECT_EQ(made_with("", "", false).row("MTU of NIC").measured, "nic1: 9000 bytes");
}

// It was skipped without a word.
TEST(Reach, ANicThatAHostLacksIsShown) {
  ScriptedFabric fabric(two_rails());
  add_second_nics(fabric, true);
  fabric.more[2].clear();
  const StageMade made = made_by(run_reach, fabric);
  EXPECT_EQ(made.row("reach of NIC").where, "6 of 6 pairs");
  const Row lacking = made.row("reach of NIC", 1);
  EXPECT_EQ(lacking.where, "1 of 4 hosts");
  EXPECT_EQ(lacking.measured, "nic1: no NIC of this name on h2");
  EXPECT_TRUE(is_information(lacking));
}

TEST(Reach, AHostWhosePacketsAreSmallerIsNamed) {
  ScriptedFabric fabric(scripted_leaf_spine(2));
  fabric.answer = [](const Asked& asked) {
    const bool small = asked.host == "h3" || asked.after("perf") == "h3";
    return asked.is("bw") && small ? reached(0, 1400) : healthy_answer(asked);
  };
  const StageMade made = made_by(run_reach, fabric);
  EXPECT_THAT(failed_places(made, "MTU end to end"), ElementsAre("h3"));
  EXPECT_EQ(made.row("MTU end to end").expected, "1500 bytes");
  EXPECT_EQ(made.row("MTU end to end", 1).where, "6 of 12 pairs");
}

TEST(Reach, AnExpectedMtuIsInPlaceOfThePlans) {
  const ScriptedFabric fabric(scripted_leaf_spine(1));
  AcceptanceOptions options;
  options.expectations.mtu_bytes = 9000;
  const StageMade made = made_by(run_reach, fabric, options);
  EXPECT_THAT(failed_places(made, "MTU end to end"), ElementsAre("h0 to h1", "h1 to h0"));
  EXPECT_EQ(made.row("MTU end to end").measured, "1500 bytes");
}

TEST(Reach, AnExpectedNumberOfRoutesIsInPlaceOfThePlans) {
  const ScriptedFabric fabric(scripted_leaf_spine(1));
  AcceptanceOptions options;
  options.expectations.routes = 3;
  const StageMade made = made_by(run_reach, fabric, options);
  EXPECT_THAT(failed_places(made, "routes"), ElementsAre("h0 to h1", "h1 to h0"));
  EXPECT_EQ(made.row("routes").measured, "2 routes work");
  EXPECT_EQ(made.row("routes").expected, "3");
}

constexpr const char* kOneRoute =
    R"({"verdict": "known", "seen": [{"works": true, "routers": ["leaf0", "spine0", "leaf1"]}]})";
// Of h0 to h1: over spine1 nothing arrives, and leaf0 is the last to answer.
constexpr const char* kLostRoute = R"({"verdict": "known", "seen": [
    {"works": true, "routers": ["leaf0", "spine0", "leaf1"]},
    {"works": false, "routers": ["leaf0", null]}]})";

Answer paths_of_h0(const Asked& asked, const char* document) {
  return asked.host == "h0" && asked.is("paths") ? Answer{document} : healthy_answer(asked);
}

TEST(Reach, ARouteThatIsMissingFailsThePair) {
  ScriptedFabric fabric(scripted_leaf_spine(1));
  fabric.answer = [](const Asked& asked) { return paths_of_h0(asked, kOneRoute); };
  const StageMade made = made_by(run_reach, fabric);
  EXPECT_THAT(failed_places(made, "routes"), ElementsAre("h0 to h1"));
  EXPECT_EQ(made.row("routes").measured, "1 routes work");
  EXPECT_EQ(made.row("routes").expected, "2");
}

TEST(Reach, ALinkOnWhichPacketsVanishIsNamed) {
  ScriptedFabric fabric(scripted_leaf_spine(1));
  fabric.answer = [](const Asked& asked) { return paths_of_h0(asked, kLostRoute); };
  const StageMade made = made_by(run_reach, fabric);
  EXPECT_THAT(failed_places(made, "lost route"), ElementsAre("leaf0 - spine1"));
  EXPECT_THAT(failed_places(made, "routes"), IsEmpty()) << "the link is why";
}

TEST(Reach, WithoutAPlanALostRouteFailsThePair) {
  ScriptedFabric fabric(scripted_leaf_spine(2, 1));  // what is between the hosts is one switch
  fabric.planned = false;
  fabric.answer = [](const Asked& asked) { return paths_of_h0(asked, kLostRoute); };
  const StageMade made = made_by(run_reach, fabric);
  EXPECT_THAT(failed_places(made, "lost route"), ElementsAre("h0 to h1"));
  EXPECT_EQ(made.row("lost route").measured, "packets vanish on 1 of 2 routes");
}

TEST(Reach, WithoutAPlanTooFewRoutesFailWhereANumberIsExpected) {
  ScriptedFabric fabric(scripted_leaf_spine(2, 1));
  fabric.planned = false;
  const StageMade shown = made_by(run_reach, fabric);
  EXPECT_THAT(failed_places(shown, "routes"), IsEmpty());
  EXPECT_EQ(shown.row("routes").measured, "2 routes work");
  AcceptanceOptions options;
  options.expectations.routes = 3;
  EXPECT_THAT(failed_places(made_by(run_reach, fabric, options), "routes"),
              ElementsAre("h0 to h1"));
}

// A test that the answers of its hosts can interrupt.
AcceptanceOptions interrupted_by(const SharedFlag& flag) {
  AcceptanceOptions options;
  options.interrupted = [&flag] { return flag.is_set(); };
  return options;
}

// Ctrl-C while the servers started: each host failed that did not listen yet.
TEST(Reach, InterruptedWhileServersStartItNamesNoHostAndMeasuresNothing) {
  const SharedFlag interrupted;
  ScriptedFabric fabric(scripted_leaf_spine(2));
  fabric.answer = [&](const Asked& asked) {
    if (asked.host != "h3") return healthy_answer(asked);
    interrupted.set();
    return Answer{};  // it does not listen yet
  };
  const StageMade made = made_by(run_reach, fabric, interrupted_by(interrupted));
  EXPECT_EQ(made.error, "");
  EXPECT_THAT(made.report.rows, IsEmpty());
  for (const std::string& line : made.commands) EXPECT_THAT(line, HasSubstr("--listen"));
  interrupted.clear();
  AcceptanceOptions options = interrupted_by(interrupted);
  options.stages = {"reach"};
  const Result<Report> report = run_acceptance(fabric, options);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->stages.front().outcome, StageOutcome::kInterrupted);
  EXPECT_EQ(verdict_of(*report), "INCOMPLETE");
}

TEST(Reach, InterruptedBeforeItStartsNothing) {
  AcceptanceOptions options;
  options.interrupted = [] { return true; };
  const StageMade made = made_by(run_reach, ScriptedFabric(scripted_leaf_spine(2)), options);
  EXPECT_THAT(made.report.rows, IsEmpty());
  EXPECT_THAT(made.commands, IsEmpty());
}

TEST(Reach, APairWhoseSecondTryIsInterruptedDoesNotFail) {
  const SharedFlag tried;
  const SharedFlag interrupted;
  ScriptedFabric fabric(scripted_leaf_spine(2));
  fabric.answer = [&](const Asked& asked) {
    if (!is_perf(asked, "h0", "h1")) return healthy_answer(asked);
    if (tried.set() > 0) interrupted.set();
    return Answer{"", "heddle: no answer\n", 2};
  };
  const StageMade made = made_by(run_reach, fabric, interrupted_by(interrupted));
  EXPECT_TRUE(interrupted.is_set());
  EXPECT_THAT(failed_places(made, "reach"), IsEmpty());
  EXPECT_EQ(grade_of(made.report), Grade::kOk);
}

}  // namespace
}  // namespace heddle::acceptance
