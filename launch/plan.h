// Plan of a run: what is started how often and where.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "lab/lab.h"
#include "launch/params.h"
#include "launch/remote_shell.h"
#include "transport/protection.h"

namespace heddle::launch {

// Of one rank.
struct RankPlace {
  std::string host;  // of the lab or another machine; empty: this machine
  uint32_t local_rank = 0;
  uint32_t local_size = 1;
};

// How the number of ranks of a run may change.
struct Elastic {
  // It goes on without ranks that are lost while at least this many are left.
  uint32_t min_ranks = 1;
  // Set: newcomers take the place of lost ranks, and the number of ranks may be changed, to this at
  // most (launch/run_control.h).
  std::optional<uint32_t> max_ranks;

  bool operator==(const Elastic&) const = default;
};

struct RunPlan {
  std::vector<std::string> words;  // the command
  std::string file;                // what is executed for its first word; empty: that word
  std::vector<RankPlace> places;   // by rank
  std::vector<std::string> hosts;  // on which ranks may be; empty: this machine
  std::optional<lab::Lab> lab;     // that has the hosts
  // Else what starts ranks on the hosts, and where ranks on others reach the first of them.
  std::optional<RemoteShell> remote;
  std::string first_address;
  Nanos grace = params::kGrace;
  bool tag_output = false;
  // Without it, the first rank that fails ends the run.
  std::optional<Elastic> elastic;
  // With a key that is made for this run.
  std::optional<transport::Protection> protection;
  // Ranks print why they fail, so that only those that a signal ended are reported.
  bool ranks_report = false;
  // An exit status by which rank 0 reports what it found: it is the run's, and no failure.
  std::optional<int> verdict;
  // The exit status where a rank could not be started; without it 125 to 127, as env(1) has them.
  std::optional<int> own_failure;
};

// The same number on each host, one more on the first of them where it does not divide; neighbours
// in rank are neighbours in place.
std::vector<RankPlace> place_ranks(uint32_t ranks, const std::vector<std::string>& hosts);

// "h0,h3": hosts that must be among `known`; empty: all of them. Errors: kInvalid.
Result<std::vector<std::string>> choose_hosts(const std::string& list,
                                              const std::vector<std::string>& known);

// "2" (MIN) or "2:6" (MIN:MAX). Errors: kInvalid.
Result<Elastic> parse_elastic(const std::string& text);

// "2" or "2:6".
std::string elastic_text(const Elastic& elastic);

// Makes the run elastic; `places` is set. Errors: kInvalid where it has fewer ranks than the
// minimum, or more than the maximum.
Result<void> make_elastic(RunPlan& plan, const Elastic& elastic);

// The place of one more rank, where `taken` are those of the ranks that run: on the first of the
// plan's hosts with the fewest, with the lowest local rank that is free.
RankPlace next_place(const RunPlan& plan, const std::vector<RankPlace>& taken);

// Ranks on hosts of a lab (all of them where `hosts` is empty), one on each where `ranks` is 0; the
// command is left to the caller. Errors: no such lab or host.
Result<RunPlan> plan_in_lab(const std::string& lab, const std::string& hosts, uint32_t ranks);

// Where ranks are to be, as options say it: on this machine, on hosts of a lab, or with a remote
// shell on other machines.
struct PlacesAsked {
  uint32_t ranks = 0;  // 0: one on each host
  std::string hosts;   // empty: all of the lab
  std::string lab;     // empty: the only one
  std::string via;     // empty: none
  bool in_lab = false;
};
// A plan of them, without a command. Errors: those of plan_in_lab() and plan_on_machines().
Result<RunPlan> plan_places(const PlacesAsked& asked);

// Ranks on other machines, "node1,node2=10.0.0.2" (see parse_remote_hosts()), started by a remote
// shell (see parse_remote_shell()); one on each where `ranks` is 0. Errors: kInvalid.
Result<RunPlan> plan_on_machines(const std::string& shell, const std::string& hosts,
                                 uint32_t ranks);

}  // namespace heddle::launch
