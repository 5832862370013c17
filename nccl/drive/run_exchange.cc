// The exchange of one run: see run_exchange.h.
#include "nccl/drive/run_exchange.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "nccl/drive/clock.h"
#include "nccl/drive/failure.h"
#include "nccl/params.h"

namespace heddle::nccl {
namespace {

constexpr const char* kRunKey = "run";
constexpr const char* kStartKey = "start";

// An option as it is given, "--pattern" and "ring"; the value is empty for a flag.
using Option = std::pair<std::string, std::string>;

// Those that all ranks must have in common.
std::vector<Option> common_options(const DriveOptions& options, const std::string& plugin) {
  std::vector<Option> common = {
      {"--ranks", std::to_string(options.size)},  {"the plugin", plugin},
      {"--pattern", name_of(options.pattern)},    {"--protocol", name_of(options.protocol)},
      {"--bytes", std::to_string(options.bytes)}, {"--channels", std::to_string(options.channels)}};
  const auto add = [&common](const char* name, uint64_t value) {
    if (value > 0) common.emplace_back(name, std::to_string(value));
  };
  add("--message", options.message_bytes);
  add("--zero-every", options.zero_every);
  add("--iterations", options.iterations);
  if (options.iterations == 0) {
    common.emplace_back("--time", fmt::format("{:g}s", to_seconds(options.duration)));
  }
  if (options.check) common.emplace_back("--check", "");
  return common;
}

// One a line, name and value divided by a tab.
std::string text_of(const std::vector<Option>& options) {
  std::string text;
  for (const auto& [name, value] : options) text += fmt::format("{}\t{}\n", name, value);
  return text;
}

std::vector<Option> parse_options(const std::string& text) {
  std::vector<Option> options;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t tab = std::min(line.find('\t'), line.size());
    options.emplace_back(line.substr(0, tab), line.substr(std::min(tab + 1, line.size())));
  }
  return options;
}

std::optional<std::string> value_in(const std::vector<Option>& options, const std::string& name) {
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const Option& each) { return each.first == name; });
  if (found == options.end()) return std::nullopt;
  return found->second;
}

// "rank 1 has --check, rank 0 has not" of the first option that differs; empty: none does.
std::string difference(int rank, const std::vector<Option>& own, const std::vector<Option>& first) {
  const auto shown = [](const std::string& name, const std::optional<std::string>& value) {
    return !value ? std::string("not") : value->empty() ? name : name + " " + *value;
  };
  std::vector<Option> all = own;
  all.insert(all.end(), first.begin(), first.end());
  for (const Option& each : all) {
    const auto mine = value_in(own, each.first);
    const auto theirs = value_in(first, each.first);
    if (mine == theirs) continue;
    const std::string of_rank = fmt::format("rank {} has {}", rank, shown(each.first, mine));
    const std::string of_first = fmt::format("rank 0 has {}", shown(each.first, theirs));
    return mine ? of_rank + ", " + of_first : of_first + ", " + of_rank;
  }
  return "";
}

Result<std::string> new_run_number() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) {
    return fail(ErrorCode::kUnavailable, "cannot draw a run number", std::strerror(errno));
  }
  return fmt::format("{:016x}", number);
}

bool is_run_number(std::string_view text) {
  return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string joined_key(int rank) { return fmt::format("joined.{}", rank); }

class Meeting {
 public:
  Meeting(Exchange& exchange, const DriveOptions& options, const std::string& plugin)
      : exchange_(exchange),
        options_(options),
        own_(common_options(options, plugin)),
        began_(monotonic_now()) {}

  Result<RunExchange> join() {
    const Result<void> joined = options_.rank == 0 ? lead() : follow();
    if (joined) return *run_;
    if (run_) return fail(publish_failure(*run_, options_.rank, joined.error()));
    return fail(joined.error());
  }

 private:
  Result<void> lead() {
    const Result<std::string> number = new_run_number();
    if (!number) return fail(number.error());
    const Result<void> put = exchange_.put(kRunKey, *number + "\n" + text_of(own_));
    if (!put) return refusal_of(put.error());
    run_.emplace(exchange_, *number);
    for (int rank = 1; rank < options_.size; ++rank) {
      const Result<std::string> joined = await(*run_, joined_key(rank));
      if (!joined) return fail(joined.error());
    }
    return run_->put(kStartKey, "");
  }

  Result<void> follow() {
    const Result<std::string> text = await(exchange_, kRunKey);
    if (!text) return fail(text.error());
    const size_t line = std::min(text->find('\n'), text->size());
    const std::string number = text->substr(0, line);
    if (!is_run_number(number)) {
      return fail(ErrorCode::kInvalid, "cannot join the run",
                  "the exchange folder names a run that heddle did not make",
                  "delete the folder, and start all ranks with a new one");
    }
    RunExchange run(exchange_, number);
    const Result<std::optional<std::string>> started = run.get(kStartKey);
    if (!started) return fail(started.error());
    // All ranks of that run have come; it is over, or goes on without this one.
    if (*started) return used_folder();
    // A number that is taken ends this rank only; the run that has it goes on.
    if (Result<void> put = run.put(joined_key(options_.rank), ""); !put) {
      return refusal_of(put.error());
    }
    run_.emplace(run);
    const std::string differs = difference(
        options_.rank, own_, parse_options(text->substr(std::min(line + 1, text->size()))));
    if (!differs.empty()) {
      return fail(ErrorCode::kInvalid, "the options of the ranks differ", differs,
                  "start all ranks with the same options");
    }
    const Result<std::string> start = await(*run_, kStartKey);
    return start ? Result<void>() : fail(start.error());
  }

  // The same text on all ranks, since one folder is the cause.
  static Unexpected refusal_of(const Error& error) {
    return error.code == ErrorCode::kInUse ? used_folder() : fail(error);
  }

  static Unexpected used_folder() {
    return fail(ErrorCode::kInUse, "cannot use the exchange folder",
                "another run, or a rank of the same number, has used it",
                "delete the folder before the next run, and give each rank a number of its own");
  }

  Result<std::string> await(Exchange& exchange, const std::string& key) {
    while (true) {
      const Result<std::optional<std::string>> value = exchange.get(key);
      if (!value) return fail(value.error());
      if (*value) return **value;
      if (const Result<void> goes_on = wait(); !goes_on) return fail(goes_on.error());
    }
  }

  Result<void> wait() {
    if (options_.stopped && options_.stopped()) {
      return fail(ErrorCode::kCancelled, "waiting for the other ranks", "it was stopped");
    }
    if (run_) {
      const Result<std::optional<Error>> failure = read_failure(*run_);
      if (!failure) return fail(failure.error());
      if (*failure) return fail(**failure);
    }
    const Nanos waited = monotonic_now() - began_;
    if (waited >= options_.patience) {
      return fail(ErrorCode::kUnavailable, fmt::format("waiting for {}", missing_ranks()),
                  fmt::format("nothing happened for {:.0f} s", to_seconds(options_.patience)),
                  "start all ranks, with one exchange folder, and delete it before the next run");
    }
    if (!reported_ && waited >= options_.report_after) {
      reported_ = true;
      if (options_.waiting) options_.waiting(missing_ranks());
    }
    sleep_for(params::drive::kFolderPause);
    return {};
  }

  // "rank 1", "ranks 1, 2 and 5 more".
  std::string missing_ranks() {
    if (!run_) return "rank 0";
    std::vector<int> missing;
    for (int rank = 1; rank < options_.size; ++rank) {
      const auto joined = run_->get(joined_key(rank));
      if (joined && !*joined) missing.push_back(rank);
    }
    if (missing.empty()) return "rank 0";
    const size_t named = std::min(missing.size(), params::drive::kMostNamed);
    const auto end = missing.begin() + static_cast<std::ptrdiff_t>(named);
    std::string text = fmt::format("rank{} {}", missing.size() == 1 ? "" : "s",
                                   fmt::join(missing.begin(), end, ", "));
    if (named < missing.size()) text += fmt::format(" and {} more", missing.size() - named);
    return text;
  }

  Exchange& exchange_;
  const DriveOptions& options_;
  const std::vector<Option> own_;
  const Nanos began_;
  bool reported_ = false;
  std::optional<RunExchange> run_;  // once this rank is part of it
};

}  // namespace

Result<RunExchange> join_run(Exchange& exchange, const DriveOptions& options,
                             const std::string& plugin) {
  return Meeting(exchange, options, plugin).join();
}

}  // namespace heddle::nccl
