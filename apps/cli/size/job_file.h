// Job files: a question of `heddle size` in TOML. Each key is an option of the question, and stands
// for it on the command line; options that are written there replace the file's.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "apps/cli/program.h"
#include "base/result.h"

namespace heddle::cli {

// Where `words` (without the program's name) are `size [QUESTION] FILE ...`: puts the options that
// the file stands for in place of its name, and notes their places. Other words stay as they are.
// Errors: kUnavailable, kVersion, kInvalid with file, line and column.
Result<void> expand_job_file(CLI::App& root, std::vector<std::string>& words, FilePlaces& places);

// The options given to a question as the text of a job file, for one in `folder`.
std::string job_file_text(const CLI::App& question, const std::string& folder);

// The table in which an option stands: "--gpus" in "job".
std::string job_file_table(const std::string& option);

// The argument that names a job file, for help and completion. `file` must outlive the command.
void add_job_file(CLI::App& command, std::string& file, const std::string& about);
// Whether an option of a question can be a key: --json and others that are about output cannot.
bool is_job_key(const CLI::Option& option);
// Whether the value of a key may be a file's path.
bool names_file(const CLI::Option& option);

}  // namespace heddle::cli
