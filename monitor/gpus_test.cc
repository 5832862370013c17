// GPUs as nvidia-smi lists them: rows with and without figures, other lines, and metrics.
#include "monitor/gpus.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "base/document.h"

namespace heddle::monitor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A page that rules of plugins/prometheus/ are tested with. HEDDLE_WRITE=1 writes it anew.
constexpr const char* kExample = "plugins/prometheus/site_example/heddle_gpus.metrics";
constexpr const char* kReference = "docs/reference/metrics.md";

constexpr const char* kTwo =
    "0, GPU-b9e0a0b1-3a5e-4f0e-8a55-4b1f6a1f0c11, NVIDIA H100 80GB HBM3, 97, 61000, 81559, "
    "412.50, 61, 1980, 0x0000000000000000\n"
    "1, GPU-0c2f7a4e-9d16-4a0b-9a37-1d4c9f7f2a22, NVIDIA H100 80GB HBM3, 0, 4, 81559, 71.25, 33, "
    "345, 0x0000000000000001\n";

std::string text_of(const GpuState& state) {
  const Result<std::string> text = metrics::exposition_of(families_of(state, "node3"));
  return text ? *text : text.error().message();
}

GpuState state_of(const std::string& output) {
  return {.gpus = parse_gpu_rows(output, true).gpus, .complaint = {}, .readings_ok = 1};
}

TEST(Gpus, TheirFiguresAreInBaseUnits) {
  const GpuRows rows = parse_gpu_rows(kTwo, true);
  EXPECT_EQ(rows.not_read, "");
  ASSERT_EQ(rows.gpus.size(), 2U);
  const Gpu& first = rows.gpus[0];
  EXPECT_EQ(first.index, 0);
  EXPECT_EQ(first.uuid, "GPU-b9e0a0b1-3a5e-4f0e-8a55-4b1f6a1f0c11");
  EXPECT_EQ(first.name, "NVIDIA H100 80GB HBM3");
  EXPECT_DOUBLE_EQ(first.utilization, 0.97);
  EXPECT_DOUBLE_EQ(first.memory_used_bytes, 61000.0 * 1048576);
  EXPECT_DOUBLE_EQ(first.memory_bytes, 81559.0 * 1048576);
  EXPECT_DOUBLE_EQ(first.power_watts, 412.5);
  EXPECT_DOUBLE_EQ(first.temperature_celsius, 61);
  EXPECT_DOUBLE_EQ(first.sm_clock_hertz, 1.98e9);
  EXPECT_EQ(first.clock_limits, 0U);
  EXPECT_EQ(rows.gpus[1].clock_limits, 1U);
}

TEST(Gpus, TheMetricsAreThoseThatRulesAreTestedWith) {
  const std::string text = text_of(state_of(kTwo));
  if (std::getenv("HEDDLE_WRITE") != nullptr) {
    ASSERT_TRUE(write_text_file(kExample, text));
  }
  const Result<std::string> written = read_text_file(kExample, "");
  ASSERT_TRUE(written) << written.error().message();
  EXPECT_EQ(text, *written) << "run HEDDLE_WRITE=1 build/release/bin/monitor_test "
                               "--gtest_filter=Gpus.*";
}

TEST(Gpus, TheMetricsAreDocumented) {
  const Result<std::string> page = read_text_file(kReference, "");
  ASSERT_TRUE(page) << page.error().message();
  for (const metrics::Family& family : families_of(state_of(kTwo), "node3")) {
    std::string labels;
    for (const metrics::Label& label : family.samples.at(0).labels) {
      labels += fmt::format("{}`{}`", labels.empty() ? "" : ", ", label.name);
    }
    EXPECT_THAT(*page, HasSubstr(fmt::format("| `{}` | {} | {} | {} |", family.name,
                                             name_of(family.type), labels, family.help)));
  }
}

TEST(Gpus, WhatIsNotKnownIsLeftOut) {
  const GpuState state = state_of(
      "3, [Unknown Error], Tesla, T4, [N/A], [Not Supported], N/A, ERR!, , -1, [N/A]\n"
      "4, GPU-4, A100, 250, nan, inf, 1e400, 0x10, 12W, 0xzz\n");
  ASSERT_EQ(state.gpus.size(), 2U);
  EXPECT_EQ(state.gpus[0].uuid, "");
  EXPECT_EQ(state.gpus[0].name, "Tesla, T4");
  for (const Gpu& gpu : state.gpus) {
    for (const double figure : {gpu.utilization, gpu.memory_used_bytes, gpu.memory_bytes,
                                gpu.power_watts, gpu.temperature_celsius, gpu.sm_clock_hertz}) {
      EXPECT_TRUE(std::isnan(figure)) << gpu.index;
    }
    EXPECT_FALSE(gpu.clock_limits) << gpu.index;
  }
  const std::string text = text_of(state);
  EXPECT_THAT(text, HasSubstr("heddle_gpu_info{gpu=\"4\",host=\"node3\""));
  for (const char* const name : {"utilization", "memory", "power", "temperature", "clock"}) {
    EXPECT_THAT(text, Not(HasSubstr(std::string("heddle_gpu_") + name)));
  }
}

TEST(Gpus, OtherLinesAreNoRows) {
  for (const char* const line :
       {"No devices were found", "0, GPU-0, A100", "x, GPU-0, A100, 1, 2, 3, 4, 5, 6, 0x0",
        "-1, GPU-0, A100, 1, 2, 3, 4, 5, 6, 0x0", "99999999999, GPU-0, A, 1, 2, 3, 4, 5, 6, 0x0",
        "Unable to determine the device handle for GPU1: 0000:02:00.0: Unknown Error",
        ",,,,,,,,,,,", "\x1b[31m"}) {
    const GpuRows rows = parse_gpu_rows(std::string(line) + "\n" + kTwo, true);
    EXPECT_EQ(rows.gpus.size(), 2U) << line;
    EXPECT_NE(rows.not_read, "") << line;
    EXPECT_THAT(rows.not_read, Not(HasSubstr("\x1b")));
  }
}

TEST(Gpus, AnIndexCountsOnce) {
  const GpuRows rows = parse_gpu_rows(std::string(kTwo) + kTwo, true);
  EXPECT_EQ(rows.gpus.size(), 2U);
  EXPECT_THAT(rows.not_read, HasSubstr("0, GPU-b9e0"));
}

TEST(Gpus, AnOlderDriverHasNoClockLimits) {
  const GpuRows rows = parse_gpu_rows("0, GPU-0, A100, 1, 2, 3, 4, 5, 6\n", false);
  ASSERT_EQ(rows.gpus.size(), 1U);
  EXPECT_EQ(rows.gpus[0].name, "A100");
  EXPECT_DOUBLE_EQ(rows.gpus[0].sm_clock_hertz, 6e6);
  EXPECT_FALSE(rows.gpus[0].clock_limits);
}

TEST(Gpus, BeforeTheFirstReadingNothingIsClaimed) {
  const std::string text = text_of({});
  EXPECT_THAT(text, Not(HasSubstr("reading_ok")));
  EXPECT_THAT(text, HasSubstr("heddle_gpu_readings_total{host=\"node3\",result=\"ok\"} 0"));
}

}  // namespace
}  // namespace heddle::monitor
