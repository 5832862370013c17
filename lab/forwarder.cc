// See forwarder.h. One thread reads the rings, sends due frames, and sleeps until the next frame is
// due. Arrival times are the kernel's, so a late wakeup does not extend the delay while it is
// shorter than the delay.
#include "lab/forwarder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/inherited_files.h"
#include "lab/delay_counts.h"
#include "lab/delay_queue.h"
#include "lab/delays.h"
#include "lab/packet_port.h"
#include "lab/params.h"
#include "lab/worker.h"

namespace heddle::lab {
namespace {

Nanos clock_now(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return seconds(now.tv_sec) + nanos(now.tv_nsec);
}

// One direction of a link.
struct Line {
  size_t in;  // index into the ports, as is `out`
  size_t out;
  DelayQueue queue;
  DelayCounts counts;
};

class Forwarder {
 public:
  // Errors: as PacketPort::open and DelayCountsFile::create.
  static Result<Forwarder> open(const Layout& layout) {
    const std::vector<DelayedLink> links = delayed_links(layout.topology);
    auto counts = DelayCountsFile::create(delay_counts_path(layout.lab), 2 * links.size());
    if (!counts) return fail(std::move(counts).error());
    Forwarder made(std::move(*counts));
    for (const DelayedLink& link : links) {
      for (const std::string& device : {link.device_a, link.device_b}) {
        auto port = PacketPort::open(device, link.largest_frame, link.ring);
        if (!port) return fail(std::move(port).error());
        made.ports_.push_back(std::move(*port));
      }
      made.add(link);
    }
    return made;
  }

  // Runs until the lab is removed.
  void run() {
    while (!counts_file_.is_removed()) {
      const Nanos idle_at = clock_now(CLOCK_MONOTONIC) + seconds(1);
      Nanos now;
      do {
        const bool moved = turn();
        now = clock_now(CLOCK_MONOTONIC);
        publish(now, false);
        wait(now, moved);
      } while (now < idle_at);
    }
  }

 private:
  explicit Forwarder(DelayCountsFile counts) : counts_file_(std::move(counts)) {}

  void add(const DelayedLink& link) {
    const DelayQueueOptions options{.delay = link.delay,
                                    .capacity = link.in_flight,
                                    .largest_frame = link.largest_frame,
                                    .late_after = link.delay / 10 + micros(50)};
    const size_t a = ports_.size() - 2;
    lines_.push_back({a, a + 1, DelayQueue(options), {}});
    lines_.push_back({a + 1, a, DelayQueue(options), {}});
    tick_ = std::min(tick_, std::max(params::kLeastTick, link.delay / 20));
    between_reads_ = std::min(between_reads_, link.delay / 2);
  }

  // Reads and sends once; returns whether a frame arrived or is held.
  bool turn() {
    bool moved = false;
    for (Line& line : lines_) {
      moved = read(line) || moved;
      send(line);
      moved = moved || !line.queue.empty();
    }
    return moved;
  }

  bool read(Line& line) {
    const Nanos now = clock_now(CLOCK_MONOTONIC);
    const Nanos wall = clock_now(CLOCK_REALTIME);
    const size_t count = ports_[line.in].read(
        params::kReadBatch, [&](std::span<const uint8_t> frame, Nanos arrival) {
          const Nanos back = wall - arrival;
          const bool sane = back.count >= 0 && back <= params::kMostBack;
          line.queue.push(frame, sane ? now - back : now);
        });
    return count > 0;
  }

  void send(Line& line) {
    std::array<std::span<const uint8_t>, params::kSendBatch> frames;
    for (;;) {
      const Nanos now = clock_now(CLOCK_MONOTONIC);
      const size_t count = line.queue.due(now, frames);
      if (count == 0) return;
      const PacketPort::Sent sent = ports_[line.out].send({frames.data(), count});
      line.queue.pop(sent.gone, now);
      line.counts.refused += sent.refused;
      if (sent.gone < count) return;  // the device's queue is full: retry in the next iteration
    }
  }

  void publish(Nanos now, bool always) {
    if (!always && now - published_ < params::kPublishInterval) return;
    published_ = now;
    for (size_t i = 0; i < lines_.size(); ++i) {
      Line& line = lines_[i];
      const DelayQueue::Counts& counts = line.queue.counts();
      line.counts.packets = counts.packets - line.counts.refused;
      line.counts.bytes = counts.bytes;
      line.counts.held_bytes = line.queue.held().count;
      line.counts.dropped = counts.dropped;
      line.counts.overrun += ports_[line.in].take_overrun();
      line.counts.late = counts.late;
      line.counts.latest_ns = static_cast<uint64_t>(counts.latest.count);
      counts_file_.store(i, line.counts);
    }
  }

  // While frames move, sleeps until the next frame is due, at most as long as frames may stay in
  // the rings; else until a frame arrives.
  void wait(Nanos now, bool moved) {
    if (!moved) {
      publish(now, true);
      return wait_for_frame();
    }
    Nanos until = now + between_reads_;
    for (const Line& line : lines_) {
      if (const auto due = line.queue.next_due()) until = std::min(until, *due);
    }
    until = std::max(until, now + tick_);
    const timespec at{until.count / 1'000'000'000, until.count % 1'000'000'000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
  }

  void wait_for_frame() {
    std::vector<pollfd> waits;
    for (const PacketPort& port : ports_) waits.push_back({port.descriptor(), POLLIN, 0});
    if (poll(waits.data(), waits.size(), params::kIdleMs) <= 0) return;
    for (size_t i = 0; i < waits.size(); ++i) {
      if ((waits[i].revents & POLLERR) != 0) ports_[i].clear_error();
    }
  }

  DelayCountsFile counts_file_;
  std::vector<PacketPort> ports_;
  std::vector<Line> lines_;
  Nanos tick_ = params::kMostTick;
  Nanos between_reads_ = params::kMostBetweenReads;
  Nanos published_;
};

// Raises its priority where the host allows it, and requests precise timers: a link's delay must
// not depend on the load of processors.
void get_precedence() {
  prctl(PR_SET_TIMERSLACK, 1'000);
  const sched_param first{.sched_priority = 1};
  if (sched_setscheduler(0, SCHED_FIFO, &first) != 0) setpriority(PRIO_PROCESS, 0, -20);
}

constexpr int kReport = 3;

// Closes the files inherited from the parent: this process would hold an inherited lock or pipe as
// long as the lab exists.
void leave_files(int report) {
  if (report != kReport) dup2(report, kReport);
  close_files_from(kReport + 1);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int standard = 0; standard < kReport; ++standard) dup2(nothing, standard);
}

void say(const std::string& text) {
  while (write(kReport, text.data(), text.size()) < 0 && errno == EINTR) continue;
}

[[noreturn]] void forward(const Layout& layout, pid_t parent, int pipe) {
  if (parent != 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
  }
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, SIG_DFL);
  setsid();
  prctl(PR_SET_NAME, "heddle-delay");
  leave_files(pipe);
  if (Result<void> in = enter_namespace(delay_netns(layout), false); !in) {
    say(in.error().message());
    _exit(1);
  }
  Result<Forwarder> forwarder = Forwarder::open(layout);
  if (!forwarder) {
    say(forwarder.error().message());
    _exit(1);
  }
  get_precedence();
  say("+");
  close(kReport);
  forwarder->run();
  _exit(0);
}

}  // namespace

Result<pid_t> start_forwarder(const Layout& layout, bool owned) {
  const std::string what = "cannot start the forwarder of delayed links";
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail(ErrorCode::kSystem, what, std::strerror(errno), "see `ulimit -n`");
  }
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process == 0) forward(layout, owned ? parent : 0, ends[1]);
  close(ends[1]);
  std::array<char, 512> text{};
  ssize_t got = 0;
  do {
    got = read(ends[0], text.data(), text.size());
  } while (got < 0 && errno == EINTR);
  close(ends[0]);
  if (process < 0) return fail(ErrorCode::kSystem, what, std::strerror(errno), "see `ulimit -u`");
  if (got == 1 && text[0] == '+') return process;
  while (waitpid(process, nullptr, 0) < 0 && errno == EINTR) continue;
  return fail(ErrorCode::kSystem, what,
              got > 0 ? std::string(text.data(), static_cast<size_t>(got)) : "it ended at once",
              "a delayed link needs packet sockets (CONFIG_PACKET, CAP_NET_RAW)");
}

}  // namespace heddle::lab
