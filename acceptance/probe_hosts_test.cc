// ProbeHosts: what is reported of a host that does not probe.
#include "acceptance/probe_hosts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "acceptance/testing/scripted_fabric.h"

namespace heddle::acceptance {
namespace {

// Of a round in which each host's part ends at once, with this on standard error.
Error error_of(const std::string& errors) {
  ScriptedFabric fabric(scripted_leaf_spine(1));
  fabric.answer = [&errors](const Asked& /*asked*/) { return Answer{"", errors, 2}; };
  ProbeHostsOptions options;
  options.port = 18706;
  options.packets_per_s = 100;
  probing::Observations all{.nics = {{"h0", 0, "10.0.0.0"}, {"h1", 0, "10.0.0.1"}}, .flows = {}};
  const std::vector<probing::Task> tasks = {{probing::TaskKind::kTrace, 0, 1, 24'000, 1, 0, 0}};
  const Result<void> done = ProbeHosts(fabric, options).run(tasks, false, all);
  EXPECT_FALSE(done);
  if (done) return {};
  return done.error();
}

TEST(ProbeHostsTest, TheAdviceOfAHostIsTheOnlyOne) {
  const Error error = error_of(
      "heddle: cannot probe for another heddle: its tasks are of version 9, this heddle reads "
      "version 1 (upgrade heddle on the machine that was called)\n");
  EXPECT_EQ(error.what, "cannot probe from h0");
  EXPECT_TRUE(error.why.ends_with("(upgrade heddle on the machine that was called)")) << error.why;
  EXPECT_EQ(error.todo, "");
}

TEST(ProbeHostsTest, AHostWithoutAdviceIsToBeLeftOut) {
  const Error error = error_of("");
  EXPECT_EQ(error.why, "exit status 2");
  EXPECT_NE(error.todo.find("leave this one out"), std::string::npos) << error.todo;
}

}  // namespace
}  // namespace heddle::acceptance
