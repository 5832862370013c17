// Compares the profiler tables with NCCL's own headers, where the build was given them
// (HEDDLE_NCCL): every version that they have. Without them nothing is compared.
#include <gtest/gtest.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "nccl/profiler_v1.h"
#include "nccl/profiler_v2.h"
#include "nccl/profiler_v3.h"
#include "nccl/profiler_v4.h"
#include "nccl/profiler_v5.h"
#include "nccl/profiler_v6.h"
#include "nccl/profiler_v7.h"

// What those headers need of NCCL's others; layouts do not depend on it.
enum ncclResult_t : int { ncclSuccess = 0 };
using ncclDebugLogger_t = heddle::nccl::Logger;
using ncclPid_t = pid_t;
using ncclProfilerEventState_v1_t = int;
using ncclProfilerEventState_v2_t = int;
using ncclProfilerEventState_v3_t = int;
using ncclProfilerEventState_v4_t = int;
using ncclProfilerEventState_v5_t = int;
using ncclProfilerEventState_v6_t = int;
using ncclProfilerEventState_v7_t = int;
#if __has_include(<plugin/profiler/profiler_v1.h>)
#include <plugin/profiler/profiler_v1.h>
#endif
#if __has_include(<plugin/profiler/profiler_v2.h>)
#include <plugin/profiler/profiler_v2.h>
#endif
#if __has_include(<plugin/profiler/profiler_v3.h>)
#include <plugin/profiler/profiler_v3.h>
#endif
#if __has_include(<plugin/profiler/profiler_v4.h>)
#include <plugin/profiler/profiler_v4.h>
#endif
#if __has_include(<plugin/profiler/profiler_v5.h>)
#include <plugin/profiler/profiler_v5.h>
#endif
#if __has_include(<plugin/profiler/profiler_v6.h>)
#include <plugin/profiler/profiler_v6.h>
#endif
#if __has_include(<plugin/profiler/profiler_v7.h>)
#include <plugin/profiler/profiler_v7.h>
#endif

namespace heddle::nccl {
namespace {

// Whether NCCL's headers declare the version is only known by its header.

#if __has_include(<plugin/profiler/profiler_v1.h>)
using D1 = profiler_v1::Descriptor;
using N1 = ncclProfilerEventDescr_v1_t;
using A1 = profiler_v1::StateArguments;
using B1 = ncclProfilerEventStateArgs_v1_t;
using T1 = profiler_v1::Profiler;
using U1 = ncclProfiler_v1_t;
static_assert(sizeof(D1) == sizeof(N1));
static_assert(offsetof(D1, type) == offsetof(N1, type));
static_assert(offsetof(D1, parent) == offsetof(N1, parentObj));
static_assert(offsetof(D1, rank) == offsetof(N1, rank));
static_assert(offsetof(D1, coll.name) == offsetof(N1, coll.name));
static_assert(offsetof(D1, coll.comm_hash) == offsetof(N1, coll.commHash));
static_assert(offsetof(D1, coll.sequence) == offsetof(N1, coll.seqNumber));
static_assert(offsetof(D1, coll.function) == offsetof(N1, coll.func));
static_assert(offsetof(D1, coll.send_buffer) == offsetof(N1, coll.sendBuff));
static_assert(offsetof(D1, coll.recv_buffer) == offsetof(N1, coll.recvBuff));
static_assert(offsetof(D1, coll.count) == offsetof(N1, coll.count));
static_assert(offsetof(D1, coll.root) == offsetof(N1, coll.root));
static_assert(offsetof(D1, coll.data_type) == offsetof(N1, coll.datatype));
static_assert(offsetof(D1, coll.reduction) == offsetof(N1, coll.op));
static_assert(offsetof(D1, coll.traffic_bytes) == offsetof(N1, coll.trafficBytes));
static_assert(offsetof(D1, coll.max_channels) == offsetof(N1, coll.nMaxChannels));
static_assert(offsetof(D1, coll.warps) == offsetof(N1, coll.nWarps));
static_assert(offsetof(D1, coll.algorithm) == offsetof(N1, coll.algo));
static_assert(offsetof(D1, coll.protocol) == offsetof(N1, coll.proto));
static_assert(offsetof(D1, coll.is_collnet) == offsetof(N1, coll.isCollnet));
static_assert(offsetof(D1, coll.is_nvls) == offsetof(N1, coll.isNvls));
static_assert(offsetof(D1, p2p.name) == offsetof(N1, p2p.name));
static_assert(offsetof(D1, p2p.comm_hash) == offsetof(N1, p2p.commHash));
static_assert(offsetof(D1, p2p.function) == offsetof(N1, p2p.func));
static_assert(offsetof(D1, p2p.buffer) == offsetof(N1, p2p.buff));
static_assert(offsetof(D1, p2p.data_type) == offsetof(N1, p2p.datatype));
static_assert(offsetof(D1, p2p.count) == offsetof(N1, p2p.count));
static_assert(offsetof(D1, p2p.peer) == offsetof(N1, p2p.peer));
static_assert(offsetof(D1, proxy_op.pid) == offsetof(N1, proxyOp.pid));
static_assert(offsetof(D1, proxy_op.channel) == offsetof(N1, proxyOp.channelId));
static_assert(offsetof(D1, proxy_op.peer) == offsetof(N1, proxyOp.peer));
static_assert(offsetof(D1, proxy_op.steps) == offsetof(N1, proxyOp.nSteps));
static_assert(offsetof(D1, proxy_op.chunk_bytes) == offsetof(N1, proxyOp.chunkSize));
static_assert(offsetof(D1, proxy_op.is_send) == offsetof(N1, proxyOp.isSend));
static_assert(offsetof(D1, proxy_step.step) == offsetof(N1, proxyStep.step));
static_assert(sizeof(A1) == sizeof(B1));
static_assert(offsetof(A1, proxy_op.bytes) == offsetof(B1, proxyOp.transSize));
static_assert(offsetof(A1, proxy_op.steps) == offsetof(B1, proxyOp.steps));
static_assert(offsetof(A1, appended_ops) == offsetof(B1, proxyCtrl.appendedProxyOps));
static_assert(sizeof(T1) == sizeof(U1));
static_assert(offsetof(T1, name) == offsetof(U1, name));
static_assert(offsetof(T1, init) == offsetof(U1, init));
static_assert(offsetof(T1, start_event) == offsetof(U1, startEvent));
static_assert(offsetof(T1, stop_event) == offsetof(U1, stopEvent));
static_assert(offsetof(T1, record_event_state) == offsetof(U1, recordEventState));
static_assert(offsetof(T1, finalize) == offsetof(U1, finalize));
#endif

#if __has_include(<plugin/profiler/profiler_v2.h>)
using D2 = profiler_v2::Descriptor;
using N2 = ncclProfilerEventDescr_v2_t;
using A2 = profiler_v2::StateArguments;
using B2 = ncclProfilerEventStateArgs_v2_t;
using T2 = profiler_v2::Profiler;
using U2 = ncclProfiler_v2_t;
static_assert(sizeof(D2) == sizeof(N2));
static_assert(offsetof(D2, type) == offsetof(N2, type));
static_assert(offsetof(D2, parent) == offsetof(N2, parentObj));
static_assert(offsetof(D2, rank) == offsetof(N2, rank));
static_assert(offsetof(D2, coll.name) == offsetof(N2, coll.name));
static_assert(offsetof(D2, coll.comm_hash) == offsetof(N2, coll.commHash));
static_assert(offsetof(D2, coll.sequence) == offsetof(N2, coll.seqNumber));
static_assert(offsetof(D2, coll.function) == offsetof(N2, coll.func));
static_assert(offsetof(D2, coll.send_buffer) == offsetof(N2, coll.sendBuff));
static_assert(offsetof(D2, coll.recv_buffer) == offsetof(N2, coll.recvBuff));
static_assert(offsetof(D2, coll.count) == offsetof(N2, coll.count));
static_assert(offsetof(D2, coll.root) == offsetof(N2, coll.root));
static_assert(offsetof(D2, coll.data_type) == offsetof(N2, coll.datatype));
static_assert(offsetof(D2, coll.traffic_bytes) == offsetof(N2, coll.trafficBytes));
static_assert(offsetof(D2, coll.max_channels) == offsetof(N2, coll.nMaxChannels));
static_assert(offsetof(D2, coll.warps) == offsetof(N2, coll.nWarps));
static_assert(offsetof(D2, coll.algorithm) == offsetof(N2, coll.algo));
static_assert(offsetof(D2, coll.protocol) == offsetof(N2, coll.proto));
static_assert(offsetof(D2, p2p.name) == offsetof(N2, p2p.name));
static_assert(offsetof(D2, p2p.comm_hash) == offsetof(N2, p2p.commHash));
static_assert(offsetof(D2, p2p.function) == offsetof(N2, p2p.func));
static_assert(offsetof(D2, p2p.buffer) == offsetof(N2, p2p.buff));
static_assert(offsetof(D2, p2p.data_type) == offsetof(N2, p2p.datatype));
static_assert(offsetof(D2, p2p.count) == offsetof(N2, p2p.count));
static_assert(offsetof(D2, p2p.peer) == offsetof(N2, p2p.peer));
static_assert(offsetof(D2, proxy_op.pid) == offsetof(N2, proxyOp.pid));
static_assert(offsetof(D2, proxy_op.channel) == offsetof(N2, proxyOp.channelId));
static_assert(offsetof(D2, proxy_op.peer) == offsetof(N2, proxyOp.peer));
static_assert(offsetof(D2, proxy_op.steps) == offsetof(N2, proxyOp.nSteps));
static_assert(offsetof(D2, proxy_op.chunk_bytes) == offsetof(N2, proxyOp.chunkSize));
static_assert(offsetof(D2, proxy_op.is_send) == offsetof(N2, proxyOp.isSend));
static_assert(offsetof(D2, proxy_step.step) == offsetof(N2, proxyStep.step));
static_assert(sizeof(A2) == sizeof(B2));
static_assert(offsetof(A2, proxy_op.bytes) == offsetof(B2, proxyOp.transSize));
static_assert(offsetof(A2, proxy_op.steps) == offsetof(B2, proxyOp.steps));
static_assert(offsetof(A2, appended_ops) == offsetof(B2, proxyCtrl.appendedProxyOps));
static_assert(sizeof(T2) == sizeof(U2));
static_assert(offsetof(T2, name) == offsetof(U2, name));
static_assert(offsetof(T2, init) == offsetof(U2, init));
static_assert(offsetof(T2, start_event) == offsetof(U2, startEvent));
static_assert(offsetof(T2, stop_event) == offsetof(U2, stopEvent));
static_assert(offsetof(T2, record_event_state) == offsetof(U2, recordEventState));
static_assert(offsetof(T2, finalize) == offsetof(U2, finalize));
#endif

#if __has_include(<plugin/profiler/profiler_v3.h>)
using D3 = profiler_v3::Descriptor;
using N3 = ncclProfilerEventDescr_v3_t;
using A3 = profiler_v3::StateArguments;
using B3 = ncclProfilerEventStateArgs_v3_t;
using T3 = profiler_v3::Profiler;
using U3 = ncclProfiler_v3_t;
static_assert(sizeof(D3) == sizeof(N3));
static_assert(offsetof(D3, type) == offsetof(N3, type));
static_assert(offsetof(D3, parent) == offsetof(N3, parentObj));
static_assert(offsetof(D3, rank) == offsetof(N3, rank));
static_assert(offsetof(D3, coll.name) == offsetof(N3, coll.name));
static_assert(offsetof(D3, coll.comm_hash) == offsetof(N3, coll.commHash));
static_assert(offsetof(D3, coll.sequence) == offsetof(N3, coll.seqNumber));
static_assert(offsetof(D3, coll.function) == offsetof(N3, coll.func));
static_assert(offsetof(D3, coll.send_buffer) == offsetof(N3, coll.sendBuff));
static_assert(offsetof(D3, coll.recv_buffer) == offsetof(N3, coll.recvBuff));
static_assert(offsetof(D3, coll.count) == offsetof(N3, coll.count));
static_assert(offsetof(D3, coll.root) == offsetof(N3, coll.root));
static_assert(offsetof(D3, coll.data_type) == offsetof(N3, coll.datatype));
static_assert(offsetof(D3, coll.max_channels) == offsetof(N3, coll.nMaxChannels));
static_assert(offsetof(D3, coll.warps) == offsetof(N3, coll.nWarps));
static_assert(offsetof(D3, coll.algorithm) == offsetof(N3, coll.algo));
static_assert(offsetof(D3, coll.protocol) == offsetof(N3, coll.proto));
static_assert(offsetof(D3, p2p.name) == offsetof(N3, p2p.name));
static_assert(offsetof(D3, p2p.comm_hash) == offsetof(N3, p2p.commHash));
static_assert(offsetof(D3, p2p.function) == offsetof(N3, p2p.func));
static_assert(offsetof(D3, p2p.buffer) == offsetof(N3, p2p.buff));
static_assert(offsetof(D3, p2p.data_type) == offsetof(N3, p2p.datatype));
static_assert(offsetof(D3, p2p.count) == offsetof(N3, p2p.count));
static_assert(offsetof(D3, p2p.peer) == offsetof(N3, p2p.peer));
static_assert(offsetof(D3, proxy_op.pid) == offsetof(N3, proxyOp.pid));
static_assert(offsetof(D3, proxy_op.channel) == offsetof(N3, proxyOp.channelId));
static_assert(offsetof(D3, proxy_op.peer) == offsetof(N3, proxyOp.peer));
static_assert(offsetof(D3, proxy_op.steps) == offsetof(N3, proxyOp.nSteps));
static_assert(offsetof(D3, proxy_op.chunk_bytes) == offsetof(N3, proxyOp.chunkSize));
static_assert(offsetof(D3, proxy_op.is_send) == offsetof(N3, proxyOp.isSend));
static_assert(offsetof(D3, proxy_step.step) == offsetof(N3, proxyStep.step));
static_assert(offsetof(D3, kernel_channel.channel) == offsetof(N3, kernelCh.channelId));
static_assert(offsetof(D3, net_plugin.id) == offsetof(N3, netPlugin.id));
static_assert(offsetof(D3, net_plugin.data) == offsetof(N3, netPlugin.data));
static_assert(sizeof(A3) == sizeof(B3));
static_assert(offsetof(A3, proxy_op.bytes) == offsetof(B3, proxyOp.transSize));
static_assert(offsetof(A3, proxy_op.steps) == offsetof(B3, proxyOp.steps));
static_assert(offsetof(A3, appended_ops) == offsetof(B3, proxyCtrl.appendedProxyOps));
static_assert(sizeof(T3) == sizeof(U3));
static_assert(offsetof(T3, name) == offsetof(U3, name));
static_assert(offsetof(T3, init) == offsetof(U3, init));
static_assert(offsetof(T3, start_event) == offsetof(U3, startEvent));
static_assert(offsetof(T3, stop_event) == offsetof(U3, stopEvent));
static_assert(offsetof(T3, record_event_state) == offsetof(U3, recordEventState));
static_assert(offsetof(T3, finalize) == offsetof(U3, finalize));
#endif

#if __has_include(<plugin/profiler/profiler_v4.h>)
using D4 = profiler_v4::Descriptor;
using N4 = ncclProfilerEventDescr_v4_t;
using A4 = profiler_v4::StateArguments;
using B4 = ncclProfilerEventStateArgs_v4_t;
using T4 = profiler_v4::Profiler;
using U4 = ncclProfiler_v4_t;
static_assert(sizeof(D4) == sizeof(N4));
static_assert(offsetof(D4, type) == offsetof(N4, type));
static_assert(offsetof(D4, parent) == offsetof(N4, parentObj));
static_assert(offsetof(D4, rank) == offsetof(N4, rank));
static_assert(offsetof(D4, coll.sequence) == offsetof(N4, coll.seqNumber));
static_assert(offsetof(D4, coll.function) == offsetof(N4, coll.func));
static_assert(offsetof(D4, coll.send_buffer) == offsetof(N4, coll.sendBuff));
static_assert(offsetof(D4, coll.recv_buffer) == offsetof(N4, coll.recvBuff));
static_assert(offsetof(D4, coll.count) == offsetof(N4, coll.count));
static_assert(offsetof(D4, coll.root) == offsetof(N4, coll.root));
static_assert(offsetof(D4, coll.data_type) == offsetof(N4, coll.datatype));
static_assert(offsetof(D4, coll.channels) == offsetof(N4, coll.nChannels));
static_assert(offsetof(D4, coll.warps) == offsetof(N4, coll.nWarps));
static_assert(offsetof(D4, coll.algorithm) == offsetof(N4, coll.algo));
static_assert(offsetof(D4, coll.protocol) == offsetof(N4, coll.proto));
static_assert(offsetof(D4, p2p.function) == offsetof(N4, p2p.func));
static_assert(offsetof(D4, p2p.buffer) == offsetof(N4, p2p.buff));
static_assert(offsetof(D4, p2p.data_type) == offsetof(N4, p2p.datatype));
static_assert(offsetof(D4, p2p.count) == offsetof(N4, p2p.count));
static_assert(offsetof(D4, p2p.peer) == offsetof(N4, p2p.peer));
static_assert(offsetof(D4, p2p.channels) == offsetof(N4, p2p.nChannels));
static_assert(offsetof(D4, proxy_op.pid) == offsetof(N4, proxyOp.pid));
static_assert(offsetof(D4, proxy_op.channel) == offsetof(N4, proxyOp.channelId));
static_assert(offsetof(D4, proxy_op.peer) == offsetof(N4, proxyOp.peer));
static_assert(offsetof(D4, proxy_op.steps) == offsetof(N4, proxyOp.nSteps));
static_assert(offsetof(D4, proxy_op.chunk_bytes) == offsetof(N4, proxyOp.chunkSize));
static_assert(offsetof(D4, proxy_op.is_send) == offsetof(N4, proxyOp.isSend));
static_assert(offsetof(D4, proxy_step.step) == offsetof(N4, proxyStep.step));
static_assert(offsetof(D4, kernel_channel.channel) == offsetof(N4, kernelCh.channelId));
static_assert(offsetof(D4, kernel_channel.timer_ns) == offsetof(N4, kernelCh.pTimer));
static_assert(offsetof(D4, net_plugin.id) == offsetof(N4, netPlugin.id));
static_assert(offsetof(D4, net_plugin.data) == offsetof(N4, netPlugin.data));
static_assert(sizeof(A4) == sizeof(B4));
static_assert(offsetof(A4, step_bytes) == offsetof(B4, proxyStep.transSize));
static_assert(offsetof(A4, appended_ops) == offsetof(B4, proxyCtrl.appendedProxyOps));
static_assert(offsetof(A4, net_data) == offsetof(B4, netPlugin.data));
static_assert(offsetof(A4, stop_timer_ns) == offsetof(B4, kernelCh.pTimer));
static_assert(sizeof(T4) == sizeof(U4));
static_assert(offsetof(T4, name) == offsetof(U4, name));
static_assert(offsetof(T4, init) == offsetof(U4, init));
static_assert(offsetof(T4, start_event) == offsetof(U4, startEvent));
static_assert(offsetof(T4, stop_event) == offsetof(U4, stopEvent));
static_assert(offsetof(T4, record_event_state) == offsetof(U4, recordEventState));
static_assert(offsetof(T4, finalize) == offsetof(U4, finalize));
#endif

#if __has_include(<plugin/profiler/profiler_v5.h>)
using D5 = profiler_v5::Descriptor;
using N5 = ncclProfilerEventDescr_v5_t;
using A5 = profiler_v5::StateArguments;
using B5 = ncclProfilerEventStateArgs_v5_t;
using T5 = profiler_v5::Profiler;
using U5 = ncclProfiler_v5_t;
static_assert(sizeof(D5) == sizeof(N5));
static_assert(offsetof(D5, type) == offsetof(N5, type));
static_assert(offsetof(D5, parent) == offsetof(N5, parentObj));
static_assert(offsetof(D5, rank) == offsetof(N5, rank));
static_assert(offsetof(D5, group_api.graph_captured) == offsetof(N5, groupApi.graphCaptured));
static_assert(offsetof(D5, group_api.depth) == offsetof(N5, groupApi.groupDepth));
static_assert(offsetof(D5, coll_api.function) == offsetof(N5, collApi.func));
static_assert(offsetof(D5, coll_api.count) == offsetof(N5, collApi.count));
static_assert(offsetof(D5, coll_api.data_type) == offsetof(N5, collApi.datatype));
static_assert(offsetof(D5, coll_api.root) == offsetof(N5, collApi.root));
static_assert(offsetof(D5, coll_api.stream) == offsetof(N5, collApi.stream));
static_assert(offsetof(D5, coll_api.graph_captured) == offsetof(N5, collApi.graphCaptured));
static_assert(offsetof(D5, p2p_api.function) == offsetof(N5, p2pApi.func));
static_assert(offsetof(D5, p2p_api.count) == offsetof(N5, p2pApi.count));
static_assert(offsetof(D5, p2p_api.data_type) == offsetof(N5, p2pApi.datatype));
static_assert(offsetof(D5, p2p_api.stream) == offsetof(N5, p2pApi.stream));
static_assert(offsetof(D5, p2p_api.graph_captured) == offsetof(N5, p2pApi.graphCaptured));
static_assert(offsetof(D5, kernel_launch.stream) == offsetof(N5, kernelLaunch.stream));
static_assert(offsetof(D5, coll.sequence) == offsetof(N5, coll.seqNumber));
static_assert(offsetof(D5, coll.function) == offsetof(N5, coll.func));
static_assert(offsetof(D5, coll.send_buffer) == offsetof(N5, coll.sendBuff));
static_assert(offsetof(D5, coll.recv_buffer) == offsetof(N5, coll.recvBuff));
static_assert(offsetof(D5, coll.count) == offsetof(N5, coll.count));
static_assert(offsetof(D5, coll.root) == offsetof(N5, coll.root));
static_assert(offsetof(D5, coll.data_type) == offsetof(N5, coll.datatype));
static_assert(offsetof(D5, coll.channels) == offsetof(N5, coll.nChannels));
static_assert(offsetof(D5, coll.warps) == offsetof(N5, coll.nWarps));
static_assert(offsetof(D5, coll.algorithm) == offsetof(N5, coll.algo));
static_assert(offsetof(D5, coll.protocol) == offsetof(N5, coll.proto));
static_assert(offsetof(D5, coll.parent_group) == offsetof(N5, coll.parentGroup));
static_assert(offsetof(D5, p2p.function) == offsetof(N5, p2p.func));
static_assert(offsetof(D5, p2p.buffer) == offsetof(N5, p2p.buff));
static_assert(offsetof(D5, p2p.data_type) == offsetof(N5, p2p.datatype));
static_assert(offsetof(D5, p2p.count) == offsetof(N5, p2p.count));
static_assert(offsetof(D5, p2p.peer) == offsetof(N5, p2p.peer));
static_assert(offsetof(D5, p2p.channels) == offsetof(N5, p2p.nChannels));
static_assert(offsetof(D5, p2p.parent_group) == offsetof(N5, p2p.parentGroup));
static_assert(offsetof(D5, proxy_op.pid) == offsetof(N5, proxyOp.pid));
static_assert(offsetof(D5, proxy_op.channel) == offsetof(N5, proxyOp.channelId));
static_assert(offsetof(D5, proxy_op.peer) == offsetof(N5, proxyOp.peer));
static_assert(offsetof(D5, proxy_op.steps) == offsetof(N5, proxyOp.nSteps));
static_assert(offsetof(D5, proxy_op.chunk_bytes) == offsetof(N5, proxyOp.chunkSize));
static_assert(offsetof(D5, proxy_op.is_send) == offsetof(N5, proxyOp.isSend));
static_assert(offsetof(D5, proxy_step.step) == offsetof(N5, proxyStep.step));
static_assert(offsetof(D5, kernel_channel.channel) == offsetof(N5, kernelCh.channelId));
static_assert(offsetof(D5, kernel_channel.timer_ns) == offsetof(N5, kernelCh.pTimer));
static_assert(offsetof(D5, net_plugin.id) == offsetof(N5, netPlugin.id));
static_assert(offsetof(D5, net_plugin.data) == offsetof(N5, netPlugin.data));
static_assert(sizeof(A5) == sizeof(B5));
static_assert(offsetof(A5, step_bytes) == offsetof(B5, proxyStep.transSize));
static_assert(offsetof(A5, appended_ops) == offsetof(B5, proxyCtrl.appendedProxyOps));
static_assert(offsetof(A5, net_data) == offsetof(B5, netPlugin.data));
static_assert(offsetof(A5, stop_timer_ns) == offsetof(B5, kernelCh.pTimer));
static_assert(sizeof(T5) == sizeof(U5));
static_assert(offsetof(T5, name) == offsetof(U5, name));
static_assert(offsetof(T5, init) == offsetof(U5, init));
static_assert(offsetof(T5, start_event) == offsetof(U5, startEvent));
static_assert(offsetof(T5, stop_event) == offsetof(U5, stopEvent));
static_assert(offsetof(T5, record_event_state) == offsetof(U5, recordEventState));
static_assert(offsetof(T5, finalize) == offsetof(U5, finalize));
#endif

#if __has_include(<plugin/profiler/profiler_v6.h>)
using D6 = profiler_v6::Descriptor;
using N6 = ncclProfilerEventDescr_v6_t;
using A6 = profiler_v6::StateArguments;
using B6 = ncclProfilerEventStateArgs_v6_t;
using T6 = profiler_v6::Profiler;
using U6 = ncclProfiler_v6_t;
static_assert(sizeof(D6) == sizeof(N6));
static_assert(offsetof(D6, type) == offsetof(N6, type));
static_assert(offsetof(D6, parent) == offsetof(N6, parentObj));
static_assert(offsetof(D6, rank) == offsetof(N6, rank));
static_assert(offsetof(D6, group_api.graph_captured) == offsetof(N6, groupApi.graphCaptured));
static_assert(offsetof(D6, group_api.depth) == offsetof(N6, groupApi.groupDepth));
static_assert(offsetof(D6, coll_api.function) == offsetof(N6, collApi.func));
static_assert(offsetof(D6, coll_api.count) == offsetof(N6, collApi.count));
static_assert(offsetof(D6, coll_api.data_type) == offsetof(N6, collApi.datatype));
static_assert(offsetof(D6, coll_api.root) == offsetof(N6, collApi.root));
static_assert(offsetof(D6, coll_api.stream) == offsetof(N6, collApi.stream));
static_assert(offsetof(D6, coll_api.graph_captured) == offsetof(N6, collApi.graphCaptured));
static_assert(offsetof(D6, p2p_api.function) == offsetof(N6, p2pApi.func));
static_assert(offsetof(D6, p2p_api.count) == offsetof(N6, p2pApi.count));
static_assert(offsetof(D6, p2p_api.data_type) == offsetof(N6, p2pApi.datatype));
static_assert(offsetof(D6, p2p_api.stream) == offsetof(N6, p2pApi.stream));
static_assert(offsetof(D6, p2p_api.graph_captured) == offsetof(N6, p2pApi.graphCaptured));
static_assert(offsetof(D6, kernel_launch.stream) == offsetof(N6, kernelLaunch.stream));
static_assert(offsetof(D6, coll.sequence) == offsetof(N6, coll.seqNumber));
static_assert(offsetof(D6, coll.function) == offsetof(N6, coll.func));
static_assert(offsetof(D6, coll.send_buffer) == offsetof(N6, coll.sendBuff));
static_assert(offsetof(D6, coll.recv_buffer) == offsetof(N6, coll.recvBuff));
static_assert(offsetof(D6, coll.count) == offsetof(N6, coll.count));
static_assert(offsetof(D6, coll.root) == offsetof(N6, coll.root));
static_assert(offsetof(D6, coll.data_type) == offsetof(N6, coll.datatype));
static_assert(offsetof(D6, coll.channels) == offsetof(N6, coll.nChannels));
static_assert(offsetof(D6, coll.warps) == offsetof(N6, coll.nWarps));
static_assert(offsetof(D6, coll.algorithm) == offsetof(N6, coll.algo));
static_assert(offsetof(D6, coll.protocol) == offsetof(N6, coll.proto));
static_assert(offsetof(D6, coll.parent_group) == offsetof(N6, coll.parentGroup));
static_assert(offsetof(D6, p2p.function) == offsetof(N6, p2p.func));
static_assert(offsetof(D6, p2p.buffer) == offsetof(N6, p2p.buff));
static_assert(offsetof(D6, p2p.data_type) == offsetof(N6, p2p.datatype));
static_assert(offsetof(D6, p2p.count) == offsetof(N6, p2p.count));
static_assert(offsetof(D6, p2p.peer) == offsetof(N6, p2p.peer));
static_assert(offsetof(D6, p2p.channels) == offsetof(N6, p2p.nChannels));
static_assert(offsetof(D6, p2p.parent_group) == offsetof(N6, p2p.parentGroup));
static_assert(offsetof(D6, proxy_op.pid) == offsetof(N6, proxyOp.pid));
static_assert(offsetof(D6, proxy_op.channel) == offsetof(N6, proxyOp.channelId));
static_assert(offsetof(D6, proxy_op.peer) == offsetof(N6, proxyOp.peer));
static_assert(offsetof(D6, proxy_op.steps) == offsetof(N6, proxyOp.nSteps));
static_assert(offsetof(D6, proxy_op.chunk_bytes) == offsetof(N6, proxyOp.chunkSize));
static_assert(offsetof(D6, proxy_op.is_send) == offsetof(N6, proxyOp.isSend));
static_assert(offsetof(D6, proxy_step.step) == offsetof(N6, proxyStep.step));
static_assert(offsetof(D6, kernel_channel.channel) == offsetof(N6, kernelCh.channelId));
static_assert(offsetof(D6, kernel_channel.timer_ns) == offsetof(N6, kernelCh.pTimer));
static_assert(offsetof(D6, net_plugin.id) == offsetof(N6, netPlugin.id));
static_assert(offsetof(D6, net_plugin.data) == offsetof(N6, netPlugin.data));
static_assert(offsetof(D6, ce_coll.sequence) == offsetof(N6, ceColl.seqNumber));
static_assert(offsetof(D6, ce_coll.function) == offsetof(N6, ceColl.func));
static_assert(offsetof(D6, ce_coll.send_buffer) == offsetof(N6, ceColl.sendBuff));
static_assert(offsetof(D6, ce_coll.recv_buffer) == offsetof(N6, ceColl.recvBuff));
static_assert(offsetof(D6, ce_coll.count) == offsetof(N6, ceColl.count));
static_assert(offsetof(D6, ce_coll.root) == offsetof(N6, ceColl.root));
static_assert(offsetof(D6, ce_coll.data_type) == offsetof(N6, ceColl.datatype));
static_assert(offsetof(D6, ce_coll.sync_strategy) == offsetof(N6, ceColl.syncStrategy));
static_assert(offsetof(D6, ce_coll.intra_batch_sync) == offsetof(N6, ceColl.intraBatchSync));
static_assert(offsetof(D6, ce_coll.batch_size) == offsetof(N6, ceColl.batchSize));
static_assert(offsetof(D6, ce_coll.batches) == offsetof(N6, ceColl.numBatches));
static_assert(offsetof(D6, ce_coll.ce_sequence) == offsetof(N6, ceColl.ceSeqNum));
static_assert(offsetof(D6, ce_coll.stream) == offsetof(N6, ceColl.stream));
static_assert(offsetof(D6, ce_sync.is_complete) == offsetof(N6, ceCollSync.isComplete));
static_assert(offsetof(D6, ce_sync.ranks) == offsetof(N6, ceCollSync.nRanks));
static_assert(offsetof(D6, ce_batch.operations) == offsetof(N6, ceCollBatch.numOps));
static_assert(offsetof(D6, ce_batch.total_bytes) == offsetof(N6, ceCollBatch.totalBytes));
static_assert(offsetof(D6, ce_batch.uses_intra_sync) == offsetof(N6, ceCollBatch.useIntraSync));
static_assert(sizeof(A6) == sizeof(B6));
static_assert(offsetof(A6, step_bytes) == offsetof(B6, proxyStep.transSize));
static_assert(offsetof(A6, appended_ops) == offsetof(B6, proxyCtrl.appendedProxyOps));
static_assert(offsetof(A6, net_data) == offsetof(B6, netPlugin.data));
static_assert(offsetof(A6, stop_timer_ns) == offsetof(B6, kernelCh.pTimer));
static_assert(sizeof(T6) == sizeof(U6));
static_assert(offsetof(T6, name) == offsetof(U6, name));
static_assert(offsetof(T6, init) == offsetof(U6, init));
static_assert(offsetof(T6, start_event) == offsetof(U6, startEvent));
static_assert(offsetof(T6, stop_event) == offsetof(U6, stopEvent));
static_assert(offsetof(T6, record_event_state) == offsetof(U6, recordEventState));
static_assert(offsetof(T6, finalize) == offsetof(U6, finalize));
#endif

#if __has_include(<plugin/profiler/profiler_v7.h>)
using D7 = profiler_v7::Descriptor;
using N7 = ncclProfilerEventDescr_v7_t;
using A7 = profiler_v7::StateArguments;
using B7 = ncclProfilerEventStateArgs_v7_t;
using T7 = profiler_v7::Profiler;
using U7 = ncclProfiler_v7_t;
static_assert(sizeof(D7) == sizeof(N7));
static_assert(offsetof(D7, type) == offsetof(N7, type));
static_assert(offsetof(D7, parent) == offsetof(N7, parentObj));
static_assert(offsetof(D7, rank) == offsetof(N7, rank));
static_assert(offsetof(D7, group_api.graph_captured) == offsetof(N7, groupApi.graphCaptured));
static_assert(offsetof(D7, group_api.depth) == offsetof(N7, groupApi.groupDepth));
static_assert(offsetof(D7, coll_api.function) == offsetof(N7, collApi.func));
static_assert(offsetof(D7, coll_api.count) == offsetof(N7, collApi.count));
static_assert(offsetof(D7, coll_api.data_type) == offsetof(N7, collApi.datatype));
static_assert(offsetof(D7, coll_api.root) == offsetof(N7, collApi.root));
static_assert(offsetof(D7, coll_api.stream) == offsetof(N7, collApi.stream));
static_assert(offsetof(D7, coll_api.graph_captured) == offsetof(N7, collApi.graphCaptured));
static_assert(offsetof(D7, coll_api.user_tag) == offsetof(N7, collApi.userTag));
static_assert(offsetof(D7, p2p_api.function) == offsetof(N7, p2pApi.func));
static_assert(offsetof(D7, p2p_api.count) == offsetof(N7, p2pApi.count));
static_assert(offsetof(D7, p2p_api.data_type) == offsetof(N7, p2pApi.datatype));
static_assert(offsetof(D7, p2p_api.stream) == offsetof(N7, p2pApi.stream));
static_assert(offsetof(D7, p2p_api.graph_captured) == offsetof(N7, p2pApi.graphCaptured));
static_assert(offsetof(D7, p2p_api.user_tag) == offsetof(N7, p2pApi.userTag));
static_assert(offsetof(D7, kernel_launch.stream) == offsetof(N7, kernelLaunch.stream));
static_assert(offsetof(D7, coll.sequence) == offsetof(N7, coll.seqNumber));
static_assert(offsetof(D7, coll.function) == offsetof(N7, coll.func));
static_assert(offsetof(D7, coll.send_buffer) == offsetof(N7, coll.sendBuff));
static_assert(offsetof(D7, coll.recv_buffer) == offsetof(N7, coll.recvBuff));
static_assert(offsetof(D7, coll.count) == offsetof(N7, coll.count));
static_assert(offsetof(D7, coll.root) == offsetof(N7, coll.root));
static_assert(offsetof(D7, coll.data_type) == offsetof(N7, coll.datatype));
static_assert(offsetof(D7, coll.channels) == offsetof(N7, coll.nChannels));
static_assert(offsetof(D7, coll.warps) == offsetof(N7, coll.nWarps));
static_assert(offsetof(D7, coll.algorithm) == offsetof(N7, coll.algo));
static_assert(offsetof(D7, coll.protocol) == offsetof(N7, coll.proto));
static_assert(offsetof(D7, coll.parent_group) == offsetof(N7, coll.parentGroup));
static_assert(offsetof(D7, coll.kernel_variant) == offsetof(N7, coll.kernelVariant));
static_assert(offsetof(D7, coll.is_symmetric) == offsetof(N7, coll.isSymColl));
static_assert(offsetof(D7, coll.user_tag) == offsetof(N7, coll.userTag));
static_assert(offsetof(D7, p2p.function) == offsetof(N7, p2p.func));
static_assert(offsetof(D7, p2p.buffer) == offsetof(N7, p2p.buff));
static_assert(offsetof(D7, p2p.data_type) == offsetof(N7, p2p.datatype));
static_assert(offsetof(D7, p2p.count) == offsetof(N7, p2p.count));
static_assert(offsetof(D7, p2p.peer) == offsetof(N7, p2p.peer));
static_assert(offsetof(D7, p2p.channels) == offsetof(N7, p2p.nChannels));
static_assert(offsetof(D7, p2p.parent_group) == offsetof(N7, p2p.parentGroup));
static_assert(offsetof(D7, p2p.user_tag) == offsetof(N7, p2p.userTag));
static_assert(offsetof(D7, proxy_op.pid) == offsetof(N7, proxyOp.pid));
static_assert(offsetof(D7, proxy_op.channel) == offsetof(N7, proxyOp.channelId));
static_assert(offsetof(D7, proxy_op.peer) == offsetof(N7, proxyOp.peer));
static_assert(offsetof(D7, proxy_op.steps) == offsetof(N7, proxyOp.nSteps));
static_assert(offsetof(D7, proxy_op.chunk_bytes) == offsetof(N7, proxyOp.chunkSize));
static_assert(offsetof(D7, proxy_op.is_send) == offsetof(N7, proxyOp.isSend));
static_assert(offsetof(D7, proxy_step.step) == offsetof(N7, proxyStep.step));
static_assert(offsetof(D7, kernel_channel.channel) == offsetof(N7, kernelCh.channelId));
static_assert(offsetof(D7, kernel_channel.timer_ns) == offsetof(N7, kernelCh.pTimer));
static_assert(offsetof(D7, net_plugin.id) == offsetof(N7, netPlugin.id));
static_assert(offsetof(D7, net_plugin.data) == offsetof(N7, netPlugin.data));
static_assert(offsetof(D7, ce_coll.sequence) == offsetof(N7, ceColl.seqNumber));
static_assert(offsetof(D7, ce_coll.function) == offsetof(N7, ceColl.func));
static_assert(offsetof(D7, ce_coll.send_buffer) == offsetof(N7, ceColl.sendBuff));
static_assert(offsetof(D7, ce_coll.recv_buffer) == offsetof(N7, ceColl.recvBuff));
static_assert(offsetof(D7, ce_coll.count) == offsetof(N7, ceColl.count));
static_assert(offsetof(D7, ce_coll.root) == offsetof(N7, ceColl.root));
static_assert(offsetof(D7, ce_coll.data_type) == offsetof(N7, ceColl.datatype));
static_assert(offsetof(D7, ce_coll.sync_strategy) == offsetof(N7, ceColl.syncStrategy));
static_assert(offsetof(D7, ce_coll.intra_batch_sync) == offsetof(N7, ceColl.intraBatchSync));
static_assert(offsetof(D7, ce_coll.batch_size) == offsetof(N7, ceColl.batchSize));
static_assert(offsetof(D7, ce_coll.batches) == offsetof(N7, ceColl.numBatches));
static_assert(offsetof(D7, ce_coll.ce_sequence) == offsetof(N7, ceColl.ceSeqNum));
static_assert(offsetof(D7, ce_coll.stream) == offsetof(N7, ceColl.stream));
static_assert(offsetof(D7, ce_coll.user_tag) == offsetof(N7, ceColl.userTag));
static_assert(offsetof(D7, ce_sync.is_complete) == offsetof(N7, ceCollSync.isComplete));
static_assert(offsetof(D7, ce_sync.ranks) == offsetof(N7, ceCollSync.nRanks));
static_assert(offsetof(D7, ce_batch.operations) == offsetof(N7, ceCollBatch.numOps));
static_assert(offsetof(D7, ce_batch.total_bytes) == offsetof(N7, ceCollBatch.totalBytes));
static_assert(offsetof(D7, ce_batch.uses_intra_sync) == offsetof(N7, ceCollBatch.useIntraSync));
static_assert(offsetof(D7, kernel_phase.channel) == offsetof(N7, kernelPhase.channelId));
static_assert(offsetof(D7, kernel_phase.phase) == offsetof(N7, kernelPhase.phaseId));
static_assert(offsetof(D7, kernel_phase.name) == offsetof(N7, kernelPhase.phaseName));
static_assert(offsetof(D7, kernel_phase.timer_ns) == offsetof(N7, kernelPhase.pTimer));
static_assert(sizeof(A7) == sizeof(B7));
static_assert(offsetof(A7, step_bytes) == offsetof(B7, proxyStep.transSize));
static_assert(offsetof(A7, appended_ops) == offsetof(B7, proxyCtrl.appendedProxyOps));
static_assert(offsetof(A7, net_data) == offsetof(B7, netPlugin.data));
static_assert(offsetof(A7, stop_timer_ns) == offsetof(B7, kernelCh.pTimer));
static_assert(sizeof(T7) == sizeof(U7));
static_assert(offsetof(T7, name) == offsetof(U7, name));
static_assert(offsetof(T7, init) == offsetof(U7, init));
static_assert(offsetof(T7, start_event) == offsetof(U7, startEvent));
static_assert(offsetof(T7, stop_event) == offsetof(U7, stopEvent));
static_assert(offsetof(T7, record_event_state) == offsetof(U7, recordEventState));
static_assert(offsetof(T7, finalize) == offsetof(U7, finalize));
#endif

TEST(ProfilerLayout, EqualsThatOfTheGivenHeaders) {
#if __has_include(<plugin/profiler/profiler_v1.h>)
  EXPECT_EQ(offsetof(profiler_v1::Descriptor, parent),
            offsetof(ncclProfilerEventDescr_v1_t, parentObj));
#else
  GTEST_SKIP() << "HEDDLE_NCCL, NCCL's source tree, was not given to the build";
#endif
}

}  // namespace
}  // namespace heddle::nccl
