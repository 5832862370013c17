// `heddle lab vm`: see vm_command.h.
#include "apps/cli/lab/vm_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/terminal.h"
#include "base/quantity.h"
#include "lab/run.h"
#include "lab/vm.h"
#include "topology/quantity.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle lab vm -- ibv_devices
  heddle lab vm --loss 0.1% -- sh -c '
    ib_write_bw -d rxe1 -x 1 >/dev/null & sleep 1; ib_write_bw -d rxe0 -x 1 h1'
  heddle lab vm --delay 200us --reorder 1% --out results -- ./measure.sh
  heddle lab vm --shell

The machine has one link between the interfaces h0 (10.9.0.1, RDMA device rxe0) and h1 (10.9.0.2,
rxe1); IPv6 has the names h0-v6 and h1-v6. It sees this host's files; what the command changes is
gone in the end, except below --out, which is $OUT there. The command runs as root, in the current
folder, with this environment and an empty standard input. It is slow: its processor is emulated.

It needs qemu-system-x86, busybox-static, and a kernel that `scripts/setup --vm` unpacks.)";

struct VmLine {
  std::string loss, reorder, duplicate, delay, rate, memory = "2G", timeout;
  lab::VmOptions options;
};

CLI::Validator share_value() {
  return {[](const std::string& text) {
            return topology::parse_share(text)
                       ? std::string()
                       : fmt::format("'{}' is no share: give one like 1% or 0.01%", text);
          },
          ""};
}

CLI::Validator rate_value() {
  return {[](const std::string& text) {
            return topology::parse_rate(text)
                       ? std::string()
                       : fmt::format("'{}' is no rate: give one like 1Gbit/s", text);
          },
          ""};
}

uint32_t share_of(const std::string& text) { return topology::parse_share(text).value_or(0); }

Nanos duration_of(const std::string& text) {
  return text.empty() ? Nanos{} : parse_duration(text).value_or(Nanos{});
}

int run_lab_vm(const VmLine& line) {
  lab::note_signals();
  lab::VmOptions options = line.options;
  options.link.loss_per_million = share_of(line.loss);
  options.link.reorder_per_million = share_of(line.reorder);
  options.link.duplicate_per_million = share_of(line.duplicate);
  options.link.delay = duration_of(line.delay);
  if (!line.rate.empty()) options.link.rate = *topology::parse_rate(line.rate);
  options.memory = parse_size(line.memory).value_or(options.memory);
  options.timeout = duration_of(line.timeout);
  const lab::CommandEnd end = lab::run_vm(options);
  if (end.failure) print_error(*end.failure);
  if (end.exit_status == lab::kTimedOut && options.timeout.count > 0) {
    print_warning(fmt::format("the command was stopped after {}", line.timeout));
  }
  return end.exit_status;
}

void add_link_options(CLI::App& command, VmLine& line) {
  const auto share = [&command](const char* name, std::string& text, const char* about) {
    return command.add_option(name, text, about)->type_name("SHARE")->check(share_value());
  };
  share("--loss", line.loss, "packets that the link loses, in each direction");
  auto* const delay = command.add_option("--delay", line.delay, "latency of the link, one way");
  delay->type_name("DURATION")->check(duration_value());
  share("--reorder", line.reorder, "packets that are sent without the delay, before others")
      ->needs(delay);
  share("--duplicate", line.duplicate, "packets that arrive twice");
  command.add_option("--rate", line.rate, "rate of the link")
      ->type_name("RATE")
      ->check(rate_value())
      ->default_str("unlimited");
  command.add_option("--mtu", line.options.link.mtu_bytes, "largest IP packet")
      ->type_name("BYTES")
      ->check(whole_number(1280, 65'535))
      ->capture_default_str();
}

void add_machine_options(CLI::App& command, VmLine& line) {
  command.add_option("--memory", line.memory, "the machine's memory")
      ->type_name("SIZE")
      ->check(size_value(uint64_t{256} << 20))
      ->capture_default_str();
  command.add_option("--cpus", line.options.cpus, "the machine's processors")
      ->type_name("N")
      ->check(whole_number(1, 32))
      ->capture_default_str();
  command
      .add_option("--timeout", line.timeout, "stop the command after this time, with status 124")
      ->type_name("DURATION")
      ->check(duration_value())
      ->default_str("none");
  command
      .add_option("--kernel", line.options.kernel,
                  "a folder with boot/ and lib/modules/, or an image below one")
      ->type_name("FILE")
      ->default_str("the cache's, else this host's");
  command.add_option("--out", line.options.out, "a folder that the command may write to")
      ->type_name("FOLDER");
}

}  // namespace

void add_lab_vm_command(CLI::App& lab, Invocation& invocation) {
  CLI::App* const command =
      lab.add_subcommand("vm", "run a command in a virtual machine that has RDMA devices");
  const auto line = std::make_shared<VmLine>();
  add_link_options(*command, *line);
  add_machine_options(*command, *line);
  auto* const shell =
      command->add_flag("--shell", line->options.shell, "a shell on this terminal, not a command");
  auto* const program = add_program(*command, line->options.words);
  program->excludes(shell);
  command->footer(kExample + program_status_help("N the command's exit status, 124 if --timeout "
                                                 "stopped it"));
  command->callback([line, &invocation] {
    if (line->options.words.empty() && !line->options.shell) {
      throw CLI::ValidationError("a command is needed, after --, or --shell");
    }
    invocation.run = [line] { return run_lab_vm(*line); };
  });
}

}  // namespace heddle::cli
