// Refusals: two correct sides never refuse each other's packets. A refused packet is retransmitted
// forever, so each unexplained refusal is a finding even if the run succeeds. Runs with forged
// packets are not judged.
#pragma once

#include "events/counting_sink.h"
#include "simulator/fates.h"
#include "tests/vopr/checkers/ledger.h"
#include "tests/vopr/checkers/report.h"
#include "tests/vopr/options.h"

namespace heddle::vopr {

// A single sender must not overflow its receiver's socket, since it knows the socket's capacity.
void judge_capacity(const Options& options, const simulator::FateCounts& fates, Report& report);

void judge_refusals(const Options& options, const Ledger& ledger,
                    const events::CountingSink& events, Report& report);

}  // namespace heddle::vopr
