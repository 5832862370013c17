// Control: the short JSON messages with which client and server of ping and perf agree on a test
// and exchange results, on a separate channel. hello -> welcome, then any number of run -> ready,
// the test itself, result; or error in place of an answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "engine/endpoint.h"
#include "engine/message_link.h"
#include "measure/params.h"

namespace heddle::measure {

using Json = nlohmann::ordered_json;

inline constexpr int kControlVersion = 1;
inline constexpr engine::Channel kControlChannel = 0;
inline constexpr engine::Channel kStreamChannel = 1;
inline constexpr engine::Channel kEchoChannel = 2;

// What a test moves.
struct TestOptions {
  std::string test;  // "bw" or "lat"
  uint64_t message_bytes = 0;
  uint32_t window = 1;  // messages in flight at a time, up to kMostWindow
  Nanos duration;
  bool bidirectional = false;
  bool check = false;  // verify every byte
};

Json to_json(const TestOptions& options);
// Checks every value, as they come from the network. Errors: kInvalid.
Result<TestOptions> test_options_from(const Json& message);

Json to_json(const Error& error);
Error error_from(const Json& message);

// Both directions of a control channel. Not thread-safe.
class ControlChannel {
 public:
  // Messages of more than `most_bytes` end it.
  explicit ControlChannel(engine::MessageLink& link, size_t most_bytes = params::kMaxControlBytes);
  ~ControlChannel();
  ControlChannel(const ControlChannel&) = delete;
  ControlChannel& operator=(const ControlChannel&) = delete;

  // Errors: those of Endpoint::send, kExhausted (kMaxAnswersWaiting).
  Result<void> send(const Json& message);
  // The next message if it has come. Errors: why none can come any more, or kInvalid for what is no
  // JSON object.
  Result<std::optional<Json>> poll();

 private:
  struct Outgoing {
    std::string text;
    engine::Operation operation;
  };
  Result<void> post_receive();

  engine::MessageLink& link_;
  std::vector<char> buffer_;
  engine::Operation receiving_;
  std::deque<Outgoing> outgoing_;
};

// Why an operation on this connection failed, in words: the connection's own cause where it is
// closed.
Error failure_of(const engine::MessageLink& link, const engine::Outcome& outcome);

}  // namespace heddle::measure
