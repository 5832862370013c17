// Members that follow from handles: their order, their number, and what is refused. Then processes
// (threads with endpoints of their own) that form a communicator of handles, go on without one of
// them, and take another in.
#include "collectives/handles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/config.h"
#include "collectives/rendezvous/messages.h"
#include "collectives/rendezvous/rank_text.h"
#include "collectives/shared_communicator.h"

namespace heddle::collectives {
namespace {

std::string text(const std::string& network, const std::string& address, uint64_t number,
                 uint32_t rank) {
  return version_word() + " " + network + " " + std::to_string(4000 + number) + " " + address +
         " " + std::to_string(number) + " " + std::to_string(rank);
}

OwnHandle own(uint64_t number) {
  return {.number = number, .rank = 0, .port = static_cast<uint16_t>(4000 + number)};
}

std::vector<uint16_t> ports_of(const Members& members) {
  std::vector<uint16_t> ports;
  for (const transport::Address& each : members.addresses) ports.push_back(each.port);
  return ports;
}

TEST(Handles, ranks_are_as_the_list_is_or_as_they_were) {
  HandleList list = {.uuid = 1,
                     .texts = {text("a", "-", 9, 2), text("a", "-", 5, 0), text("a", "-", 7, 2)}};
  EXPECT_EQ(ports_of(members_of(list, own(7)).value()), (std::vector<uint16_t>{4009, 4005, 4007}));
  EXPECT_EQ(members_of(list, own(7))->rank, 2U);
  list.ordered = false;
  for (int turn = 0; turn < 3; ++turn) {
    std::ranges::rotate(list.texts, list.texts.begin() + 1);
    const Members members = members_of(list, own(7)).value();
    EXPECT_EQ(ports_of(members), (std::vector<uint16_t>{4005, 4007, 4009}));
    EXPECT_EQ(members.rank, 1U);
  }
}

TEST(Handles, all_members_compute_one_number_and_another_for_another_list) {
  HandleList list = {.uuid = 1, .texts = {text("a", "-", 9, 0), text("a", "-", 5, 1)}};
  const uint64_t number = members_of(list, own(9))->communicator;
  EXPECT_EQ(members_of(list, own(5))->communicator, number);
  list.uuid = 2;
  EXPECT_NE(members_of(list, own(5))->communicator, number);
  list = {.uuid = 1, .texts = {text("a", "-", 9, 0), text("a", "-", 6, 1)}};
  EXPECT_NE(members_of(list, own(9))->communicator, number);
}

TEST(Handles, what_is_no_list_of_members_is_refused) {
  const auto code_of = [](const HandleList& list) {
    const auto members = members_of(list, own(9));
    return members ? ErrorCode::kSystem : members.error().code;
  };
  EXPECT_EQ(code_of({.texts = {}}), ErrorCode::kInvalid);
  EXPECT_EQ(code_of({.texts = {text("a", "-", 5, 0)}}), ErrorCode::kInvalid);
  EXPECT_EQ(code_of({.texts = {text("a", "-", 9, 0), text("a", "-", 9, 1)}}), ErrorCode::kInvalid);
  EXPECT_EQ(code_of({.texts = {text("a", "-", 9, 0), text("b", "-", 5, 1)}}),
            ErrorCode::kUnavailable);
}

TEST(Handles, a_text_is_read_whole_or_refused) {
  const auto code_of = [](const std::string& other) {
    const auto members =
        members_of({.texts = {text("a", "-", 9, 0), version_word() + " " + other}}, own(9));
    return members ? ErrorCode::kSystem : members.error().code;
  };
  EXPECT_EQ(code_of("a 4005 - 5 1"), ErrorCode::kSystem);
  EXPECT_EQ(code_of("a 4005 [fd00::1] 5 1"), ErrorCode::kSystem);
  for (const char* const other :
       {"", "a 4005 -", "a 4005 - 5 1 more", "a 4005 - 5 1\n", "a 4005 - 5 -1", "a 4005 - 0x5 1",
        "a 0 - 5 1", "a 70000 - 5 1", "a +4005 - 5 1", "a 4005 - 5 4294967296",
        "a 4005 - 18446744073709551616 1", " 4005 - 5 1", "a 4005 host.invalid 5 1",
        "a 4005 localhost 5 1", "a 4005 0.0.0.0 5 1", "a 4005 [::] 5 1", "a 4005 [fd00::1 5 1"}) {
    EXPECT_EQ(code_of(other), ErrorCode::kVersion) << other;
  }
  const auto empty = members_of({.texts = {text("a", "-", 9, 0), ""}}, own(9));
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().code, ErrorCode::kVersion);
}

TEST(Handles, a_handle_of_another_version_names_the_host_to_upgrade) {
  for (const int other : {kRendezvousVersion - 1, kRendezvousVersion + 1}) {
    const std::string theirs = "heddle" + std::to_string(other) + " a 4005 - 5 1";
    const auto members = members_of({.texts = {text("a", "-", 9, 0), theirs}}, own(9));
    ASSERT_FALSE(members) << theirs;
    EXPECT_EQ(members.error().code, ErrorCode::kVersion);
    EXPECT_NE(members.error().message().find("'" + theirs + "': it is of version "),
              std::string::npos);
    EXPECT_EQ(members.error().todo, other < kRendezvousVersion
                                        ? "upgrade heddle on the host of that member"
                                        : "upgrade heddle on this host");
  }
}

TEST(Handles, foreign_text_is_cut_and_printable_in_errors) {
  const auto members = members_of(
      {.texts = {text("a", "-", 9, 0), version_word() + " \x1b[2J" + std::string(5000, 'x')}},
      own(9));
  ASSERT_FALSE(members);
  const std::string message = members.error().message();
  EXPECT_NE(message.find("'" + version_word() + " ?[2Jxxx"), std::string::npos) << message;
  EXPECT_NE(message.find("xxx...'"), std::string::npos) << message;
  EXPECT_LT(message.size(), 600U);
}

TEST(Handles, members_at_one_address_are_refused) {
  const auto error_of = [](const std::string& one, const std::string& other) {
    const std::string word = version_word() + " ";
    const auto members =
        members_of({.texts = {text("a", "-", 9, 0), word + one, word + other}}, own(9));
    return members ? "" : members.error().message();
  };
  EXPECT_EQ(error_of("a 4005 10.0.0.1 5 1", "a 4005 10.0.0.2 6 2"), "");
  EXPECT_NE(error_of("a 4005 10.0.0.1 5 1", "a 4005 10.0.0.1 6 2")
                .find("ranks 1 and 2 are both at 10.0.0.1:4005"),
            std::string::npos);
  EXPECT_NE(error_of("a 4005 [fd00::1] 5 1", "a 4005 fd00:0::1 6 2")
                .find("ranks 1 and 2 are both at [fd00::1]:4005"),
            std::string::npos);
}

TEST(Handles, the_own_one_is_of_the_own_endpoint) {
  const auto members =
      members_of({.texts = {text("a", "-", 9, 0)}}, {.number = 9, .rank = 0, .port = 4010});
  ASSERT_FALSE(members);
  EXPECT_NE(members.error().message().find("has the port 4009, its endpoint 4010"),
            std::string::npos);
}

TEST(Handles, members_on_several_hosts_are_where_they_say) {
  const HandleList list = {.texts = {text("a", "10.0.0.1", 9, 0), text("b", "10.0.0.2", 5, 1)}};
  const Members members = members_of(list, own(5)).value();
  EXPECT_NE(members.addresses[0].host, members.addresses[1].host);
}

std::shared_ptr<DrivenEndpoint> open_endpoint() {
  const ConfigSources sources = {
      .command_line = {{"bind", "127.0.0.1"}}, .environment = {}, .file = {}, .default_files = {}};
  return DrivenEndpoint::open(Config::load(config_keys(), sources).value()).value();
}

// The sum of ones over the members, as this one of them gets it.
uint32_t count_members(const std::shared_ptr<DrivenEndpoint>& endpoint, const HandleList& list,
                       const OwnHandle& own) {
  const Members members = members_of(list, own).value();
  const auto communicator = SharedCommunicator::create(DrivenEndpoint::thread_of(endpoint), members,
                                                       endpoint->communicator_options())
                                .value();
  std::vector<uint32_t> ones(3000, 1);
  const auto call = communicator->post({.collective = Collective::kAllReduce,
                                        .type = DataType::kUint32,
                                        .count = ones.size(),
                                        .input = ones.data(),
                                        .output = ones.data(),
                                        .exchange = {}});
  if (!call || !call->wait(seconds(30))) return 0;
  return ones.front() == ones.back() ? ones.front() : 0;
}

TEST(Handles, processes_form_a_communicator_and_another_in_its_place) {
  struct Process {
    std::shared_ptr<DrivenEndpoint> endpoint = open_endpoint();
    OwnHandle own;
  };
  std::vector<Process> processes(4);
  for (uint32_t each = 0; each < 4; ++each)
    processes[each].own = {
        .number = 70 + each, .rank = each, .port = processes[each].endpoint->address().port};
  const auto form = [&](uint64_t uuid, const std::vector<size_t>& members) {
    HandleList list = {.uuid = uuid, .ordered = false};
    for (const size_t each : members)
      list.texts.push_back(handle_of(*processes[each].endpoint, processes[each].own));
    std::vector<uint32_t> counted(members.size());
    std::vector<std::thread> threads;
    for (size_t each = 0; each < members.size(); ++each) {
      threads.emplace_back([&, each] {
        const Process& process = processes[members[each]];
        counted[each] = count_members(process.endpoint, list, process.own);
      });
    }
    for (std::thread& thread : threads) thread.join();
    return counted;
  };
  EXPECT_EQ(form(1, {0, 1, 2}), std::vector<uint32_t>(3, 3));
  EXPECT_EQ(form(2, {2, 0}), std::vector<uint32_t>(2, 2));
  EXPECT_EQ(form(3, {3, 0, 2}), std::vector<uint32_t>(3, 3));
}

}  // namespace
}  // namespace heddle::collectives
