// Refusals: two sides that keep to the limits never refuse what the other says. A refused packet
// comes again for ever, so each refusal that nothing explains is a finding even where all ends
// well. Only runs without forged packets are judged.
#pragma once

#include "events/counting_sink.h"
#include "simulator/fates.h"
#include "tests/vopr/checkers/ledger.h"
#include "tests/vopr/checkers/report.h"
#include "tests/vopr/options.h"

namespace heddle::vopr {

// Of a lone sender's packets none finds its receiver's socket full: it was told how much that
// holds.
void judge_capacity(const Options& options, const simulator::FateCounts& fates, Report& report);

void judge_refusals(const Options& options, const Ledger& ledger,
                    const events::CountingSink& events, Report& report);

}  // namespace heddle::vopr
