// Stage training: steps of data-parallel training on all hosts, beside what the fabric allows; and
// ResNet-18 in PyTorch where the hosts have it.
#include <fmt/format.h>

#include <string>

#include "acceptance/params.h"
#include "acceptance/stages/recorded_all_reduce.h"
#include "acceptance/stages/recorded_run.h"
#include "acceptance/stages/stages.h"
#include "acceptance/stages/torch_training.h"
#include "acceptance/training_job.h"

namespace heddle::acceptance {
namespace {

constexpr const char* kTodo =
    "all-reduces alone passed: `heddle summary` of the recording names the rank that waits; look "
    "for what else uses its processors";

// What the formula says of a step; zeros where no rate is known.
struct Ideal {
  double step_s = 0;
  double exposed_s = 0;
  double communication_s = 0;
};

struct Measured {
  StepFigures figures;
  std::string recording;
  std::string complaint;  // why there are no figures
};

class BuiltInTraining {
 public:
  BuiltInTraining(Session& session, StageReport& report)
      : session_(session),
        report_(report),
        bound_(bus_bound(session, session.all_hosts())),
        job_(training_job(session.hosts(), bound_, session.options().depth)) {}

  Result<void> run() {
    Result<Ideal> ideal = calculate();
    if (!ideal) return fail(std::move(ideal).error());
    Result<Measured> best = measure();
    for (int again = 0; best && is_below(*best, *ideal) && session_.may_repeat(again); ++again) {
      Result<Measured> next = measure();
      if (!next) return fail(std::move(next).error());
      if (next->figures.steps == 0) continue;
      const bool better = best->figures.steps == 0 || next->figures.step_s < best->figures.step_s;
      if (better) best = std::move(next);
    }
    if (!best) return fail(std::move(best).error());
    if (session_.interrupted()) return {};
    if (best->figures.steps == 0) {
      report_.rows.push_back({"training step", where(), best->complaint, "results", Grade::kFail,
                              "repeat the command of this stage and see what it reports"});
      return {};
    }
    judge(*best, *ideal);
    return {};
  }

 private:
  std::string where() const { return fmt::format("{} hosts", session_.hosts()); }

  double least_speed() const { return session_.expectations().training_share; }

  Result<Ideal> calculate() {
    Ideal ideal;
    if (bound_ == 0) return ideal;
    const auto id = session_.commands().start_here(formula_words(job_, bound_), {});
    if (!id) return fail(id.error());
    session_.wait({*id}, params::kReadTime);
    const CommandEnd end = session_.commands().result_of(*id);
    const std::optional<Json> document = document_of(end);
    if (session_.interrupted()) return ideal;
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

  Result<Measured> measure() {
    const Fabric& fabric = session_.fabric();
    const Result<std::string> file =
        fabric.place_file(session_.commands(), session_.folder() + "/training.toml",
                          workload_of(job_), session_.all_hosts());
    if (!file) return fail(file.error());
    std::vector<std::string> words = {"heddle", "run"};
    const auto ranks = fabric.options_for_ranks(session_.all_hosts());
    words.insert(words.end(), ranks.begin(), ranks.end());
    words.insert(words.end(), {"--", "heddle", "workload", "run", *file, "-n",
                               std::to_string(job_.ranks), "--json"});
    // Ten times the computation: then it is slow enough to be named.
    const Nanos limit = (job_.forward + job_.backward) * (10 * job_.steps) + params::kBenchTime;
    Result<RecordedRun> run =
        run_recorded(session_, "training", {words, session_.all_hosts(), limit});
    if (!run) return fail(std::move(run).error());
    Measured measured{.figures = {}, .recording = run->recording, .complaint = {}};
    if (session_.interrupted()) return measured;
    const std::optional<Json> document = document_of(run->end);
    if (document) measured.figures = step_figures(*document);
    if (measured.figures.steps == 0) measured.complaint = complaint_of(run->end);
    return measured;
  }

  bool is_below(const Measured& measured, const Ideal& ideal) const {
    return measured.figures.steps == 0 || ideal.step_s / measured.figures.step_s < least_speed();
  }

  void judge(const Measured& measured, const Ideal& ideal) {
    const StepFigures& step = measured.figures;
    Row row{"training step", where(),
            fmt::format("{}: {} computing, {} exposed communication", time_text(step.step_s),
                        time_text(step.computing_s), time_text(step.exposed_s))};
    if (ideal.step_s > 0) {
      row.expected = fmt::format("at most {}; the formula says {} with {} exposed",
                                 time_text(ideal.step_s / least_speed()), time_text(ideal.step_s),
                                 time_text(ideal.exposed_s));
      row.grade = session_.grade_of_speed(ideal.step_s / step.step_s, least_speed());
      row.todo = row.grade == Grade::kOk ? "" : kTodo;
    }
    report_.rows.push_back(std::move(row));
    const double one_host = to_seconds(job_.forward + job_.backward) * job_.ranks;
    const double speedup = one_host / step.step_s;
    report_.rows.push_back(
        {"speed-up", where(),
         fmt::format("{:.2f} times one host with the same images, {:.0f}% efficiency", speedup,
                     speedup / job_.ranks * 100),
         ideal.step_s > 0 ? fmt::format("the formula says {:.2f}", one_host / ideal.step_s) : ""});
    session_.recordings.push_back({"training", measured.recording, session_.disturbed(), true});
    report_.data["built_in"] = {{"ranks", job_.ranks},
                                {"gradient_bytes", job_.gradient_bytes},
                                {"resnet18_gradient_bytes", resnet18_gradient_bytes()},
                                {"bucket_bytes", bucket_bytes(job_)},
                                {"steps", step.steps},
                                {"step_s", step.step_s},
                                {"computing_s", step.computing_s},
                                {"exposed_s", step.exposed_s},
                                {"one_host_step_s", one_host},
                                {"ideal_step_s", ideal.step_s},
                                {"ideal_exposed_s", ideal.exposed_s},
                                {"ideal_communication_s", ideal.communication_s},
                                {"recording", measured.recording}};
  }

  Session& session_;
  StageReport& report_;
  double bound_;
  TrainingJob job_;
};

}  // namespace

Result<void> run_training(Session& session, StageReport& report) {
  if (Result<void> ran = BuiltInTraining(session, report).run(); !ran) return ran;
  if (session.interrupted()) return {};
  return run_torch_training(session, report);
}

}  // namespace heddle::acceptance
