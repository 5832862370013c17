// Driver settings: what is read of ethtool's answers, of newer and older ones, and what is not
// known.
#include "acceptance/machine/driver_settings.h"

#include <gtest/gtest.h>

namespace heddle::acceptance {
namespace {

TEST(DriverSettings, RingsAreThoseInUseAndNotTheLargestPossible) {
  EXPECT_EQ(rings_of("Ring parameters for eth0:\nPre-set maximums:\nRX:\t\t8192\nRX Mini:\tn/a\n"
                     "RX Jumbo:\tn/a\nTX:\t\t8192\nCurrent hardware settings:\nRX:\t\t1024\n"
                     "RX Mini:\tn/a\nRX Jumbo:\tn/a\nTX:\t\t512\nRX Buf Len:\t\tn/a\n"
                     "CQE Size:\t\t64\nTX Push:\toff\nTCP data split:\toff\n"),
            "rx 1024, tx 512");
}

TEST(DriverSettings, FixedDelaysAreReadWhereTheyAreInUse) {
  constexpr const char* kRest =
      "stats-block-usecs:\tn/a\n\nrx-usecs:\t8\nrx-frames:\t128\nrx-usecs-irq:\t7\n\n"
      "tx-usecs:\t16\ntx-frames:\tn/a\n\nrx-usecs-low:\t9\nCQE mode RX: on  TX: off\n";
  const std::string head = "Coalesce parameters for eth0:\nAdaptive RX: ";
  EXPECT_EQ(coalescing_of(head + "off  TX: off\n" + kRest),
            "rx 8 us, 128 frames; tx 16 us, 0 frames");
  EXPECT_EQ(coalescing_of(head + "on  TX: off\n" + kRest), "rx adaptive; tx 16 us, 0 frames");
  EXPECT_EQ(coalescing_of(head + "on  TX: on\n" + kRest), "rx adaptive; tx adaptive");
  EXPECT_EQ(coalescing_of(head + "n/a  TX: n/a\n"), "rx 0 us, 0 frames; tx 0 us, 0 frames");
}

TEST(DriverSettings, PauseIsWhatIsSetAndNotWhatWasNegotiated) {
  EXPECT_EQ(pause_of("Pause parameters for eth0:\nAutonegotiate:\ton\nRX:\t\ton\nTX:\t\toff\n"
                     "RX negotiated: off\nTX negotiated: on\n"),
            "autonegotiate on, rx on, tx off");
}

// An older ethtool prints 0 where a newer one prints n/a.
TEST(DriverSettings, ChannelsAreAlikeByANewerAndAnOlderEthtool) {
  const std::string head =
      "Channel parameters for eth0:\nPre-set maximums:\nRX:\t\t4\nTX:\t\t4\nOther:\t\t1\n"
      "Combined:\t128\nCurrent hardware settings:\n";
  for (const char* const none : {"n/a", "0"}) {
    EXPECT_EQ(channels_of(head + "RX:\t\t" + none + "\nTX:\t\t" + none + "\nOther:\t\t" + none +
                          "\nCombined:\t63\n"),
              "combined 63, rx 0, tx 0");
  }
}

TEST(DriverSettings, PrivateFlagsAreThoseThatAreOn) {
  const std::string head = "Private flags for eth0:\n";
  EXPECT_EQ(private_flags_of(head + "rx_cqe_moder       : on\nrx_striding_rq : off\n"
                                    "tx_port_ts         : on\n"),
            "on: rx_cqe_moder, tx_port_ts");
  EXPECT_EQ(private_flags_of(head + "rx_cqe_moder: off\n"), "none is on");
}

TEST(DriverSettings, WhatEthtoolDoesNotAnswerIsNotKnown) {
  for (const char* const printed : {"", "\n", "netlink error: Operation not supported", "RX: 1\n",
                                    "Adaptive RX: on\n", "Private flags for eth0:\n"}) {
    EXPECT_EQ(rings_of(printed), "") << printed;
    EXPECT_EQ(coalescing_of(printed), "") << printed;
    EXPECT_EQ(pause_of(printed), "") << printed;
    EXPECT_EQ(channels_of(printed), "") << printed;
    EXPECT_EQ(private_flags_of(printed), "") << printed;
  }
  EXPECT_EQ(driver_settings("no such device"), DriverSettings{});
}

TEST(DriverSettings, DocumentsOfOtherVersionsAreNotKnown) {
  const DriverSettings some{.rings = "rx 1, tx 2", .channels = "combined 8, rx 0, tx 0"};
  EXPECT_EQ(settings_in(json_of(some)), some);
  EXPECT_EQ(json_of(some).at("pause").get<std::string>(), "not known");
  for (const char* const text : {"null", "[]", "7", "{}", R"({"rings":7,"pause":null})"}) {
    EXPECT_EQ(settings_in(Json::parse(text)), DriverSettings{}) << text;
  }
  EXPECT_EQ(settings_in(Json::parse(R"({"rings":"a\nb"})")).rings, "a?b");
}

}  // namespace
}  // namespace heddle::acceptance
