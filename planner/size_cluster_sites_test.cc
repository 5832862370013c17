// Jobs that several sites share: by hand for one, and how rates, distances and windows that are
// named as needed are.
#include <gtest/gtest.h>

#include <string>

#include "planner/size_cluster.h"
#include "planner/size_traffic.h"
#include "planner/sizing/movements.h"
#include "planner/sizing/step_time.h"

namespace heddle::planner {
namespace {

const Gpu kGpu{.name = "a GPU",
               .source = "given",
               .peak_flops = 1e15,
               .achievable_flops = 8e14,
               .nvlink_bits_per_s = 3'600e9};
const FabricPreset kFabric{.name = "a fabric", .source = "given", .nic_bits_per_s = 3'200e9};
constexpr double kGradients = 4.0 * 8'030'261'248;  // bytes of llama-3-8b's

ClusterQuestion question_of(const JobShape& job, const SiteLink& link) {
  return {.job = job, .gpu = kGpu, .fabric = kFabric, .kernel_share = 0.5, .site_link = link};
}

Result<Answer> answer_of(const ClusterQuestion& question) {
  const Result<ModelShape> model = find_model("llama-3-8b");
  EXPECT_TRUE(model.has_value());
  return size_cluster(*model, question);
}

double figure_of(const ClusterQuestion& question, const char* name) {
  const Result<Answer> answer = answer_of(question);
  EXPECT_TRUE(answer.has_value()) << answer.error().message();
  return answer ? answer->figure(name).value : 0;
}

// Two sites of 32 GPUs, 4 bytes a gradient. Each site sends all gradients once to the other: 32.12
// GB, which 800 Gb/s x 4096 / 4178 carry in 0.3276 s; there and back once takes 10 us + 2 x 1,000
// km x 5 us = 10.01 ms.
TEST(SizeClusterSites, TwoSitesExchangeAllGradientsOnce) {
  const ClusterQuestion question = question_of({.gpus = 64, .sites = 2}, {.km = 1'000});
  EXPECT_DOUBLE_EQ(figure_of(question, "site_bytes"), kGradients);
  EXPECT_NEAR(figure_of(question, "site_round_trip_s"), 10.01e-3, 1e-12);
  EXPECT_NEAR(figure_of(question, "site_s"), 0.3276 + 10.01e-3, 1e-4);
  EXPECT_NEAR(figure_of(question, "data_s"), figure_of(question, "site_s"), 1e-12);
}

// What a site sends depends on the number of sites alone: 2 (S - 1) / S of the gradients.
TEST(SizeClusterSites, ASiteSendsAsMuchHoweverTheJobIsSpread) {
  for (const uint64_t sites : {2, 4, 8}) {
    for (const uint64_t tensor : {1, 8}) {
      for (const uint64_t pipeline : {1, 2}) {
        for (const uint64_t context : {1, 2}) {
          const JobShape job{.gpus = 512,
                             .tensor = tensor,
                             .context = context,
                             .pipeline = pipeline,
                             .sites = sites};
          const auto count = static_cast<double>(sites);
          EXPECT_NEAR(figure_of(question_of(job, {}), "site_bytes"),
                      2 * (count - 1) / count * kGradients, 1);
        }
      }
    }
  }
}

// A ring within sites and one between them send as much through NICs as one ring of all nodes.
TEST(SizeClusterSites, NicsSendAsMuchAsOnASingleSite) {
  for (const uint64_t zero : {0, 1, 3}) {
    const JobShape one{.gpus = 256, .zero_stage = zero, .batch = 512};
    JobShape four = one;
    four.sites = 4;
    EXPECT_NEAR(figure_of(question_of(four, {}), "data_nic_bytes"),
                figure_of(question_of(one, {}), "data_nic_bytes"), 1);
  }
}

// Counts an exchange element by element: reduced within a site, each rank then sends its part
// around the ring of sites.
TEST(SizeClusterSites, CountedElementsAreWhatTheFormulaHas) {
  for (const uint64_t sites : {2, 3, 5}) {
    for (const uint64_t ranks_of_site : {1, 4}) {
      const uint64_t elements = ranks_of_site * sites * 6;
      uint64_t crossed = 0;
      for (uint64_t rank = 0; rank < ranks_of_site; ++rank) {
        const uint64_t part = elements / ranks_of_site;  // reduced by this rank
        for (uint64_t pass = 0; pass < 2; ++pass) {
          for (uint64_t step = 0; step + 1 < sites; ++step) crossed += part / sites;
        }
      }
      const Movement movement{.kind = MovementKind::kAllReduce,
                              .calls = 1,
                              .buffer_bytes = static_cast<double>(elements),
                              .place = place_in_sites(ranks_of_site * sites, 1, 1, sites)};
      EXPECT_DOUBLE_EQ(site_bytes(movement) * static_cast<double>(ranks_of_site),
                       static_cast<double>(crossed));
    }
  }
}

// The last bucket and its round trip are exposed at any rate.
TEST(SizeClusterSites, AtTheNeededRateTheRestIsHidden) {
  for (const double km : {0.0, 100.0, 2'000.0}) {
    ClusterQuestion question =
        question_of({.gpus = 64, .sites = 2}, {.km = km, .bits_per_s = 50e9});
    EXPECT_GT(figure_of(question, "exposed_s"), 10 * figure_of(question, "last_bucket_s"));
    const double needed = figure_of(question, "needed_site_bits_per_s");
    question.site_link.bits_per_s = needed * 1.000'001;
    EXPECT_DOUBLE_EQ(figure_of(question, "exposed_s"), figure_of(question, "last_bucket_s"));
    EXPECT_GE(figure_of(question, "last_bucket_s"), figure_of(question, "site_round_trip_s"));
    question.site_link.bits_per_s = needed * 0.999;
    EXPECT_GT(figure_of(question, "data_s"), figure_of(question, "window_s"));
  }
}

TEST(SizeClusterSites, UpToTheLongestDistanceTheLastBucketAloneIsExposed) {
  ClusterQuestion question = question_of({.gpus = 64, .sites = 4}, {.bits_per_s = 3'200e9});
  const double most = figure_of(question, "site_most_km");
  ASSERT_GT(most, 100);
  question.site_link.km = most * 0.999'999;
  EXPECT_DOUBLE_EQ(figure_of(question, "exposed_s"), figure_of(question, "last_bucket_s"));
  question.site_link.km = most * 1.001;
  EXPECT_GT(figure_of(question, "data_s"), figure_of(question, "window_s"));
}

TEST(SizeClusterSites, WhereNoDistanceIsShortEnoughNoneIsNamed) {
  const Result<Answer> answer =
      answer_of(question_of({.gpus = 64, .sites = 2}, {.bits_per_s = 10e9}));
  ASSERT_TRUE(answer.has_value());
  for (const Figure& figure : answer->figures) EXPECT_NE(figure.name, "site_most_km");
}

TEST(SizeClusterSites, TheNamedWindowFillsTheLink) {
  ClusterQuestion question = question_of({.gpus = 64, .sites = 2}, {.km = 500});
  const double window = figure_of(question, "site_window_bytes");
  const double full = figure_of(question, "site_lossless_bits_per_s");
  EXPECT_NEAR(full, 800e9 * kNicShare, 1);
  question.site_link.gpu_window_bytes = window;
  EXPECT_NEAR(figure_of(question, "site_lossless_bits_per_s"), full, 1e-6 * full);
  question.site_link.gpu_window_bytes = window / 2;
  EXPECT_NEAR(figure_of(question, "site_lossless_bits_per_s"), full / 2, 1e-6 * full);
}

TEST(SizeClusterSites, LossIsDearerWithGoBackN) {
  SiteLink link{.km = 500, .loss = 1e-4};
  const double going_back = figure_of(question_of({.gpus = 64, .sites = 2}, link), "site_s");
  link.go_back_n = false;
  const double selective = figure_of(question_of({.gpus = 64, .sites = 2}, link), "site_s");
  link.loss = 0;
  const double without = figure_of(question_of({.gpus = 64, .sites = 2}, link), "site_s");
  EXPECT_GT(going_back, 1.1 * selective);
  EXPECT_GT(selective, without);
}

TEST(SizeClusterSites, AdviceNamesWhatLimits) {
  const auto advice = [](const SiteLink& link, const JobShape& job = {.gpus = 64, .sites = 2}) {
    const Result<Answer> answer = answer_of(question_of(job, link));
    std::string all;
    for (const std::string& each : answer->advice) all += each + "\n";
    return all;
  };
  EXPECT_NE(advice({.bits_per_s = 50e9}).find("from a site to the next where there are 50"),
            std::string::npos);
  EXPECT_NE(advice({.km = 40'000, .gpu_window_bytes = 1e6}).find("a window of"), std::string::npos);
  EXPECT_NE(advice({.km = 4'000, .loss = 0.01}).find("use selective repeat"), std::string::npos);
  EXPECT_NE(advice({}).find("not the bottleneck"), std::string::npos);
  EXPECT_NE(advice({}).find("of 800 Gb/s from a site to the next"), std::string::npos);
  EXPECT_EQ(advice({.bits_per_s = 50e9}).find("give each GPU NICs"), std::string::npos);
  // Round trips alone take longer than the computation.
  const JobShape shared{.gpus = 64, .sites = 4, .zero_stage = 3};
  const std::string apart = advice({.km = 40'000, .bits_per_s = 3'200e9}, shared);
  const std::string named =
      "the distance between sites is the bottleneck: round trips over 40000 km";
  EXPECT_NE(apart.find(named), std::string::npos) << apart;
  EXPECT_EQ(apart.find("give each GPU NICs"), std::string::npos);
  // NICs fit alone, and the link does, and the two do not.
  ClusterQuestion together =
      question_of({.gpus = 64, .sites = 2}, {.km = 40'000, .bits_per_s = 3'200e9});
  together.fabric.nic_bits_per_s = 100e9;
  const Result<Answer> answer = answer_of(together);
  ASSERT_TRUE(answer.has_value());
  ASSERT_EQ(answer->advice.size(), 3u);  // memory, this, and the last bucket
  EXPECT_NE(answer->advice[1].find(named), std::string::npos) << answer->advice[1];
  EXPECT_NE(answer->advice[2].find("each waits for round trips of 400 ms"), std::string::npos);
}

TEST(SizeClusterSites, SitesThatDoNotShareTheReplicasAreRefused) {
  const Result<Answer> uneven = answer_of(question_of({.gpus = 64, .sites = 3}, {}));
  ASSERT_FALSE(uneven.has_value());
  EXPECT_NE(uneven.error().todo.find("--sites a divisor of 64"), std::string::npos);
  const Result<ModelShape> experts = find_model("deepseek-v3");
  ASSERT_TRUE(experts.has_value());
  const JobShape spread{.gpus = 64, .expert = 64, .sites = 2};
  EXPECT_FALSE(size_cluster(*experts, question_of(spread, {})).has_value());
  EXPECT_FALSE(answer_of(question_of({.gpus = 64, .sites = 2}, {.loss = 1})).has_value());
}

}  // namespace
}  // namespace heddle::planner
