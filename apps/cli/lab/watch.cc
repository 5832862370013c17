// `heddle lab list` and `heddle lab status`: what is up, and how its links do.
#include <fmt/core.h>
#include <time.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "apps/cli/lab/lab_options.h"
#include "apps/cli/lab/show.h"
#include "base/interrupt.h"
#include "base/quantity.h"

namespace heddle::cli {
namespace {

constexpr const char* kClearScreen = "\033[H\033[2J";

void sleep_for(Nanos span) {
  const timespec wait{span.count / 1'000'000'000, span.count % 1'000'000'000};
  nanosleep(&wait, nullptr);  // a signal ends it early
}

Result<void> show_status(const LabOptions& options, const lab::Lab& lab, Nanos interval) {
  Result<lab::Counts> before = lab::read_counts(lab.layout);
  if (!before) return fail(before.error());
  const bool on_terminal = isatty(STDOUT_FILENO) == 1;
  do {
    sleep_for(interval);
    Result<lab::Counts> now = lab::read_counts(lab.layout);
    if (!now) return fail(now.error());
    const auto conditions = lab::load_conditions(lab.state.name, lab.layout.topology);
    if (!conditions) return fail(conditions.error());
    const LabPicture picture{lab, *conditions, *before, *now};
    if (options.watch && on_terminal) print(kClearScreen);
    print(options.json ? status_json(picture) : status_text(picture));
    before = std::move(now);
  } while (options.watch && interrupted() == 0);
  return {};
}

}  // namespace

int run_lab_status(const LabOptions& options) {
  const Result<lab::Lab> lab = lab::open_lab(options.name);
  if (!lab) return could_not(lab.error());
  const Result<Nanos> interval = parse_duration(options.interval);
  if (!interval) return could_not(interval.error());
  if (options.watch) catch_interrupts();
  const Result<void> shown = show_status(options, *lab, *interval);
  if (!shown && interrupted() == 0) return could_not(shown.error());
  return kDone;
}

int run_lab_list(const LabOptions& options) {
  std::vector<lab::Lab> labs;
  for (const std::string& name : lab::lab_names()) {
    Result<lab::Lab> lab = lab::open_lab(name);
    if (lab) {
      labs.push_back(std::move(*lab));
    } else {
      print_error(lab.error());
    }
  }
  print(options.json ? list_json(labs) : list_text(labs));
  return kDone;
}

}  // namespace heddle::cli
