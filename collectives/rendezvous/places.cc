// Places: see places.h. Each rank writes where it is (place.h); rank 0's line also has the number
// of the communicator.
#include "collectives/places.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/configured.h"
#include "collectives/rendezvous.h"
#include "collectives/rendezvous/place.h"
#include "engine/configured.h"
#include "engine/seed.h"

namespace heddle::collectives {
namespace {

std::string key_of(uint32_t rank) { return "heddle/place/" + std::to_string(rank); }

// By a rendezvous through the store: each learns from where rank 0 saw it come.
Result<std::vector<std::string>> meet_through(const DrivenEndpoint& endpoint, const KeyStore& store,
                                              uint32_t rank, uint32_t size, const KeyWait& wait) {
  // A launch of one rank, which needs no store of a launcher: torch's ranks are set below.
  const std::vector<std::string> environment = {"HEDDLE_RANK=0", "HEDDLE_SIZE=1"};
  Result<MeetOptions> options = meet_options(endpoint.config(), environment);
  if (!options) return fail(options.error());
  options->launch = {.launcher = store.owner, .rank = rank, .size = size};
  options->timeout = wait.left();
  options->stopped = wait.stopped();
  const std::string key = "heddle/store";
  options->announce = [&](const std::string& text) { return store.set(key, text); };
  options->find = [&]() -> Result<std::string> {
    Result<std::optional<std::string>> found = store.find(key);
    if (!found) return fail(found.error());
    if (*found) return **std::move(found);
    return fail(ErrorCode::kUnavailable, "rank 0 of the group", "it has not come", "");
  };
  // The shared endpoint is driven by its thread, so another one meets.
  Result<engine::Options> with = configured_rank_options(endpoint.config());
  if (!with) return fail(with.error());
  with->engines = 1;
  // XDP sockets take an interface for one endpoint, which this process has already.
  engine::NetworkOptions network = engine::configured_network(endpoint.config());
  network.datapath = engine::DatapathKind::kUdp;
  Result<std::unique_ptr<engine::Endpoint>> scout = engine::Endpoint::open(network, *with);
  if (!scout) return fail(scout.error());
  const Result<Group> group = meet(**scout, *options);
  if (!group) return fail(group.error());
  std::vector<std::string> hosts;
  for (const transport::Address& address : group->addresses) hosts.push_back(without_port(address));
  return hosts;
}

// All who have not written where they are, after `first` was waited for in vain.
Error missing_error(const KeyStore& store, uint32_t first, uint32_t size, const Error& why) {
  std::string ranks;
  for (uint32_t each = first; each < size; ++each) {
    const Result<std::optional<std::string>> found = store.find(key_of(each));
    if (!found || !*found) ranks += (ranks.empty() ? "" : ", ") + std::to_string(each);
  }
  return {
      ErrorCode::kTimeout, "cannot find the other ranks",
      "of the group's " + std::to_string(size) + " ranks, " + ranks + " did not come: " + why.why,
      "look at these ranks, or give them a longer timeout"};
}

}  // namespace

Result<Members> find_members(DrivenEndpoint& endpoint, const KeyStore& store, uint32_t rank,
                             uint32_t size, const KeyWait& wait) {
  const ProcessPlace own = own_place(endpoint, rank == 0 ? engine::system_seed() | 1 : 0);
  if (Result<void> written = store.set(key_of(rank), text_of(own)); !written)
    return fail(written.error());
  std::vector<ProcessPlace> places;
  for (uint32_t each = 0; each < size; ++each) {
    const Result<std::string> text = wait_for_key(store, key_of(each), wait);
    if (!text) return fail(missing_error(store, each, size, text.error()));
    const Result<ProcessPlace> place = place_of(*text, each);
    if (!place) return fail(place.error());
    places.push_back(*place);
  }
  std::vector<std::string> hosts = known_hosts(places);
  if (hosts.empty()) {
    Result<std::vector<std::string>> met = meet_through(endpoint, store, rank, size, wait);
    if (!met) return fail(met.error());
    hosts = std::move(*met);
    learn_address(hosts[rank]);
  }
  Members members = {.communicator = places[0].number, .rank = rank};
  for (uint32_t each = 0; each < size; ++each) {
    const Result<transport::Address> address = address_of(hosts[each], places[each].port);
    if (!address) return fail(address.error());
    members.addresses.push_back(*address);
  }
  return members;
}

}  // namespace heddle::collectives
