// See sending_link.h.
#include "apps/cli/copy/sending_link.h"

#include <fmt/core.h>

#include <utility>

#include "base/interrupt.h"
#include "copying/params.h"
#include "datapath/resolve.h"
#include "relaying/relayed_link.h"

namespace heddle::cli {
namespace {

Result<void> await_open(engine::MessageLink& link) {
  while (link.status().state == engine::ConnectionState::kOpening) {
    if (interrupted() != 0) return fail(ErrorCode::kCancelled, "stopped", "by a signal");
    link.progress(copying::params::kSlice);
  }
  const engine::ConnectionStatus status = link.status();
  if (status.state == engine::ConnectionState::kClosed) return fail(status.error);
  return {};
}

Result<SendingLink> open_direct(engine::Endpoint& endpoint, const ReceiverPlace& place) {
  const Result<engine::Connection> connection = endpoint.connect(place.host, place.port);
  if (!connection) return fail(connection.error());
  SendingLink made{std::make_unique<engine::DirectLink>(endpoint, *connection),
                   datapath::to_text(endpoint.status(*connection).peer)};
  const Result<void> open = await_open(*made.link);
  if (open) return made;
  made.link->abort();
  Error error = open.error();
  if (error.code == ErrorCode::kCancelled) return fail(std::move(error));
  error.what = fmt::format("cannot connect to {}", made.peer);
  error.todo = place.started ? "let UDP through between the hosts"
                             : "start 'heddle copy --listen FOLDER' there, with the same key_file "
                               "or none, and let UDP through";
  return fail(std::move(error));
}

Result<SendingLink> open_relayed(engine::Endpoint& endpoint, const ReceiverPlace& place) {
  auto link = relaying::RelayedLink::connect(endpoint, place.relays, place.host, place.port);
  if (!link) return fail(link.error());
  SendingLink made{std::move(*link), ""};
  made.peer = fmt::format("{} through {}", place.host, datapath::to_text(made.link->status().peer));
  if (Result<void> open = await_open(*made.link); !open) return fail(open.error());
  return made;
}

}  // namespace

Result<SendingLink> open_sending_link(engine::Endpoint& endpoint, const ReceiverPlace& place) {
  return place.relays.empty() ? open_direct(endpoint, place) : open_relayed(endpoint, place);
}

}  // namespace heddle::cli
