// Commands: programs on hosts of a fabric as child processes whose output is kept. An acceptance
// test measures with them, so that its report can name commands that repeat a figure.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "acceptance/fabric.h"
#include "acceptance/params.h"
#include "base/descriptor.h"
#include "base/nanos.h"
#include "base/result.h"

namespace heddle::acceptance {

// How a child ended.
struct CommandEnd {
  int exit_status = -1;  // 128 and the signal's number if one ended it
  bool late = false;     // it had to be ended
  bool stopped = false;  // then, its process was stopped
  std::string output;
  std::string errors;  // of standard error
};

// The last line that it wrote to standard error, without its name, as a machine_text().
std::string complaint_of(const CommandEnd& end);

class Commands {
 public:
  using Id = size_t;

  // `fabric` must outlive it.
  explicit Commands(const Fabric& fabric) : fabric_(fabric) {}
  ~Commands();  // ends all of them
  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;

  // Runs on a host; the first word "heddle" is this program, of whatever name. Errors: kSystem.
  Result<Id> start(const std::string& host, const std::vector<std::string>& words,
                   const Start& start = {});
  // Runs on this machine, with `settings` ("NAME=value") added to the environment. It is ended
  // where it writes more than params::kMostOutputBytes.
  Result<Id> start_here(const std::vector<std::string>& words,
                        const std::vector<std::string>& settings);

  // Waits for these until `limit` has passed, then ends those that still run. `pause` is called
  // repeatedly meanwhile, and should take a few milliseconds; it returns false to end them at once.
  void wait(const std::vector<Id>& ids, Nanos limit, const std::function<bool()>& pause);
  bool is_running(Id id);
  // As wait() saw it last, in a pause of it.
  bool was_running(Id id) const { return children_[id].running; }
  // Whether its process exists and is stopped (SIGSTOP), as of a paused host.
  bool is_stopped(Id id) const;
  // What it has written to standard output so far, from this byte on.
  std::string output_of(Id id, size_t from = 0) const;
  // Its first bytes are not needed any more: they take no memory, and do not count for
  // most_output_bytes. output_of() and result_of() leave them out.
  void drop_output(Id id, size_t bytes);
  // Whether one of the lines that it has written fits. Looks only at those that the last call has
  // not seen: one id is asked for one kind of line.
  bool has_line(Id id, const std::function<bool(std::string_view)>& fits);
  // To one that runs.
  void send_signal(Id id, int number);
  // Ends those that still run, with one time of grace for all.
  void end(const std::vector<Id>& ids);
  // Processor time that children used which still run.
  double running_seconds() const;
  // Of one that has ended.
  CommandEnd result_of(Id id) const;

  // "heddle lab exec h0 -- heddle perf h2 bw": started since the last call, as a user may type
  // them.
  std::vector<std::string> take_lines();

 private:
  struct Child {
    pid_t process = 0;
    bool running = true;
    bool late = false;
    bool stopped = false;
    int exit_status = -1;
    size_t most_bytes = params::kMostOutputBytes;
    size_t looked_at = 0;  // of the output, by has_line()
    size_t dropped = 0;    // of its begin
    bool has_line = false;
    Descriptor output;  // while it runs
    Descriptor errors;
    std::string output_text;  // when it has ended
    std::string errors_text;
  };

  Result<Id> start_child(const std::function<void()>& become, const std::string& what,
                         const std::string& input = {});
  void look_after(Child& child);
  static bool writes_too_much(const Child& child);
  void look_after_all();
  static void note_end(Child& child, int exit_status);
  static void kill_now(Child& child);

  const Fabric& fabric_;
  std::vector<Child> children_;
  std::vector<std::string> lines_;
};

}  // namespace heddle::acceptance
