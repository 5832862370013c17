// The example topology files: those in lab/examples and those in the reference.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "lab/layout.h"
#include "topology/file.h"

namespace heddle::lab {
namespace {

TEST(Examples, EveryFileHasALayout) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("lab/examples")) {
    Result<topology::Topology> topology = topology::read_topology_file(entry.path().string());
    ASSERT_TRUE(topology) << topology.error().message();
    const Result<Layout> layout = make_layout("example", std::move(*topology));
    EXPECT_TRUE(layout) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 5);
}

TEST(Examples, EveryExampleOfTheReferenceIsComplete) {
  std::ifstream page("docs/reference/topology.md");
  ASSERT_TRUE(page);
  std::ostringstream whole;
  whole << page.rdbuf();
  const std::string text = whole.str();
  const std::string fence = "```toml\n";
  int examples = 0;
  for (size_t at = 0; (at = text.find(fence, at)) != std::string::npos;) {
    at += fence.size();
    const std::string example = text.substr(at, text.find("```", at) - at);
    const Result<topology::Topology> topology = topology::parse_topology(example, "topology.md");
    EXPECT_TRUE(topology) << topology.error().message();
    ++examples;
  }
  EXPECT_EQ(examples, 3);
}

}  // namespace
}  // namespace heddle::lab
