// See vm.h.
#include "lab/vm.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/exec.h"
#include "lab/tool.h"
#include "lab/vm/guest.h"
#include "lab/vm/kernel.h"
#include "lab/vm/machine.h"
#include "lab/vm/ram_disk.h"

namespace heddle::lab {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWhat = "cannot make a virtual machine";

struct Needed {
  const char* program;
  const char* package;
};

// busybox runs in the first root, the others here or in the machine, which sees this host's files.
constexpr Needed kNeeded[] = {{"qemu-system-x86_64", "qemu-system-x86"},
                              {"busybox", "busybox-static"},
                              {"modprobe", "kmod"},
                              {"ip", "iproute2"},
                              {"tc", "iproute2"},
                              {"rdma", "iproute2"},
                              {"ethtool", "ethtool"}};

// Users other than root may have no sbin folders on their PATH; the machine has them.
bool installed(const std::string& program) {
  if (!find_program(program).empty()) return true;
  std::error_code failed;
  return fs::exists("/usr/sbin/" + program, failed) || fs::exists("/sbin/" + program, failed);
}

Result<void> check_host() {
  utsname host{};
  if (uname(&host) == 0 && std::string_view(host.machine) != "x86_64") {
    return fail(ErrorCode::kUnavailable, kWhat,
                fmt::format("its programs are this host's, and this is {}", host.machine),
                "use a host with an x86-64 processor");
  }
  for (const Needed& each : kNeeded) {
    if (installed(each.program)) continue;
    return fail(ErrorCode::kUnavailable, kWhat,
                fmt::format("the program {} is not installed", each.program),
                fmt::format("apt-get install {}", each.package));
  }
  return {};
}

// An existing folder, as an absolute path without symbolic links.
Result<std::string> real_folder(const std::string& folder) {
  if (folder.empty()) return folder;
  std::error_code failed;
  const fs::path real = fs::canonical(folder, failed);
  if (!failed && !fs::is_directory(real)) failed = std::make_error_code(std::errc::not_a_directory);
  if (!failed) return real.string();
  return fail(ErrorCode::kInvalid, fmt::format("cannot share the folder {}", folder),
              failed.message(), "make it first: mkdir -p");
}

vm::Caller read_caller() {
  vm::Caller caller;
  std::error_code failed;
  caller.folder = fs::current_path(failed).string();
  for (char** each = environ; *each != nullptr; ++each) caller.environment.emplace_back(*each);
  winsize size{};
  if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0) {
    caller.rows = size.ws_row;
    caller.columns = size.ws_col;
  }
  return caller;
}

// Passes each key of this terminal on as it is, until the end of a shell.
class RawTerminal {
 public:
  explicit RawTerminal(bool wanted) : changed_(wanted && tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (!changed_) return;
    termios raw = before_;
    cfmakeraw(&raw);
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  ~RawTerminal() {
    if (changed_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

 private:
  termios before_{};
  bool changed_;
};

Result<vm::Machine> start_machine(VmOptions& options) {
  if (options.shell && isatty(STDIN_FILENO) == 0) {
    return fail(ErrorCode::kInvalid, "cannot open a shell", "standard input is no terminal",
                "give a command after --");
  }
  if (Result<void> able = check_host(); !able) return fail(able.error());
  Result<std::string> out = real_folder(options.out);
  if (!out) return fail(out.error());
  options.out = *out;
  const auto kernel = vm::find_kernel(options.kernel, vm::default_kernel_places());
  if (!kernel) return fail(kernel.error());
  const auto disk = vm::make_ram_disk(options, *kernel, read_caller(), find_program("busybox"));
  if (!disk) return fail(disk.error());
  return vm::Machine::start(options, kernel->image, *disk);
}

}  // namespace

CommandEnd run_vm(const VmOptions& options) {
  VmOptions actual = options;
  Result<vm::Machine> machine = start_machine(actual);
  if (!machine) return {kOwnFailure, machine.error()};
  const RawTerminal terminal(actual.shell);
  return machine->wait(actual);
}

}  // namespace heddle::lab
