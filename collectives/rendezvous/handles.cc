// Handles: see handles.h. A handle is a place (place.h), whose number is that of the process, and
// the rank behind it.
#include "collectives/handles.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <tuple>

#include "collectives/group.h"
#include "collectives/rendezvous/place.h"

namespace heddle::collectives {
namespace {

struct Member {
  ProcessPlace place;
  uint32_t rank = 0;
};

constexpr const char* kWhat = "cannot make a communicator of these handles";

Unexpected refused(const std::string& why, const std::string& what_to_do) {
  return fail(ErrorCode::kInvalid, kWhat, why, what_to_do);
}

Result<Member> member_of(const std::string& text) {
  std::istringstream parts(text);
  std::string version;
  Member member;
  ProcessPlace& place = member.place;
  parts >> version >> place.network >> place.port >> place.address >> place.number >> member.rank;
  if (parts && version == "heddle1") return member;
  return fail(ErrorCode::kVersion, kWhat, "one is '" + text + "'",
              "give those that the members' groups of this version of heddle have returned");
}

Result<std::vector<Member>> members_in(const HandleList& list) {
  if (list.texts.size() > kMostRanks) {
    return refused("they are " + std::to_string(list.texts.size()),
                   "give " + std::to_string(kMostRanks) + " at most");
  }
  std::vector<Member> members;
  for (const std::string& text : list.texts) {
    Result<Member> member = member_of(text);
    if (!member) return fail(member.error());
    members.push_back(*std::move(member));
  }
  if (!list.ordered) {
    std::ranges::sort(members, {},
                      [](const Member& each) { return std::tuple(each.rank, each.place.number); });
  }
  return members;
}

std::optional<uint32_t> rank_of(const std::vector<Member>& members, uint64_t number) {
  for (uint32_t rank = 0; rank < members.size(); ++rank) {
    if (members[rank].place.number == number) return rank;
  }
  return std::nullopt;
}

Result<void> check_distinct(const std::vector<Member>& members) {
  std::vector<uint64_t> numbers;
  for (const Member& each : members) numbers.push_back(each.place.number);
  std::ranges::sort(numbers);
  if (std::ranges::adjacent_find(numbers) == numbers.end()) return {};
  return refused("one member is named twice", "give one handle for each");
}

// Which all members compute, and those of no other list.
uint64_t number_of(uint64_t uuid, const std::vector<Member>& members) {
  uint64_t mixed = uuid + 0x6a09e667f3bcc909;
  for (const Member& each : members) {
    mixed = (mixed ^ each.place.number * 0x9e3779b97f4a7c15) * 0xd6e8feb86659fd93;
    mixed ^= mixed >> 32;
  }
  return mixed | 1;
}

}  // namespace

std::string handle_of(const DrivenEndpoint& endpoint, const OwnHandle& own) {
  return text_of(own_place(endpoint, own.number)) + " " + std::to_string(own.rank);
}

Result<Members> members_of(const HandleList& list, const OwnHandle& own) {
  const Result<std::vector<Member>> members = members_in(list);
  if (!members) return fail(members.error());
  if (const Result<void> distinct = check_distinct(*members); !distinct)
    return fail(distinct.error());
  const std::optional<uint32_t> rank = rank_of(*members, own.number);
  if (!rank) return refused("this process is not among them", "call it on the members only");
  std::vector<ProcessPlace> places;
  for (const Member& each : *members) places.push_back(each.place);
  const std::vector<std::string> hosts = known_hosts(places);
  if (hosts.empty()) {
    return fail(ErrorCode::kUnavailable, kWhat,
                "the members are on several hosts, and one does not know its address",
                "set HEDDLE_BIND to an address of its host on each");
  }
  Members made = {.communicator = number_of(list.uuid, *members), .rank = *rank, .addresses = {}};
  for (size_t each = 0; each < places.size(); ++each) {
    const Result<transport::Address> address = address_of(hosts[each], places[each].port);
    if (!address) return fail(address.error());
    made.addresses.push_back(*address);
  }
  return made;
}

}  // namespace heddle::collectives
