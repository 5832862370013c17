// Outcomes: the allowed results of an operation or connection, given the actions of both programs
// and the faults of the network. Any other result is a finding.
#pragma once

#include <string>
#include <vector>

#include "tests/vopr/checkers/ledger.h"
#include "tests/vopr/options.h"

namespace heddle::vopr {

class Outcomes {
 public:
  Outcomes(const Options& options, const Ledger& ledger, Report& report)
      : options_(options), ledger_(ledger), report_(report) {}

  // Call for each completion, when it is received.
  void judge(const Operation& operation);
  // Call when a connection is over.
  void judge(const Side& side);
  // Call when everything has ended: the results on both sides must agree.
  void judge_pairs();
  // Call when everything has ended: ends that only a late notice of the peer's program can explain.
  void judge_kept();

 private:
  // An end that nothing explains so far.
  struct Kept {
    const Side* side = nullptr;
    std::string what;
  };
  void report_or_keep(const Side& side, ErrorCode code, std::string what);
  void judge_graceful(const Side& side);
  void judge_ok(const Operation& operation, const Operation* match);
  void judge_error(const Operation& operation, const Operation* match);
  bool may_end_with(const Side& side, ErrorCode code) const;
  bool handshake_may_time_out(const Side& side) const;

  const Options& options_;
  const Ledger& ledger_;
  Report& report_;
  std::vector<Kept> kept_;
};

}  // namespace heddle::vopr
