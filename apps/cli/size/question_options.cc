// See question_options.h.
#include "apps/cli/size/question_options.h"

#include <fmt/core.h>

#include <cctype>
#include <filesystem>
#include <string>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/pages/pages.h"
#include "apps/cli/size/answer_report.h"
#include "apps/cli/size/job_file.h"
#include "apps/cli/terminal.h"
#include "base/document.h"

namespace heddle::cli {
namespace {

// The place in a job file of the option that an error is about; empty: of none.
std::string place_of(const Error& error, const FilePlaces& places) {
  const auto names = [](const std::string& text, const std::string& option) {
    const size_t at = text.find(option);
    if (at == std::string::npos) return false;
    const size_t end = at + option.size();
    return end == text.size() ||
           (text[end] != '-' && std::isalnum(static_cast<unsigned char>(text[end])) == 0);
  };
  for (const std::string& text : {error.todo, error.why}) {
    for (const auto& [option, place] : places) {
      if (names(text, option)) return place.place;
    }
  }
  for (const auto& [option, place] : places) {
    if (!place.text.empty() && error.what.find(place.text) != std::string::npos) return place.place;
  }
  return {};
}

Result<void> write_job(const CLI::App& question, const std::string& file) {
  std::error_code error;
  if (std::filesystem::exists(file, error)) {
    return fail(ErrorCode::kInvalid, "cannot write " + file, "there is a file already",
                "give a new name, or remove it");
  }
  const std::string folder = std::filesystem::path(file).parent_path().string();
  return write_text_file(file, job_file_text(question, folder));
}

Result<void> write_page(const planner::Answer& answer, const Answered& answered) {
  Json data = answer_document(answer);
  data["question"] = answered.question.get_name();
  data["job_file"] = job_file_text(answered.question, "");
  data["what_if"] = answered.what_if;
  const std::string page = fill_page(kSizePage, answer.title, data);
  return write_text_file(answered.options.report, page);
}

int failed(const Error& error) {
  print_error(error);
  return kCouldNotRun;
}

}  // namespace

void add_question_options(CLI::App& command, QuestionOptions& options) {
  add_job_file(command, options.job_file, "a job file: options here replace those in it");
  command.add_option("--write", options.write, "write the options given to a new job file")
      ->type_name("FILE")
      ->check([](const std::string& text) {
        return text.ends_with(".toml") ? std::string()
                                       : fmt::format("'{}' does not end in .toml", text);
      });
  command.add_option("--report", options.report, "write the answer as one HTML page")
      ->type_name("FILE")
      ->check([](const std::string& text) {
        return text.ends_with(".html") ? std::string()
                                       : fmt::format("'{}' does not end in .html", text);
      });
  add_json_option(command, options.json);
}

int finish_question(const Result<planner::Answer>& answer, const Answered& answered) {
  if (!answer) {
    Error error = answer.error();
    const std::string place = place_of(error, answered.places);
    if (!place.empty()) error.what += fmt::format(" ({})", place);
    return failed(error);
  }
  if (!answered.options.write.empty()) {
    const Result<void> written = write_job(answered.question, answered.options.write);
    if (!written) return failed(written.error());
  }
  if (!answered.options.report.empty()) {
    const Result<void> written = write_page(*answer, answered);
    if (!written) return failed(written.error());
  }
  return print_answer(answer, answered.options.json);
}

}  // namespace heddle::cli
