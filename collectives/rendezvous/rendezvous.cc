// Rendezvous: see rendezvous.h. Here are the loops that wait; what is said is in rendezvous/.
#include "collectives/rendezvous.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "collectives/params.h"
#include "collectives/rendezvous/private_folder.h"
#include "collectives/rendezvous/seeker.h"
#include "collectives/rendezvous/store.h"
#include "collectives/rendezvous/store_file.h"
#include "collectives/rendezvous/store_url.h"
#include "engine/addresses.h"
#include "engine/configured.h"
#include "engine/host_port.h"
#include "engine/seed.h"

namespace heddle::collectives {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "?";
  return name.data();
}

Error stopped_error(uint32_t rank) {
  return {ErrorCode::kCancelled, "cannot find the other ranks",
          "rank " + std::to_string(rank) + " was stopped by a signal", ""};
}

bool stopped(const MeetOptions& options) { return options.stopped && options.stopped(); }

Registration registration_of(const engine::Endpoint& endpoint, const MeetOptions& options) {
  return {.rank = options.launch.rank,
          .size = options.launch.size,
          .process = engine::system_seed(),
          .token = options.launch.token,
          .patience = options.timeout,
          .run = options.launch.run,
          .host = host_name(),
          .bound = endpoint.local_address()};
}

Result<std::unique_ptr<engine::Endpoint>> open_store(const MeetOptions& options, uint16_t port,
                                                     const engine::Endpoint& clock) {
  const Nanos until = clock.now() + std::min(options.timeout, params::kStorePortWait);
  while (true) {
    Result<std::unique_ptr<engine::Endpoint>> opened =
        options.open_store(port, options.launch.size);
    if (opened || opened.error().code != ErrorCode::kInUse) return opened;
    if (clock.now() >= until || stopped(options)) return opened;
    usleep(100'000);
  }
}

// The file of a store, while there is one.
class Announcement {
 public:
  Announcement() = default;
  ~Announcement() {
    if (path_.empty()) return;
    remove_store_file(path_, ticket_);
    if (!folder_.empty()) remove_private_folder(folder_);
  }
  Announcement(const Announcement&) = delete;
  Announcement& operator=(const Announcement&) = delete;

  // `folder`: that the file lies in, where it is for runs' files only; another run that ends may
  // remove it meanwhile.
  Result<void> publish(const std::string& path, const StoreFile& file, const std::string& folder) {
    Result<void> written = write_store_file(path, file);
    for (int i = 0; i < kTries && !written && !folder.empty(); ++i) {
      if (Result<void> made = make_private_folder(folder); !made) return made;
      written = write_store_file(path, file);
    }
    if (!written) return written;
    path_ = path;
    folder_ = folder;
    ticket_ = file.ticket;
    return {};
  }

 private:
  static constexpr int kTries = params::kStoreTries;

  std::string path_;
  std::string folder_;
  uint64_t ticket_ = 0;
};

Result<Group> serve(engine::Endpoint& endpoint, const MeetOptions& options, const StoreUrl& url) {
  uint16_t port = 0;
  if (!url.host_port.empty()) {
    const Result<engine::HostPort> parts = engine::parse_host_port(url.host_port, 0);
    if (!parts) return fail(parts.error());
    port = parts->port;
  }
  Result<std::unique_ptr<engine::Endpoint>> opened = open_store(options, port, endpoint);
  if (!opened) return fail(opened.error());
  Registration self = registration_of(endpoint, options);
  Announcement announcement;
  if (!url.file.empty() || options.announce) {
    self.ticket = engine::system_seed();
    const transport::Address at = (*opened)->local_address();
    StoreFile file{.ticket = self.ticket, .run = self.run};
    file.addresses = engine::is_any(at) ? engine::own_addresses(at.port) : std::vector{at};
    const Result<void> published =
        options.announce ? options.announce(store_text(file))
                         : announcement.publish(url.file, file, options.launch.private_folder);
    if (!published) return fail(published.error());
  }
  // The memory of running operations must outlive the endpoint: so the store is declared first.
  std::optional<Store> store;
  const std::unique_ptr<engine::Endpoint> served = std::move(*opened);
  store.emplace(*served, self, engine::system_seed());
  const Nanos until = served->now() + options.timeout;
  std::optional<Nanos> goodbye_until;
  while (!store->done()) {
    served->progress(params::kRendezvousTurn);
    store->turn();
    const Nanos now = served->now();
    if (!store->outcome() && stopped(options)) store->fail_all(stopped_error(0));
    if (!store->outcome() && now >= until) store->fail_all(store->missing(options.timeout));
    if (!store->outcome()) continue;
    if (!goodbye_until) goodbye_until = now + params::kAnswerDrainTime;
    if (now >= *goodbye_until) break;
  }
  return *store->outcome();
}

Result<StoreFile> read_announcement(const MeetOptions& options, const StoreUrl& url) {
  if (!options.find) return read_store_file(url.file, options.launch.run);
  const Result<std::string> text = options.find();
  if (!text) return fail(text.error());
  return parse_store_text(*text, options.launch.run);
}

Seeker::FindPlaces places_of(const MeetOptions& options, const StoreUrl& url) {
  if (!options.find && url.file.empty()) {
    return [host_port = url.host_port]() -> Result<std::vector<StorePlace>> {
      const Result<transport::Address> found = engine::find_address(host_port, 0);
      if (!found) return fail(found.error());
      return std::vector<StorePlace>{{.address = *found}};
    };
  }
  return [&options, url]() -> Result<std::vector<StorePlace>> {
    const Result<StoreFile> file = read_announcement(options, url);
    if (!file) return fail(file.error());
    std::vector<StorePlace> places;
    for (const transport::Address& address : file->addresses) {
      places.push_back({.address = address, .ticket = file->ticket});
    }
    return places;
  };
}

Result<Group> seek(engine::Endpoint& endpoint, const MeetOptions& options, const StoreUrl& url) {
  Seeker seeker(endpoint, registration_of(endpoint, options), places_of(options, url));
  const Nanos until = endpoint.now() + options.timeout;
  while (true) {
    const Nanos wanted = seeker.turn();
    if (seeker.outcome()) break;
    const Nanos now = endpoint.now();
    if (stopped(options)) return fail(stopped_error(options.launch.rank));
    if (now >= until) return fail(seeker.trouble());
    endpoint.progress(
        std::clamp(std::min(wanted, until) - now, millis(1), params::kRendezvousTurn));
  }
  const Nanos goodbye_until = endpoint.now() + params::kAnswerDrainTime;
  while (!seeker.settled() && endpoint.now() < goodbye_until) {
    endpoint.progress(params::kRendezvousTurn);
    seeker.turn();
  }
  return *seeker.outcome();
}

}  // namespace

Result<MeetOptions> meet_options(const Config& config, std::span<const std::string> environment) {
  MeetOptions options;
  Result<Launch> launch = read_launch(environment, config.text("store"));
  if (!launch) return fail(launch.error());
  options.launch = std::move(*launch);
  options.timeout = millis(config.integer("rendezvous_timeout_ms"));
  const Result<engine::Options> engine_options = engine::configured_options(config);
  if (!engine_options) return fail(engine_options.error());
  options.open_store = store_opener(*engine_options, engine::configured_network(config));
  return options;
}

std::function<Result<std::unique_ptr<engine::Endpoint>>(uint16_t, uint32_t)> store_opener(
    const engine::Options& options, const engine::NetworkOptions& network) {
  return [options, network](uint16_t port, uint32_t size) {
    engine::NetworkOptions at = network;
    at.port = port;
    // A second endpoint of this process: XDP sockets take an interface for one.
    at.datapath = engine::DatapathKind::kUdp;
    engine::Options with = options;
    with.engines = 1;
    with.transport.accept = true;
    with.transport.max_connections =
        std::max(with.transport.max_connections, size + params::kSpareConnections);
    with.transport.stranger_bytes = {with.transport.stranger_bytes.count / engine::kEndpointParts *
                                     engine::kStoreParts};
    with.eager_bytes = mebibytes(4);
    // Ranks without a key count as strangers: all must fit, or the last would be refused.
    if (auto room = engine::check_stranger_bytes(with, engine::kStoreParts, size); !room) {
      return Result<std::unique_ptr<engine::Endpoint>>(fail(room.error()));
    }
    return engine::Endpoint::open(at, with);
  };
}

Result<Group> meet(engine::Endpoint& endpoint, const MeetOptions& options) {
  const Launch& launch = options.launch;
  if (launch.size == 1) {
    return *Store(endpoint, registration_of(endpoint, options), engine::system_seed()).outcome();
  }
  const bool by_text = options.announce && options.find;
  if (!by_text && !launch.private_folder.empty()) {
    if (Result<void> made = make_private_folder(launch.private_folder); !made) {
      return fail(made.error());
    }
  }
  const Result<StoreUrl> url = by_text ? StoreUrl() : parse_store_url(launch.store);
  if (!url) return fail(url.error());
  return launch.rank == 0 ? serve(endpoint, options, *url) : seek(endpoint, options, *url);
}

}  // namespace heddle::collectives
