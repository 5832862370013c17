// See connection.h.
#include "messaging/nats/connection.h"

#include <algorithm>
#include <utility>

#include "base/printable.h"
#include "messaging/params.h"

namespace heddle::messaging {
namespace {

int64_t millis_of(Nanos span) { return std::max<int64_t>(1, span / millis(1)); }

// The last error of this thread, or the status in words.
std::string why_of(natsStatus status) {
  natsStatus last = NATS_OK;
  const char* const said = nats_library().last_error(&last);
  if (said != nullptr && *said != '\0') return printable(said);
  return nats_library().text_of(status);
}

Unexpected lost(const std::string& server, natsStatus status) {
  const bool refused = status == NATS_CONNECTION_AUTH_FAILED || status == NATS_NOT_PERMITTED;
  return fail(refused ? ErrorCode::kPermission : ErrorCode::kUnavailable,
              "cannot use the NATS server " + server, why_of(status),
              refused ? "see user, password and token" : "see that it runs there");
}

// Stops at the first setting that fails.
class Settings {
 public:
  explicit Settings(natsOptions* options) : options_(options) {}

  template <typename Function, typename... Values>
  void set(Function function, Values... values) {
    if (status_ == NATS_OK) status_ = function(options_, values...);
  }
  natsStatus status() const { return status_; }

 private:
  natsOptions* options_;
  natsStatus status_ = NATS_OK;
};

natsStatus set_all(natsOptions* options, const NatsServer& server, bool tls,
                   const NatsAccess& access, const std::string& name) {
  const NatsLibrary& nats = nats_library();
  Settings settings(options);
  settings.set(nats.set_url, ((tls ? "tls://" : "nats://") + server.text()).c_str());
  settings.set(nats.set_name, name.c_str());
  settings.set(nats.set_timeout, millis_of(params::kAnswerWithin));
  settings.set(nats.set_write_deadline, millis_of(params::kAnswerWithin));
  settings.set(nats.set_reconnect, false);
  settings.set(nats.set_ping_interval, millis_of(params::kSignOfLife));
  settings.set(nats.set_most_pings, 2);
  if (!access.user.empty()) {
    settings.set(nats.set_user, access.user.c_str(), access.password.c_str());
  }
  if (!access.token.empty()) settings.set(nats.set_token, access.token.c_str());
  if (!tls) return settings.status();
  settings.set(nats.set_secure, true);
  settings.set(nats.set_expected_host, server.host.c_str());
  if (!access.ca.empty()) settings.set(nats.load_ca, access.ca.c_str());
  if (!access.certificate.empty()) {
    settings.set(nats.load_certificate, access.certificate.c_str(), access.key.c_str());
  }
  return settings.status();
}

}  // namespace

Result<NatsConnection> NatsConnection::make(const NatsAddress& address, const NatsAccess& access,
                                            const std::string& name, size_t attempt) {
  const NatsServer& server = address.servers[attempt % address.servers.size()];
  const NatsLibrary& nats = nats_library();
  if (!nats.why_not.empty()) {
    return fail(ErrorCode::kUnavailable, "cannot use NATS", nats.why_not,
                "apt-get install libnats3.4");
  }
  natsOptions* made = nullptr;
  natsStatus status = nats.open(-1);
  if (status == NATS_OK) status = nats.make_options(&made);
  if (status != NATS_OK) return lost(server.text(), status);
  const std::unique_ptr<natsOptions, End> options(made);
  status = set_all(options.get(), server, address.tls, access, name);
  natsConnection* connection = nullptr;
  if (status == NATS_OK) status = nats.connect(&connection, options.get());
  if (status != NATS_OK) return lost(server.text(), status);
  return NatsConnection(connection, server.text());
}

Result<void> NatsConnection::checked(natsStatus status) const {
  if (status == NATS_OK) return {};
  return lost(server_, status);
}

size_t NatsConnection::most_bytes() const {
  return static_cast<size_t>(std::max<int64_t>(0, nats_library().most_bytes(connection_.get())));
}

Result<void> NatsConnection::publish(const std::string& subject, const std::string& text) {
  return checked(nats_library().publish(connection_.get(), subject.c_str(), text.data(),
                                        static_cast<int>(text.size())));
}

Result<void> NatsConnection::flush(Nanos within) {
  return checked(nats_library().flush(connection_.get(), millis_of(within)));
}

std::string NatsConnection::refusal() const {
  const char* said = nullptr;
  const natsStatus status = nats_library().error_of(connection_.get(), &said);
  // As a server writes it: libnats has no status of its own for it in each version.
  const std::string text = said == nullptr ? "" : printable(said);
  const bool refused =
      status == NATS_NOT_PERMITTED || text.find("ermissions Violation") != std::string::npos;
  return refused ? text : "";
}

Result<void> NatsConnection::subscribe(const std::string& pattern) {
  natsSubscription* made = nullptr;
  const natsStatus status = nats_library().subscribe(&made, connection_.get(), pattern.c_str());
  if (status != NATS_OK) return checked(status);
  subscription_.reset(made);
  return checked(nats_library().set_pending(subscription_.get(),
                                            static_cast<int>(params::kMostReceived),
                                            static_cast<int>(params::kMostReceivedBytes)));
}

Result<std::optional<Received>> NatsConnection::next(Nanos within) {
  natsMsg* message = nullptr;
  const natsStatus status = nats_library().next(&message, subscription_.get(), millis_of(within));
  if (status == NATS_TIMEOUT) return std::optional<Received>();
  // Some were dropped before it; it comes with the next call.
  if (status == NATS_SLOW_CONSUMER) return std::optional<Received>();
  if (status != NATS_OK) return fail(checked(status).error());
  Received made{nats_library().subject_of(message),
                std::string(nats_library().data_of(message),
                            static_cast<size_t>(nats_library().length_of(message)))};
  nats_library().end_message(message);
  return std::optional<Received>(std::move(made));
}

uint64_t NatsConnection::dropped() const {
  int64_t messages = 0;
  if (!subscription_ || nats_library().dropped(subscription_.get(), &messages) != NATS_OK) return 0;
  return static_cast<uint64_t>(std::max<int64_t>(0, messages));
}

}  // namespace heddle::messaging
