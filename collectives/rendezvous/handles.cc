// Handles: see handles.h. A handle is a place (place.h), whose number is that of the process, and
// the rank behind it.
#include "collectives/handles.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "collectives/group.h"
#include "collectives/params.h"
#include "collectives/rendezvous/place.h"
#include "collectives/rendezvous/rank_text.h"
#include "engine/addresses.h"

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

// Nothing: `field` is no such number, or there is more behind it.
template <typename Number>
std::optional<Number> number_in(std::string_view field) {
  Number number = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), number);
  if (error != std::errc() || end != field.data() + field.size()) return std::nullopt;
  return number;
}

std::vector<std::string_view> fields_of(std::string_view text) {
  std::vector<std::string_view> fields;
  for (size_t from = 0;;) {
    const size_t to = text.find(' ', from);
    fields.push_back(text.substr(from, to - from));
    if (to == std::string_view::npos) return fields;
    from = to + 1;
  }
}

bool is_address(const std::string& text, uint16_t port) {
  const Result<transport::Address> address = engine::parse_address(text, port);
  return address && !engine::is_any(*address);
}

std::optional<Member> parsed(const std::string& text) {
  if (text.size() > params::kMostHandleBytes) return std::nullopt;
  const std::vector<std::string_view> fields = fields_of(text);
  if (fields.size() != 6 || fields[0] != version_word() || fields[1].empty()) return std::nullopt;
  const auto port = number_in<uint16_t>(fields[2]);
  const std::string address(fields[3]);
  const auto number = number_in<uint64_t>(fields[4]);
  const auto rank = number_in<uint32_t>(fields[5]);
  if (!port || *port == 0 || !number || !rank) return std::nullopt;
  if (address != kNoAddress && !is_address(address, *port)) return std::nullopt;
  return Member{.place = {.network = std::string(fields[1]),
                          .port = *port,
                          .address = address,
                          .number = *number},
                .rank = *rank};
}

Result<Member> member_of(const std::string& text) {
  if (std::optional<Member> member = parsed(text)) return *std::move(member);
  const std::string what = std::string(kWhat) + ": one is " + quoted(text);
  if (std::optional<Error> other = version_error(what, text, "the host of that member"))
    return fail(*std::move(other));
  return fail(ErrorCode::kVersion, kWhat, "one is " + quoted(text),
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

// Two members with one address would be one rank to all others.
Result<void> check_apart(const std::vector<transport::Address>& addresses) {
  std::map<transport::Address, size_t> positions;
  for (size_t each = 0; each < addresses.size(); ++each) {
    const auto [found, is_new] = positions.emplace(addresses[each], each);
    if (is_new) continue;
    return refused("ranks " + std::to_string(found->second) + " and " + std::to_string(each) +
                       " are both at " + engine::address_text(addresses[each]),
                   "give handles that the members' groups have returned lately");
  }
  return {};
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
  if ((*members)[*rank].place.port != own.port) {
    return refused("that of this process has the port " +
                       std::to_string((*members)[*rank].place.port) + ", its endpoint " +
                       std::to_string(own.port),
                   "give the handle that its group returns now");
  }
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
    const Result<transport::Address> address =
        engine::parse_address(hosts[each], places[each].port);
    if (!address) return fail(address.error());
    made.addresses.push_back(*address);
  }
  if (const Result<void> apart = check_apart(made.addresses); !apart) return fail(apart.error());
  return made;
}

}  // namespace heddle::collectives
