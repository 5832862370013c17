// Tests of the doctor's checks: a sound machine has no complaint, and each odd one has its own.

#include "nccl/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "nccl/testing/machine.h"

namespace heddle::nccl {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Nic nic_named(const std::string& name, const std::string& address, uint64_t guid) {
  Nic nic;
  nic.name = name;
  nic.addresses = {address_of(address)};
  nic.mtu_bytes = 9000;
  nic.speed_mbits = 100'000;
  nic.speed_known = true;
  nic.guid = guid;
  nic.up = true;
  nic.carrier = true;
  nic.kind = "physical";
  return nic;
}

NcclLibrary stock_library() {
  NcclLibrary library;
  library.path = "/usr/lib/libnccl.so.2";
  library.origin = "ldconfig";
  library.version = "2.28.9";
  library.net = {11, 10, 9, 8, 7, 6};
  library.profiler = {5, 4};
  library.tuner = {5, 4};
  return library;
}

// A machine about which there is nothing to say.
HostFacts sound_host() {
  HostFacts facts;
  facts.settings = {{"NCCL_NET_PLUGIN", "heddle", "the environment"},
                    {"NCCL_NET", "heddle", "the environment"}};
  facts.plugin.setting = "heddle";
  facts.plugin.path = "/opt/heddle/lib/libnccl-net-heddle.so";
  facts.plugin.net_name = "heddle";
  facts.plugin.net = {12, 11, 10, 9, 8, 7, 6};
  facts.plugin.profiler = {7, 6, 5};
  facts.plugin.tuner = {7, 6, 5};
  facts.libraries = {stock_library()};
  facts.nics = {nic_named("eth0", "10.0.0.1", 1), nic_named("eth1", "10.0.1.1", 2)};
  facts.rules_known = true;
  facts.rules_from = {"10.0.0.1", "10.0.1.1"};
  facts.gso = true;
  facts.gro = true;
  facts.rmem_max_bytes = 16 << 20;
  facts.wmem_max_bytes = 16 << 20;
  facts.descriptors = 65'536;
  facts.cores = 64;
  facts.usable_cores = 64;
  facts.keys.file = "/etc/heddle/keys";
  facts.keys.ids = {"0123456789abcdef"};
  return facts;
}

// The findings that are not ok, as lines "grade topic what".
std::vector<std::string> complaints(const HostFacts& facts) {
  std::vector<std::string> lines;
  for (const Finding& finding : examine(facts)) {
    if (finding.grade == Grade::kOk) continue;
    EXPECT_FALSE(finding.why.empty()) << finding.what;
    EXPECT_FALSE(finding.todo.empty()) << finding.what;
    lines.push_back(std::string(grade_name(finding.grade)) + " " + finding.topic + " " +
                    finding.what);
  }
  return lines;
}

void expect_one(const HostFacts& facts, const std::string& begin, const std::string& part = "") {
  const std::vector<std::string> lines = complaints(facts);
  ASSERT_EQ(lines.size(), 1u) << testing::PrintToString(lines);
  EXPECT_EQ(lines[0].substr(0, begin.size()), begin);
  EXPECT_THAT(lines[0], HasSubstr(part));
}

bool has_ok(const HostFacts& facts, const std::string& part) {
  const std::vector<Finding> findings = examine(facts);
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& each) {
    return each.grade == Grade::kOk && each.what.find(part) != std::string::npos;
  });
}

TEST(DoctorTest, ASoundMachineHasNoComplaint) {
  const HostFacts facts = sound_host();
  EXPECT_THAT(complaints(facts), IsEmpty());
  EXPECT_FALSE(any_failed(examine(facts)));
  EXPECT_TRUE(
      has_ok(facts, "NCCL 2.28.9 (/usr/lib/libnccl.so.2, by ldconfig) picks net table v11"));
  EXPECT_TRUE(has_ok(facts, "profiler v5, tuner v5"));
  EXPECT_TRUE(has_ok(facts, "one-sided and zero-SM traffic is not on heddle"));
}

TEST(DoctorTest, AMissingPluginFails) {
  HostFacts facts = sound_host();
  facts.plugin = {};
  facts.plugin.setting = "heddle";
  facts.plugin.tried = {"heddle", "libnccl-net-heddle.so"};
  expect_one(facts, "fail plugin", "'heddle'");
  EXPECT_TRUE(any_failed(examine(facts)));
  EXPECT_THAT(examine(facts)[0].why, HasSubstr("tried heddle, libnccl-net-heddle.so"));
}

TEST(DoctorTest, AnotherPluginUnderTheNameFails) {
  HostFacts facts = sound_host();
  facts.plugin.net_name = "AWS Libfabric";
  const std::vector<std::string> lines = complaints(facts);
  EXPECT_THAT(lines[0], HasSubstr("is the plugin 'AWS Libfabric'"));
  facts = sound_host();
  facts.plugin.net.clear();
  EXPECT_THAT(complaints(facts)[0], HasSubstr("exports no net table"));
}

TEST(DoctorTest, ALibraryWithoutACommonTableFails) {
  HostFacts facts = sound_host();
  facts.libraries[0].net = {5, 4};
  expect_one(facts, "fail nccl", "no net table in common");
}

TEST(DoctorTest, EachLibraryOfTheMachineIsJudged) {
  HostFacts facts = sound_host();
  facts.libraries.push_back(stock_library());
  facts.libraries[1].version = "2.30.7";
  facts.libraries[1].path = "/venv/libnccl.so.2";
  facts.libraries[1].net = {12, 11, 10, 9, 8, 7, 6};
  EXPECT_TRUE(
      has_ok(facts, "NCCL 2.28.9 (/usr/lib/libnccl.so.2, by ldconfig) picks net table v11"));
  EXPECT_TRUE(has_ok(facts, "NCCL 2.30.7 (/venv/libnccl.so.2, by ldconfig) picks net table v12"));
}

TEST(DoctorTest, NoLibraryIsAWarning) {
  HostFacts facts = sound_host();
  facts.libraries.clear();
  expect_one(facts, "warn nccl");
}

TEST(DoctorTest, Variables) {
  HostFacts facts = sound_host();
  facts.settings.clear();
  EXPECT_EQ(complaints(facts).size(), 2u);
  facts.settings = {{"NCCL_NET_PLUGIN", "none", "the environment"},
                    {"NCCL_NET", "HEDDLE", "/etc/nccl.conf"}};
  expect_one(facts, "fail variables", "NCCL_NET_PLUGIN=none");
  facts = sound_host();
  facts.settings[1].value = "Socket";
  expect_one(facts, "warn variables", "NCCL_NET=Socket");
  facts.settings[1].value = "IB";
  expect_one(facts, "fail variables", "NCCL_NET=IB");
  facts = sound_host();
  facts.wrong_settings = {Error{ErrorCode::kInvalid, "cannot set paths to 'x'", "why", "todo"}};
  expect_one(facts, "fail variables", "cannot set paths to 'x'");
}

TEST(DoctorTest, AListOfNetPlugins) {
  HostFacts facts = sound_host();
  facts.settings[0].value = "heddle,aws";
  EXPECT_THAT(complaints(facts), IsEmpty());
  facts.settings[0].value = "aws,heddle";
  facts.ahead = {FoundPlugin{.setting = "aws", .tried = {"aws", "libnccl-net-aws.so"}}};
  EXPECT_THAT(complaints(facts), IsEmpty());  // NCCL does not find it either
  facts.ahead[0].path = "/usr/lib/libnccl-net-aws.so";
  facts.ahead[0].net_name = "AWS Libfabric";
  facts.ahead[0].net = {10};
  EXPECT_THAT(complaints(facts), IsEmpty());  // NCCL_NET=heddle skips it
  facts.settings[1].value = "Socket";
  ASSERT_EQ(complaints(facts).size(), 2u);
  EXPECT_EQ(complaints(facts)[0], "warn variables NCCL_NET_PLUGIN=aws,heddle (the environment)");
}

TEST(DoctorTest, TheSlotsOfProfilerAndTuner) {
  HostFacts facts = sound_host();
  facts.settings.push_back({"NCCL_PROFILER_PLUGIN", "none", "the environment"});
  expect_one(facts, "warn variables", "NCCL_PROFILER_PLUGIN=none");
  facts.settings[2].value = "inspector";
  facts.profiler.tried = {"inspector", "libnccl-profiler-inspector.so"};
  expect_one(facts, "warn variables", "NCCL_PROFILER_PLUGIN=inspector");
  facts.profiler.path = "/usr/lib/libnccl-profiler-inspector.so";
  facts.profiler.profiler_name = "Inspector";
  expect_one(facts, "warn variables", "NCCL_PROFILER_PLUGIN=inspector");
  facts.profiler.profiler_name = "heddle";
  EXPECT_THAT(complaints(facts), IsEmpty());
  EXPECT_TRUE(has_ok(facts, "NCCL_PROFILER_PLUGIN=inspector (the environment): /usr/lib/"));
  facts.tuner.path = "/usr/lib/libnccl-tuner.so";  // found without a variable
  facts.tuner.tuner_name = "another";
  expect_one(facts, "warn variables", "NCCL_TUNER_PLUGIN is not set");
}

TEST(DoctorTest, TheTunersFigures) {
  HostFacts facts = sound_host();
  EXPECT_TRUE(has_ok(facts, "off: NCCL chooses alone"));
  facts.figures.network = MeasuredNetwork{{38'214'000'000}, {}, {21'500}};
  EXPECT_TRUE(has_ok(
      facts, "on: 38214000 kb/s between nodes, 21500 ns one way; every rank needs these figures"));
  facts.figures.network.reset();
  facts.figures.error = Error{ErrorCode::kUnavailable, "cannot read n.toml", "no file", "write it"};
  expect_one(facts, "fail tuner", "cannot read n.toml");
}

TEST(DoctorTest, TheFolderOfRecordings) {
  HostFacts facts = sound_host();
  facts.recording.folder = "/tmp/job";
  EXPECT_THAT(complaints(facts), IsEmpty());
  EXPECT_TRUE(has_ok(facts, "into /tmp/job"));
  facts.recording.error = Error{ErrorCode::kPermission, "cannot record", "not writable", "mend"};
  expect_one(facts, "fail recording", "cannot record");
}

TEST(DoctorTest, SelectionsThatLeaveNothingUseful) {
  HostFacts facts = sound_host();
  facts.nics.push_back(nic_named("lo", "127.0.0.1", 3));
  facts.nics[2].loopback = true;
  facts.selection = "^eth";
  const std::vector<std::string> lines = complaints(facts);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1], "fail interface HEDDLE_IFNAME=^eth leaves only loopback");
  facts.selection = "=lo";
  expect_one(facts, "warn interface", "lo is loopback");
  facts.selection = "eth0,";
  expect_one(facts, "fail interface", "cannot use HEDDLE_IFNAME=eth0,");
}

TEST(DoctorTest, AFileOfNicsThatDescribesNone) {
  HostFacts facts = sound_host();
  facts.nics_file = "/etc/nics.toml";
  expect_one(facts, "warn nics", "/etc/nics.toml describes no interface");
  facts.nics[1].described = true;
  EXPECT_THAT(complaints(facts), IsEmpty());
}

TEST(DoctorTest, InterfacesThatCannotBeUsed) {
  HostFacts facts = sound_host();
  facts.nics[1].carrier = false;
  EXPECT_THAT(complaints(facts), IsEmpty());
  EXPECT_TRUE(has_ok(facts, "eth1 is not used: it has no carrier"));
  facts.nics[0].addresses = {address_of("fe80::1")};
  expect_one(facts, "fail interface", "no interface has a link and an address");
  EXPECT_TRUE(has_ok(facts, "eth0 is not used: its only address is link-local"));
  facts = sound_host();
  facts.selection = "ib";
  expect_one(facts, "fail interface", "HEDDLE_IFNAME=ib");
}

TEST(DoctorTest, OnlyLoopback) {
  HostFacts facts = sound_host();
  facts.nics = {nic_named("lo", "127.0.0.1", 1)};
  facts.nics[0].loopback = true;
  facts.nics[0].kind = "virtual";
  expect_one(facts, "warn interface", "lo is loopback");
}

TEST(DoctorTest, Mtus) {
  HostFacts facts = sound_host();
  facts.nics[0].mtu_bytes = facts.nics[1].mtu_bytes = 1500;
  EXPECT_EQ(complaints(facts).size(), 2u);
  for (Nic& nic : facts.nics) nic.speed_mbits = 10'000;
  EXPECT_THAT(complaints(facts), IsEmpty());
  facts.nics[1].mtu_bytes = 9000;
  expect_one(facts, "warn mtu", "eth0 1500, eth1 9000");
  facts.nics[1].mtu_bytes = facts.nics[0].mtu_bytes = 1000;
  EXPECT_THAT(complaints(facts)[0], HasSubstr("fail mtu eth0 has an MTU of 1000"));
}

TEST(DoctorTest, AVlanMayNotExceedTheMtuBelowIt) {
  HostFacts facts = sound_host();
  facts.nics[1] = nic_named("eth0.7", "10.0.1.1", 1);
  facts.nics[1].kind = "vlan";
  facts.nics[1].lower = {"eth0"};
  facts.nics[0].mtu_bytes = 1500;
  facts.selection = "=eth0.7";
  expect_one(facts, "fail mtu", "eth0.7 has an MTU of 9000, eth0 below it 1500");
}

TEST(DoctorTest, UnknownSpeeds) {
  HostFacts facts = sound_host();
  facts.nics[0].speed_known = false;
  facts.nics[0].speed_mbits = kUnknownSpeedMbits;
  expect_one(facts, "warn speed", "eth0 reports no speed; NCCL gets 10000 Mb/s");
}

TEST(DoctorTest, TwoInterfacesOfOneSubnet) {
  HostFacts facts = sound_host();
  facts.nics[1].addresses = {address_of("10.0.0.2")};
  facts.rules_from = {"10.0.0.1", "10.0.0.2"};
  EXPECT_THAT(complaints(facts), IsEmpty());
  facts.rules_from = {"10.0.0.1"};
  expect_one(facts, "warn subnet", "eth0 and eth1");
  facts.nics[1].addresses = {address_of("10.0.1.2", 16)};
  facts.nics[0].addresses = {address_of("10.0.0.1", 24)};
  EXPECT_EQ(complaints(facts).size(), 1u);  // the wider of the two takes the other for its own
}

TEST(DoctorTest, RulesOfSeveralInterfaces) {
  HostFacts facts = sound_host();
  facts.rules_from.clear();
  expect_one(facts, "warn routing", "eth0, eth1 have no routing rule");
  facts.rules_known = false;
  EXPECT_THAT(complaints(facts), IsEmpty());
}

TEST(DoctorTest, TwoInterfacesOfOneCable) {
  HostFacts facts = sound_host();
  facts.nics[1].guid = 1;
  expect_one(facts, "warn cable", "eth0 and eth1 send over the same port");
  facts.nics[1].port = 2;
  EXPECT_THAT(complaints(facts), IsEmpty());
  EXPECT_TRUE(has_ok(facts, "eth0 and eth1 are ports of one chip"));
  facts.nics[1].lower = {"eth0"};
  expect_one(facts, "warn cable", "eth0 and eth1 lie over each other");
}

TEST(DoctorTest, AWrongFileOfNicsFails) {
  HostFacts facts = sound_host();
  facts.nics.clear();
  facts.nics_error = Error{ErrorCode::kInvalid, "cannot use nics.toml:3", "unknown key", "see"};
  expect_one(facts, "fail nics", "nics.toml:3");
}

TEST(DoctorTest, SocketBuffers) {
  HostFacts facts = sound_host();
  facts.rmem_max_bytes = 212'992;
  expect_one(facts, "warn buffers", "rmem_max 212992");
  const std::vector<Finding> findings = examine(facts);
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [](const Finding& each) { return each.topic == "buffers"; });
  EXPECT_THAT(found->why, HasSubstr("106496 bytes in flight"));
  EXPECT_THAT(found->why, HasSubstr("8.5 Gb/s"));
  facts.forces_buffers = true;
  EXPECT_THAT(complaints(facts), IsEmpty());
  facts.rmem_max_bytes = -1;
  EXPECT_THAT(complaints(facts), IsEmpty());
}

TEST(DoctorTest, UdpOffloads) {
  HostFacts facts = sound_host();
  facts.gso = false;
  expect_one(facts, "warn udp", "no GSO");
  facts.gro = false;
  expect_one(facts, "warn udp", "no GSO and no GRO");
  facts.udp_error = Error{ErrorCode::kExhausted, "cannot open", "no descriptors", "ulimit -n"};
  expect_one(facts, "fail udp", "cannot open");
}

TEST(DoctorTest, LimitsOfContainers) {
  HostFacts facts = sound_host();
  facts.usable_cores = 1;
  expect_one(facts, "warn cores", "1 of 64 cores");
  facts = sound_host();
  facts.descriptors = 256;
  expect_one(facts, "warn limits", "256 open files");
}

TEST(DoctorTest, ThreadsOfDevicesNeedCoresAndOpenFiles) {
  HostFacts facts = sound_host();
  facts.threads = 4;
  facts.gpus = 8;
  facts.cores = facts.usable_cores = 40;
  EXPECT_THAT(complaints(facts), testing::IsEmpty());
  facts.usable_cores = 39;
  expect_one(facts, "warn cores", "39 of 40 cores");
  facts.usable_cores = 40;
  facts.descriptors = 700;
  facts.threads = 0;
  EXPECT_THAT(complaints(facts), testing::IsEmpty());
  facts.threads = 4;
  expect_one(facts, "warn limits", "700 open files");
}

TEST(DoctorTest, Keys) {
  HostFacts facts = sound_host();
  facts.keys = {};
  expect_one(facts, "warn keys", "no cluster keys");
  facts.keys.error = Error{ErrorCode::kPermission, "cannot use /k", "others read it", "chmod 600"};
  expect_one(facts, "fail keys", "cannot use /k");
}

TEST(DoctorTest, Firewalls) {
  HostFacts facts = sound_host();
  facts.firewalls = {"firewalld"};
  expect_one(facts, "warn firewall", "firewalld is set to run");
  facts = sound_host();
  facts.tracked_connections_most = 1000;
  facts.tracked_connections = 800;
  EXPECT_THAT(complaints(facts), IsEmpty());
  facts.tracked_connections = 801;
  expect_one(facts, "warn firewall", "connection tracking holds 801");
}

}  // namespace
}  // namespace heddle::nccl
