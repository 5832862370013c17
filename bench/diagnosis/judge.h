// Judges the diagnosis of a FaultCase: is its fault found, of which class, at which place, and how
// long after the onset; and is a healthy job left alone, whenever it is looked at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/diagnosis/fault_case.h"
#include "bench/diagnosis/observed_job.h"

namespace heddle::bench {

struct Judgement {
  FaultCase job;
  Source source = Source::kStream;
  bool judged = false;  // there was enough evidence to judge
  // Of the fault.
  bool found = false;        // by a verdict of its family
  bool class_right = false;  // that verdict's class
  bool place_right = false;  // and place
  uint32_t others = 0;       // verdicts beside the one at the right place
  double delay_s = -1;       // from the onset until both are known; -1: never
  double effect = 0;         // share of the job's time since the onset that it costs
  double confidence = 0;     // of the verdict by which it was found
  // Of any verdict of a healthy job, at whichever look; 0: there is none.
  double most_confidence = 0;
  // All of the last look; of a healthy job of the first look that had some.
  std::vector<std::string> verdicts;
  std::vector<std::string> evidence;  // of the first verdict
  std::string first_class = "none";
  uint64_t events = 0;
};

// How a job is looked at.
enum class Looks : uint8_t {
  kSome,        // at its end, and a few times before
  kEachSecond,  // as `heddle monitor` does, while it runs
};

// Whether a verdict names the place of the job's fault.
bool names_place(const FaultCase& job, Source source, const insight::Verdict& verdict);

struct JudgeOptions {
  Looks looks = Looks::kSome;
  double least_errors = 0;  // insight::DiagnosisOptions; with kSome alone
};

// Makes the job's events and its diagnosis. Errors: those of simulate().
Result<Judgement> judge(const FaultCase& job, Source source, const JudgeOptions& options = {});

}  // namespace heddle::bench
