// Machine answers: the rate of the tested port, of hardware alone.
#include "acceptance/fabrics/machine_answers.h"

#include <gtest/gtest.h>

namespace heddle::acceptance {
namespace {

NicFacts nic(const std::string& device, double rate, bool tested) {
  return {.device = device,
          .carrier = true,
          .mtu_bytes = 9000,
          .rate_bits_per_s = rate,
          .offloads = "gro on",
          .tested = tested};
}

// A veth pair reports 10 Gb/s, and would be below or above every plan.
TEST(MachineAnswers, TheRateOfATestedPortIsThatOfHardware) {
  const Json facts = {{"rate_bits_per_s", 10e9}};
  MachineFacts machine;
  EXPECT_EQ(hardware_rate_in(facts, machine), 0) << "an older heddle";
  machine.nics.emplace();
  EXPECT_EQ(hardware_rate_in(facts, machine), 0) << "a veth pair";
  machine.nics->push_back(nic("eth0", 100e9, false));
  EXPECT_EQ(hardware_rate_in(facts, machine), 0) << "a veth pair beside a NIC";
  machine.nics->push_back(nic("eth1", 0, true));
  EXPECT_EQ(hardware_rate_in(facts, machine), 0) << "a driver that knows none";
  machine.nics->push_back(nic("eth2", 5e9, true));
  EXPECT_EQ(hardware_rate_in(facts, machine), 10e9) << "a bond of two has the rate of both";
  EXPECT_EQ(hardware_rate_in({{"rate_bits_per_s", -1}}, machine), 0);
  EXPECT_EQ(hardware_rate_in({{"rate_bits_per_s", 1e300}}, machine), 1e15);
}

}  // namespace
}  // namespace heddle::acceptance
