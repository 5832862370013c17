// ProcessPlace: see place.h.
#include "collectives/rendezvous/place.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <utility>

#include "base/boot_id.h"
#include "base/own_mutex.h"
#include "base/per_process.h"
#include "collectives/rendezvous/rank_text.h"
#include "engine/addresses.h"

namespace heddle::collectives {
namespace {

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

}  // namespace

std::string without_port(const transport::Address& address) {
  transport::Address host = address;
  host.port = 0;
  std::string text = engine::address_text(host);
  return text.substr(0, text.rfind(':'));
}

Result<transport::Address> address_of(const std::string& host, uint16_t port) {
  return engine::find_address(host + ":" + std::to_string(port), 0);
}

std::string text_of(const ProcessPlace& place) {
  std::ostringstream text;
  text << version_word() << ' ' << place.network << ' ' << place.port << ' ' << place.address << ' '
       << place.number;
  return text.str();
}

Result<ProcessPlace> place_of(const std::string& text, uint32_t rank) {
  std::istringstream parts(text);
  std::string version;
  ProcessPlace place;
  parts >> version >> place.network >> place.port >> place.address >> place.number;
  if (parts && version == version_word()) return place;
  const std::string writer = "rank " + std::to_string(rank);
  const std::string what = "cannot read where " + writer + " is";
  if (std::optional<Error> other = version_error(what, text, "the host of " + writer))
    return fail(*std::move(other));
  return fail(ErrorCode::kVersion, what, "it wrote " + quoted(text),
              "run the same version of heddle on all ranks");
}

ProcessPlace own_place(const DrivenEndpoint& endpoint, uint64_t number) {
  const transport::Address at = endpoint.address();
  ProcessPlace own = {.network = network_name(), .port = at.port, .number = number};
  if (!engine::is_any(at)) {
    own.address = without_port(at);
  } else {
    const OwnMutex::Lock lock = learned().mutex.lock();
    if (!learned().address.empty()) own.address = learned().address;
  }
  return own;
}

void learn_address(const std::string& host) {
  const OwnMutex::Lock lock = learned().mutex.lock();
  learned().address = host;
}

std::vector<std::string> known_hosts(const std::vector<ProcessPlace>& places) {
  const bool together = std::all_of(places.begin(), places.end(), [&](const ProcessPlace& place) {
    return place.network == places[0].network;
  });
  std::vector<std::string> hosts;
  for (const ProcessPlace& place : places) {
    if (place.address != kNoAddress) {
      hosts.push_back(place.address);
    } else if (together) {
      hosts.emplace_back("127.0.0.1");
    } else {
      return {};
    }
  }
  return hosts;
}

}  // namespace heddle::collectives
