// Outcomes: what may come of an operation or a connection, by what both programs did and what the
// network was made to do. Whatever is not allowed here is a finding.
#pragma once

#include "tests/vopr/checkers/ledger.h"
#include "tests/vopr/options.h"

namespace heddle::vopr {

class Outcomes {
 public:
  Outcomes(const Options& options, const Ledger& ledger, Report& report)
      : options_(options), ledger_(ledger), report_(report) {}

  // A completion just came.
  void judge(const Operation& operation);
  // A connection is over.
  void judge(const Side& side);
  // Once everything has ended: what both sides were told must agree.
  void judge_pairs();

 private:
  void judge_graceful(const Side& side);
  void judge_ok(const Operation& operation, const Operation* match);
  void judge_error(const Operation& operation, const Operation* match);
  bool may_end_with(const Side& side, ErrorCode code) const;
  bool handshake_may_time_out(const Side& side) const;

  const Options& options_;
  const Ledger& ledger_;
  Report& report_;
};

}  // namespace heddle::vopr
