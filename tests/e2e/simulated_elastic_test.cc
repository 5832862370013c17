// Jobs that go on after ranks die, on simulated fabrics: the production's communicators call
// all-reduces for ever, shrink after a failure and go on. Ranks die in every phase of every
// algorithm, several at once and during the agreement; networks part; ranks stop and come back.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/testing/sanitized.h"
#include "collectives/communicator.h"
#include "simulator/world.h"
#include "topology/generators.h"

namespace heddle::collectives {
namespace {

using simulator::EngineProcess;
using simulator::ProcessChangeKind;
using simulator::World;

// A rank's program. Each rank contributes a bit of its own, so every sum says who took part.
class ElasticRank : public simulator::EngineProgram {
 public:
  ElasticRank(EngineProcess& process, const Members& members, const CommunicatorOptions& options,
              size_t count)
      : process_(process), members_(members), options_(options), input_(count), output_(count) {
    const uint64_t own = uint64_t{1} << members.rank;
    std::fill(input_.begin(), input_.end(), own);
    for (uint32_t rank = 0; rank < members.size(); ++rank) ranks_.push_back(rank);
    process.set_program(this);
    process.poke();
  }
  // One that waits until it is taken in.
  ElasticRank(EngineProcess& process, uint32_t number, const CommunicatorOptions& options,
              size_t count)
      : process_(process), options_(options), input_(count), output_(count) {
    std::fill(input_.begin(), input_.end(), uint64_t{1} << number);
    process.set_program(this);
  }

  // As a rank of these members, which have the numbers `ranks`.
  void take_in(const Members& members, const std::vector<uint32_t>& ranks) {
    members_ = members;
    ranks_ = ranks;
    process_.poke();
  }
  // Its next shrink() names these newcomers; from now on it wants them.
  void grow_by(const std::vector<uint32_t>& newcomers,
               const std::vector<transport::Address>& addresses) {
    newcomers_ = newcomers;
    addresses_ = addresses;
    grows_ = true;
    process_.poke();
  }
  // Of its communicator, in which it is.
  const Members& members() const { return members_; }

  uint64_t steps() const { return steps_; }  // since it last shrank
  uint32_t shrinks() const { return shrinks_; }
  bool shrinking() const { return shrinking_; }
  // Of the first members, those that are in its communicator.
  const std::vector<uint32_t>& ranks() const { return ranks_; }
  const std::optional<Error>& error() const { return error_; }
  bool wrong() const { return wrong_; }
  Nanos failed_at() const { return failed_at_; }
  Nanos went_on_at() const { return went_on_at_; }
  // Before its process goes.
  void release() {
    released_ = true;
    communicator_.reset();
    links_.reset();
  }

 private:
  bool handle_turn(EngineProcess& process) override {
    if (released_ || error_ || members_.size() == 0) return false;
    if (!communicator_) {
      links_ = std::make_shared<Links>(process.endpoint());
      communicator_ = std::move(Communicator::create(links_, members_, options_)).value();
    }
    const Communicator::Attention attention = communicator_->attend();
    due_at_ = attention.again_at;
    return (shrinking_ ? go_on() : step()) || attention.moved;
  }
  Nanos due_at() const override { return error_ || released_ ? Nanos::never() : due_at_; }

  bool step() {
    if (grows_) return shrink();
    if (!request_) {
      if (process_.now() < rests_until_) {
        due_at_ = std::min(due_at_, rests_until_);
        return false;
      }
      const Data data = {input_.data(), output_.data(), input_.size(), DataType::kUint64};
      const Result<Request> posted = communicator_->all_reduce(data, ReduceOp::kSum);
      if (!posted) return shrink();
      request_ = *posted;
      return true;
    }
    const Result<bool> ended = communicator_->peek(*request_);
    if (ended && !*ended) return false;
    request_.reset();
    if (!ended) return shrink();
    uint64_t right = 0;
    for (const uint32_t rank : ranks_) right |= uint64_t{1} << rank;
    wrong_ |=
        std::count(output_.begin(), output_.end(), right) != static_cast<int64_t>(output_.size());
    ++steps_;
    // Long histories are of few calls.
    if (steps_ > kStepsWithoutRest) rests_until_ = process_.now() + millis(100);
    if (steps_ == 1) went_on_at_ = process_.network().now();
    return true;
  }

  bool shrink() {
    if (failed_at_ == Nanos{}) failed_at_ = process_.network().now();
    communicator_->begin_shrink({.join_within = seconds(2), .newcomers = addresses_});
    shrinking_ = true;
    grows_ = false;
    return true;
  }

  bool go_on() {
    std::optional<Result<Communicator::Shrunk>> shrunk = communicator_->take_shrunk();
    if (!shrunk) return false;
    if (!*shrunk) {
      error_ = shrunk->error();
      communicator_.reset();
      return true;
    }
    communicator_ = std::move((**shrunk).communicator);
    request_.reset();
    members_ = (**shrunk).members;
    std::vector<uint32_t> left;
    for (const uint32_t former : (**shrunk).former_ranks) left.push_back(ranks_[former]);
    if (members_.size() > left.size())
      left.insert(left.end(), newcomers_.begin(), newcomers_.end());
    newcomers_.clear();
    addresses_.clear();
    ranks_ = std::move(left);
    shrinking_ = false;
    steps_ = 0;
    ++shrinks_;
    return true;
  }

  static constexpr uint64_t kStepsWithoutRest = 50;

  EngineProcess& process_;
  Members members_;
  const CommunicatorOptions options_;
  std::vector<uint64_t> input_;
  std::vector<uint64_t> output_;
  std::vector<uint32_t> ranks_;
  std::shared_ptr<Links> links_;
  std::unique_ptr<Communicator> communicator_;
  std::optional<Request> request_;
  std::optional<Error> error_;
  std::vector<uint32_t> newcomers_;
  std::vector<transport::Address> addresses_;
  Nanos due_at_ = Nanos::never();
  Nanos rests_until_;
  bool grows_ = false;
  bool shrinking_ = false;
  bool released_ = false;
  bool wrong_ = false;
  uint64_t steps_ = 0;
  uint32_t shrinks_ = 0;
  Nanos failed_at_;
  Nanos went_on_at_;
};

struct JobOptions {
  uint32_t leaves = 2;
  uint32_t hosts_per_leaf = 4;
  const char* algorithm = "ring";
  size_t count = 4000;
  uint64_t seed = 1;
  uint32_t spares = 0;  // of these hosts, on which processes wait to join
};

// Ranks on a leaf-spine fabric, all of them in one communicator at first.
class ElasticJob {
 public:
  explicit ElasticJob(const JobOptions& options)
      : shape_{.leaves = options.leaves,
               .spines = 2,
               .hosts_per_leaf = options.hosts_per_leaf,
               .host_link = {.rate = gigabits_per_s(10), .delay = micros(2)},
               .spine_link = {.rate = gigabits_per_s(10), .delay = micros(2)}},
        world_(simulator::WorldOptions{.topology = topology::leaf_spine(shape_)}, options.seed) {
    const uint32_t all = options.leaves * options.hosts_per_leaf;
    const uint32_t size = all - options.spares;
    std::vector<EngineProcess*> processes;
    Members members = {.communicator = 9};
    for (uint32_t rank = 0; rank < all; ++rank) {
      simulator::EngineProcessOptions process;
      process.process.datapath.nic = rank;
      process.engine.transport.accept = true;
      process.engine.transport.peer_dead_after = seconds(1);
      process.engine.eager_bytes = mebibytes(1);
      processes.push_back(&world_.add(process));
      (rank < size ? members.addresses : spares_).push_back(processes.back()->address());
    }
    CommunicatorOptions communicator;
    communicator.tuning.chunk_bytes = 8 << 10;
    EXPECT_TRUE(pin_algorithms(std::string("allreduce:") + options.algorithm, communicator.tuning));
    for (members.rank = 0; members.rank < size; ++members.rank) {
      ranks_.push_back(std::make_unique<ElasticRank>(*processes[members.rank], members,
                                                     communicator, options.count));
    }
    const std::vector<std::unique_ptr<ElasticRank>>& first = ranks_;
    for (uint32_t spare = size; spare < all; ++spare) {
      ranks_.push_back(
          std::make_unique<ElasticRank>(*processes[spare], spare, communicator, options.count));
    }
    gone_.assign(all, false);
    // All have made some steps.
    EXPECT_TRUE(world_.run_until_done(
        [&first, size] {
          return std::all_of(first.begin(), first.begin() + size,
                             [](const auto& rank) { return rank->steps() >= 2; });
        },
        seconds(5)));
    began_ = world_.now();
  }
  ~ElasticJob() {
    for (const auto& rank : ranks_) rank->release();
  }

  // With those that wait to join.
  uint32_t size() const { return static_cast<uint32_t>(ranks_.size()); }
  std::vector<uint32_t> spares() const {
    std::vector<uint32_t> spares;
    for (size_t i = spares_.size(); i > 0; --i) {
      spares.push_back(size() - static_cast<uint32_t>(i));
    }
    return spares;
  }
  void grow() {
    for (uint32_t rank = 0; rank < size() - spares_.size(); ++rank) {
      if (!gone_[rank]) ranks_[rank]->grow_by(spares(), spares_);
    }
  }
  // What the job's store does: a newcomer reads what any of the ranks wrote.
  void tell_newcomers() {
    for (uint32_t rank = 0; rank < size() - spares_.size(); ++rank) {
      const std::vector<uint32_t>& in = ranks_[rank]->ranks();
      for (const uint32_t spare : spares()) {
        const auto at = std::find(in.begin(), in.end(), spare);
        if (gone_[rank] || at == in.end() || ranks_[spare]->members().size() > 0) continue;
        Members members = ranks_[rank]->members();
        members.rank = static_cast<uint32_t>(at - in.begin());
        ranks_[spare]->take_in(members, in);
      }
    }
  }
  ElasticRank& rank(uint32_t rank) { return *ranks_[rank]; }
  World& world() { return world_; }
  void run_for(Nanos span) { world_.run_for(span); }

  // Its process ends without a word; its host refuses packets from then on.
  void kill(uint32_t rank) { end(rank, ProcessChangeKind::kKill); }
  // Its host falls silent.
  void vanish(uint32_t rank) { end(rank, ProcessChangeKind::kVanish); }
  void pause(uint32_t rank) { world_.process(rank).pause(); }
  void resume(uint32_t rank) { world_.process(rank).resume(); }
  // Nothing passes between the hosts of a leaf and the others.
  void cut_off(uint32_t leaf) {
    for (uint32_t spine = 0; spine < shape_.spines; ++spine) {
      world_.network().apply({.link = topology::leaf_spine_link(shape_, leaf, spine),
                              .kind = topology::LinkChangeKind::kDown});
    }
  }

  // Until every rank of `expected` is in a communicator of just these, and has made steps on it.
  bool goes_on(const std::vector<uint32_t>& expected, Nanos limit) {
    const bool came = world_.run_until_done(
        [this, &expected] {
          return std::all_of(expected.begin(), expected.end(), [&](uint32_t each) {
            return ranks_[each]->ranks() == expected && ranks_[each]->steps() >= 3;
          });
        },
        limit);
    check();
    return came;
  }
  // Until none of these works any more.
  bool end_with_errors(const std::vector<uint32_t>& these, Nanos limit) {
    return world_.run_until_done(
        [this, &these] {
          return std::all_of(these.begin(), these.end(),
                             [this](uint32_t each) { return ranks_[each]->error().has_value(); });
        },
        limit);
  }
  std::vector<uint32_t> living() const {
    std::vector<uint32_t> living;
    for (uint32_t rank = 0; rank < size(); ++rank) {
      if (!gone_[rank]) living.push_back(rank);
    }
    return living;
  }
  // No sum is wrong; and of two ranks that have stepped on their latest communicator, both have the
  // same one, or one lacks a rank that shrank less often.
  void check() const {
    for (uint32_t a = 0; a < size(); ++a) {
      EXPECT_FALSE(ranks_[a]->wrong()) << "rank " << a;
      for (uint32_t b = 0; b < a; ++b) {
        if (ranks_[a]->error() || ranks_[b]->error() || gone_[a] || gone_[b]) continue;
        if (std::max(a, b) >= size() - spares_.size()) continue;  // it has shrunk less often
        if (ranks_[a]->shrinks() != ranks_[b]->shrinks()) continue;
        EXPECT_EQ(ranks_[a]->ranks(), ranks_[b]->ranks()) << "ranks " << a << " and " << b;
      }
    }
  }
  std::string state() const {
    std::string text;
    for (uint32_t rank = 0; rank < size(); ++rank) {
      const ElasticRank& each = *ranks_[rank];
      text += "\n  rank " + std::to_string(rank) + (gone_[rank] ? " (gone)" : "") + ": of " +
              std::to_string(each.ranks().size()) + ", steps " + std::to_string(each.steps()) +
              ", shrank " + std::to_string(each.shrinks()) +
              (each.shrinking() ? ", shrinking" : "") +
              (each.error() ? ", " + each.error()->message() : "");
    }
    return text;
  }

 private:
  void end(uint32_t rank, ProcessChangeKind kind) {
    gone_[rank] = true;
    world_.network().set_nic_down(rank, true);
    ranks_[rank]->release();
    world_.apply({.process = rank, .kind = kind});
    if (kind == ProcessChangeKind::kKill) world_.network().set_nic_down(rank, false);
  }

  const topology::LeafSpineShape shape_;
  World world_;
  std::vector<std::unique_ptr<ElasticRank>> ranks_;
  std::vector<transport::Address> spares_;
  std::vector<bool> gone_;
  Nanos began_;
};

std::vector<uint32_t> all_but(uint32_t size, const std::vector<uint32_t>& lost) {
  std::vector<uint32_t> left;
  for (uint32_t rank = 0; rank < size; ++rank) {
    if (std::find(lost.begin(), lost.end(), rank) == lost.end()) left.push_back(rank);
  }
  return left;
}

class ElasticAllReduce : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Algorithms, ElasticAllReduce,
                         testing::Values("ring", "tree", "recursive_doubling", "halving_doubling",
                                         "two_level/4"),
                         [](const auto& each) {
                           const std::string name = each.param;
                           return name.substr(0, name.find('/'));
                         });

// The death comes a little later each time, so that it meets every phase of a call.
TEST_P(ElasticAllReduce, GoesOnWithoutARankThatDiedAtAnyMoment) {
  for (uint32_t moment = 0; moment < (kSanitized ? 6 : 16); ++moment) {
    ElasticJob job({.algorithm = GetParam(), .seed = moment + 1});
    const uint32_t victim = moment * 3 % job.size();
    job.run_for(micros(17 * moment));
    job.kill(victim);
    const Nanos killed = job.world().now();
    ASSERT_TRUE(job.goes_on(all_but(job.size(), {victim}), seconds(4)))
        << "moment " << moment << job.state();
    for (const uint32_t rank : job.living()) {
      EXPECT_LT((job.rank(rank).failed_at() - killed).count, seconds(1).count);
      EXPECT_LT((job.rank(rank).went_on_at() - killed).count, seconds(2).count);
    }
  }
}

TEST_P(ElasticAllReduce, GoesOnWithoutSeveralThatDieAtOnceAndDuringTheAgreement) {
  for (uint64_t seed = 1; seed <= (kSanitized ? 4 : 12); ++seed) {
    ElasticJob job({.algorithm = GetParam(), .seed = seed});
    Random random(seed);
    std::vector<uint32_t> lost;
    while (lost.size() < 3) {
      const auto rank = static_cast<uint32_t>(random.between(0, job.size() - 1));
      if (std::find(lost.begin(), lost.end(), rank) != lost.end()) continue;
      lost.push_back(rank);
      job.kill(rank);
      // At once, or when another rank is in the agreement or just behind it.
      if (seed % 3 == 0) continue;
      const auto living = job.living();
      job.world().run_until_done(
          [&] {
            return std::any_of(living.begin(), living.end(),
                               [&](uint32_t each) { return job.rank(each).shrinking(); });
          },
          seconds(2));
      job.run_for(micros(static_cast<int64_t>(random.between(0, 400))));
    }
    ASSERT_TRUE(job.goes_on(job.living(), seconds(15))) << "seed " << seed << job.state();
  }
}

TEST(Elastic, AHostThatFellSilentIsLeftOut) {
  ElasticJob job({});
  job.vanish(0);
  ASSERT_TRUE(job.goes_on(all_but(job.size(), {0}), seconds(8))) << job.state();
}

// Three leaves of two ranks: one leaf is cut off.
TEST(Elastic, OfAPartitionTheLargerPartGoesOnAndTheOtherEnds) {
  for (uint32_t leaf = 0; leaf < 3; ++leaf) {
    ElasticJob job({.leaves = 3, .hosts_per_leaf = 2, .seed = leaf + 1});
    job.cut_off(leaf);
    const std::vector<uint32_t> small = {2 * leaf, 2 * leaf + 1};
    ASSERT_TRUE(job.goes_on(all_but(job.size(), small), seconds(20))) << job.state();
    ASSERT_TRUE(job.end_with_errors(small, seconds(20))) << job.state();
    for (const uint32_t rank : small) {
      const std::string text = job.rank(rank).error()->message();
      EXPECT_NE(text.find("which is no majority"), std::string::npos) << text;
    }
  }
}

// A leaf is cut off while the ranks agree on who is left without one that died.
TEST(Elastic, APartitionDuringTheAgreementLeavesOnePartAtMost) {
  uint32_t went_on = 0;
  for (uint64_t seed = 1; seed <= (kSanitized ? 4 : 12); ++seed) {
    ElasticJob job({.leaves = 4, .hosts_per_leaf = 2, .seed = seed});
    Random random(seed);
    job.kill(static_cast<uint32_t>(random.between(0, job.size() - 1)));
    job.run_for(micros(static_cast<int64_t>(random.between(0, 2'000))));
    const auto leaf = static_cast<uint32_t>(random.between(0, 3));
    job.cut_off(leaf);
    std::vector<uint32_t> larger;
    std::vector<uint32_t> smaller;
    for (const uint32_t rank : job.living()) (rank / 2 == leaf ? smaller : larger).push_back(rank);
    job.run_for(seconds(25));
    job.check();
    EXPECT_TRUE(job.end_with_errors(smaller, Nanos{})) << "seed " << seed << job.state();
    const auto works = [&job](uint32_t each) { return !job.rank(each).error(); };
    went_on += std::all_of(larger.begin(), larger.end(), works) ? 1 : 0;
    EXPECT_TRUE(std::all_of(larger.begin(), larger.end(), works) ||
                std::none_of(larger.begin(), larger.end(), works))
        << "seed " << seed << job.state();
  }
  EXPECT_GT(went_on, 1U) << "it is no use to end always";
}

TEST(Elastic, OfTwoHalvesThatWithRankZeroGoesOn) {
  ElasticJob job({.leaves = 2, .hosts_per_leaf = 3});
  job.cut_off(1);
  ASSERT_TRUE(job.goes_on({0, 1, 2}, seconds(20))) << job.state();
  ASSERT_TRUE(job.end_with_errors({3, 4, 5}, seconds(20))) << job.state();
}

TEST(Elastic, OfThreePartsNoneGoesOn) {
  ElasticJob job({.leaves = 3, .hosts_per_leaf = 2});
  for (uint32_t leaf = 0; leaf < 3; ++leaf) job.cut_off(leaf);
  ASSERT_TRUE(job.end_with_errors(all_but(job.size(), {}), seconds(30))) << job.state();
}

TEST(Elastic, ARankThatWasOnlySlowStaysOrEndsWithAnErrorWhenItComesBack) {
  for (const int64_t slow_ms : {100, 500, 1500, 6000}) {
    ElasticJob job({.seed = static_cast<uint64_t>(slow_ms)});
    const uint32_t slow = slow_ms == 1500 ? 0 : 5;
    job.pause(slow);
    job.run_for(millis(slow_ms));
    job.resume(slow);
    if (slow_ms < 1000) {
      job.run_for(millis(500));
      EXPECT_EQ(job.rank(slow).shrinks(), 0U) << slow_ms << job.state();
      ASSERT_TRUE(job.goes_on(all_but(job.size(), {}), seconds(2))) << job.state();
      continue;
    }
    ASSERT_TRUE(job.goes_on(all_but(job.size(), {slow}), seconds(15))) << slow_ms << job.state();
    ASSERT_TRUE(job.end_with_errors({slow}, seconds(25))) << job.state();
  }
}

// Each time without the lowest or the highest rank.
TEST(Elastic, GoesOnAgainAndAgain) {
  ElasticJob job({.algorithm = "tree"});
  while (job.living().size() > 3) {
    const std::vector<uint32_t> living = job.living();
    job.kill(living.size() % 2 == 0 ? living.front() : living.back());
    ASSERT_TRUE(job.goes_on(job.living(), seconds(10))) << job.state();
  }
}

TEST(Elastic, NewcomersThatAllRanksNameAreTakenIn) {
  for (const char* algorithm : {"ring", "tree"}) {
    ElasticJob job({.algorithm = algorithm, .spares = 2});
    job.grow();
    ASSERT_TRUE(job.world().run_until_done(
        [&job] {
          job.tell_newcomers();
          return job.rank(0).ranks().size() == job.size() && job.rank(0).steps() >= 3;
        },
        seconds(5)))
        << job.state();
    ASSERT_TRUE(job.goes_on(all_but(job.size(), {}), seconds(2))) << job.state();
    job.kill(7);  // a newcomer
    ASSERT_TRUE(job.goes_on(all_but(job.size(), {7}), seconds(4))) << job.state();
    job.kill(0);
    ASSERT_TRUE(job.goes_on(all_but(job.size(), {7, 0}), seconds(4))) << job.state();
  }
}

// Either all ranks that are left take the newcomers in, or none; then the job goes on without them.
TEST(Elastic, WhoeverDiesWhileTheJobGrowsTheRanksAgreeOnTheNewcomers) {
  uint32_t taken_in = 0;
  for (uint64_t seed = 1; seed <= (kSanitized ? 16 : 40); ++seed) {
    ElasticJob job({.seed = seed, .spares = 2});
    Random random(seed);
    const auto victim = static_cast<uint32_t>(random.between(0, 5));
    const auto before = static_cast<int64_t>(random.between(0, 300));
    const bool first = seed % 4 == 0;
    if (first) job.kill(victim);
    job.run_for(micros(first ? before : 0));
    job.grow();
    job.run_for(micros(before));
    if (!first) job.kill(victim);
    std::vector<uint32_t> both = all_but(job.size(), {victim});
    std::vector<uint32_t> without = both;
    without.resize(without.size() - 2);
    const auto goes_on_as = [&job, &without](const std::vector<uint32_t>& expected) {
      return std::all_of(without.begin(), without.end(), [&](uint32_t each) {
        return job.rank(each).ranks() == expected && job.rank(each).steps() >= 3;
      });
    };
    ASSERT_TRUE(job.world().run_until_done(
        [&] {
          job.tell_newcomers();
          return goes_on_as(both) || goes_on_as(without);
        },
        seconds(15)))
        << "seed " << seed << job.state();
    job.check();
    taken_in += goes_on_as(both) ? 1 : 0;
  }
  EXPECT_GT(taken_in, 2U) << "it is no use to take in nobody";
}

}  // namespace
}  // namespace heddle::collectives
