// The declarations of nccl/tuner_*.h beside NCCL's own headers, compared at compile time. Skipped
// where no headers are given (HEDDLE_NCCL); version 7 is compared where they have it.
#include <gtest/gtest.h>

#ifdef HEDDLE_NCCL_HEADERS
#include <nccl_tuner.h>

#include <cstring>  // tuner_v7.h relies on it
#if __has_include(<tuner/tuner_v7.h>)
#include <tuner/tuner_v7.h>
#endif
#endif

#include "nccl/tuner_types.h"
#include "nccl/tuner_v2.h"
#include "nccl/tuner_v3.h"
#include "nccl/tuner_v4.h"
#include "nccl/tuner_v5.h"
#include "nccl/tuner_v6.h"
#include "nccl/tuner_v7.h"

namespace heddle::nccl {
namespace {

#ifndef HEDDLE_NCCL_HEADERS

TEST(TunerLayout, DeclarationsEqualThoseOfNcclsHeaders) {
  GTEST_SKIP() << "needs NCCL's headers: cmake -DHEDDLE_NCCL=DIR";
}

#else

template <typename Ours, typename Theirs>
constexpr bool same_head() {
  return sizeof(Ours) == sizeof(Theirs) && offsetof(Ours, name) == offsetof(Theirs, name) &&
         offsetof(Ours, init) == offsetof(Theirs, init) &&
         offsetof(Ours, choose) == offsetof(Theirs, getCollInfo);
}

template <typename Ours, typename Theirs>
constexpr bool same_constants() {
  return sizeof(Ours) == sizeof(Theirs) &&
         offsetof(Ours, hw_latencies) == offsetof(Theirs, hwLatencies) &&
         offsetof(Ours, ll_max) == offsetof(Theirs, llMaxBws) &&
         offsetof(Ours, channel_ring_ll128) == offsetof(Theirs, perChMaxRingLL128Bws) &&
         offsetof(Ours, channel_tree_ll128) == offsetof(Theirs, perChMaxTreeLL128Bws) &&
         offsetof(Ours, channel_tree) == offsetof(Theirs, perChMaxTreeBws) &&
         offsetof(Ours, channel_nvls_tree) == offsetof(Theirs, perChMaxNVLSTreeBws);
}

static_assert(same_head<TunerV2, ncclTuner_v2_t>());
static_assert(offsetof(TunerV2, destroy) == offsetof(ncclTuner_v2_t, destroy));
static_assert(same_head<TunerV3, ncclTuner_v3_t>());
static_assert(offsetof(TunerV3, destroy) == offsetof(ncclTuner_v3_t, destroy));
static_assert(same_head<TunerV4, ncclTuner_v4_t>());
static_assert(offsetof(TunerV4, destroy) == offsetof(ncclTuner_v4_t, destroy));
static_assert(same_head<TunerV5, ncclTuner_v5_t>());
static_assert(offsetof(TunerV5, finalize) == offsetof(ncclTuner_v5_t, finalize));
static_assert(same_head<TunerV6, ncclTuner_v6_t>());
static_assert(offsetof(TunerV6, finalize) == offsetof(ncclTuner_v6_t, finalize));
static_assert(offsetof(TunerV6, choose_chunk) == offsetof(ncclTuner_v6_t, getChunkSize));
static_assert(same_constants<TunerConstants<4>, ncclTunerConstants_v5_t>());

static_assert(sizeof(TunerNvlDomains) == sizeof(ncclNvlDomainInfo_v5_t));
static_assert(offsetof(TunerNvlDomains, min_ranks) ==
              offsetof(ncclNvlDomainInfo_v5_t, minRanksPerNvlDomain));
static_assert(offsetof(TunerNvlDomains, max_ranks) ==
              offsetof(ncclNvlDomainInfo_v5_t, maxRanksPerNvlDomain));

#ifdef TUNER_V7_H_
static_assert(same_head<TunerV7, ncclTuner_v7_t>());
static_assert(offsetof(TunerV7, finalize) == offsetof(ncclTuner_v7_t, finalize));
static_assert(offsetof(TunerV7, choose_chunk) == offsetof(ncclTuner_v7_t, getChunkSize));
static_assert(same_constants<TunerConstants<5>, ncclTunerConstants_v7_t>());
#endif

static_assert(kTunerBroadcast == static_cast<int>(ncclFuncBroadcast));
static_assert(kTunerReduce == static_cast<int>(ncclFuncReduce));
static_assert(kTunerAllGather == static_cast<int>(ncclFuncAllGather));
static_assert(kTunerReduceScatter == static_cast<int>(ncclFuncReduceScatter));
static_assert(kTunerAllReduce == static_cast<int>(ncclFuncAllReduce));
static_assert(kTunerTree == NCCL_ALGO_TREE && kTunerRing == NCCL_ALGO_RING);
static_assert(kTunerNvlsTree == NCCL_ALGO_NVLS_TREE && kTunerPat == NCCL_ALGO_PAT);
static_assert(kTunerCollnetDirect == NCCL_ALGO_COLLNET_DIRECT && kTunerNvls == NCCL_ALGO_NVLS);
static_assert(kTunerLl == NCCL_PROTO_LL && kTunerLl128 == NCCL_PROTO_LL128);
static_assert(kTunerSimple == NCCL_PROTO_SIMPLE && kTunerHwNet == NCCL_HW_NET);
static_assert(kTunerIgnored == static_cast<float>(NCCL_ALGO_PROTO_IGNORE));

TEST(TunerLayout, DeclarationsEqualThoseOfNcclsHeaders) {
#ifndef TUNER_V7_H_
  GTEST_SKIP() << "the headers have no version 7; 2 to 6 are equal";
#endif
}

#endif

}  // namespace
}  // namespace heddle::nccl
