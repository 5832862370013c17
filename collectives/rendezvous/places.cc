// Places: see places.h. Each rank writes a line: the network that it is in (two processes with the
// same can reach each other by loopback), its port, the address that it is bound to or has learned,
// and its name. Rank 0's line also has the number of the communicator.
#include "collectives/places.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <sstream>
#include <vector>

#include "base/boot_id.h"
#include "base/own_mutex.h"
#include "base/per_process.h"
#include "collectives/configured.h"
#include "collectives/rendezvous.h"
#include "engine/addresses.h"
#include "engine/configured.h"
#include "engine/seed.h"

namespace heddle::collectives {
namespace {

constexpr const char* kNone = "-";

struct Place {
  std::string network;
  uint16_t port = 0;
  std::string address = kNone;  // without port
  uint64_t communicator = 0;
};

// Of this process: an address by which others reach it.
struct Learned {
  OwnMutex mutex;
  std::string address;
};

Learned& learned() {
  static constinit PerProcess<Learned> own;
  return own.get();
}

// Identifies the network of a host or namespace.
std::string network_name() {
  std::array<char, 128> target{};
  const ssize_t bytes = readlink("/proc/self/ns/net", target.data(), target.size());
  std::string text = boot_id() + "/" + std::string(target.data(), bytes > 0 ? size_t(bytes) : 0);
  std::replace(text.begin(), text.end(), ' ', '_');
  return text;
}

std::string without_port(const transport::Address& address) {
  transport::Address host = address;
  host.port = 0;
  std::string text = engine::address_text(host);
  return text.substr(0, text.rfind(':'));
}

Result<transport::Address> address_of(const std::string& host, uint16_t port) {
  return engine::find_address(host + ":" + std::to_string(port), 0);
}

std::string text_of(const Place& place) {
  std::ostringstream text;
  text << "heddle1 " << place.network << ' ' << place.port << ' ' << place.address << ' '
       << place.communicator;
  return text.str();
}

Result<Place> place_of(const std::string& text, uint32_t rank) {
  std::istringstream parts(text);
  std::string version;
  Place place;
  parts >> version >> place.network >> place.port >> place.address >> place.communicator;
  if (parts && version == "heddle1") return place;
  return fail(ErrorCode::kVersion, "cannot read where rank " + std::to_string(rank) + " is",
              "it wrote '" + text + "'", "run the same version of heddle on all ranks");
}

std::string key_of(uint32_t rank) { return "heddle/place/" + std::to_string(rank); }

Place own_place(const DrivenEndpoint& endpoint, uint32_t rank) {
  const transport::Address at = endpoint.address();
  Place own = {.network = network_name(), .port = at.port};
  if (!engine::is_any(at)) {
    own.address = without_port(at);
  } else {
    const OwnMutex::Lock lock = learned().mutex.lock();
    if (!learned().address.empty()) own.address = learned().address;
  }
  if (rank == 0) own.communicator = engine::system_seed() | 1;
  return own;
}

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
  const Result<engine::Options> with = configured_rank_options(endpoint.config());
  if (!with) return fail(with.error());
  Result<std::unique_ptr<engine::Endpoint>> scout =
      engine::Endpoint::open(engine::configured_network(endpoint.config()), *with);
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

// The address of each rank without port; empty: not known yet.
std::vector<std::string> known_hosts(const std::vector<Place>& places) {
  const bool together = std::all_of(places.begin(), places.end(), [&](const Place& place) {
    return place.network == places[0].network;
  });
  std::vector<std::string> hosts;
  for (const Place& place : places) {
    if (place.address != kNone) {
      hosts.push_back(place.address);
    } else if (together) {
      hosts.emplace_back("127.0.0.1");
    } else {
      return {};
    }
  }
  return hosts;
}

}  // namespace

Result<Members> find_members(DrivenEndpoint& endpoint, const KeyStore& store, uint32_t rank,
                             uint32_t size, const KeyWait& wait) {
  if (Result<void> written = store.set(key_of(rank), text_of(own_place(endpoint, rank))); !written)
    return fail(written.error());
  std::vector<Place> places;
  for (uint32_t each = 0; each < size; ++each) {
    const Result<std::string> text = wait_for_key(store, key_of(each), wait);
    if (!text) return fail(missing_error(store, each, size, text.error()));
    const Result<Place> place = place_of(*text, each);
    if (!place) return fail(place.error());
    places.push_back(*place);
  }
  std::vector<std::string> hosts = known_hosts(places);
  if (hosts.empty()) {
    Result<std::vector<std::string>> met = meet_through(endpoint, store, rank, size, wait);
    if (!met) return fail(met.error());
    hosts = std::move(*met);
    const OwnMutex::Lock lock = learned().mutex.lock();
    learned().address = hosts[rank];
  }
  Members members = {.communicator = places[0].communicator, .rank = rank};
  for (uint32_t each = 0; each < size; ++each) {
    const Result<transport::Address> address = address_of(hosts[each], places[each].port);
    if (!address) return fail(address.error());
    members.addresses.push_back(*address);
  }
  return members;
}

}  // namespace heddle::collectives
