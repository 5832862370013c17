// Each figure's formula, evaluated over its terms, is its value.
#include "planner/answer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "planner/presets.h"
#include "planner/size_cluster.h"
#include "planner/size_distance.h"
#include "planner/size_headroom.h"
#include "planner/size_messages.h"
#include "planner/size_overlap.h"
#include "planner/size_sites.h"
#include "planner/size_traffic.h"
#include "planner/size_validate.h"

namespace heddle::planner {
namespace {

// Evaluates a formula: numbers, symbols, + - * / **, and functions of one or two arguments.
class Formula {
 public:
  Formula(const std::string& text, const std::vector<Term>& terms) : text_(text), terms_(terms) {}

  double value() {
    const double sum = this->sum();
    skip();
    EXPECT_EQ(at_, text_.size()) << text_ << " has an end that is no arithmetic";
    return sum;
  }

 private:
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool take(const std::string& word) {
    skip();
    if (text_.compare(at_, word.size(), word) != 0) return false;
    if (word == "*" && text_.compare(at_, 2, "**") == 0) return false;
    at_ += word.size();
    return true;
  }

  double sum() {
    double value = product();
    while (true) {
      if (take("+")) {
        value += product();
      } else if (take("-")) {
        value -= product();
      } else {
        return value;
      }
    }
  }

  double product() {
    double value = power();
    while (true) {
      if (take("*")) {
        value *= power();
      } else if (take("/")) {
        value /= power();
      } else {
        return value;
      }
    }
  }

  double power() {
    const double base = operand();
    return take("**") ? std::pow(base, power()) : base;
  }

  double operand() {
    if (take("(")) {
      const double value = sum();
      EXPECT_TRUE(take(")")) << text_;
      return value;
    }
    skip();
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
      char* end = nullptr;
      const double number = std::strtod(text_.c_str() + at_, &end);
      at_ = static_cast<size_t>(end - text_.c_str());
      return number;
    }
    std::string name;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) {
      name += text_[at_++];
    }
    return take("(") ? call(name) : symbol(name);
  }

  double call(const std::string& name) {
    const double first = sum();
    const double second = take(",") ? sum() : 0;
    EXPECT_TRUE(take(")")) << text_;
    if (name == "min") return std::min(first, second);
    if (name == "max") return std::max(first, second);
    if (name == "ceil") return std::ceil(first);
    if (name == "floor") return std::floor(first);
    if (name == "sqrt") return std::sqrt(first);
    ADD_FAILURE() << name << " is no function: " << text_;
    return 0;
  }

  double symbol(const std::string& name) {
    for (const Term& term : terms_) {
      if (term.symbol == name) return term.value;
    }
    ADD_FAILURE() << "'" << name << "' is no term of " << text_;
    return 0;
  }

  const std::string& text_;
  const std::vector<Term>& terms_;
  size_t at_ = 0;
};

void expect_arithmetic(const Result<Answer>& answer) {
  ASSERT_TRUE(answer.has_value()) << answer.error().why;
  for (const Figure& figure : answer->figures) {
    const double value = Formula(figure.formula, figure.terms).value();
    EXPECT_NEAR(value, figure.value, 1e-9 * std::abs(figure.value)) << figure.name;
    EXPECT_FALSE(figure.source.empty()) << figure.name;
    EXPECT_FALSE(figure.meaning.empty()) << figure.name;
  }
}

TEST(Answer, FormulasOfTrafficGiveTheirFigures) {
  const Result<ModelShape> dense = find_model("llama-3-70b");
  const Result<ModelShape> experts = find_model("deepseek-v3");
  ASSERT_TRUE(dense.has_value() && experts.has_value());
  for (uint64_t zero = 0; zero <= 3; ++zero) {
    for (const bool sequence_parallel : {false, true}) {
      expect_arithmetic(size_traffic(*dense,
                                     {.gpus = 512,
                                      .tensor = 8,
                                      .context = 2,
                                      .pipeline = 4,
                                      .zero_stage = zero,
                                      .sequence_parallel = sequence_parallel,
                                      .batch = 64},
                                     400e9));
    }
    expect_arithmetic(
        size_traffic(*experts, {.gpus = 256, .pipeline = 2, .expert = 16, .zero_stage = zero}));
  }
  expect_arithmetic(
      size_traffic({.name = "one", .source = "given", .parameters_alone = 1'000}, {.gpus = 1}));
}

TEST(Answer, FormulasOfDistanceGiveTheirFigures) {
  for (const double km : {0.0, 1.0, 300.0, 10'000.0}) {
    for (const double loss : {0.0, 1e-6, 0.01}) {
      for (const bool go_back_n : {false, true}) {
        expect_arithmetic(size_distance(
            {.km = km, .outstanding = 16, .queue_pairs = 4, .loss = loss, .go_back_n = go_back_n}));
      }
    }
  }
}

TEST(Answer, FormulasOfHeadroomGiveTheirFigures) {
  for (const double rate : {10e9, 25e9, 100e9, 400e9}) {
    for (const double meters : {0.0, 3.0, 100.0, 40'000.0}) {
      expect_arithmetic(
          size_headroom({.link_bits_per_s = rate, .meters = meters, .pool_share = 0.5}));
    }
  }
}

TEST(Answer, FormulasOfOverlapGiveTheirFigures) {
  const Result<ModelShape> model = find_model("llama-3-8b");
  ASSERT_TRUE(model.has_value());
  for (const uint64_t gpus : {2, 16, 1'000}) {
    for (const double bucket : {1e6, 25e6, 1e12}) {
      for (const double backward_s : {0.01, 1.0, 10.0}) {
        expect_arithmetic(
            size_overlap(*model, {.gpus = gpus, .bucket_bytes = bucket, .backward_s = backward_s}));
      }
    }
  }
}

TEST(Answer, FormulasOfMessagesGiveTheirFigures) {
  for (const double bucket : {1e5, 25e6, 1e9}) {
    for (const uint64_t gpus : {2, 16, 1'000}) {
      for (const bool splits : {false, true}) {
        expect_arithmetic(size_messages(
            {.bucket_bytes = bucket, .gpus = gpus, .queue_pairs = 4, .splits = splits}));
      }
    }
  }
}

TEST(Answer, FormulasOfClustersGiveTheirFigures) {
  const Result<ModelShape> dense = find_model("llama-3-70b");
  const Result<ModelShape> experts = find_model("deepseek-v3");
  const Result<Gpu> gpu = find_gpu("h100");
  const Result<FabricPreset> fabric = find_fabric("roce-400g-2to1");
  ASSERT_TRUE(dense.has_value() && experts.has_value() && gpu.has_value() && fabric.has_value());
  for (uint64_t zero = 0; zero <= 3; ++zero) {
    for (const bool recompute : {false, true}) {
      const JobShape job{.gpus = 512,
                         .tensor = 8,
                         .context = 2,
                         .pipeline = 4,
                         .zero_stage = zero,
                         .sequence_parallel = true,
                         .recompute = recompute,
                         .batch = 64};
      expect_arithmetic(size_cluster(*dense, {.job = job, .gpu = *gpu, .fabric = *fabric}));
    }
  }
  for (const uint64_t sites : {2, 4}) {
    for (const double window : {0.0, 1e6}) {
      for (const double km : {0.0, 100.0, 10'000.0}) {
        const ClusterQuestion apart{
            .job = {.gpus = 512, .tensor = 8, .sites = sites, .zero_stage = 1, .batch = 64},
            .gpu = *gpu,
            .fabric = *fabric,
            .overlap = 0.5,
            .site_link = {.km = km, .loss = 1e-5, .gpu_window_bytes = window}};
        expect_arithmetic(size_cluster(*dense, apart));
      }
    }
  }
  const JobShape spread{.gpus = 256, .pipeline = 2, .expert = 16};
  expect_arithmetic(size_cluster(*experts, {.job = spread, .gpu = *gpu, .fabric = *fabric}));
}

TEST(Answer, FormulasOfSitesGiveTheirFigures) {
  const auto dense = find_model("llama-3-8b");
  SitesQuestion question;
  question.cluster.job = {.gpus = 1'024, .zero_stage = 2};
  question.cluster.gpu = *find_gpu("h100");
  question.cluster.fabric = *find_fabric("roce-400g");
  question.surplus = {{"north", {100, 700, 0, 900}}, {"south", {600, 50, 0, 700}}};
  for (const double km : {0.0, 300.0, 3'000.0}) {
    question.cluster.site_link.km = km;
    question.prices = {};
    expect_arithmetic(size_sites(*dense, question));
    question.prices = {.surplus_kwh = 0.02, .grid_kwh = 0.15, .gpu_hour = 2, .link_month = 40'000};
    expect_arithmetic(size_sites(*dense, question));
  }
}

TEST(Answer, FormulasOfValidationGiveTheirFigures) { expect_arithmetic(size_validate()); }

}  // namespace
}  // namespace heddle::planner
