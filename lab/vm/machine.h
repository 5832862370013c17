// Machine: the QEMU process of one run and the ports to the scripts in it. The process
// ends with its owner, even where that is killed; nothing is written to a disk.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "base/descriptor.h"
#include "base/result.h"
#include "lab/vm.h"

namespace heddle::lab::vm {

// A connected pair of sockets: one end stays here, QEMU inherits the other.
struct Port {
  Descriptor ours;
  Descriptor theirs;
};

class Machine {
 public:
  // Starts QEMU. Errors: kSystem, kUnavailable.
  static Result<Machine> start(const VmOptions& options, const std::string& image,
                               const std::string& ram_disk);
  ~Machine();  // kills it
  Machine(Machine&& other) noexcept;
  Machine& operator=(Machine&&) = delete;

  // Forwards output until the command has ended, a limit is over, or this process was stopped.
  CommandEnd wait(const VmOptions& options);

 private:
  Machine() = default;

  Result<void> open_ports(bool shell);
  [[noreturn]] void become(const std::vector<std::string>& words, pid_t parent) const;
  std::optional<CommandEnd> step(const VmOptions& options);
  std::optional<CommandEnd> check_limits(const VmOptions& options) const;
  std::optional<CommandEnd> take_control();
  void forward_all();
  CommandEnd died();

  pid_t process_ = 0;
  Descriptor process_descriptor_;  // becomes readable at its end
  Port control_, output_, error_, terminal_, console_;
  std::string control_text_;
  std::string console_text_;
  bool ready_ = false;
  Nanos limit_from_{};  // when the boot or the command began
};

}  // namespace heddle::lab::vm
