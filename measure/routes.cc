// See routes.h.
#include "measure/routes.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/interrupt.h"
#include "base/quantity.h"
#include "datapath/resolve.h"
#include "measure/echo.h"
#include "measure/params.h"

namespace heddle::measure {
namespace {

constexpr Nanos kLongestTest = seconds(86'400);

Unexpected stopped() { return fail(ErrorCode::kCancelled, "stopped", "interrupted by a signal"); }

Result<transport::FabricRoutes> wait_for_routes(Client& client, const Progress& progress) {
  engine::Endpoint& endpoint = client.endpoint();
  if (Result<void> begun = endpoint.find_routes(client.connection()); !begun) {
    return fail(begun.error());
  }
  const Nanos began = endpoint.now();
  while (true) {
    if (interrupted() != 0) return stopped();
    if (Result<void> alive = client.alive(); !alive) return fail(alive.error());
    std::optional<transport::FabricRoutes> found = endpoint.routes(client.connection());
    if (found && !found->under_way) return std::move(*found);
    progress(fmt::format("waiting for routers, {}", duration_text(endpoint.now() - began)));
    endpoint.progress(params::kRoutesSlice);
  }
}

std::string text_of(const transport::RouterAddress& router) {
  if (router == transport::RouterAddress{}) return {};
  return datapath::host_text({.host = router});
}

FoundRoutes describe(const Client& client, const transport::FabricRoutes& reported) {
  FoundRoutes found;
  found.peer = client.peer();
  found.paths = static_cast<uint32_t>(reported.route_of.size());
  found.verdict = reported.verdict;
  found.hops = reported.hops;
  found.routes.resize(reported.seen);
  const auto statistics = client.endpoint().path_statistics(client.connection());
  for (uint16_t path = 0; path < found.paths; ++path) {
    FoundRoute& route = found.routes[reported.route_of[path]];
    const uint8_t nic = path < statistics.size() ? statistics[path].nic : uint8_t{0};
    route.paths.push_back(
        {path, client.endpoint().source_port(client.connection(), path, nic), nic});
    if (route.paths.size() == 1) {
      for (uint8_t hop = 1; hop <= reported.hops; ++hop) {
        route.routers.push_back(text_of(reported.router(path, hop)));
      }
    }
    if (!route.routers.empty() && route.routers.back().empty()) ++found.silent_paths;
  }
  return found;
}

bool works(const Client& client, const FoundRoute& route) {
  const auto statistics = client.endpoint().path_statistics(client.connection());
  return std::any_of(route.paths.begin(), route.paths.end(), [&](const RoutePath& each) {
    return each.path < statistics.size() && statistics[each.path].active;
  });
}

// Measures round trips on the paths of one route. If none of them works, the transport uses others.
Result<void> measure_route(Client& client, EchoClient& echo, FoundRoute& route) {
  std::vector<uint16_t> paths;
  for (const RoutePath& each : route.paths) paths.push_back(each.path);
  Result<void> fixed = client.endpoint().fix_paths(client.connection(), paths);
  if (!fixed) return fixed;
  std::vector<Nanos> times;
  for (uint32_t round = 0; round <= params::kRouteRounds; ++round) {
    if (Result<void> is_ready = echo.ready(); !is_ready) return is_ready;
    const Result<Nanos> time = echo.round();
    if (!time) return fail(time.error());
    if (round > 0) times.push_back(*time);  // the first one warms caches up
  }
  std::sort(times.begin(), times.end());
  route.round_trip_min = times.front();
  route.round_trip_median = times[times.size() / 2];
  route.works = works(client, route);
  return {};
}

Result<void> measure_all(Client& client, FoundRoutes& found, const Progress& progress) {
  const TestOptions test{.test = "lat",
                         .message_bytes = params::kRouteMessageBytes,
                         .window = 1,
                         .duration = kLongestTest};
  Result<Json> ready = client.ask(to_json(test), "ready");
  if (!ready) return fail(ready.error());
  Result<MessageSlots> sending =
      MessageSlots::make(client.endpoint(), params::kRouteMessageBytes, 1);
  if (!sending) return fail(sending.error());
  Result<MessageSlots> receiving =
      MessageSlots::make(client.endpoint(), params::kRouteMessageBytes, kEchoWindow);
  if (!receiving) return fail(receiving.error());
  EchoClient echo(client.link(), params::kRouteMessageBytes, std::move(*sending),
                  std::move(*receiving));
  for (size_t i = 0; i < found.routes.size(); ++i) {
    progress(fmt::format("measuring route {} of {}", i + 1, found.routes.size()));
    if (Result<void> done = measure_route(client, echo, found.routes[i]); !done) return done;
  }
  if (Result<void> all = client.endpoint().fix_paths(client.connection(), {}); !all) return all;
  if (Result<void> finished = echo.finish(); !finished) return finished;
  Result<Json> reported = client.hear("result");
  return reported ? Result<void>() : fail(reported.error());
}

}  // namespace

Result<FoundRoutes> find_routes(Client& client, uint32_t paths_asked, const Progress& progress) {
  const Result<transport::FabricRoutes> reported = wait_for_routes(client, progress);
  if (!reported) return fail(reported.error());
  FoundRoutes found = describe(client, *reported);
  found.paths_asked = paths_asked;
  if (Result<void> measured = measure_all(client, found, progress); !measured)
    return fail(measured.error());
  return found;
}

}  // namespace heddle::measure
