// Chakra traces as jobs and back: dependencies, groups, messages, and errors with their place.
#include "topology/chakra_traces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "base/temporary_folder.h"
#include "topology/chakra/trace.h"
#include "topology/generators.h"
#include "topology/workload_file.h"

namespace heddle::topology {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Files = std::map<std::string, std::string>;

Topology fabric() { return leaf_spine({.leaves = 2, .spines = 2, .hosts_per_leaf = 4}); }

Job job_of(const Files& files) {
  Result<ForeignJob> made = parse_chakra_traces(files);
  EXPECT_TRUE(made) << made.error().message();
  return made ? std::move(made->job) : Job{};
}

std::string refused(const Files& files) {
  const Result<ForeignJob> made = parse_chakra_traces(files);
  return made ? "accepted" : made.error().message();
}

// A node as Chakra's jsonizer writes it; `more` has its other members.
std::string node(int id, const std::string& type, const std::string& more = "",
                 const std::string& attributes = "") {
  return R"({"id": ")" + std::to_string(id) + R"(", "type": ")" + type + "\"" +
         (more.empty() ? "" : ", " + more) +
         R"(, "attr": [{"name": "is_cpu_op", "boolVal": false})" +
         (attributes.empty() ? "" : ", " + attributes) + "]}";
}

std::string integer(const std::string& name, int64_t value) {
  return R"({"name": ")" + name + R"(", "int64Val": ")" + std::to_string(value) + "\"}";
}

std::string collective(int id, int type, int64_t bytes, const std::string& more = "",
                       const std::string& group = "") {
  return node(id, "COMM_COLL_NODE", more,
              integer("comm_type", type) + ", " + integer("comm_size", bytes) +
                  (group.empty() ? "" : R"(, {"name": "pg_name", "stringVal": ")" + group + "\"}"));
}

std::string message(int id, bool sends, int peer, int64_t bytes, int tag = 0) {
  return node(id, sends ? "COMM_SEND_NODE" : "COMM_RECV_NODE", "",
              integer(sends ? "comm_dst" : "comm_src", peer) + ", " + integer("comm_size", bytes) +
                  ", " + integer("comm_tag", tag));
}

const std::string kMetadata = R"({"version": "1.0.0"})";

Files same_on(int ranks, const std::string& nodes) {
  Files files;
  for (int i = 0; i < ranks; ++i) files["t." + std::to_string(i) + ".json"] = kMetadata + nodes;
  return files;
}

// Labels by number, which are all that text needs here.
std::string labels_of(const Action& action) {
  std::string text = std::to_string(action.label) + ":";
  for (const uint32_t each : action.after) text += " " + std::to_string(each);
  return text;
}

TEST(ChakraTraces, ControlAndDataDependenciesAreWhatActionsStartAfter) {
  const Job job = job_of(same_on(
      2,
      node(1, "COMP_NODE", R"("durationMicros": "5")") +
          collective(3, 0, 4096, R"("dataDeps": ["1"])") +
          node(2, "COMP_NODE", R"("durationMicros": "7", "ctrlDeps": ["1"])") +
          node(4, "COMP_NODE", R"("durationMicros": "1", "ctrlDeps": ["2"], "dataDeps": ["3"])")));
  ASSERT_EQ(job.programs.size(), 1u);
  const auto& actions = job.programs.front().actions;
  ASSERT_EQ(actions.size(), 4u);
  EXPECT_EQ(actions[0].span, micros(5));
  EXPECT_EQ(labels_of(actions[0]), "0:");
  EXPECT_EQ(actions[1].span, micros(7));
  EXPECT_EQ(labels_of(actions[1]), "1: 0");
  EXPECT_EQ(actions[2].call, CallKind::kAllReduce);
  EXPECT_EQ(actions[2].bytes, 4096u);
  EXPECT_THAT(actions[2].after, ElementsAre(0));
  EXPECT_EQ(actions[3].after.size(), 2u);
  EXPECT_TRUE(validate(job, fabric()));
}

TEST(ChakraTraces, SizesAreARanksInput) {
  const Job job = job_of(same_on(4, collective(1, 2, 1000) + collective(2, 7, 1000) +
                                        collective(3, 6, 1000) + collective(4, 9, 0)));
  const auto& actions = job.programs.front().actions;
  EXPECT_EQ(actions[0].call, CallKind::kAllGather);
  EXPECT_EQ(actions[0].bytes, 4000u);
  EXPECT_EQ(actions[1].call, CallKind::kReduceScatter);
  EXPECT_EQ(actions[1].bytes, 1000u);
  EXPECT_EQ(actions[2].call, CallKind::kAllToAll);
  EXPECT_EQ(actions[3].call, CallKind::kBarrier);
}

TEST(ChakraTraces, GroupsComeFromAFileOrFromMetadataNodes) {
  Files files = same_on(4, collective(1, 0, 64, "", "7"));
  EXPECT_THAT(refused(files), HasSubstr("comm_groups.json"));
  files["comm_groups.json"] = R"({"7": [3, 2, 1, 0]})";
  EXPECT_THAT(job_of(files).communicators.front().ranks, ElementsAre(3, 2, 1, 0));
  files["comm_groups.json"] = R"({"7": [0, 1, 2]})";
  EXPECT_THAT(refused(files), HasSubstr("does not have rank 3"));
  files["comm_groups.json"] = R"({"7": [0, 9]})";
  EXPECT_THAT(refused(files), HasSubstr("comm_groups.json"));
  files.clear();
  for (int rank = 0; rank < 4; ++rank) {
    const std::string pair = rank < 2 ? "[0, 1]" : "[2, 3]";
    files["t." + std::to_string(rank) + ".json"] =
        kMetadata +
        node(0, "METADATA_NODE",
             R"("inputs": {"values": "['[{\"pg_name\": \"7\", \"ranks\": )" + pair + R"(}]']"})") +
        collective(1, 0, 64, "", "7");
  }
  const Job job = job_of(files);
  ASSERT_EQ(job.communicators.size(), 2u);
  EXPECT_EQ(job.communicators[0].name, job.communicators[1].name);
  EXPECT_THAT(job.communicators[1].ranks, ElementsAre(2, 3));
  EXPECT_TRUE(validate(job, fabric()));
}

TEST(ChakraTraces, MessagesMeetInTheOrderOfAPair) {
  const Files good = {{"t.0.json", kMetadata + message(1, true, 1, 100, 5)},
                      {"t.1.json", kMetadata + message(8, false, 0, 100, 5)}};
  const Job job = job_of(good);
  EXPECT_EQ(job.programs[0].actions[0].call, CallKind::kSend);
  EXPECT_EQ(job.programs[1].actions[0].call, CallKind::kReceive);
  Files bad = good;
  bad["t.1.json"] = kMetadata + message(8, false, 0, 200, 5);
  EXPECT_THAT(refused(bad), HasSubstr("another size"));
  bad["t.1.json"] = kMetadata + message(8, false, 0, 100, 6);
  EXPECT_THAT(refused(bad), HasSubstr("comm_tag"));
  bad["t.1.json"] = kMetadata + node(8, "COMP_NODE");
  EXPECT_THAT(refused(bad), HasSubstr("rank 1 does not receive"));
  bad["t.1.json"] = kMetadata + message(8, false, 1, 100);
  EXPECT_THAT(refused(bad), HasSubstr("between this rank and another"));
  bad["t.1.json"] = kMetadata + node(8, "COMM_RECV_NODE");
  EXPECT_THAT(refused(bad), HasSubstr("no comm_src"));
}

// Rank 0 sends, and receives when that has ended; rank 1 does the same.
TEST(ChakraTraces, WhatDependsOnASendWaitsForWhatTheSendWaitsFor) {
  const auto rank = [](int peer) {
    return kMetadata + node(1, "COMP_NODE", R"("durationMicros": "5")") +
           node(2, "COMM_SEND_NODE", R"("dataDeps": ["1"])",
                integer("comm_dst", peer) + ", " + integer("comm_size", 64)) +
           node(3, "COMM_RECV_NODE", R"("dataDeps": ["2"])",
                integer("comm_src", peer) + ", " + integer("comm_size", 64)) +
           node(4, "COMP_NODE", R"("durationMicros": "5", "dataDeps": ["3"])");
  };
  const Job job = job_of({{"t.0.json", rank(1)}, {"t.1.json", rank(0)}});
  const auto& actions = job.programs.front().actions;
  ASSERT_EQ(actions.size(), 4u);
  EXPECT_THAT(actions[1].after, ElementsAre(actions[0].label));
  EXPECT_THAT(actions[2].after, ElementsAre(actions[0].label));
  EXPECT_THAT(actions[3].after, ElementsAre(actions[2].label));
}

// They waited for ever: the computation for its send, and that for the other rank's receive.
TEST(ChakraTraces, AReceiveBehindAComputationBehindASendIsPosted) {
  const auto rank = [](int peer) {
    return kMetadata + message(1, true, peer, 64) +
           node(2, "COMP_NODE", R"("durationMicros": "5", "dataDeps": ["1"])") +
           node(3, "COMM_RECV_NODE", R"("dataDeps": ["2"])",
                integer("comm_src", peer) + ", " + integer("comm_size", 64));
  };
  const Job job = job_of({{"t.0.json", rank(1)}, {"t.1.json", rank(0)}});
  const auto& actions = job.programs.front().actions;
  ASSERT_EQ(actions.size(), 3u);
  EXPECT_THAT(actions[1].after, IsEmpty());
  EXPECT_THAT(actions[2].after, ElementsAre(actions[1].label));
}

// The second send's dependents lost what the first one waits for.
TEST(ChakraTraces, AReceiveBehindTwoSendsWaitsForWhatTheFirstWaitsFor) {
  const auto rank = [](int peer) {
    return kMetadata + node(1, "COMP_NODE", R"("durationMicros": "5")") +
           node(2, "COMM_SEND_NODE", R"("dataDeps": ["1"])",
                integer("comm_dst", peer) + ", " + integer("comm_size", 64)) +
           node(3, "COMM_SEND_NODE", R"("dataDeps": ["2"])",
                integer("comm_dst", peer) + ", " + integer("comm_size", 64)) +
           node(4, "COMM_RECV_NODE", R"("dataDeps": ["3"])",
                integer("comm_src", peer) + ", " + integer("comm_size", 64)) +
           message(5, false, peer, 64);
  };
  const Job job = job_of({{"t.0.json", rank(1)}, {"t.1.json", rank(0)}});
  const auto& actions = job.programs.front().actions;
  ASSERT_EQ(actions.size(), 5u);
  EXPECT_THAT(actions[3].after, ElementsAre(actions[0].label));
}

// 100 computations, sends that wait for all of them, and receives that wait for all sends were
// 100 times as many dependencies as in the file.
TEST(ChakraTraces, DependenciesBehindSendsDoNotMultiply) {
  constexpr int kEach = 100;
  const auto rank = [](int peer) {
    const auto all = [](int first) {
      std::string ids;
      for (int i = 0; i < kEach; ++i) ids += (i == 0 ? "" : ", ") + std::to_string(first + i);
      return "\"dataDeps\": [" + ids + "]";
    };
    std::string nodes = kMetadata;
    for (int i = 0; i < kEach; ++i) nodes += node(1 + i, "COMP_NODE");
    for (int i = 0; i < kEach; ++i) {
      nodes += node(1001 + i, "COMM_SEND_NODE", all(1),
                    integer("comm_dst", peer) + ", " + integer("comm_size", 64));
    }
    for (int i = 0; i < kEach; ++i) {
      nodes += node(2001 + i, "COMM_RECV_NODE", all(1001),
                    integer("comm_src", peer) + ", " + integer("comm_size", 64));
    }
    for (int i = 0; i < kEach; ++i) nodes += node(3001 + i, "COMP_NODE", all(2001));
    return nodes;
  };
  const Job job = job_of({{"t.0.json", rank(1)}, {"t.1.json", rank(0)}});
  size_t dependencies = 0;
  for (const Action& action : job.programs.front().actions) dependencies += action.after.size();
  EXPECT_LE(dependencies, 3u * kEach * kEach + 2 * kEach);
  EXPECT_TRUE(validate(job, fabric()));
}

// An imported file had more labels than its reader takes.
TEST(ChakraTraces, NodesThatAreAwaitedAtATimeAreLimitedAsInFiles) {
  // A GlobalMetadata, 70,000 nodes of an id alone, and one that depends on each.
  std::string bytes(1, '\0');
  std::string last = "\x08\x07";
  const auto varint = [](std::string& out, int value) {
    for (; value >= 128; value /= 128) out.push_back(static_cast<char>(value % 128 + 128));
    out.push_back(static_cast<char>(value));
  };
  for (int i = 0; i < 70'000; ++i) {
    std::string message = "\x08";
    varint(message, 1000 + i);
    bytes.push_back(static_cast<char>(message.size()));
    bytes += message;
    last += "\x28";
    varint(last, 1000 + i);
  }
  varint(bytes, static_cast<int>(last.size()));
  EXPECT_THAT(refused({{"t.0.et", bytes + last}}), HasSubstr("65,536"));
}

TEST(ChakraTraces, RanksOfAGroupCallTheSame) {
  Files files = same_on(2, collective(1, 0, 64) + collective(2, 0, 128));
  files["t.1.json"] = kMetadata + collective(1, 0, 64) + collective(5, 0, 256);
  const std::string why = refused(files);
  EXPECT_THAT(why, HasSubstr("node 5 of t.1.json"));
  EXPECT_THAT(why, HasSubstr("node 2 of t.0.json"));
  files["t.1.json"] = kMetadata + collective(1, 0, 64);
  EXPECT_THAT(refused(files), HasSubstr("it has 1 collectives of the group"));
}

TEST(ChakraTraces, WhatIsLeftOutOrChangedIsCounted) {
  const auto made = parse_chakra_traces(
      same_on(2, node(1, "MEM_LOAD_NODE") + node(2, "COMP_NODE", "", integer("num_ops", 500)) +
                     collective(3, 0, 0) + collective(4, 0, 64, R"("ctrlDeps": ["77"])") +
                     R"({"id": "5", "type": "COMM_COLL_NODE", "durationMicros": "3",
                 "attr": [{"name": "is_cpu_op", "boolVal": true}]})"));
  ASSERT_TRUE(made) << made.error().message();
  std::string notes;
  for (const std::string& note : made->notes) notes += note + "\n";
  EXPECT_THAT(notes, HasSubstr("2 memory nodes"));
  EXPECT_THAT(notes, HasSubstr("2 computations have a number of operations"));
  EXPECT_THAT(notes, HasSubstr("2 collectives of 0 bytes"));
  EXPECT_THAT(notes, HasSubstr("2 dependencies are on nodes"));
  EXPECT_THAT(notes, HasSubstr("2 communication nodes of the CPU"));
  const auto& actions = made->job.programs.front().actions;
  EXPECT_EQ(actions.back().span, micros(3));
  EXPECT_NE(actions.back().lane, actions.front().lane);
}

TEST(ChakraTraces, ErrorsNameTheNodeOrTheByte) {
  EXPECT_THAT(refused(same_on(2, node(1, "COMP_NODE") + node(1, "COMP_NODE"))),
              HasSubstr("another node has this id"));
  EXPECT_THAT(refused(same_on(2, node(1, "COMP_NODE", R"("dataDeps": ["2"])") +
                                     node(2, "COMP_NODE", R"("ctrlDeps": ["1"])"))),
              HasSubstr("lead back"));
  EXPECT_THAT(refused(same_on(2, collective(1, 44, 64))), HasSubstr("no comm_type 44"));
  EXPECT_THAT(refused(same_on(2, "{\"id\": 1, \"type\": \"DREAM_NODE\"}")),
              HasSubstr("DREAM_NODE"));
  EXPECT_THAT(refused(same_on(2, "{\"id\": 1, ")), HasSubstr("at byte 20"));
  EXPECT_THAT(refused(same_on(2, "{\"id\" 1}")), HasSubstr("in the object at byte 20"));
  EXPECT_THAT(refused({{"t.0.json", R"({"version": "2.0"})"}}), HasSubstr("2.0"));
  EXPECT_THAT(refused(same_on(1, collective(1, 0, 64))), HasSubstr("no communication"));
  EXPECT_THAT(refused({}), HasSubstr("NAME.RANK.et"));
  EXPECT_THAT(refused({{"t.0.json", kMetadata}, {"t.2.json", kMetadata}}),
              HasSubstr("no trace of rank 1"));
  EXPECT_THAT(refused({{"t.0.json", kMetadata}, {"u.0.json", kMetadata}}), HasSubstr("two jobs"));
}

TEST(ChakraTraces, CutProtobufIsRefusedWithItsByte) {
  const Job job = job_of(same_on(2, node(1, "COMP_NODE", R"("durationMicros": "900")") +
                                        collective(2, 0, 64, R"("dataDeps": ["1"])")));
  const auto files = chakra_traces_of(job, "t", ChakraFormat::kProtobuf);
  ASSERT_TRUE(files);
  const std::string& whole = files->at("t.0.et");
  for (size_t length = 0; length < whole.size(); ++length) {
    Files cut = *files;
    cut["t.0.et"] = whole.substr(0, length);
    const std::string why = refused(cut);
    EXPECT_TRUE(why.find("at byte") != std::string::npos ||
                why.find("collectives of the group") != std::string::npos ||
                why.find("no communication") != std::string::npos)
        << length << ": " << why;
  }
  EXPECT_THAT(refused({{"t.0.et", "\x1f\x8b\x08"}}), HasSubstr("gunzip"));
}

// Each byte was a node: 16 MB took 5.8 GB.
TEST(ChakraTraces, EmptyMessagesAreNoNodes) {
  const std::string why = refused({{"t.0.et", std::string(16'000'000, '\0')}});
  EXPECT_THAT(why, HasSubstr("at byte 1"));
  EXPECT_THAT(why, HasSubstr("empty"));
}

// Of one file after the other. The rest of the last one, which is cut, is not read.
TEST(ChakraTraces, NodesAreCountedWhileTheyAreRead) {
  chakra::TraceQuota quota{.nodes = 1500};
  std::string bytes(1, '\0');  // a GlobalMetadata, and messages of an id alone
  for (int i = 0; i < 1000; ++i) bytes += "\x02\x08\x01";
  EXPECT_TRUE(chakra::parse_protobuf(bytes, "t.0.et", quota));
  bytes.pop_back();
  const auto second = chakra::parse_protobuf(bytes, "t.1.et", quota);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kExhausted);
  EXPECT_EQ(quota.nodes, 0u);
}

TEST(ChakraTraces, DependenciesAreCountedWhileTheyAreRead) {
  chakra::TraceQuota quota{.dependencies = 100};
  const std::string depends = std::string("\x2a\x64") + std::string(100, '\1');
  const std::string first = std::string(1, '\0') + "\x66" + depends;
  EXPECT_TRUE(chakra::parse_protobuf(first, "t.0.et", quota));
  const auto second = chakra::parse_protobuf(first, "t.1.et", quota);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message(), HasSubstr("20,000,000 dependencies"));
  const auto json =
      chakra::parse_json(kMetadata + node(1, "COMP_NODE", R"("dataDeps": [1])"), "t.2.json", quota);
  EXPECT_FALSE(json);
}

constexpr const char* kProgram = R"(version = 1
[[job]]
kind = "program"
ranks = 4
[[job.communicator]]
name = "world"
ranks = ["0..3"]
[[job.communicator]]
name = "pair"
ranks = ["0..1"]
[[job.communicator]]
name = "pair"
ranks = ["3", "2"]
[[job.program]]
ranks = ["0", "3"]
repeat = 2
actions = ["compute 1500ns", "all_reduce pair 8MB ring as b", "compute 2us on cpu as c after b",
  "all_gather world 4MB as d after c", "send pair 1KB to 1", "wait b", "broadcast world 1MB root 3"]
[[job.program]]
ranks = ["1..2"]
repeat = 2
actions = ["all_reduce pair 8MB ring as b", "all_gather world 4MB", "compute 3ms",
  "receive pair 1KB from 0", "broadcast world 1MB root 3", "wait all"]
)";

TEST(ChakraTraces, AWrittenJobIsReadAsItWas) {
  const auto workload = parse_workload(kProgram, "w.toml", fabric(), 1);
  ASSERT_TRUE(workload) << workload.error().message();
  const Job& job = workload->jobs.front();
  const auto protobuf = chakra_traces_of(job, "t", ChakraFormat::kProtobuf);
  const auto json = chakra_traces_of(job, "t", ChakraFormat::kJson);
  ASSERT_TRUE(protobuf && json);
  EXPECT_EQ(protobuf->size(), 5u);  // and the groups
  const Job read = job_of(*protobuf);
  EXPECT_TRUE(validate(read, fabric()));
  EXPECT_EQ(job_of(*json), read);
  // Every dependency is there: what is read is written with the same nodes, and read as the same.
  const auto again = chakra_traces_of(read, "t", ChakraFormat::kProtobuf);
  ASSERT_TRUE(again);
  const Job same = job_of(*again);
  EXPECT_EQ(same.programs, read.programs);
  ASSERT_EQ(same.communicators.size(), read.communicators.size());
  for (size_t i = 0; i < same.communicators.size(); ++i) {
    EXPECT_EQ(same.communicators[i].ranks, read.communicators[i].ranks);
  }
  Nanos span;
  uint64_t bytes = 0;
  for (const Action& action : read.programs[read.ranks[0].program].actions) {
    span += action.span;
    bytes += action.bytes;
  }
  EXPECT_EQ(span, Nanos{2 * 3500});
  EXPECT_EQ(bytes, 2u * (8'000'000 + 4'000'000 + 1'000 + 1'000'000));
}

// The size of the first rank's trace of a job with these actions.
size_t written_bytes(const std::string& actions, int repeat) {
  const std::string text =
      "version = 1\n[[job]]\nkind = \"program\"\nranks = 2\n[[job.program]]\nranks = [\"0..1\"]\n"
      "repeat = " +
      std::to_string(repeat) + "\nactions = [" + actions + "]\n";
  const auto workload = parse_workload(text, "w.toml", fabric(), 1);
  EXPECT_TRUE(workload) << workload.error().message();
  if (!workload) return 0;
  const auto files = chakra_traces_of(workload->jobs.front(), "t", ChakraFormat::kProtobuf);
  EXPECT_TRUE(files);
  return files ? files->at("t.0.et").size() : 0;
}

// Each step listed all steps before it: 8,000 were 63 MB.
TEST(ChakraTraces, WrittenWaitsDoNotRepeatEarlierOnes) {
  const std::string call = R"("all_reduce world 1KB as a", "wait all")";
  EXPECT_LT(written_bytes(call, 4000), 5 * written_bytes(call, 1000));
  // Calls that wait for each of many others.
  std::string many;
  for (int i = 0; i < 200; ++i) many += "\"all_reduce world 1KB as a" + std::to_string(i) + "\", ";
  many += "\"wait all\"";
  EXPECT_LT(written_bytes(many, 2), 200u * 2 * 120);
}

TEST(ChakraTraces, WhatAWrittenJobLosesIsCounted) {
  const auto notes = [](const std::string& repeat, const std::string& bytes) {
    const auto workload = parse_workload(
        "version = 1\n[[job]]\nkind = \"program\"\nranks = 2\n[[job.program]]\n"
        "ranks = [\"0..1\"]\nrepeat = " +
            repeat + "\nactions = [\"all_gather world " + bytes + "\"]\n",
        "w.toml", fabric(), 1);
    EXPECT_TRUE(workload) << workload.error().message();
    return workload ? chakra_export_notes(workload->jobs.front()) : std::vector<std::string>{};
  };
  EXPECT_THAT(notes("1", "1000B"), IsEmpty());
  EXPECT_THAT(notes("2", "1001B"), ElementsAre(HasSubstr("2 steps"), HasSubstr("4 gathers")));
}

TEST(ChakraTraces, DurationsInJsonMayHaveDecimals) {
  const auto graph = [](const std::string& runtime) {
    return same_on(2, node(1, "COMP_NODE", "\"runtime\": " + runtime) + collective(2, 0, 64));
  };
  EXPECT_EQ(job_of(graph("12.5")).programs.front().actions.front().span, Nanos{12'500});
  EXPECT_THAT(refused(graph("-1.5")), HasSubstr("\"runtime\" is no time"));
  EXPECT_THAT(refused(graph("\"long\"")), HasSubstr("\"runtime\" is no time"));
}

TEST(ChakraTraces, AJobOfTooManyNodesIsNotWritten) {
  const auto workload = parse_workload(
      "version = 1\n[[job]]\nkind = \"barrier\"\ncount = 1000000\n", "w.toml", fabric(), 1);
  ASSERT_TRUE(workload) << workload.error().message();
  EXPECT_FALSE(chakra_traces_of(workload->jobs.front(), "t", ChakraFormat::kProtobuf));
}

class ChakraTracesOnDisk : public testing::Test {
 protected:
  ChakraTracesOnDisk()
      : made_(TemporaryFolder::make("heddle-chakra-test").value()), folder_(made_.path()) {}

  std::string refused(const std::string& path) {
    const auto made = read_foreign_job(path, {});
    return made ? "accepted" : made.error().message();
  }

  const TemporaryFolder made_;
  const std::string folder_;
};

// It waited for a writer.
TEST_F(ChakraTracesOnDisk, APipeAmongThemIsRefused) {
  ASSERT_EQ(mkfifo((folder_ + "/t.0.et").c_str(), 0600), 0);
  EXPECT_THAT(refused(folder_), HasSubstr("no regular file"));
}

TEST_F(ChakraTracesOnDisk, MissingOnesDoNotExist) {
  for (const char* name : {"/t.0.et", "/t.json", "/none/t", "/t"}) {
    EXPECT_THAT(refused(folder_ + name), HasSubstr("does not exist")) << name;
  }
}

// Only those of protobuf were found by the common part of their names.
TEST_F(ChakraTracesOnDisk, TheCommonPartOfNamesMeansJsonTraces) {
  for (const auto& [name, contents] : same_on(2, collective(1, 0, 64))) {
    std::ofstream(folder_ + "/" + name) << contents;
  }
  EXPECT_TRUE(is_foreign_job(folder_ + "/t"));
  EXPECT_EQ(refused(folder_ + "/t"), "accepted");
}

// Traces of Chakra's own generator: HEDDLE_CHAKRA_TRACES=FOLDER, with one folder for each job.
TEST(ChakraTraces, ThoseOfChakrasGeneratorAreReadOrRefusedWithAReason) {
  const char* const folder = std::getenv("HEDDLE_CHAKRA_TRACES");
  if (folder == nullptr) GTEST_SKIP() << "HEDDLE_CHAKRA_TRACES names no folder of Chakra's traces";
  size_t read = 0;
  for (const auto& each : std::filesystem::directory_iterator(folder)) {
    const auto made = read_chakra_traces(each.path().string());
    if (made) {
      ++read;
    } else {
      EXPECT_THAT(made.error().todo, testing::Not(IsEmpty()));
    }
  }
  EXPECT_GT(read, 0u);
}

}  // namespace
}  // namespace heddle::topology
