// `heddle plan keep`: see keep_command.h. What a change does is in kept_changes.h.
#include "apps/cli/plan/keep_command.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/json.h"
#include "apps/cli/plan/kept_changes.h"
#include "apps/cli/terminal.h"
#include "base/clocks.h"
#include "base/document.h"
#include "base/interrupt.h"
#include "base/quantity.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle plan keep --topology fabric.toml --workload ring.toml -o plan.json
  printf 'down leaf0:spine1\nflow h0 h5 8MB\n' | heddle plan keep --topology fabric.toml \
      --workload ring.toml -o plan.json

Plans once, and then reads changes from standard input, one a line: down LINK, up LINK, rate LINK
RATE, flow HOST HOST BYTES, end HOST HOST. A change moves only the flows that it concerns, beside
all others, and the plan file is replaced. Ends with its input.)";

// Between two looks for a signal. Range 10 to 1000 ms.
constexpr int kLook_ms = 100;
// A longer line is no change.
constexpr size_t kLongestLine = 4096;

struct KeepOptions {
  PlanInputs inputs;
  std::string output;
  bool json = false;
};

// Lines of standard input.
class Lines {
 public:
  // Those that have come; waits for one at least. None: the input has ended, or a signal came.
  std::vector<std::string> next() {
    std::vector<std::string> lines;
    while (lines.empty() && !ended_ && interrupted() == 0) {
      pollfd input{STDIN_FILENO, POLLIN, 0};
      if (poll(&input, 1, kLook_ms) <= 0) continue;
      std::array<char, 65'536> piece{};
      const ssize_t got = read(STDIN_FILENO, piece.data(), piece.size());
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      ended_ = got <= 0;
      if (got > 0) text_.append(piece.data(), static_cast<size_t>(got));
      if (ended_ && !text_.empty()) text_ += '\n';
      cut(lines);
    }
    return lines;
  }

 private:
  void cut(std::vector<std::string>& lines) {
    size_t from = 0;
    for (size_t end = text_.find('\n'); end != std::string::npos; end = text_.find('\n', from)) {
      lines.push_back(text_.substr(from, end - from));
      from = end + 1;
    }
    text_.erase(0, from);
    if (text_.size() > kLongestLine) text_.resize(kLongestLine + 1);
  }

  std::string text_;  // behind the last whole line
  bool ended_ = false;
};

std::string text_of(const std::string& line, const planner::Replanned& replanned, Nanos took) {
  const auto longest = static_cast<int64_t>(replanned.planned.longest());
  std::string text = fmt::format("{}: {} moved in {}; the most loaded link takes {}", line,
                                 counted_text(replanned.moved.size(), "flow"), duration_text(took),
                                 duration_text(nanos(longest)));
  if (replanned.unreachable > 0) {
    text += fmt::format("; {} without a route",
                        counted_text(replanned.unreachable, "part") + " of flows");
  }
  return text + "\n";
}

std::string json_of(const std::string& line, const planner::Replanned& replanned, Nanos took) {
  const Json document = {{"change", line},
                         {"moved_flows", replanned.moved.size()},
                         {"planned_parts", replanned.considered},
                         {"unreachable", replanned.unreachable},
                         {"longest_us", replanned.planned.longest() * 1e-3},
                         {"took_us", static_cast<double>(took.count) * 1e-3}};
  return document.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// False: it could not be applied.
bool apply(KeptChanges& changes, const std::string& line, bool json) {
  if (line.size() > kLongestLine) {
    print_warning("a line of more than 4,096 bytes is no change");
    return false;
  }
  const Nanos before = steady_now();
  const Result<planner::Replanned> replanned = changes.apply(line);
  const Nanos took = steady_now() - before;
  if (!replanned) {
    print_warning(replanned.error().message());
    return false;
  }
  print(json ? json_of(line, *replanned, took) : text_of(line, *replanned, took));
  return true;
}

bool is_empty(const std::string& line) {
  return line.find_first_not_of(" \t\r") == std::string::npos;
}

Result<int> keep_plan(const KeepOptions& options) {
  catch_interrupts();
  const Result<ReadPlanInputs> read = read_plan_inputs(options.inputs);
  if (!read) return fail(read.error());
  for (const std::string& note : read->notes) print_warning(note);
  const Result<std::unique_ptr<KeptChanges>> changes = KeptChanges::make(*read);
  if (!changes) return fail(changes.error());
  const auto write = [&] { return replace_text_file(options.output, (*changes)->document()); };
  if (Result<void> written = write(); !written) return fail(written.error());
  Lines lines;
  bool all_good = (*changes)->plan().unreachable() == 0;
  for (auto next = lines.next(); !next.empty(); next = lines.next()) {
    bool changed = false;
    for (const std::string& line : next) {
      if (is_empty(line)) continue;
      const bool good = apply(**changes, line, options.json);
      all_good = all_good && good;
      changed = changed || good;
    }
    if (!changed) continue;
    if (Result<void> written = write(); !written) return fail(written.error());
  }
  if (interrupted() != 0) return interrupted_exit_status();
  return all_good ? kDone : kFoundWrong;
}

int run_keep(const KeepOptions& options) {
  const Result<int> status = keep_plan(options);
  if (status) return *status;
  print_error(status.error());
  return kCouldNotRun;
}

}  // namespace

void add_keep_command(CLI::App& plan, Invocation& invocation) {
  CLI::App* const keep =
      plan.add_subcommand("keep", "keep a plan and its file while links and flows change");
  keep->footer(kExample + exit_status_help("a line was no change that could be applied, or some "
                                           "flows had no route at first",
                                           "could not run"));
  const auto options = std::make_shared<KeepOptions>();
  add_plan_inputs(*keep, options->inputs);
  keep->remove_option(keep->get_option("--background"));
  keep->remove_option(keep->get_option("--period"));
  keep->add_option("-o,--output", options->output, "the plan's file (required)")->type_name("FILE");
  add_json_option(*keep, options->json);
  keep->callback([options, &invocation] {
    if (options->inputs.topology.empty()) throw CLI::RequiredError("--topology");
    if (options->output.empty()) throw CLI::RequiredError("--output");
    invocation.run = [options] { return run_keep(*options); };
  });
}

}  // namespace heddle::cli
