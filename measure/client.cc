// Client: see client.h.
#include "measure/client.h"

#include <fmt/core.h>

#include "base/interrupt.h"
#include "datapath/resolve.h"
#include "measure/params.h"
#include "relaying/relayed_link.h"
#include "transport/refusal.h"

namespace heddle::measure {
namespace {

// An endpoint at an address of one family reaches no address of the other; at "::", it reaches
// both.
Result<void> check_family(const engine::Endpoint& endpoint, engine::Connection connection) {
  const std::string here = datapath::host_text(endpoint.local_address());
  const std::string there = datapath::host_text(endpoint.status(connection).peer);
  const auto family = [](const std::string& host) {
    return host.find(':') == std::string::npos ? "IPv4" : "IPv6";
  };
  for (const transport::Address& nic : endpoint.local_nics()) {
    const std::string host = datapath::host_text(nic);
    if (host == "::" || family(host) == family(there)) return {};
  }
  return fail(
      ErrorCode::kInvalid, fmt::format("cannot connect to {}", there),
      fmt::format("it is an {} address, and {} here an {} one", family(there), here, family(here)),
      "choose a --bind address of the same kind, or none");
}

// What to do about a server that answered and refused; null where its reason says nothing of that.
const char* after_refusal(const std::string& why) {
  using transport::RefuseReason;
  if (why == text_of(RefuseReason::kFull)) {
    return "wait until other clients have gone, or raise stranger_bytes there";
  }
  const bool level =
      why == text_of(RefuseReason::kDemandsHeaders) || why == text_of(RefuseReason::kDemandsFull);
  return level ? "set the same protection on both sides" : nullptr;
}

Unexpected stopped() { return fail(ErrorCode::kCancelled, "stopped", "interrupted by a signal"); }

}  // namespace

Result<std::unique_ptr<Client>> Client::connect(engine::Endpoint& endpoint, const std::string& host,
                                                uint16_t default_port, const std::string& server,
                                                const engine::ConnectionOptions& options) {
  Result<engine::Connection> connection = endpoint.connect(host, default_port, options);
  if (!connection) return fail(connection.error());
  const std::string peer = datapath::to_text(endpoint.status(*connection).peer);
  std::unique_ptr<Client> client(
      new Client(std::make_unique<engine::DirectLink>(endpoint, *connection), peer));
  if (Result<void> same = check_family(endpoint, *connection); !same) return fail(same.error());
  // The transport's handshake timeout ends this loop.
  while (true) {
    if (interrupted() != 0) return stopped();
    const Result<void> open = endpoint.wait_open(*connection, params::kSlice);
    if (open) break;
    if (endpoint.status(*connection).state == engine::ConnectionState::kOpening) continue;
    Error error = open.error();
    error.what = fmt::format("cannot connect to {}", client->peer_);
    if (const char* advice = after_refusal(error.why)) {
      error.todo = advice;
    } else if (error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kTimeout) {
      const uint16_t port = endpoint.status(*connection).peer.port;
      error.todo = fmt::format(
          "start '{} --listen{}' there, with the same key_file or none, and "
          "let UDP through",
          server, port == default_port ? "" : fmt::format(" -p {}", port));
    }
    return fail(std::move(error));
  }
  if (Result<void> introduced = client->introduce(); !introduced) return fail(introduced.error());
  return client;
}

Result<std::unique_ptr<Client>> Client::connect_through(engine::Endpoint& endpoint,
                                                        const std::vector<std::string>& relays,
                                                        const std::string& host,
                                                        uint16_t default_port) {
  auto link = relaying::RelayedLink::connect(endpoint, relays, host, default_port);
  if (!link) return fail(link.error());
  const std::string relay = datapath::to_text((*link)->status().peer);
  std::unique_ptr<Client> client(
      new Client(std::move(*link), fmt::format("{} through {}", host, relay)));
  while (client->link_->status().state == engine::ConnectionState::kOpening) {
    if (interrupted() != 0) return stopped();
    client->link_->progress(params::kSlice);
  }
  if (Result<void> alive = client->alive(); !alive) return fail(alive.error());
  if (Result<void> introduced = client->introduce(); !introduced) return fail(introduced.error());
  return client;
}

Client::Client(std::unique_ptr<engine::MessageLink> link, std::string peer)
    : link_(std::move(link)),
      peer_(std::move(peer)),
      control_(std::make_unique<ControlChannel>(*link_)) {}

Result<void> Client::introduce() {
  const Result<Json> welcome = ask({{"hello", kControlVersion}}, "welcome");
  return welcome ? Result<void>() : fail(welcome.error());
}

Client::~Client() {
  if (interrupted() == 0 && alive()) {
    static_cast<void>(link_->close(params::kGoodbye));
  } else {
    link_->abort();
  }
  control_.reset();
}

Result<void> Client::alive() const {
  const engine::ConnectionStatus status = link_->status();
  if (status.state != engine::ConnectionState::kClosed) return {};
  return fail(status.error);
}

Result<Json> Client::ask(const Json& message, const char* wanted) {
  if (Result<void> sent = control_->send(message); !sent) return fail(sent.error());
  return hear(wanted);
}

Result<Json> Client::hear(const char* wanted) {
  while (true) {
    Result<std::optional<Json>> message = control_->poll();
    if (!message) return fail(message.error());
    if (!message->has_value()) {
      if (interrupted() != 0) return stopped();
      link_->progress(params::kSlice);
      continue;
    }
    if ((*message)->contains(wanted)) return std::move(**message);
    if ((*message)->contains("error")) return fail(error_from(**message));
    return fail(ErrorCode::kInvalid, "cannot understand the server",
                fmt::format("it was asked for '{}' and answered something else", wanted),
                "use the same version of heddle on both sides");
  }
}

}  // namespace heddle::measure
