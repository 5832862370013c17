// `heddle plan keep`: see keep_command.h. What a change does is in kept_changes.h.
#include "apps/cli/plan/keep_command.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/json.h"
#include "apps/cli/plan/kept_changes.h"
#include "apps/cli/plan/params.h"
#include "apps/cli/plan/plan_file.h"
#include "apps/cli/terminal.h"
#include "base/clocks.h"
#include "base/document.h"
#include "base/interrupt.h"
#include "base/quantity.h"
#include "topology/names.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle plan keep --topology fabric.toml --workload ring.toml -o plan.json
  printf 'down leaf0:spine1\nflow h0 h5 8MB\n' | heddle plan keep --topology fabric.toml \
      --workload ring.toml -o plan.json

Plans once, and then reads changes from standard input, one a line: down LINK, up LINK, rate LINK
RATE, flow HOST HOST BYTES, end HOST HOST. A change moves only the flows that it concerns, beside
all others, and the plan file is replaced. Ends with its input.)";

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
      if (poll(&input, 1, params::plan::kLook_ms) <= 0) continue;
      std::array<char, 65'536> piece{};
      const ssize_t got = read(STDIN_FILENO, piece.data(), piece.size());
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got < 0) wrong_ = std::strerror(errno);
      ended_ = got <= 0;
      if (got > 0) text_.append(piece.data(), static_cast<size_t>(got));
      cut(lines);
    }
    return lines;
  }

  // What is behind the last whole line: no change, since its end may be missing.
  const std::string& rest() const { return text_; }
  // Why it could not be read to its end; empty: it could.
  const std::string& wrong() const { return wrong_; }

 private:
  void cut(std::vector<std::string>& lines) {
    size_t from = 0;
    for (size_t end = text_.find('\n'); end != std::string::npos; end = text_.find('\n', from)) {
      lines.push_back(text_.substr(from, end - from));
      from = end + 1;
    }
    text_.erase(0, from);
    if (text_.size() > params::plan::kLongestLine) text_.resize(params::plan::kLongestLine + 1);
  }

  std::string text_;  // behind the last whole line
  bool ended_ = false;
  std::string wrong_;
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

// The plan before any change.
std::string first_text(const KeptChanges& changes, Nanos took) {
  const planner::LivePlan& plan = changes.plan();
  const auto longest = static_cast<int64_t>(plan.planned().longest());
  std::string text = fmt::format("{} planned in {}; the most loaded link takes {}",
                                 counted_text(plan.flows().size(), "flow"), duration_text(took),
                                 duration_text(nanos(longest)));
  if (plan.unreachable() > 0) {
    text +=
        fmt::format("; {} without a route", counted_text(plan.unreachable(), "part") + " of flows");
  }
  return text + "\n";
}

std::string first_json(const KeptChanges& changes, Nanos took) {
  const planner::LivePlan& plan = changes.plan();
  const Json document = {{"planned_flows", plan.flows().size()},
                         {"unreachable", plan.unreachable()},
                         {"longest_us", plan.planned().longest() * 1e-3},
                         {"took_us", static_cast<double>(took.count) * 1e-3}};
  return document.dump() + "\n";
}

// Of a line that was not applied; of a longer one, its beginning.
void refuse_line(const std::string& line, const std::string& why, bool json) {
  print_warning(why);
  if (!json) return;
  const Json document = {{"change", line.substr(0, params::plan::kLongestLine)}, {"error", why}};
  print(document.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

// False: it could not be applied.
bool apply(KeptChanges& changes, const std::string& line, bool json) {
  if (line.size() > params::plan::kLongestLine) {
    refuse_line(line, "a line of more than 4,096 bytes is no change", json);
    return false;
  }
  const Nanos before = steady_now();
  const Result<planner::Replanned> replanned = changes.apply(line);
  const Nanos took = steady_now() - before;
  if (!replanned) {
    refuse_line(line, replanned.error().message(), json);
    return false;
  }
  print(json ? json_of(line, *replanned, took) : text_of(line, *replanned, took));
  return true;
}

bool is_empty(const std::string& line) {
  return line.find_first_not_of(" \t\r") == std::string::npos;
}

// A keeper knows what its input says and no more: where the file's plan avoids cables that are not
// given as failed, a new plan would lead over them again.
Result<void> check_earlier(const KeepOptions& options, const ReadPlanInputs& read) {
  if (access(options.output.c_str(), F_OK) != 0) return {};
  const Result<PlanFile> earlier = read_plan_file(options.output, read.topology);
  if (!earlier) {
    return fail(ErrorCode::kInvalid, "cannot replace " + options.output,
                "it is no plan of this fabric: " + earlier.error().why,
                "give another file with -o, or remove this one");
  }
  std::vector<std::string> missing;
  for (const uint32_t link : earlier->failed_links) {
    const std::vector<uint32_t>& known = read.options.failed_links;
    if (std::find(known.begin(), known.end(), link) != known.end()) continue;
    missing.push_back("--failed '" + topology::link_label(read.topology, link) + "'");
  }
  if (missing.empty()) return {};
  return fail(ErrorCode::kInvalid, "cannot replace " + options.output,
              "its plan avoids cables that are not given as failed",
              fmt::format("add {}, or remove the file", fmt::join(missing, " ")));
}

// Applies lines and keeps the file up to date.
class Keeper {
 public:
  Keeper(const KeepOptions& options, KeptChanges& changes) : options_(options), changes_(changes) {}

  // False: some line was no change.
  bool take(const std::vector<std::string>& lines) {
    bool all_good = true;
    for (const std::string& line : lines) {
      if (interrupted() != 0) break;
      if (is_empty(line)) continue;
      const bool good = apply(changes_, line, options_.json);
      all_good = all_good && good;
      unwritten_ = unwritten_ || good;
      if (unwritten_ && steady_now() - written_at_ >= params::plan::kWriteEvery) write();
    }
    if (unwritten_) write();
    return all_good;
  }

  // Tries once more what could not be written. Errors: as replace_text_file().
  Result<void> finish() { return unwritten_ ? write_now() : Result<void>(); }

 private:
  // The state is here: what fails now is tried again with the next line, and at the end.
  void write() {
    const Result<void> written = write_now();
    if (!written) print_warning(written.error().message() + "; the file from before stays");
  }
  Result<void> write_now() {
    Result<void> written = replace_text_file(options_.output, changes_.document());
    written_at_ = steady_now();
    unwritten_ = !written;
    return written;
  }

  const KeepOptions& options_;
  KeptChanges& changes_;
  Nanos written_at_;
  bool unwritten_ = true;
};

Result<int> keep_plan(const KeepOptions& options) {
  catch_interrupts();
  if (Result<void> good = check_output(options.inputs, options.output); !good) {
    return fail(good.error());
  }
  const Result<ReadPlanInputs> read = read_plan_inputs(options.inputs);
  if (!read) return fail(read.error());
  for (const std::string& note : read->notes) print_warning(note);
  if (Result<void> good = check_earlier(options, *read); !good) return fail(good.error());
  const Nanos before = steady_now();
  const Result<std::unique_ptr<KeptChanges>> changes = KeptChanges::make(*read);
  const Nanos took = steady_now() - before;
  if (!changes) return fail(changes.error());
  Keeper keeper(options, **changes);
  if (Result<void> written = keeper.finish(); !written) return fail(written.error());
  print(options.json ? first_json(**changes, took) : first_text(**changes, took));
  Lines lines;
  bool all_good = (*changes)->plan().unreachable() == 0;
  for (auto next = lines.next(); !next.empty(); next = lines.next()) {
    all_good = keeper.take(next) && all_good;
  }
  if (Result<void> written = keeper.finish(); !written) return fail(written.error());
  if (interrupted() != 0) return interrupted_exit_status();
  if (!lines.wrong().empty()) {
    return fail(ErrorCode::kSystem, "cannot read standard input", lines.wrong(),
                "give the changes by a pipe, a file or a terminal");
  }
  if (!is_empty(lines.rest())) {
    refuse_line(lines.rest(), "the last line has no end and may be cut: it is not applied",
                options.json);
    all_good = false;
  }
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
