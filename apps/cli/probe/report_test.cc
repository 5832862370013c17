// What `heddle probe` prints of a small fabric.
#include "apps/cli/probe/report.h"

#include <gtest/gtest.h>

#include <string>

namespace heddle::cli {
namespace {

// Two hosts under one switch.
ProbeReport one_switch() {
  ProbeReport report;
  probing::FoundFabric& found = report.probed.found;
  found.nics = {{"h0", 0, "10.0.0.1"}, {"h1", 0, "10.0.1.1"}};
  found.switches = {{.name = "leaf0", .addresses = {"10.255.0.1"}, .tier = 1}};
  for (uint32_t nic = 0; nic < 2; ++nic) {
    add_link(found, {.a = probing::nic_place(nic), .b = probing::switch_place(0)});
    found.links.back().forward = {.flows = 2, .rate = gigabits_per_s(1), .rate_is_exact = true};
    found.routes[{nic, 1 - nic, 24'000}] = {{0u}, true};
    found.routes[{nic, 1 - nic, 24'001}] = {{0u}, true};
  }
  report.probed.packets = 1'234;
  return report;
}

void add_loss(ProbeReport& report) {
  probing::Finding finding{.kind = probing::FindingKind::kLossy, .evidence = "losses"};
  finding.places = {{probing::nic_place(0), probing::switch_place(0)}};
  finding.loss = 0.02;
  report.probed.found.findings.push_back(finding);
}

TEST(ProbeReportTest, TablesHaveALineForEachPart) {
  const std::string text = probe_text(one_switch());
  EXPECT_NE(text.find("2 NICs, 1 switch, 2 links, 2 routes: 1,234 probes"), std::string::npos)
      << text;
  EXPECT_NE(text.find("leaf0           1  seen      10.255.0.1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("h0 - h1          leaf0                                2  24000,24001\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("No fault was found."), std::string::npos);
  EXPECT_TRUE(is_sound(one_switch()));
}

TEST(ProbeReportTest, FindingsComeBeforeLongTables) {
  ProbeReport report = one_switch();
  add_loss(report);
  const std::string text = probe_text(report);
  EXPECT_LT(text.find("lossy"), text.find("\nswitch"));
  EXPECT_NE(text.find("flows back"), std::string::npos);
  EXPECT_NE(text.find("rate back"), std::string::npos);
}

TEST(ProbeReportTest, AFaultHasItsPlaceAndIsNotSound) {
  ProbeReport report = one_switch();
  add_loss(report);
  EXPECT_NE(probe_text(report).find("lossy     h0 -> leaf0"), std::string::npos);
  EXPECT_FALSE(is_sound(report));
  const Json finding = probe_document(report)["findings"][0];
  EXPECT_EQ(finding["kind"], "lossy");
  EXPECT_EQ(finding["places"][0]["to"], "leaf0");
  EXPECT_DOUBLE_EQ(finding["loss"].get<double>(), 0.02);
}

TEST(ProbeReportTest, DifferencesAreNotSound) {
  ProbeReport report = one_switch();
  report.compared_with = "plan.toml";
  report.comparison =
      probing::Comparison{.switches = {}, .links = 2, .differences = {}, .notes = {}};
  EXPECT_TRUE(is_sound(report));
  EXPECT_NE(probe_text(report).find("Compared with plan.toml: 2 equal links, no difference"),
            std::string::npos);
  report.comparison->differences.push_back({probing::DifferenceKind::kMissing, "spine0", "unseen"});
  EXPECT_FALSE(is_sound(report));
  EXPECT_EQ(probe_document(report)["comparison"]["differences"][0]["subject"], "spine0");
}

}  // namespace
}  // namespace heddle::cli
