// Constants of judgement of topologies and workloads, by the part that uses them: unit, source,
// range. Most bound what a file may ask for, so that a wrong one is an error and not an allocation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"

namespace heddle::topology::params {

// --- ports of simulated processes (ecmp.h) ---

// The first, and those of a process: its paths have one each. Chosen: as the ephemeral ports of
// Linux, which end at 60,999, and as many as the most paths. Range: 1,024 to 32,768; 64 to 1,024.
inline constexpr uint16_t kFirstSourcePort = 32'768;
inline constexpr uint16_t kSourcePorts = 256;

// --- quantities (quantity.cc) ---

// bit/s. Chosen: a hundred times the fastest links. Range: 10^13 to 10^15.
inline constexpr uint64_t kHighestRate = 100'000'000'000'000;
// Numerator and denominator. Chosen: a ratio of numbers of links. Range: 256 to 2^20.
inline constexpr uint32_t kMostOfFraction = 65'536;

// --- switches and links (file/shapes.cc) ---

// Share of packets that RED marks at the end of its ramp, parts per million. Chosen: a tenth;
// DCQCN's P_max is 0.01 (Zhu et al., SIGCOMM 2015, section 6).
// Range: 10,000 to 1,000,000.
inline constexpr uint32_t kUsualRampPerMillion = 100'000;

// Ranks of NCCL's logs and graphs (nccl/log_lines.h). Chosen: above the largest jobs. Range: 16,384
// to 2^20.
inline constexpr uint32_t kMostNcclRanks = 65'536;

// --- files of topologies and workloads (file/, workload_file.cc) ---
namespace file {

// Each number of a fabric's shape, and its hosts and switches; it has ten times as many links at
// most. Chosen: what memory and time allow. Range: 1,024 to 65,536; 10,000 to 1,000,000.
inline constexpr uint64_t kMaxPart = 4'096;
inline constexpr uint64_t kMaxNodes = 100'000;
// Of a link. Chosen: light takes it for 2 million kilometers of fiber. Range: 1 s to 1 min.
inline constexpr Nanos kMostDelay = seconds(10);
// Flows of a workload, and actions of its jobs. Chosen: bounds memory.
// Range: 10^6 to 10^8; 10^5 to 10^8.
inline constexpr uint64_t kMaxFlows = 20'000'000;
inline constexpr uint64_t kMaxActions = 2'000'000;

}  // namespace file

// --- jobs (job.h, jobs/) ---
namespace jobs {

// Bytes of a call. Chosen: above the parameters of any rank. Range: 1 GiB to 1 TiB.
inline constexpr uint64_t kMaxCallBytes = uint64_t{64} << 30;
// Ranks. Chosen: bounds the memory and time of a simulation. Range: 1,024 to 65,536.
inline constexpr uint32_t kMaxRanks = 16'384;
// Lanes of a program, that run side by side on a rank. Chosen: a GPU's streams in use. Range: 4 to
// 64.
inline constexpr size_t kMostLanes = 16;
// Labels of a program, in files and of imported jobs. Chosen: bounds memory. Range: 1,024 to 2^20.
inline constexpr size_t kMaxLabels = 65'536;
// Bytes of a chunk, at least and at most. Chosen: below, packets are not full; above, nothing is
// pipelined. Range: 256 to 4,096; 16 MiB to 1 GiB.
inline constexpr uint64_t kLeastChunk = 1024;
inline constexpr uint64_t kMostChunk = uint64_t{64} << 20;
// Repetitions in a file: steps, calls and others. Chosen. Range: 10^4 to 10^9.
inline constexpr uint64_t kMostRepeats = 1'000'000;
// Layers times microbatches of a training job, and buckets of a stage. Chosen: bounds a step's
// actions. Range: 10^4 to 10^6.
inline constexpr uint64_t kMostPasses = 100'000;

}  // namespace jobs

// --- htsim's files (htsim_topology.cc, htsim_matrix.cc, htsim/) ---
namespace htsim {

// Letters of a word that an error quotes. Chosen. Range: 16 to 200.
inline constexpr size_t kMostQuoted = 40;
// Each count in a matrix's header, and the start of a flow, ps. Chosen: above what is simulated; 11
// days. Range: 10^6 to 10^9; 1e15 to 9e18.
inline constexpr uint64_t kMaxCount = 100'000'000;
inline constexpr double kMaxStartPs = 1e18;
// Hosts, links of a tier, and links of a switch. Chosen: as those of our own files. Range: 10,000
// to 1,000,000; 100,000 to 10,000,000; 1,024 to 65,536.
inline constexpr uint64_t kMaxNodes = 100'000;
inline constexpr uint64_t kMaxLinks = 1'000'000;
inline constexpr uint64_t kMaxRadix = 65'536;

}  // namespace htsim

// --- ASTRA-sim's networks (astra_network.cc) ---
namespace astra {

// NPUs, and the latency of a link, ns. Chosen: as htsim's hosts; a second. Range: 10,000 to
// 1,000,000; 1e6 to 1e10.
inline constexpr uint32_t kMostNpus = 100'000;
inline constexpr double kMostNanos = 1e9;

}  // namespace astra

// --- AICB's workloads (aicb/rows.cc) ---
namespace aicb {

// Rows, and a time in one, ns. Chosen: above the layers of any model; a day. Range: 10^4 to 10^6;
// an hour to a month.
inline constexpr uint64_t kMostRows = 200'000;
inline constexpr uint64_t kMostNanos = 86'400'000'000'000;

}  // namespace aicb

// --- Chakra's traces (chakra_traces.cc, chakra/) ---
namespace chakra {

// The longest computation that a job takes over, us. Chosen: a day. Range: an hour to a month.
inline constexpr uint64_t kMostNodeMicros = 86'400'000'000;
// A time that is read, us. Chosen: eleven days, more than what a job may have. Range: 1e11 to 1e15.
inline constexpr double kMostMicros = 1e12;
// Bytes of an object in JSON: a workload_graph is one, and parsed it takes up to 16 times its text.
// Chosen. Range: 16 MiB to 1 GiB.
inline constexpr size_t kMostObjectBytes = size_t{64} << 20;
// Values in values. Chosen: sound traces need fewer than eight. Range: 8 to 256.
inline constexpr int kMostDepth = 32;
// Nodes that are written of all ranks. Chosen: bounds memory. Range: 10^5 to 10^7.
inline constexpr uint64_t kMostWritten = 2'000'000;
// Bytes of a folder's files, which are read one at a time. Chosen. Range: 1 to 64 GiB.
inline constexpr uint64_t kMostBytes = uint64_t{8} << 30;

}  // namespace chakra

}  // namespace heddle::topology::params
