// TCP beside heddle: rows for information, also where TCP has no figure.
#include "acceptance/stages/tcp_beside.h"

#include <gtest/gtest.h>

namespace heddle::acceptance {
namespace {

TEST(TcpBeside, ARingIsAsFastAsItsSlowestConnection) {
  const Row row = tcp_ring_row("4 hosts", {{4e6, 2e6, 8e6}, ""}, 5e6);
  EXPECT_EQ(row.measured, "2.00 Mb/s, the slowest connection of its ring; heddle 2.50x");
  EXPECT_TRUE(is_information(row));
}

TEST(TcpBeside, FlowsOfALoadAreAddedUp) {
  const Row row =
      tcp_load_row({"permutation", "permutation", {{0, 1}, {1, 0}}, 9e6}, {{4e6, 2e6}, ""});
  EXPECT_EQ(row.check, "permutation over TCP");
  EXPECT_EQ(row.where, "2 flows");
  EXPECT_EQ(row.measured, "6.00 Mb/s together, 2.00 Mb/s to 4.00 Mb/s each; heddle 1.50x");
  EXPECT_TRUE(is_information(row));
}

// Flows that stay in a leaf took twice the rate of all others together, and TCP seemed faster.
TEST(TcpBeside, AnAllToAllIsComparedWithItsSlowestFlow) {
  const Row row =
      tcp_load_row({"all-to-all", "all_to_all", {{0, 1}, {1, 0}}, 6e6, true}, {{8e6, 2e6}, ""});
  EXPECT_EQ(row.measured,
            "10.0 Mb/s together, 2.00 Mb/s to 8.00 Mb/s each; heddle 3.00 Mb/s each, 1.50x the "
            "slowest, with which it ends");
}

TEST(TcpBeside, ABystandersLatencyStandsBesideHeddles) {
  SocketResult tcp;
  tcp.tcp_us_p99 = 30'000;
  const Row row = tcp_bystander_row("h3 to h1", tcp, 2'500);
  EXPECT_EQ(row.check, "latency beside it over TCP");
  EXPECT_EQ(row.measured, "30.0 ms at p99; heddle 2.50 ms");
  EXPECT_TRUE(is_information(row));
  EXPECT_EQ(tcp_bystander_row("h3 to h1", tcp, 0).measured, "30.0 ms at p99");
}

TEST(TcpBeside, WithoutAFigureTheRowSaysWhy) {
  EXPECT_EQ(tcp_ring_row("2 hosts", {{0, 2e6}, "it was refused"}, 5e6).measured,
            "no figure of TCP: it was refused");
  EXPECT_EQ(tcp_load_row({"incast", "incast", {{1, 0}}, 5e6}, {{}, "it was refused"}).measured,
            "no figure of TCP: it was refused");
  SocketResult tcp;
  EXPECT_EQ(tcp_bystander_row("h3 to h1", tcp, 9).measured, "no figure of TCP: nothing came back");
  tcp.complaint = "it was refused";
  EXPECT_EQ(tcp_bystander_row("h3 to h1", tcp, 9).measured, "no figure of TCP: it was refused");
}

}  // namespace
}  // namespace heddle::acceptance
