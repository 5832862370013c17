// The example of docs/reference/collectives.md, compiled and run by three ranks.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "collectives/communicator.h"
#include "collectives/configured.h"
#include "collectives/rendezvous.h"
#include "engine/configured.h"

namespace heddle {
namespace {

Result<float> average_of_ranks(const Config& config, std::span<const std::string> environment) {
  // An endpoint for this rank, and the other ranks of the run.
  const Result<engine::Options> options = collectives::configured_rank_options(config);
  if (!options) return fail(options.error());
  Result<std::unique_ptr<engine::Endpoint>> endpoint =
      engine::Endpoint::open(engine::configured_network(config), *options);
  if (!endpoint) return fail(endpoint.error());
  const Result<collectives::MeetOptions> meeting = collectives::meet_options(config, environment);
  if (!meeting) return fail(meeting.error());
  const Result<collectives::Group> group = collectives::meet(**endpoint, *meeting);
  if (!group) return fail(group.error());

  // A communicator of all of them.
  const auto tuned = collectives::configured_communicator_options(config);
  if (!tuned) return fail(tuned.error());
  auto links = std::make_shared<collectives::Links>(**endpoint);
  Result<std::unique_ptr<collectives::Communicator>> world =
      collectives::Communicator::create(links, collectives::members_of(*group), *tuned);
  if (!world) return fail(world.error());

  // Calls return at once; a request waits for their end. In place: input and output are the same.
  std::vector<float> gradient(1000, static_cast<float>(group->rank));
  const Result<collectives::Request> request = (*world)->all_reduce(
      {.input = gradient.data(), .output = gradient.data(), .count = gradient.size()},
      collectives::ReduceOp::kAverage);
  if (!request) return fail(request.error());
  const Result<void> done = (*world)->wait(*request, seconds(30));
  if (!done) return fail(done.error());
  return gradient[0];
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Example, OfTheDocumentationIsThisOne) {
  const std::string page = text_of("docs/reference/collectives.md");
  const size_t begin = page.find("```cpp\n") + 7;
  const std::string example = page.substr(begin, page.find("```", begin) - begin);
  ASSERT_GT(example.size(), 500U);
  EXPECT_NE(text_of("collectives/communicator/example_test.cc").find(example), std::string::npos);
}

TEST(Example, Works) {
  const std::string store = testing::TempDir() + "/example_store_" + std::to_string(getpid());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([rank, &store] {
      const std::vector<std::string> environment = {
          "HEDDLE_RANK=" + std::to_string(rank), "HEDDLE_SIZE=3", "HEDDLE_STORE=file://" + store};
      ConfigSources sources;
      sources.environment = {"HEDDLE_BIND=127.0.0.1", environment[2]};
      const Config config = std::move(Config::load(config_keys(), sources)).value();
      const Result<float> average = average_of_ranks(config, environment);
      ASSERT_TRUE(average.has_value()) << average.error().message();
      EXPECT_EQ(*average, 1.0F);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace heddle
