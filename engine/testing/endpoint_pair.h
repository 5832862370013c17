// EndpointPair: two engine endpoints joined by a pipe and connected, for tests with real threads.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/endpoint.h"
#include "engine/testing/pipe_datapath.h"

namespace heddle::engine {

// Longer than any passing test waits; a test that reaches it has failed.
inline constexpr Nanos kTestPatience = seconds(60);

struct EndpointPair {
  std::shared_ptr<PipeDatapath> client_end;
  std::shared_ptr<PipeDatapath> server_end;
  std::unique_ptr<Endpoint> client;
  std::unique_ptr<Endpoint> server;
  Connection to_server = 0;
  Connection to_client = 0;
};

// `predicts`: the server's datapath receives predictions of where payload belongs.
inline EndpointPair make_endpoints(Options options, bool predicts = false) {
  EndpointPair pair;
  std::tie(pair.client_end, pair.server_end) = PipeDatapath::make_pair();
  if (predicts) pair.server_end->set_predicts();
  options.seed = 1;
  pair.client = std::move(Endpoint::create(pair.client_end, options)).value();
  options.seed = 2;
  options.transport.accept = true;
  pair.server = std::move(Endpoint::create(pair.server_end, options)).value();
  return pair;
}

inline void join(EndpointPair& pair) {
  pair.to_server = pair.client->connect(pair.client_end->peer_address()).value();
  // The server's helper or driving thread answers while this thread waits.
  const Result<void> opened = pair.client->wait_open(pair.to_server, kTestPatience);
  ASSERT_TRUE(opened) << opened.error().message();
  const std::optional<Connection> accepted = pair.server->accept(kTestPatience);
  ASSERT_TRUE(accepted);
  pair.to_client = *accepted;
}

// `count` bytes that depend on their position and on `seed`.
inline std::vector<std::byte> pattern(size_t count, uint32_t seed) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::byte>((i * 2654435761U + seed * 97U) >> 13);
  }
  return bytes;
}

}  // namespace heddle::engine
