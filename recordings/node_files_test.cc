// Recordings of machines: what is missing is named once a machine, and removed files are left.
#include "recordings/node_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/clocks.h"
#include "base/temporary_folder.h"
#include "events/recording.h"
#include "nodes/node_recorder.h"
#include "recordings/live_nodes.h"

namespace heddle::recordings {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NodeFilesTest : public ::testing::Test {
 protected:
  NodeFilesTest() : folder_(*TemporaryFolder::make("heddle-nodes")) {}

  std::string nodes() const { return nodes_folder(folder_.path()); }
  std::shared_ptr<events::Recording> record(const std::string& folder,
                                            const std::vector<std::string>& complaints) const {
    events::RecordingOptions options{.directory = folder, .most = mebibytes(1)};
    options.identity = {{"host", "h1"}};
    options.clock = &steady_now;
    nodes::describe_node(complaints, options);
    const auto made = events::Recording::create(options);
    EXPECT_TRUE(made) << made.error().message();
    return *made;
  }

  TemporaryFolder folder_;
};

// A rank that took over from another made a second line.
TEST_F(NodeFilesTest, WhatIsMissingOfAMachineIsNamedOnce) {
  for (int i = 0; i < 3; ++i) record(nodes(), {"no log", "no links"});
  const Nodes all(node_files(folder_.path()), {});
  ASSERT_EQ(all.files(), 3u);
  EXPECT_THAT(all.complaints(), ElementsAre("h1: no log; no links"));
}

class LiveNodesTest : public NodeFilesTest {
 protected:
  void SetUp() override {
    events::RecordingOptions options{.directory = folder_.path(), .most = mebibytes(1)};
    options.identity = {{"host", "h1"}, {"rank", "0"}};
    options.clock = &steady_now;
    job_ = *events::Recording::create(options);
    job_->note(at(events::MessageCompleted{}));
    reader_.poll(seconds(1), [](size_t, const events::RecordedEvent&, int64_t) {});
  }
  template <typename Event>
  static Event at(Event event) {
    event.time = steady_now();
    return event;
  }
  size_t taken(LiveNodes& live) {
    size_t count = 0;
    live.poll(reader_, [&](const insight::NodePlace& place, const events::AnyEvent&, int64_t) {
      EXPECT_EQ(place.host, "h1");
      files_.insert(place.file);
      ++count;
    });
    return count;
  }

  std::shared_ptr<events::Recording> job_;
  LiveRecording reader_{std::vector<std::string>{folder_.path()}};
  std::set<size_t> files_;
};

TEST_F(LiveNodesTest, AFolderOfAnAgentThatIsNotThereIsNamedOnce) {
  LiveNodes live({nodes()}, {folder_.path() + "/typo"});
  taken(live);
  taken(live);
  ASSERT_EQ(live.complaints().size(), 1u);
  EXPECT_THAT(live.complaints().front(), HasSubstr("/typo"));
  EXPECT_THAT(live.complaints().front(), HasSubstr("heddle agent serve"));
}

// An agent's recordings are followed by new ones, and the oldest are removed.
TEST_F(LiveNodesTest, ARemovedFileIsReadToItsEndAndItsNumberIsNotUsedAgain) {
  LiveNodes live({}, {nodes()});
  for (int i = 0; i < 3; ++i) {
    const auto recording = record(nodes(), {});
    recording->note(at(events::NodeSampled{}));
    EXPECT_EQ(taken(live), 1u);
    recording->note(at(events::NodeSampled{}));
    std::filesystem::remove(recording->path());
    EXPECT_EQ(taken(live), 1u);
    EXPECT_EQ(taken(live), 0u);
  }
  EXPECT_EQ(files_.size(), 3u);
}

}  // namespace
}  // namespace heddle::recordings
