// Plain sockets: what their rows say of what was sent, and of a port that another program has.
#include "acceptance/stages/plain_sockets.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace heddle::acceptance {
namespace {

PairSockets sending(double sent, double offered) {
  PairSockets pair;
  pair.sockets.udp_sent_bits_per_s = sent;
  pair.sockets.udp_received_bits_per_s = sent / 2;
  pair.sockets.udp_offered_bits_per_s = offered;
  return pair;
}

std::string measured(const std::vector<PairSockets>& pairs) {
  const auto name_of = [](const HostPair& pair) {
    return fmt::format("{}-{}", pair.from, pair.to);
  };
  for (const Row& row : socket_rows(name_of, pairs)) {
    if (row.check == "udp_bw sent") return row.measured;
  }
  return "no row";
}

TEST(PlainSockets, DatagramsAreAsManyAsTheLinksCarryOnlyWhereEachPairSentThem) {
  EXPECT_EQ(measured({sending(1e7, 1e7), sending(9.2e6, 1e7)}),
            "10.0 Mb/s (median), as much as the links carry");
  EXPECT_EQ(measured({sending(1e7, 1e7), sending(4e6, 1e7), sending(5e6, 1e7)}),
            "5.00 Mb/s (median), 50% of what the links carry; least 40%");
  EXPECT_EQ(measured({sending(3e9, 0)}), "3.00 Gb/s (median), as much as the hosts can send");
}

TEST(PlainSockets, APortThatAnotherProgramHasIsNamedAsOne) {
  const auto name_of = [](const HostPair& /*pair*/) { return std::string("h0 to h1"); };
  PairSockets pair;
  pair.sockets.complaint =
      "cannot serve tests of sockets at 10.0.0.1:18702: Address already in use";
  const auto rows = socket_rows(name_of, {pair});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_NE(rows[0].todo.find("`ss -tulnp`"), std::string::npos) << rows[0].todo;
  pair.sockets.complaint = "no answer in time";
  EXPECT_NE(socket_rows(name_of, {pair})[0].todo.find("open TCP and UDP"), std::string::npos);
}

}  // namespace
}  // namespace heddle::acceptance
