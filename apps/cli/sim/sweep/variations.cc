// Variations, their combinations and shares: see variations.h.
#include "apps/cli/sim/sweep/variations.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "apps/cli/sim/params.h"

namespace heddle::cli {
namespace {

Unexpected refuse(std::string_view option, std::string_view text, const std::string& why,
                  const std::string& todo) {
  return fail(ErrorCode::kInvalid, fmt::format("cannot read {} {}", option, text), why, todo);
}

std::optional<uint64_t> number(std::string_view text) {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
}

// "1..10" as its numbers; nothing where it is no range.
std::optional<std::pair<uint64_t, uint64_t>> range(std::string_view text) {
  const size_t dots = text.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  const auto first = number(text.substr(0, dots));
  const auto last = number(text.substr(dots + 2));
  if (!first || !last) return std::nullopt;
  return std::pair(*first, *last);
}

constexpr const char* kHowToVary = "give a name and its values, like paths=1,16 or seed=1..10";

// Index and count of a share from a launcher's variables; nothing if it sets none.
std::optional<Share> share_of(const Environment& variable, const char* index, const char* count) {
  const auto own = number(variable(index));
  const auto all = number(variable(count));
  if (!own || !all || *own >= *all || *all > UINT32_MAX) return std::nullopt;
  return Share{static_cast<uint32_t>(*own), static_cast<uint32_t>(*all)};
}

// Indices of a job array may begin anywhere and leave some out.
std::optional<Share> slurm_array(const Environment& variable) {
  const auto id = number(variable("SLURM_ARRAY_TASK_ID"));
  const auto least = number(variable("SLURM_ARRAY_TASK_MIN"));
  const auto count = number(variable("SLURM_ARRAY_TASK_COUNT"));
  if (!id || !least || !count || *id < *least || *count > UINT32_MAX) return std::nullopt;
  const uint64_t step =
      std::max<uint64_t>(number(variable("SLURM_ARRAY_TASK_STEP")).value_or(1), 1);
  const uint64_t index = (*id - *least) / step;
  if (index >= *count || (*id - *least) % step != 0) return std::nullopt;
  return Share{static_cast<uint32_t>(index), static_cast<uint32_t>(*count)};
}

Result<Share> share_of_launcher(const Environment& variable) {
  // The task numbers of an array do not define a share if their steps are uneven.
  if (!variable("SLURM_ARRAY_TASK_ID").empty()) {
    if (const auto share = slurm_array(variable)) return *share;
    return refuse("--share", "auto",
                  "SLURM_ARRAY_TASK_ID is no evenly counted index of SLURM_ARRAY_TASK_COUNT",
                  "use an array like 1-8, or give the share, like 2/8");
  }
  // An mpirun in a job of Slurm has Slurm's variables too, the same for all of its processes.
  if (const auto share = share_of(variable, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")) {
    return *share;
  }
  if (const auto share = share_of(variable, "SLURM_PROCID", "SLURM_NTASKS")) return *share;
  return refuse("--share", "auto", "no launcher says which share this is",
                "start it from a Slurm job array, srun or mpirun, or give the share, like 2/8");
}

}  // namespace

Result<Variation> parse_variation(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return refuse("--vary", text, "it says no option", kHowToVary);
  }
  std::string_view name = text.substr(0, equals);
  while (name.starts_with('-')) name.remove_prefix(1);
  Variation variation{std::string(name), {}};
  std::string_view rest = text.substr(equals + 1);
  for (bool more = true; more;) {
    const size_t comma = rest.find(',');
    const std::string_view value = rest.substr(0, comma);
    more = comma != std::string_view::npos;
    rest = more ? rest.substr(comma + 1) : std::string_view();
    if (value.empty()) return refuse("--vary", text, "a value is empty", kHowToVary);
    const auto numbers = range(value);
    if (!numbers) {
      variation.values.emplace_back(value);
      continue;
    }
    if (numbers->second < numbers->first ||
        numbers->second - numbers->first >= params::sim::kMostRuns) {
      return refuse("--vary", text, "a range goes down, or is too long",
                    fmt::format("give the smaller number first, and at most {} values",
                                params::sim::kMostRuns));
    }
    const uint64_t more_of_it = numbers->second - numbers->first;  // the last may be the largest
    for (uint64_t i = 0; i <= more_of_it; ++i) {
      variation.values.push_back(std::to_string(numbers->first + i));
    }
  }
  std::vector<std::string> sorted = variation.values;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    return refuse("--vary", text, "the value " + *twice + " is there twice", "give each once");
  }
  return variation;
}

Result<std::vector<Choice>> combinations(const std::vector<Variation>& variations) {
  std::vector<Choice> choices = {{}};
  for (size_t i = 0; i < variations.size(); ++i) {
    const Variation& each = variations[i];
    for (size_t j = 0; j < i; ++j) {
      if (variations[j].name != each.name) continue;
      return refuse("--vary", each.name, "it is there twice", "give all of its values at once");
    }
    if (choices.size() * each.values.size() > params::sim::kMostRuns) {
      return refuse("--vary", each.name,
                    fmt::format("these are more than {} runs", params::sim::kMostRuns),
                    "give fewer values, or make several sweeps of it");
    }
    std::vector<Choice> longer;
    for (const Choice& choice : choices) {
      for (const std::string& value : each.values) {
        longer.push_back(choice);
        longer.back().emplace_back(each.name, value);
      }
    }
    choices = std::move(longer);
  }
  return choices;
}

Result<Share> parse_share(std::string_view text, const Environment& variable) {
  if (text == "auto") return share_of_launcher(variable);
  const size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const auto index = number(text.substr(0, slash));
    const auto count = number(text.substr(slash + 1));
    if (index && count && *index >= 1 && *index <= *count && *count <= UINT32_MAX) {
      return Share{static_cast<uint32_t>(*index - 1), static_cast<uint32_t>(*count)};
    }
  }
  return refuse("--share", text, "it is no share", "give which of how many, like 2/8, or auto");
}

bool natural_less(const std::string& a, const std::string& b) {
  const auto worth = [](const std::string& text) -> std::optional<double> {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || end != text.c_str() + text.size() || !std::isfinite(value)) {
      return std::nullopt;
    }
    return value;
  };
  const auto of_a = worth(a);
  const auto of_b = worth(b);
  if (of_a && of_b && *of_a != *of_b) return *of_a < *of_b;
  if (of_a.has_value() != of_b.has_value()) return of_a.has_value();
  return a < b;
}

}  // namespace heddle::cli
