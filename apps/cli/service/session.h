// Session: one client of a server, from its hello to its close. The server calls step() after every
// progress of the endpoint; nothing here blocks, so many sessions share one thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "apps/cli/service/control.h"
#include "apps/cli/service/echo.h"
#include "apps/cli/service/stream.h"

namespace heddle::cli {

// What one client's test may take of the server's memory: enough for every size that `perf` offers.
inline constexpr uint64_t kMaxTestMemoryBytes = uint64_t{4} << 30;

// Told by a session when something is worth a line: the peer, a text, and the same as data.
using SessionReporter =
    std::function<void(const std::string& peer, const std::string& text, const Json& record)>;

class Session {
 public:
  Session(engine::Endpoint& endpoint, engine::Connection connection, SessionReporter reporter);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // False once the client is gone; then the session is to be destroyed.
  bool step();
  // The client went without saying so.
  bool failed() const { return failed_; }

 private:
  // A test under way.
  struct Running {
    TestOptions options;
    std::unique_ptr<ReceiveStream> receiving;
    std::unique_ptr<SendStream> sending;
    std::unique_ptr<EchoServer> echo;
    Nanos began;
    Nanos cpu_began;
    transport::ConnectionStatistics statistics_began;
  };

  Result<void> take_messages();
  Result<void> handle(const Json& message);
  Result<void> welcome(const Json& hello);
  Result<void> start(const Json& request);
  Result<void> prepare(Running& running);
  Result<void> step_running();
  Result<void> finish_running();
  void end(const Error& error);
  transport::ConnectionStatistics statistics() const;

  engine::Endpoint& endpoint_;
  const engine::Connection connection_;
  const SessionReporter reporter_;
  const std::string peer_;
  ControlChannel control_;
  std::unique_ptr<Running> running_;
  bool welcomed_ = false;
  bool over_ = false;
  bool failed_ = false;
};

}  // namespace heddle::cli
