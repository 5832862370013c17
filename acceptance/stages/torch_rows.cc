// See torch_rows.h.
#include "acceptance/stages/torch_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "acceptance/params.h"
#include "acceptance/training_job.h"

namespace heddle::acceptance {
namespace {

constexpr double kImages = 50'000;  // of CIFAR-10

double minutes(double images_per_s) { return kImages / images_per_s / 60; }

}  // namespace

std::string epoch_text(double images_per_s) {
  return fmt::format("{:.1f} images/s on processors, 50,000 in {:.1f} min", images_per_s,
                     minutes(images_per_s));
}

Row speedup_row(const std::string& where, const TorchSpeeds& speeds) {
  const double speedup = speeds.images_per_s / speeds.one_images_per_s;
  const double saved = 1 - 1 / speedup;
  const std::string time = saved >= 0 ? fmt::format("{:.0f}% of the time saved", saved * 100)
                                      : fmt::format("{:.0f}% more time", -saved * 100);
  Row row{"ResNet-18", where,
          fmt::format("{} beside {:.1f} min on one host: {}, {:.2f} times one host with the same "
                      "images, {:.0f}% efficiency",
                      epoch_text(speeds.images_per_s), minutes(speeds.one_images_per_s), time,
                      speedup, speedup / speeds.ranks * 100),
          "at least as fast as one host"};
  if (speedup >= 1) return row;
  row.grade = Grade::kWarn;
  row.todo =
      "communication takes more time than the other hosts save: give each host more images a step, "
      "or train a model of this size on one host; where the links should carry more, see the rows "
      "of pairs and all-reduces";
  return row;
}

Row overlap_row(const std::string& where, const TorchStep& step,
                const std::function<Grade(double reached, double least)>& grade) {
  const double both = step.compute_s + step.communicate_s;
  const double hidden = std::max(0.0, both - step.overlapped_s);
  const double can_hide = std::min(step.compute_s, step.communicate_s);
  const double most = both - can_hide * params::kHiddenShare;
  Row row{
      "ResNet-18, a step", where,
      fmt::format("{}: {} computing and {} communicating, of which {:.0f}% is hidden",
                  time_text(step.overlapped_s), time_text(step.compute_s),
                  time_text(step.communicate_s), std::min(1.0, hidden / step.communicate_s) * 100),
      fmt::format("at most {}, where a third of the shorter one is hidden; one after the other "
                  "take {}",
                  time_text(most), time_text(both))};
  row.grade = grade(both * params::kTrainingTolerance / step.overlapped_s, 1);
  if (row.grade == Grade::kOk && step.overlapped_s > most) row.grade = Grade::kWarn;
  if (row.grade != Grade::kOk) {
    row.todo =
        "`heddle summary` of the recording shows when all-reduces begin: give them processors "
        "besides those that compute, and more images a step where communication is the longer one";
  }
  return row;
}

}  // namespace heddle::acceptance
