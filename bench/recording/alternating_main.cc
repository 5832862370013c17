// The cost of recording for all-reduces, measured within one process: two ranks (threads) have
// separate endpoints and a communicator for each way of recording and call them in turn, a few
// calls at a time, so that start-up, memory and the state of the machine are the same for all. Each
// round runs every way once; its times are compared with those of the way "off" in the same round.
// bench/run recording runs it.
#include <fmt/core.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/check.h"
#include "collectives/communicator.h"
#include "collectives/links.h"
#include "engine/endpoint.h"
#include "engine/process_recording.h"

namespace heddle {
namespace {

constexpr uint32_t kRanks = 2;
constexpr Nanos kPatience = seconds(60);

struct Way {
  std::string name;
  bool records = false;
  events::RecordLevel level = events::RecordLevel::kMessages;
};

struct Plan {
  std::vector<Way> ways = {{"off", false, {}}, {"off again", false, {}}};
  std::string folder;
  uint64_t bytes = 1 << 20;
  uint32_t calls = 8;       // consecutive calls of a way
  uint32_t rounds = 100;    // with the same endpoints
  uint32_t lives = 5;       // number of times that endpoints are created again
  uint64_t mebibytes = 64;  // size of a recording
  bool fresh = false;       // if false, a recording has been full before, as in any long job

  // The order in which the ways of a life are created: it changes their memory layout, and thereby
  // times.
  std::vector<size_t> order_of(uint64_t life) const {
    std::vector<size_t> order(ways.size());
    for (size_t at = 0; at < order.size(); ++at) order[at] = (at + life) % order.size();
    return order;
  }
};

struct Times {
  int64_t wall_ns = 0;
  int64_t cpu_ns = 0;  // of the process, user and system
};

int64_t nanos_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
}

Times times() { return {nanos_of(CLOCK_MONOTONIC), nanos_of(CLOCK_PROCESS_CPUTIME_ID)}; }

std::unique_ptr<engine::Endpoint> open(const Plan& plan, const Way& way) {
  engine::Options options;
  options.transport.accept = true;
  if (way.records) {
    options.recording.directory = plan.folder + "/" + way.name;
    options.recording.level = way.level;
    options.recording.most = mebibytes(plan.mebibytes);
  }
  auto opened = engine::Endpoint::open({.bind = "127.0.0.1"}, options);
  if (!opened) {
    fmt::print(stderr, "error: {}\n", opened.error().message());
    std::exit(2);
  }
  return std::move(*opened);
}

// The endpoints, by way and rank.
using Endpoints = std::vector<std::vector<std::unique_ptr<engine::Endpoint>>>;

class Rank {
 public:
  Rank(const Plan& plan, const Endpoints& endpoints, uint32_t rank, uint64_t life)
      : plan_(plan),
        rank_(rank),
        life_(life),
        buffer_(plan.bytes / sizeof(float), 1.0F),
        communicators_(plan.ways.size()) {
    for (const size_t way : plan_.order_of(life)) {
      collectives::Members members{
          .communicator = 1 + life * plan_.ways.size() + way, .rank = rank, .addresses = {}};
      for (const auto& endpoint : endpoints[way]) {
        members.addresses.push_back(endpoint->local_address());
      }
      collectives::CommunicatorOptions options;
      options.tuning.pinned[static_cast<size_t>(collectives::Collective::kAllReduce)] =
          collectives::Algorithm::kRing;
      auto made = collectives::Communicator::create(
          std::make_shared<collectives::Links>(*endpoints[way][rank]), members, options);
      CHECK(made.has_value());
      communicators_[way] = std::move(*made);
    }
  }

  void run() {
    for (const size_t way : plan_.order_of(life_)) call(way);  // connects
    for (uint32_t round = 0; round < plan_.rounds; ++round) {
      // Each way is at each position equally often, and after each other one.
      std::vector<Times> took(plan_.ways.size());
      for (size_t at = 0; at < took.size(); ++at) {
        const uint64_t turn = life_ * plan_.rounds + round;
        const size_t place = turn / took.size() % 2 == 0 ? at : took.size() - 1 - at;
        const size_t way = (place + turn) % took.size();
        took[way] = block(way);
      }
      rounds_.push_back(std::move(took));
    }
  }
  const std::vector<std::vector<Times>>& rounds() const { return rounds_; }

 private:
  void call(size_t way) {
    const auto request = communicators_[way]->all_reduce({.input = buffer_.data(),
                                                          .output = buffer_.data(),
                                                          .count = buffer_.size(),
                                                          .type = collectives::DataType::kFloat32},
                                                         collectives::ReduceOp::kMax);
    CHECK(request.has_value());
    CHECK(communicators_[way]->wait(*request, kPatience).has_value());
  }

  // One uncounted call first removes what the previous way left in caches.
  Times block(size_t way) {
    call(way);
    const Times before = times();
    for (uint32_t i = 0; i < plan_.calls; ++i) call(way);
    const Times after = times();
    return {after.wall_ns - before.wall_ns, after.cpu_ns - before.cpu_ns};
  }

  const Plan& plan_;
  const uint32_t rank_;
  const uint64_t life_;
  std::vector<float> buffer_;
  std::vector<std::unique_ptr<collectives::Communicator>> communicators_;
  std::vector<std::vector<Times>> rounds_;
};

// Fills all recordings once: else the first use of each MiB takes page faults.
void fill_recordings(const Plan& plan) {
  constexpr uint64_t kLeastMarkBytes = 40;
  const uint64_t marks = mebibytes(plan.mebibytes).count / kLeastMarkBytes;
  for (uint64_t i = 0; i < marks && engine::mark("full", i); ++i) {
  }
}

std::vector<std::vector<Times>> live(const Plan& plan, uint64_t life) {
  Endpoints endpoints(plan.ways.size());
  for (const size_t way : plan.order_of(life)) {
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      endpoints[way].push_back(open(plan, plan.ways[way]));
    }
  }
  if (!plan.fresh) fill_recordings(plan);
  Rank first(plan, endpoints, 0, life);
  Rank second(plan, endpoints, 1, life);
  std::thread other([&second] { second.run(); });
  first.run();
  other.join();
  for (const Way& way : plan.ways) {
    if (way.records) std::filesystem::remove_all(plan.folder + "/" + way.name);
  }
  return first.rounds();
}

// {"off": {"wall_ns": [...], "cpu_ns": [...]}, ...}: a number for each round.
void print(const std::vector<Way>& ways, const std::vector<std::vector<Times>>& rounds) {
  std::string text;
  for (size_t way = 0; way < ways.size(); ++way) {
    std::string wall;
    std::string cpu;
    for (const std::vector<Times>& round : rounds) {
      wall += fmt::format("{}{}", wall.empty() ? "" : ",", round[way].wall_ns);
      cpu += fmt::format("{}{}", cpu.empty() ? "" : ",", round[way].cpu_ns);
    }
    text += fmt::format("{}\"{}\": {{\"wall_ns\": [{}], \"cpu_ns\": [{}]}}",
                        text.empty() ? "" : ", ", ways[way].name, wall, cpu);
  }
  fmt::print("{{{}}}\n", text);
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  CLI::App app("what recording costs all-reduces, ways of recording in turn within a process");
  heddle::Plan plan;
  app.add_option("folder", plan.folder, "where to record; nothing is left there")->required();
  app.add_option("--bytes", plan.bytes, "of an all-reduce")->capture_default_str();
  app.add_option("--calls", plan.calls, "of a way at a time")->capture_default_str();
  app.add_option("--rounds", plan.rounds, "of all ways, with the same endpoints")
      ->capture_default_str();
  app.add_option("--lives", plan.lives, "so often endpoints are made anew")->capture_default_str();
  app.add_option("--mebibytes", plan.mebibytes, "room of a recording")->capture_default_str();
  app.add_flag("--fresh", plan.fresh, "with recordings that were never full before");
  std::vector<std::string> levels = {"bins", "messages"};
  const std::vector<std::string> known = {"counters", "bins", "messages", "segments"};
  app.add_option("--levels", levels, "of recording, beside none")
      ->delimiter(',')
      ->check(CLI::IsMember(known));
  CLI11_PARSE(app, argc, argv);
  for (const std::string& level : levels) {
    plan.ways.push_back({level, true, heddle::events::record_level(level)});
  }
  std::error_code ignored;  // a later error reports it
  std::filesystem::create_directories(plan.folder, ignored);
  std::vector<std::vector<heddle::Times>> rounds;
  for (uint64_t life = 0; life < plan.lives; ++life) {
    for (auto& round : heddle::live(plan, life)) rounds.push_back(std::move(round));
  }
  heddle::print(plan.ways, rounds);
  return 0;
}
