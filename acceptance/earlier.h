// Earlier test: a report that an acceptance test goes on with. The stages that passed before its
// first other one are kept; the rest is tested.
#pragma once

#include <string>
#include <vector>

#include "acceptance/report.h"
#include "acceptance/session.h"
#include "base/result.h"

namespace heddle::acceptance {

// The report that a document of json_of() is of. Errors: kInvalid with what is missing.
Result<Report> report_of(const Json& document);

// How many of its first stages passed, without the stage rest.
size_t kept_stages(const Report& earlier);

// `stages`: names of those that are to be run. Errors: kInvalid if it is of another fabric or of
// other stages, or has nothing left to test.
Result<void> check_earlier(const Report& earlier, const topology::Topology& fabric,
                           const std::vector<std::string>& stages);

// What the session made in a stage, for a test that goes on with this one: put into its data.
void note_recordings(const std::vector<Session::Recording>& made, StageReport& stage);
// The recordings that a kept stage made, as far as they are still in the report's folder.
std::vector<Session::Recording> recordings_of(const StageReport& kept, const std::string& folder);

// For the new report's notes: which stages are of when, also those of tests before.
std::vector<std::string> resumed_notes(const Report& earlier, const std::string& now);

}  // namespace heddle::acceptance
