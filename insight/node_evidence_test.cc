// What machines report becomes evidence of verdicts at their hosts, and of no others; alone it
// makes no verdict.
#include "insight/node_evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "insight/diagnosis/params.h"

namespace heddle::insight {
namespace {

using events::KernelMessageClass;
using events::Text;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

constexpr int64_t kSecond = 1'000'000'000;

class NodeEvidenceTest : public ::testing::Test {
 protected:
  NodeEvidenceTest() {
    for (uint32_t rank = 0; rank < 2; ++rank) {
      const std::string host = "h" + std::to_string(rank);
      diagnosis_.parties.push_back({.name = "r", .host = host, .rank = rank});
    }
    diagnosis_.until_ns = 120 * kSecond;
    Verdict verdict;
    verdict.what = VerdictClass::kNonCommunicationHang;
    verdict.place = {PlaceKind::kRank, {1}, ""};
    verdict.since_ns = 100 * kSecond;
    verdict.action = "look at the rank";
    diagnosis_.verdicts.push_back(verdict);
  }

  void log(const std::string& host, int64_t at, KernelMessageClass what, uint32_t code,
           const char* device, uint32_t file = 0) {
    nodes_.add({host, file, ""},
               events::KernelMessage{{}, what, 3, code, Text(device), Text("why")}, at);
  }
  // Each second with this number of drops.
  void sample(int64_t from_s, int64_t to_s, uint64_t drops, uint32_t file = 0) {
    for (int64_t at = from_s + 1; at <= to_s; ++at) {
      events::NodeSampled node;
      node.span = seconds(1);
      nodes_.add({"h1", file, ""}, node, at * kSecond);
      events::NicSampled nic;
      nic.interface = Text("eth0");
      nic.span = seconds(1);
      nic.received_drops = drops;
      nodes_.add({"h1", file, ""}, nic, at * kSecond);
    }
  }
  const Verdict& judged() {
    add_node_evidence(nodes_, diagnosis_);
    return diagnosis_.verdicts.front();
  }

  NodeHistory nodes_;
  Diagnosis diagnosis_;
};

TEST_F(NodeEvidenceTest, AnXidBeforeTheHangIsNamedAndItsHostDrained) {
  log("h1", 100 * kSecond - 400'000'000, KernelMessageClass::kGpuXid, 79, "0000:3b:00");
  const Verdict& verdict = judged();
  EXPECT_THAT(verdict.evidence,
              ElementsAre("kernel of h1, 0.4 s before: NVRM Xid 79 (GPU has fallen off the bus), "
                          "GPU 0000:3b:00"));
  EXPECT_EQ(verdict.action, "drain h1, and have its GPU checked (Xid 79); else look at the rank");
}

TEST_F(NodeEvidenceTest, AnXidOfTheProgramDrainsNothing) {
  log("h1", 99 * kSecond, KernelMessageClass::kGpuXid, 31, "0000:3b:00");
  EXPECT_THAT(judged().action, StartsWith("look for an error of the program at Xid 31"));
}

// A remapped row and a contained error leave the GPU usable.
TEST_F(NodeEvidenceTest, AContainedErrorOfMemoryDrainsNothing) {
  for (const uint32_t xid : {63u, 92u, 94u}) {
    nodes_ = {};
    diagnosis_.verdicts.front().action.clear();
    log("h1", 99 * kSecond, KernelMessageClass::kGpuXid, xid, "0000:3b:00");
    EXPECT_THAT(judged().action, StartsWith("restart the job, and reset the GPU of h1 at its next"))
        << xid;
  }
}

TEST_F(NodeEvidenceTest, AGpuThatFailsIsDrained) {
  for (const uint32_t xid : {48u, 64u, 74u, 79u, 95u}) {
    nodes_ = {};
    diagnosis_.verdicts.front().action.clear();
    log("h1", 99 * kSecond, KernelMessageClass::kGpuXid, xid, "0000:3b:00");
    EXPECT_THAT(judged().action, StartsWith("drain h1, and have its GPU checked")) << xid;
  }
}

TEST_F(NodeEvidenceTest, MessagesOfOtherHostsOrLongAgoAreNoEvidence) {
  log("h0", 99 * kSecond, KernelMessageClass::kGpuXid, 79, "0000:3b:00");
  log("h1", 100 * kSecond - params::kNodeBeforeNs - 1, KernelMessageClass::kGpuXid, 79, "");
  log("h1", 99 * kSecond, KernelMessageClass::kNicLinkUp, 0, "eth0");
  const Verdict& verdict = judged();
  EXPECT_THAT(verdict.evidence, IsEmpty());
  EXPECT_EQ(verdict.action, "look at the rank");
}

TEST_F(NodeEvidenceTest, AReportAloneMakesNoVerdict) {
  diagnosis_.verdicts.clear();
  log("h1", 99 * kSecond, KernelMessageClass::kGpuXid, 79, "0000:3b:00");
  add_node_evidence(nodes_, diagnosis_);
  EXPECT_THAT(diagnosis_.verdicts, IsEmpty());
}

TEST_F(NodeEvidenceTest, ACarrierThatWasLostIsNamed) {
  nodes_.add({"h1", 0, ""}, events::NicLinkChanged{{}, Text("eth0"), false},
             100 * kSecond - 100'000'000);
  const Verdict& verdict = judged();
  EXPECT_THAT(verdict.evidence, ElementsAre("eth0 of h1 lost its carrier 0.1 s before"));
  EXPECT_THAT(verdict.action, StartsWith("check eth0 of h1, its cable and its switch port"));
}

TEST_F(NodeEvidenceTest, DropsThatBeganWithTheVerdictAreCounted) {
  sample(10, 100, 0);
  sample(100, 103, 4115);
  diagnosis_.verdicts.front().until_ns = 103 * kSecond;
  EXPECT_THAT(judged().evidence,
              ElementsAre("eth0 of h1 dropped 12,345 received packets in these 5.0 s, none in the "
                          "58 s before"));
}

// A port counts what retransmits on its own: the job sees that its data is late.
TEST_F(NodeEvidenceTest, CountersOfAnRdmaPortAreEvidenceByDeviceAndPort) {
  sample(10, 103, 0);
  diagnosis_.verdicts.front().until_ns = 103 * kSecond;
  for (int64_t at = 100; at <= 102; ++at) {
    events::RdmaPortSampled port;
    port.device = Text("mlx5_1");
    port.port = 2;
    port.span = seconds(1);
    port.out_of_sequence = 1000;
    port.local_ack_timeout_err = 20;
    port.rp_cnp_handled = 5;
    port.packet_seq_err = 1;  // too few
    nodes_.add({"h1", 0, ""}, port, at * kSecond);
    port.device = Text("mlx5_0");
    nodes_.add({"h0", 0, ""}, port, at * kSecond);
  }
  const std::string during = " in these 5.0 s, none in the 58 s before";
  EXPECT_THAT(judged().evidence,
              UnorderedElementsAre(
                  "mlx5_1 port 2 of h1 received 3,000 packets out of sequence" + during,
                  "mlx5_1 port 2 of h1 had 60 timeouts of acknowledgements" + during,
                  "mlx5_1 port 2 of h1 was slowed by 15 congestion notifications" + during));
}

TEST_F(NodeEvidenceTest, EachCounterOfAnRdmaPortHasItsSentence) {
  using Port = events::RdmaPortSampled;
  const std::vector<std::pair<uint32_t Port::*, std::string>> counters = {
      {&Port::out_of_sequence, "received 100 packets out of sequence"},
      {&Port::packet_seq_err, "got 100 negative acknowledgements for missing packets"},
      {&Port::local_ack_timeout_err, "had 100 timeouts of acknowledgements"},
      {&Port::rnr_nak_retry_err, "was refused 100 times by receivers that had no receive posted"},
      {&Port::out_of_buffer, "had no receive posted for 100 packets"},
      {&Port::np_cnp_sent, "sent 100 congestion notifications"},
      {&Port::rp_cnp_handled, "was slowed by 100 congestion notifications"},
      {&Port::other_errors, "counted 100 other errors"}};
  for (const auto& [counter, sentence] : counters) {
    nodes_ = {};
    diagnosis_.verdicts.front().evidence.clear();
    sample(10, 120, 0);
    Port port;
    port.device = Text("mlx5_0");
    port.port = 1;
    port.span = seconds(1);
    port.*counter = 100;
    nodes_.add({"h1", 0, ""}, port, 101 * kSecond);
    EXPECT_THAT(judged().evidence, ElementsAre(StartsWith("mlx5_0 port 1 of h1 " + sentence)));
  }
}

TEST_F(NodeEvidenceTest, DropsAsEverAreNoEvidence) {
  sample(10, 120, 4115);
  EXPECT_THAT(judged().evidence, IsEmpty());
}

// A rank's sampler and a daemon's read the same counters and messages.
TEST_F(NodeEvidenceTest, AMachineThatIsSampledTwiceCountsOnce) {
  for (const uint32_t file : {0u, 1u}) {
    sample(10, 100, 0, file);
    sample(100, 120, 50, file);
    log("h1", 99 * kSecond + file * 1'000'000, KernelMessageClass::kOutOfMemory, 77, "", file);
  }
  EXPECT_THAT(judged().evidence,
              ElementsAre("kernel of h1, 1.0 s before: out of memory: process 77 (why) was killed",
                          HasSubstr("dropped 1,000 received packets")));
}

TEST_F(NodeEvidenceTest, EqualMessagesAreOneSentenceAndSentencesAreFew) {
  for (int i = 0; i < 5; ++i) {
    log("h1", (95 + i) * kSecond, KernelMessageClass::kPcieError, 0, "0000:3b:00.0");
  }
  for (uint32_t cpu = 0; cpu < 20; ++cpu) {
    log("h1", 90 * kSecond, KernelMessageClass::kSoftLockup, cpu, "");
    nodes_.add({"h1", 0, ""},
               events::KernelMessage{
                   {}, KernelMessageClass::kThermal, 4, cpu, {}, Text(std::to_string(cpu))},
               90 * kSecond);
  }
  const Verdict& verdict = judged();
  EXPECT_EQ(verdict.evidence.size(), params::kMostNodeSentences);
  EXPECT_EQ(verdict.evidence.front(),
            "kernel of h1, 1.0 s before: pcie error, 0000:3b:00.0: why (5 times)");
}

TEST_F(NodeEvidenceTest, TasksThatWaitForAProcessorAreEvidence) {
  for (int64_t at = 41; at <= 120; ++at) {
    events::NodeSampled node;
    node.span = seconds(1);
    node.cpu_stall = at > 100 ? millis(600) : millis(20);
    nodes_.add({"h1", 0, ""}, node, at * kSecond);
  }
  EXPECT_THAT(judged().evidence, ElementsAre(StartsWith("tasks waited for a processor on h1")));
}

// One kernel failure follows the other, and the first ones are the least.
TEST_F(NodeEvidenceTest, TheGravestIsNamedHoweverManyAreNearer) {
  log("h1", 95 * kSecond, KernelMessageClass::kGpuXid, 79, "0000:3b:00");
  for (uint32_t cpu = 0; cpu < 20; ++cpu) {
    log("h1", 99 * kSecond, KernelMessageClass::kHungTask, cpu, std::to_string(cpu).c_str());
  }
  const Verdict& verdict = judged();
  EXPECT_EQ(verdict.evidence.size(), params::kMostNodeSentences);
  EXPECT_THAT(verdict.evidence, Contains(HasSubstr("NVRM Xid 79")));
  EXPECT_THAT(verdict.action, StartsWith("drain h1"));
}

// A flood of one class must not push out the others.
TEST_F(NodeEvidenceTest, AFloodOfAnotherClassHidesNoXid) {
  log("h1", 99 * kSecond, KernelMessageClass::kGpuXid, 79, "0000:3b:00");
  for (uint32_t i = 0; i < 2 * params::kMostNodeEvents; ++i) {
    log("h1", 99 * kSecond + i, KernelMessageClass::kPcieError, 0, "0000:3b:00.0");
  }
  EXPECT_THAT(judged().action, StartsWith("drain h1"));
}

// Its drops are compared with nothing: that they have risen is not known.
TEST_F(NodeEvidenceTest, WithoutSamplesBeforeTheVerdictNothingHasRisen) {
  sample(95, 120, 4115);
  EXPECT_THAT(judged().evidence, IsEmpty());
}

// Of counters that always grow the time before an old verdict is not kept any more.
TEST_F(NodeEvidenceTest, DropsAsEverAreNoEvidenceOfAnOldVerdict) {
  diagnosis_.until_ns = 10'000 * kSecond;
  sample(0, 10'000, 4115);
  EXPECT_THAT(judged().evidence, IsEmpty());
}

// A second sampler began after the verdict: its file has no time before.
TEST_F(NodeEvidenceTest, RatesAreOfTheTimeInWhichTheirFileWasSampled) {
  sample(10, 120, 100, 0);
  sample(101, 120, 110, 1);
  EXPECT_THAT(judged().evidence, IsEmpty());
}

TEST_F(NodeEvidenceTest, ASamplerThatEndedLeavesTheTimeThatItSampled) {
  sample(10, 100, 0);
  sample(100, 103, 4115);  // of a verdict that lasts until 120 s
  EXPECT_THAT(judged().evidence, ElementsAre(HasSubstr("12,345 received packets in these 5.0 s")));
}

// The files of two samplers are read one after the other.
TEST_F(NodeEvidenceTest, ALinkThatTwoSamplersSawTwiceWasLostTwice) {
  for (const uint32_t file : {0u, 1u}) {
    for (const int64_t at : {90, 95}) {
      const int64_t ns = at * kSecond + file * 1'000'000;
      nodes_.add({"h1", file, ""}, events::NicLinkChanged{{}, Text("eth0"), false}, ns);
      nodes_.add({"h1", file, ""}, events::NicLinkChanged{{}, Text("eth0"), true}, ns + kSecond);
    }
  }
  EXPECT_THAT(judged().evidence, ElementsAre(HasSubstr("lost its carrier 5.0 s before (2 times)")));
  EXPECT_EQ(nodes_.of("h1")->links.size(), 4u);
}

// A pod has another name than its machine, which is what is to be drained.
TEST_F(NodeEvidenceTest, TheMachineOfAPodIsNamed) {
  nodes_.add({"h1", 0, "node7"},
             events::KernelMessage{{}, KernelMessageClass::kGpuXid, 3, 79, Text("0000:3b:00"), {}},
             99 * kSecond);
  const Verdict& verdict = judged();
  EXPECT_THAT(verdict.evidence, ElementsAre(StartsWith("kernel of node7, 1.0 s before")));
  EXPECT_THAT(verdict.action, StartsWith("drain node7"));
}

// Of a recording that has ended, all is read after the diagnosis.
TEST_F(NodeEvidenceTest, AVerdictOfLongAgoHasItsEvidence) {
  diagnosis_.until_ns = 10'000 * kSecond;
  NodeEvidence evidence(diagnosis_);
  for (int64_t at = 11; at <= 10'000; ++at) {
    events::NodeSampled node;
    node.span = seconds(1);
    evidence.add({"h1", 0, ""}, node, at * kSecond);
    events::NicSampled nic;
    nic.interface = Text("eth0");
    nic.span = seconds(1);
    nic.received_drops = at > 100 ? 1000 : 1;
    evidence.add({"h1", 0, ""}, nic, at * kSecond);
    evidence.add({"h0", 1, ""}, nic, at * kSecond);
  }
  evidence.finish();
  EXPECT_THAT(diagnosis_.verdicts.front().evidence,
              ElementsAre("eth0 of h1 dropped 600,002 received packets in these 602.0 s, 58 in the "
                          "58 s before"));
}

TEST(NodeHistory, ItsSizeIsBounded) {
  NodeHistory nodes;
  constexpr uint32_t kMessages = params::kMostNodeEvents + 50;
  for (uint32_t i = 0; i < kMessages; ++i) {
    nodes.add({"h1", 0, ""}, events::KernelMessage{{}, KernelMessageClass::kIoError, 3, i, {}, {}},
              i * kSecond);
  }
  const auto& messages = nodes.of("h1")->messages.at(KernelMessageClass::kIoError);
  EXPECT_EQ(messages.size(), params::kMostNodeEvents);
  EXPECT_EQ(messages.back().message.code, kMessages - 1);
}

}  // namespace
}  // namespace heddle::insight
