// Session: one client of a server, from its hello to its close. The server calls step() after every
// progress of the endpoint. It never blocks, and one thread serves all sessions.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/message_link.h"
#include "measure/control.h"
#include "measure/echo.h"
#include "measure/server/test_memory.h"
#include "measure/stream.h"

namespace heddle::measure {

// Called by a session for each line of output: the peer, a text, and the same as data.
using SessionReporter =
    std::function<void(const std::string& peer, const std::string& text, const Json& record)>;

class Session {
 public:
  // `memory` is what tests take theirs of, `share` the session's own; it must outlive the session.
  Session(std::unique_ptr<engine::MessageLink> link, SessionReporter reporter, TestMemory& memory,
          TestMemory::Share share);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // False once the client is gone; then the session is to be destroyed.
  bool step();
  // The client went without saying so.
  bool failed() const { return failed_; }
  // It has work that no input brings: it wants to be called again at once.
  bool busy() const { return running_ && !running_->ready; }

 private:
  // A running test.
  struct Running {
    TestOptions options;
    TestMemory::Share share;
    bool ready = false;               // the streams are there
    std::vector<MessageSlots> slots;  // until then: whose memory is being found
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
  Result<void> take_slots(Running& running);
  // Finds memory for the slots, some at a time; then begins.
  Result<void> prepare();
  void make_streams(Running& running);
  Result<void> step_running();
  Result<void> finish_running();
  void end(const Error& error);
  transport::ConnectionStatistics statistics() const;

  const std::unique_ptr<engine::MessageLink> link_;
  const SessionReporter reporter_;
  const std::string peer_;
  TestMemory& memory_;
  const TestMemory::Share share_;
  const Nanos came_at_;
  ControlChannel control_;
  std::unique_ptr<Running> running_;
  bool welcomed_ = false;
  uint32_t refusals_ = 0;  // of its requests
  bool over_ = false;
  bool failed_ = false;
};

}  // namespace heddle::measure
