// RemoteStream: what a command on another machine writes, as it writes it. For commands that run on
// beside this process; run_remote() is for those that take its place.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/descriptor.h"
#include "base/result.h"
#include "launch/remote_command.h"

namespace heddle::launch {

class RemoteStream {
 public:
  // Errors: kSystem.
  static Result<RemoteStream> start(const RemoteShell& shell, const std::string& host,
                                    const RemoteCommand& command);
  // Ends the command, on the other machine too, and waits for that.
  ~RemoteStream();
  RemoteStream(RemoteStream&& other) noexcept;
  RemoteStream& operator=(RemoteStream&&) = delete;

  // Asks it to end.
  void stop();

  // Standard output; reading it does not wait.
  int descriptor() const { return output_.number(); }
  // The last line of standard error so far, without this program's name; at its end, why it ended.
  std::string complaint();

 private:
  RemoteStream(pid_t process, Descriptor output, Descriptor errors);

  pid_t process_;
  Descriptor output_;
  Descriptor errors_;
  std::string last_line_;
  bool stopped_ = false;
  Nanos stopped_at_;
};

}  // namespace heddle::launch
