// The hint at the plugin's log: only where lines were hidden that the setting shows.
#include "nccl/drive/plugin_log.h"

#include <gtest/gtest.h>

#include "base/log.h"

namespace heddle::nccl {
namespace {

TEST(PluginLog, HintNeedsALineThatTheSettingShows) {
  set_log_level(heddle::LogLevel::kError);
  write_plugin_log(kLogTrace, 0, "", 0, "%s", "shown by debug only");
  write_plugin_log(kLogWarn, 0, "", 0, "%s", "shown without a setting");
  EXPECT_EQ(plugin_log_hint(), "");
  write_plugin_log(kLogInfo, 0, "", 0, "%s", "hidden");
  EXPECT_EQ(plugin_log_hint(), "HEDDLE_LOG=info shows what the plugin logs");
}

}  // namespace
}  // namespace heddle::nccl
