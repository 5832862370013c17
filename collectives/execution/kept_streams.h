// KeptStreams: lets the next communicator use a connection again after a failure. When both sides
// have withdrawn their calls, each posts empty operations until both have posted the same number on
// every channel, so that the next send meets the next receive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "collectives/execution/hello.h"
#include "collectives/execution/stream_counts.h"
#include "collectives/params.h"
#include "engine/endpoint.h"

namespace heddle::collectives {

class KeptStreams {
 public:
  // This side is ready, and has sent what it has posted.
  bool offered() const { return offered_; }
  void note_offered() { offered_ = true; }
  const StreamCounts& posted() const { return posted_; }
  void set_posted(const StreamCounts& posted) { posted_ = posted; }
  void note_theirs(const StreamCounts& posted) { theirs_ = posted; }

  // Both sides are ready: align() may be called, once.
  bool aligns() const { return offered_ && theirs_ && !aligned_; }
  // Posts the messages that this side is short of. False: the connection cannot be kept.
  bool align(engine::Endpoint& endpoint, engine::Connection connection);
  bool aligned() const { return aligned_; }

  // Of the peer's next communicator, which is first to know it.
  const std::optional<Hello>& hello() const { return hello_; }
  void note_hello(const Hello& hello) { hello_ = hello; }

 private:
  // Upper bound on how far the counts of two sides differ: the operations of a connection.
  static constexpr int32_t kMostFillers = params::kMostFillers;

  struct Stream {
    engine::Connection connection = 0;
    engine::Channel channel = 0;
    bool sends = false;
  };
  static bool post(engine::Endpoint& endpoint, const Stream& stream, uint32_t short_of);

  bool offered_ = false;
  bool aligned_ = false;
  StreamCounts posted_;
  std::optional<StreamCounts> theirs_;
  std::optional<Hello> hello_;
};

}  // namespace heddle::collectives
