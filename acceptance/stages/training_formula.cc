// See training_formula.h.
#include "acceptance/stages/training_formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "acceptance/params.h"

namespace heddle::acceptance {

double IdealStep::hidden_share() const {
  return communication_s > 0 ? std::max(0.0, 1 - exposed_s / communication_s) : 0;
}

double IdealStep::hidden_share_at(double speed) const {
  const double hidden = std::max(0.0, communication_s - exposed_s);
  const double exposed = step_s / speed - (step_s - exposed_s);
  return hidden > 0 ? hidden / (hidden + exposed) : 0;
}

Result<IdealStep> ideal_step(Session& session, const TrainingJob& job, double bound_bits_per_s) {
  IdealStep ideal;
  if (bound_bits_per_s == 0) return ideal;
  const auto id = session.commands().start_here(formula_words(job, bound_bits_per_s), {});
  if (!id) return fail(id.error());
  session.wait({*id}, params::kReadTime);
  const CommandEnd end = session.commands().result_of(*id);
  const std::optional<Json> document = document_of(end);
  if (session.interrupted()) return ideal;
  if (!document) {
    return fail(ErrorCode::kSystem, "cannot calculate a training step", complaint_of(end),
                "repeat the command of this stage");
  }
  for (const Json& figure : document->at("figures")) {
    const std::string name = figure.at("name").get<std::string>();
    if (name == "step_s") ideal.step_s = figure.at("value").get<double>();
    if (name == "exposed_s") ideal.exposed_s = figure.at("value").get<double>();
    if (name == "communication_s") ideal.communication_s = figure.at("value").get<double>();
  }
  return ideal;
}

Row hidden_row(const std::string& where, const HiddenShares& shares,
               const std::function<Grade(double reached, double least)>& grade) {
  Row row{"overlap", where,
          fmt::format("{:.0f}% of the communication ran beside computation", shares.measured * 100),
          ""};
  if (shares.formula == 0) return row;
  row.expected = fmt::format("at least {:.0f}%; the formula says {:.0f}%", shares.least * 100,
                             shares.formula * 100);
  row.grade = grade(shares.measured, shares.least);
  if (row.grade != Grade::kOk) row.todo = kStepTodo;
  return row;
}

}  // namespace heddle::acceptance
