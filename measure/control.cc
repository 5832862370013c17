// Control: see control.h.
#include "measure/control.h"

#include <fmt/core.h>

#include "base/error_code.h"
#include "base/quantity.h"
#include "measure/params.h"

namespace heddle::measure {
namespace {

Unexpected bad_request(std::string why) {
  return fail(ErrorCode::kInvalid, "cannot run the test", std::move(why),
              "use the same version of heddle on both sides");
}

// An integer field within [low, high].
Result<int64_t> integer_field(const Json& message, const char* name, int64_t low, int64_t high) {
  const auto found = message.find(name);
  if (found == message.end() || !found->is_number_integer()) {
    return bad_request(fmt::format("the request has no number '{}'", name));
  }
  const bool fits = found->is_number_unsigned()
                        ? found->get<uint64_t>() <= static_cast<uint64_t>(high)
                        : found->get<int64_t>() <= high;
  if (!fits || found->get<int64_t>() < low) {
    return bad_request(fmt::format("'{}' is not within {} and {}", name, low, high));
  }
  return found->get<int64_t>();
}

engine::MessageBytes bytes_of(char* start, size_t bytes) {
  return {.start = reinterpret_cast<std::byte*>(start), .bytes = bytes};
}

bool flag_field(const Json& message, const char* name) {
  const auto found = message.find(name);
  return found != message.end() && found->is_boolean() && found->get<bool>();
}

std::string text_field(const Json& message, const char* name) {
  const auto found = message.find(name);
  return found != message.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

Json to_json(const TestOptions& options) {
  return {{"run", options.test},
          {"message_bytes", options.message_bytes},
          {"window", options.window},
          {"duration_ns", options.duration.count},
          {"bidirectional", options.bidirectional},
          {"check", options.check}};
}

Result<TestOptions> test_options_from(const Json& message) {
  TestOptions options;
  options.test = text_field(message, "run");
  if (options.test != "bw" && options.test != "lat") {
    return bad_request(fmt::format("there is no test '{}'", options.test.substr(0, 32)));
  }
  const auto bytes =
      integer_field(message, "message_bytes", 1, static_cast<int64_t>(kMaxMessageBytes));
  if (!bytes) return fail(bytes.error());
  const auto window = integer_field(message, "window", 1, params::kMostWindow);
  if (!window) return fail(window.error());
  const auto duration = integer_field(message, "duration_ns", 1, params::kLongestTestNs);
  if (!duration) return fail(duration.error());
  options.message_bytes = static_cast<uint64_t>(*bytes);
  options.window = static_cast<uint32_t>(*window);
  options.duration = nanos(*duration);
  options.bidirectional = flag_field(message, "bidirectional");
  options.check = flag_field(message, "check");
  return options;
}

Json to_json(const Error& error) {
  return {{"error",
           {{"code", static_cast<int>(error.code)},
            {"what", error.what},
            {"why", error.why},
            {"todo", error.todo}}}};
}

Error error_from(const Json& message) {
  Error error{ErrorCode::kInvalid, "the server refused", "it does not say why", ""};
  const auto found = message.find("error");
  if (found == message.end() || !found->is_object()) return error;
  const auto code = integer_field(*found, "code", 0, static_cast<int>(ErrorCode::kSystem));
  if (code) error.code = static_cast<ErrorCode>(*code);
  if (const std::string what = text_field(*found, "what"); !what.empty()) error.what = what;
  if (const std::string why = text_field(*found, "why"); !why.empty()) error.why = why;
  error.todo = text_field(*found, "todo");
  return error;
}

ControlChannel::ControlChannel(engine::MessageLink& link, size_t most_bytes)
    : link_(link), buffer_(most_bytes) {}

// The owner of the connection has closed it, so running operations end; they must end before their
// memory is freed.
ControlChannel::~ControlChannel() {
  if (receiving_) link_.wait(receiving_, Nanos::never());
  for (const Outgoing& each : outgoing_) link_.wait(each.operation, Nanos::never());
}

Result<void> ControlChannel::send(const Json& message) {
  while (!outgoing_.empty() && link_.peek(outgoing_.front().operation).done) {
    outgoing_.pop_front();
  }
  if (outgoing_.size() >= params::kMaxAnswersWaiting) {
    return fail(ErrorCode::kExhausted, "cannot send a control message", "the peer takes none");
  }
  // Text from elsewhere may not be UTF-8; what is sent is.
  std::string text = message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > params::kMaxControlBytes) {
    return fail(ErrorCode::kInvalid, "cannot send a control message", "it is too long");
  }
  outgoing_.push_back({std::move(text), {}});
  Outgoing& last = outgoing_.back();
  Result<engine::Operation> operation =
      link_.send(kControlChannel, bytes_of(last.text.data(), last.text.size()));
  if (!operation) {
    outgoing_.pop_back();
    return fail(operation.error());
  }
  last.operation = *operation;
  return {};
}

Result<void> ControlChannel::post_receive() {
  Result<engine::Operation> operation =
      link_.receive(kControlChannel, bytes_of(buffer_.data(), buffer_.size()));
  if (!operation) return fail(operation.error());
  receiving_ = *operation;
  return {};
}

Result<std::optional<Json>> ControlChannel::poll() {
  if (!receiving_) {
    if (Result<void> posted = post_receive(); !posted) return fail(posted.error());
  }
  const engine::Outcome outcome = link_.peek(receiving_);
  if (!outcome.done) return std::optional<Json>();
  receiving_ = {};
  if (!outcome.ok) return fail(failure_of(link_, outcome));
  Json message = Json::parse(buffer_.data(), buffer_.data() + outcome.bytes, nullptr,
                             /*allow_exceptions=*/false);
  if (!message.is_object()) {
    return fail(ErrorCode::kInvalid, "the peer sent what is no control message",
                "another program speaks there", "use the same version of heddle on both sides");
  }
  return std::optional<Json>(std::move(message));
}

Error failure_of(const engine::MessageLink& link, const engine::Outcome& outcome) {
  const engine::ConnectionStatus status = link.status();
  if (status.state == engine::ConnectionState::kClosed &&
      status.error.code != ErrorCode::kInvalid) {
    return status.error;
  }
  return {outcome.error, "the connection failed", reason_of(outcome.error), ""};
}

}  // namespace heddle::measure
