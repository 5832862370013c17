// Runs blocks of seeds, each in a process, which reports its current seed in shared memory.
#include "tests/vopr/shards.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"

namespace heddle::vopr {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kSeedsABlock = 200;
constexpr auto kLook = std::chrono::milliseconds(100);
constexpr auto kReportEvery = std::chrono::seconds(10);

// Processor time of a process.
std::chrono::nanoseconds processor_time(pid_t process) {
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &used) != 0) return {};
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

// The state that a process reports while it runs.
struct Place {
  volatile uint64_t seed;
  volatile uint64_t failed;
};

struct Block {
  uint64_t first = 0;
  uint64_t last = 0;
};

class Shards {
 public:
  Shards(const ShardOptions& options, const std::function<bool(uint64_t, Reached&)>& run_seed,
         Reached& reached)
      : options_(options), run_seed_(run_seed), reached_(reached), jobs_(options.jobs) {
    std::filesystem::create_directories(options.folder);
    void* shared = mmap(nullptr, sizeof(Place) * options.jobs, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    for (uint32_t i = 0; i < options.jobs; ++i) jobs_[i].place = static_cast<Place*>(shared) + i;
    read_done();
    began_ = reported_ = Clock::now();
  }
  ~Shards() { munmap(jobs_[0].place, sizeof(Place) * jobs_.size()); }
  Shards(const Shards&) = delete;
  Shards& operator=(const Shards&) = delete;

  ShardResult run() {
    uint64_t next = options_.first;
    bool more = true;
    while (true) {
      bool busy = false;
      for (Job& job : jobs_) {
        if (job.process == 0 && more) more = begin_next(job, next);
        if (job.process != 0) look_at(job);
        busy |= job.process != 0;
      }
      if (!busy && !more) break;
      tell(false);
      std::this_thread::sleep_for(kLook);
    }
    tell(true);
    return result_;
  }

 private:
  struct Job {
    pid_t process = 0;
    Block block;
    Place* place = nullptr;
    uint64_t seen = 0;                   // the current seed at the last check
    std::chrono::nanoseconds seen_at{};  // processor time
    uint64_t failed = 0;                 // by earlier processes of the block
  };

  std::filesystem::path file(const char* name) const { return options_.folder / name; }
  std::filesystem::path counts_of(const Block& block) const {
    return options_.folder / ("block_" + std::to_string(block.first) + ".counts");
  }

  void read_done() {
    std::ifstream done(file("done"));
    for (std::string line; std::getline(done, line);) {
      uint64_t first = 0, last = 0, runs = 0, failed = 0;
      if (!(std::istringstream(line) >> first >> last >> runs >> failed)) continue;
      if (!done_.insert({first, last}).second) continue;
      result_.runs += runs;
      result_.failed += failed;
    }
    std::ifstream reached(file("reached"));
    std::stringstream text;
    text << reached.rdbuf();
    CHECK(reached_.add_text(text.str()));
  }

  // Returns false if no block remains.
  bool begin_next(Job& job, uint64_t& next) {
    while (next <= options_.last) {
      const uint64_t span = kSeedsABlock * options_.every;
      const Block block{next, std::min(options_.last, next + span - 1)};
      next += span;
      if (done_.contains({block.first, block.last})) continue;
      job.block = block;
      job.failed = 0;
      begin(job, block.first);
      return true;
    }
    return false;
  }

  void begin(Job& job, uint64_t from) {
    job.place->seed = from;
    job.place->failed = 0;
    job.seen = from;
    job.seen_at = {};
    std::fflush(nullptr);
    job.process = fork();
    CHECK(job.process >= 0);
    if (job.process == 0) run_block(job, from);
  }

  [[noreturn]] void run_block(const Job& job, uint64_t from) {
    const int out = open(file("findings").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    CHECK(out >= 0 && dup2(out, STDOUT_FILENO) >= 0 && dup2(out, STDERR_FILENO) >= 0);
    Reached reached;
    for (uint64_t seed = from; seed <= job.block.last; seed += options_.every) {
      job.place->seed = seed;
      if (run_seed_(seed, reached)) continue;
      note_failed(seed, "see findings");
      job.place->failed = job.place->failed + 1;
    }
    std::ofstream(counts_of(job.block)) << reached.to_text() << std::flush;
    std::fflush(nullptr);
    _exit(0);
  }

  // A single write, so that lines of several processes do not mix.
  void note_failed(uint64_t seed, const std::string& why) const {
    const int to = open(file("failed").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    const std::string line = std::to_string(seed) + " " + why + "\n";
    CHECK(to >= 0 && write(to, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
    close(to);
  }

  void look_at(Job& job) {
    int status = 0;
    if (waitpid(job.process, &status, WNOHANG) == 0) {
      const uint64_t seed = job.place->seed;
      if (seed != job.seen) {
        job.seen = seed;
        job.seen_at = processor_time(job.process);
      }
      if (processor_time(job.process) - job.seen_at < std::chrono::seconds(options_.seconds_a_seed))
        return;
      kill(job.process, SIGKILL);
      waitpid(job.process, &status, 0);
      end_badly(job, "did not end within " + std::to_string(options_.seconds_a_seed) +
                         " s of processor time");
      return;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return end_well(job);
    end_badly(job, WIFSIGNALED(status) ? "ended by signal " + std::to_string(WTERMSIG(status))
                                       : "ended with status " + std::to_string(status));
  }

  // Another process runs the rest of the block.
  void end_badly(Job& job, const std::string& why) {
    const uint64_t seed = job.place->seed;
    job.process = 0;
    note_failed(seed, why);
    job.failed += job.place->failed + 1;
    if (seed + options_.every <= job.block.last) {
      begin(job, seed + options_.every);
    } else {
      end_block(job, 0);
    }
  }

  void end_well(Job& job) {
    job.process = 0;
    std::ifstream counts(counts_of(job.block));
    std::stringstream text;
    text << counts.rdbuf();
    CHECK(reached_.add_text(text.str()));
    std::filesystem::remove(counts_of(job.block));
    end_block(job, job.place->failed);
  }

  void end_block(const Job& job, uint64_t failed) {
    const uint64_t runs = (job.block.last - job.block.first) / options_.every + 1;
    failed += job.failed;
    result_.runs += runs;
    result_.failed += failed;
    runs_here_ += runs;
    // Reached first: a block that runs twice is then counted twice, and none is omitted.
    const std::filesystem::path made = file("reached.new");
    std::ofstream(made) << reached_.to_text() << std::flush;
    std::filesystem::rename(made, file("reached"));
    std::ofstream(file("done"), std::ios::app)
        << job.block.first << " " << job.block.last << " " << runs << " " << failed << "\n"
        << std::flush;
  }

  void tell(bool now) {
    if (!now && Clock::now() - reported_ < kReportEvery) return;
    reported_ = Clock::now();
    const double took = std::chrono::duration<double>(reported_ - began_).count();
    const double rate = static_cast<double>(runs_here_) / std::max(took, 0.001);
    const uint64_t all = (options_.last - options_.first) / options_.every + 1;
    const uint64_t left = all - std::min(all, result_.runs);
    std::fprintf(stderr, "%llu of %llu seeds, %llu failed, %.1f seeds/s, %.0f min left\n",
                 static_cast<unsigned long long>(result_.runs),
                 static_cast<unsigned long long>(all),
                 static_cast<unsigned long long>(result_.failed), rate,
                 rate > 0 ? static_cast<double>(left) / rate / 60 : 0.0);
  }

  ShardOptions options_;
  const std::function<bool(uint64_t, Reached&)>& run_seed_;
  Reached& reached_;
  std::vector<Job> jobs_;
  std::set<std::pair<uint64_t, uint64_t>> done_;
  ShardResult result_;
  uint64_t runs_here_ = 0;
  Clock::time_point began_;
  Clock::time_point reported_;
};

}  // namespace

ShardResult run_shards(const ShardOptions& options,
                       const std::function<bool(uint64_t seed, Reached&)>& run_seed,
                       Reached& reached) {
  CHECK(options.jobs > 0 && options.every > 0);
  return Shards(options, run_seed, reached).run();
}

}  // namespace heddle::vopr
