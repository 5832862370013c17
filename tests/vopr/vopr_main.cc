// heddle-vopr: runs VOPR for a seed or a sequence of seeds, prints failures with the command that
// reproduces them, and prints what the runs have reached. Exit status: 0 success, 1 a run failed or
// something was not reached, 2 wrong usage.
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "events/events.h"
#include "tests/vopr/options.h"
#include "tests/vopr/reached.h"
#include "tests/vopr/regressions.h"
#include "tests/vopr/run.h"
#include "tests/vopr/shards.h"

namespace heddle::vopr {
namespace {

struct Arguments {
  uint64_t first = 1;
  uint64_t last = 1;
  uint64_t every = 1;
  bool regressions = false;      // run the seeds of regressions.h
  std::string counts;            // output file for the table of what was reached
  std::vector<std::string> sum;  // such files, to be summed instead of running seeds
  bool verbose = false;
  bool trace = false;
  bool demand_all = false;  // everything reachable must be reached
  bool keep_going = false;  // after a failed seed
  uint64_t jobs = 1;
  std::string folder;  // for records of completed work; empty: no records, and a single process
};

constexpr const char* kUsage =
    "usage: heddle-vopr --seed N | --seeds N..M [--every K] | --regressions | --sum FILE...\n"
    "                   [--jobs N] [--state FOLDER] [--verbose] [--trace] [--keep-going] "
    "[--demand-all] [--counts FILE]\n"
    "  --seed N       one run; prints its options\n"
    "  --seeds N..M   a row of runs\n"
    "  --every K      of the row each Kth only\n"
    "  --regressions  the seeds that have found something before\n"
    "  --jobs N       in N processes; what is done stands in the folder of --state, and the same\n"
    "  --state FOLDER command goes on where it was stopped; FOLDER/failed names the seeds that "
    "failed\n"
    "  --sum FILE...  no run: adds up what others have reached\n"
    "  --counts FILE  writes what was reached there\n"
    "  --verbose      one line a run\n"
    "  --trace        every event of every host, as text\n"
    "  --keep-going   runs the remaining seeds after one has failed\n"
    "  --demand-all   fails unless the runs together reach everything that can be reached\n";

bool read_number(std::string_view text, uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool read(int count, char** words, Arguments& arguments) {
  bool has_seed = false;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    const std::string_view next = i + 1 < count ? words[i + 1] : "";
    if (word == "--seed" && read_number(next, arguments.first)) {
      arguments.last = arguments.first;
      has_seed = true;
      ++i;
    } else if (word == "--seeds") {
      const size_t dots = next.find("..");
      has_seed = dots != std::string_view::npos &&
                 read_number(next.substr(0, dots), arguments.first) &&
                 read_number(next.substr(dots + 2), arguments.last);
      if (!has_seed || arguments.last < arguments.first) return false;
      ++i;
    } else if (word == "--every" && read_number(next, arguments.every) && arguments.every > 0) {
      ++i;
    } else if (word == "--jobs" && read_number(next, arguments.jobs) && arguments.jobs > 0 &&
               arguments.jobs <= 1024) {
      ++i;
    } else if (word == "--state" && !next.empty()) {
      arguments.folder = words[++i];
    } else if (word == "--counts" && !next.empty()) {
      arguments.counts = words[++i];
    } else if (word == "--sum") {
      while (i + 1 < count && words[i + 1][0] != '-') arguments.sum.emplace_back(words[++i]);
      has_seed = !arguments.sum.empty();
    } else if (word == "--regressions") {
      arguments.regressions = has_seed = true;
    } else if (word == "--verbose") {
      arguments.verbose = true;
    } else if (word == "--trace") {
      arguments.trace = true;
    } else if (word == "--keep-going") {
      arguments.keep_going = true;
    } else if (word == "--demand-all") {
      arguments.demand_all = true;
    } else {
      return false;
    }
  }
  return has_seed && (arguments.jobs == 1 || !arguments.folder.empty()) &&
         (arguments.folder.empty() || !arguments.regressions);
}

class TracePrinter : public events::EachSink<TracePrinter> {
 public:
  template <typename Event>
  void on_any(const Event& event) {
    std::printf("%s\n", events::to_text(event).c_str());
  }
};

// A CHECK aborts the process: the seed must be printed even then.
char last_words[128];

void on_abort(int) {
  const ssize_t written = write(STDERR_FILENO, last_words, std::strlen(last_words));
  static_cast<void>(written);
}

void report_failure(const Options& options, const Findings& findings) {
  std::printf("seed %llu FAILED: %llu findings\n", static_cast<unsigned long long>(options.seed),
              static_cast<unsigned long long>(findings.report.count()));
  for (const std::string& finding : findings.report.kept()) std::printf("  %s\n", finding.c_str());
  std::printf("its options:\n%s", to_text(options).c_str());
  std::printf("again, with every event: heddle-vopr --seed %llu --trace\n",
              static_cast<unsigned long long>(options.seed));
}

bool run_one(uint64_t seed, const Arguments& arguments, Reached& reached) {
  std::snprintf(last_words, sizeof last_words, "again: heddle-vopr --seed %llu --trace\n",
                static_cast<unsigned long long>(seed));
  const Options options = pick(seed);
  if (arguments.verbose && arguments.first == arguments.last) {
    std::printf("%s", to_text(options).c_str());
  }
  TracePrinter printer;
  const auto began = std::chrono::steady_clock::now();
  const Findings findings = run(options, arguments.trace ? &printer : nullptr);
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - began);
  reached.add(findings.reached);
  if (arguments.verbose) {
    std::printf(
        "seed %llu: %s, %llu operations, %llu bytes, %llu events, %.3f s simulated in %lld ms, "
        "hash %016llx\n",
        static_cast<unsigned long long>(seed), findings.report.good() ? "good" : "FAILED",
        static_cast<unsigned long long>(findings.operations),
        static_cast<unsigned long long>(findings.bytes),
        static_cast<unsigned long long>(findings.events), to_seconds(findings.lasted),
        static_cast<long long>(took.count()), static_cast<unsigned long long>(findings.trace_hash));
  }
  if (!findings.report.good()) report_failure(options, findings);
  std::fflush(stdout);
  return findings.report.good();
}

bool add_file(const std::string& name, Reached& reached) {
  std::ifstream file(name);
  std::stringstream text;
  text << file.rdbuf();
  if (file && reached.add_text(text.str())) return true;
  std::printf("cannot read what was reached from %s\n", name.c_str());
  return false;
}

// Prints what was reached, and if required, whether something is missing.
bool report_reached(const Arguments& arguments, const Reached& reached) {
  std::printf("reached:\n%s", reached.to_text().c_str());
  if (!arguments.counts.empty() &&
      !(std::ofstream(arguments.counts) << reached.to_text() << std::flush)) {
    std::printf("cannot write %s\n", arguments.counts.c_str());
    return false;
  }
  if (!arguments.demand_all) return true;
  const std::vector<std::string> missing = reached.missing();
  for (const std::string& name : missing) std::printf("never reached: %s\n", name.c_str());
  return missing.empty();
}

std::vector<uint64_t> seeds_of(const Arguments& arguments) {
  std::vector<uint64_t> seeds;
  if (arguments.regressions) {
    for (const Regression& one : kRegressions) seeds.push_back(one.seed);
    return seeds;
  }
  for (uint64_t seed = arguments.first; seed <= arguments.last; seed += arguments.every) {
    seeds.push_back(seed);
  }
  return seeds;
}

int run_row(const Arguments& arguments) {
  ShardOptions shards;
  shards.first = arguments.first;
  shards.last = arguments.last;
  shards.every = arguments.every;
  shards.jobs = static_cast<uint32_t>(arguments.jobs);
  shards.folder = arguments.folder;
  Reached reached;
  const ShardResult result = run_shards(
      shards, [&](uint64_t seed, Reached& met) { return run_one(seed, arguments, met); }, reached);
  const bool good = report_reached(arguments, reached) && result.failed == 0;
  std::printf("%llu runs, %llu failed: see %s/failed\n",
              static_cast<unsigned long long>(result.runs),
              static_cast<unsigned long long>(result.failed), arguments.folder.c_str());
  return good ? 0 : 1;
}

int run_all(const Arguments& arguments) {
  if (!arguments.folder.empty()) return run_row(arguments);
  Reached reached;
  bool good = true;
  for (const std::string& file : arguments.sum) good = add_file(file, reached) && good;
  if (!arguments.sum.empty()) return report_reached(arguments, reached) && good ? 0 : 1;
  const std::vector<uint64_t> seeds = seeds_of(arguments);
  size_t failed = 0;
  for (const uint64_t seed : seeds) {
    if (run_one(seed, arguments, reached)) continue;
    ++failed;
    if (!arguments.keep_going) return 1;
  }
  good = report_reached(arguments, reached) && failed == 0;
  std::printf("%zu runs, %zu failed\n", seeds.size(), failed);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace heddle::vopr

int main(int count, char** words) {
  heddle::vopr::Arguments arguments;
  if (!heddle::vopr::read(count, words, arguments)) {
    std::fputs(heddle::vopr::kUsage, stderr);
    return 2;
  }
  signal(SIGABRT, heddle::vopr::on_abort);
  return heddle::vopr::run_all(arguments);
}
