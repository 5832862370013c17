// The options that every question of `heddle size` has: its job file, and where its answer goes.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "apps/cli/json.h"
#include "apps/cli/program.h"
#include "base/result.h"
#include "planner/answer.h"

namespace heddle::cli {

struct QuestionOptions {
  std::string job_file;  // expanded before the command line is read
  std::string write;     // a job file to write; empty: none
  std::string report;    // a page to write; empty: none
  bool json = false;
};

// Adds them. `options` must outlive the command.
void add_question_options(CLI::App& command, QuestionOptions& options);

// An answer and where it comes from.
struct Answered {
  const CLI::App& question;
  const QuestionOptions& options;
  const FilePlaces& places;
  Json what_if = nullptr;  // what the page calculates with; null: nothing
};
// Prints the answer or the error, and writes the files that were asked for; the exit status.
int finish_question(const Result<planner::Answer>& answer, const Answered& answered);

}  // namespace heddle::cli
