// Constants of judgement of the diagnosis: unit, source and range each. None depends on the job.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::insight::params {

// A job's first operations, some 5 steps of 4: its ranks compile, load and fill caches, up to 30
// times as long as later and each another time, so nothing that is over by then is slow. Range 16
// to 50.
inline constexpr size_t kFirstOperations = 20;

// --- hangs ---

// An operation hangs if it is open this long, ns: longer than a synchronous checkpoint of a small
// model, and below the 15 s in which Mycroft (arXiv 2509.03018) reports 90% of its hangs. Range 2
// to 60 s.
inline constexpr int64_t kHangNs = 10'000'000'000;
// Of a job's first operations, where a longest pause is not known yet. Chosen. Range 30 to 600 s.
inline constexpr int64_t kHangFirstNs = 60'000'000'000;
// And this many times as long as the longest pause that the job has survived so far: a job that
// writes checkpoints for 30 s is not reported while it writes one. Range 2 to 10.
inline constexpr int64_t kHangPauses = 4;
// A process whose newest event is this old at the end has stopped, ns: a live heddle process sends
// keep-alives, and their bytes are recorded each second at the latest. Range 2 to 10 s.
inline constexpr int64_t kSilentNs = 3'000'000'000;

// --- confidence ---

// A rank that stopped, or left its communicator, while others wait for it. All that is not from
// statistics or counts is chosen by how directly the recordings show it. Range 0.95 to 0.99.
inline constexpr double kStopped = 0.97;
// Ranks called one operation differently. Range 0.9 to 0.99.
inline constexpr double kDiffers = 0.95;
// A rank that lives did not come: it may still do, so it grows while the others wait, from the
// first to the second. Range 0.5 to 0.7; 0.9 to 0.97.
inline constexpr double kLeastWaited = 0.6;
inline constexpr double kMostWaited = 0.95;
// Data that does not arrive at a place, or ranks that wait in a circle; and data that has no place:
// it is named by what is missing, and by nothing that was seen there. Range 0.8 to 0.95; 0.5 to
// 0.7.
inline constexpr double kPlaced = 0.9;
inline constexpr double kUnplaced = 0.6;
// Of links none of which stands out, but that are late together: as the least sure outlier. Range
// 0.75 to 0.85.
inline constexpr double kSeenTogether = 0.81;
// Of counted incidents, and of outliers. Range 0.9 to 0.99.
inline constexpr double kMostConfidence = 0.95;
inline constexpr double kMostOutlierConfidence = 0.99;

// --- statistics ---

// A normal distribution's standard deviation is this many median absolute deviations (1/0.6745).
inline constexpr double kDeviationOfMad = 1.4826;
// Operations are compared in at most this many blocks of consecutive ones; a block's value is a
// mean, so that one checkpoint is an outlier of one block. Range 50 to 200.
inline constexpr size_t kBlocks = 100;
// A block lasts at least this long, ns: in less, the turns of a host's scheduler are measured, of
// some 3 to 10 ms each where ranks outnumber cores. Range 20 to 200 ms.
inline constexpr int64_t kLeastBlockNs = 50'000'000;
// Below this many blocks of the same communicator nothing is said of slowness: 8 blocks of which 6
// agree have a chance of 0.02 with 4 ranks. Range 6 to 20.
inline constexpr size_t kLeastBlocks = 8;
// An episode has at least this many blocks. Range 4 to 10.
inline constexpr size_t kLeastEpisode = 8;
// And lasts this long, ns: a neighbor's burst is shorter. Range 0.5 to 5 s.
inline constexpr int64_t kLeastEpisodeNs = 2'000'000'000;
// Of a rank: ranks that share a host's cores have turns of up to a second, and a few in a row look
// like a slow rank. Measured: of healthy jobs that were accused the longest episode is 4.2 s where
// cores are crowded. Range 2 to 10 s.
inline constexpr int64_t kLeastRankEpisodeNs = 5'000'000'000;
// Of noise a value counts up to this many thresholds, so that one checkpoint does not hide a fault.
// Range 2 to 10.
inline constexpr double kMostNoise = 4;
// A candidate's mean must lie this many standard errors of the noise above the others', and more
// where candidates are many. Range 4 to 10.
inline constexpr double kLeastErrors = 8.5;
// And it must be above the threshold in this share of the episode's blocks. Range 0.6 to 0.9.
inline constexpr double kLeastFirst = 0.7;
// Of a link it is enough to be late in this share where that is twice as sure: repairs of losses
// delay some of the blocks only. Range 0.4 to 0.6.
inline constexpr double kLeastSporadic = 0.5;

// --- slow ranks ---

// The others wait for a rank for this share of the time. Range 0.03 to 0.1: a logging rank 0 costs
// 1 to 2%; below 5% repair costs more than it returns (C4D reports from 10% on).
inline constexpr double kLeastLate = 0.05;
// From this share of a communicator's ranks on, slow ranks are a matter of how work is divided, and
// slow links one of the fabric: two faults at once are rare, in a quarter of all unheard of. Range
// 0.2 to 0.5.
inline constexpr double kDesignShare = 0.25;

// --- unequal work from step to step (length_imbalance.cc) ---

// The mean rank waits for the longest one for this share of a step. Chosen: what makes packing by
// length worth its effort, and twice what a slow rank's verdict needs. Range 0.05 to 0.2.
inline constexpr double kLeastLengthLost = 0.1;
// Steps that are compared, at least. Range 20 to 100.
inline constexpr size_t kLeastLengthSteps = 30;
// Both halves of a step correlate by the first at least, and the halves on both sides of a step's
// end by the second at most: where turns of a core explain the differences, both are alike. Chosen
// by 260 jobs drawn for a sketch of the rule: nearly all with lengths have both, and of 200 with
// turns of 0.2 to 2 steps none has. Range 0.6 to 0.9; 0.1 to 0.3.
inline constexpr double kLeastWithinStep = 0.8;
inline constexpr double kMostAcrossSteps = 0.15;
// And differ by this many standard errors, since the boundary of steps is the best of up to 33,000.
// Range 5 to 10.
inline constexpr double kLeastLengthErrors = 6;
// A rank is last more often than by chance if the chance that any of them is last as often is below
// this. Range 0.0001 to 0.01.
inline constexpr double kLastChance = 0.001;
// Standard errors by which one rank may have more work than the others by chance, at most; more
// where the ranks are many. Range 2 to 4.
inline constexpr double kMostLengthErrors = 3;
// A rank's work counts up to this surplus over the mean rank's, so that a checkpoint decides
// nothing. Range 0.5 to 3.
inline constexpr double kMostLengthSurplus = 1;
// Calls of a step, at most: an all-gather and a reduce-scatter for each of 128 layers. Range 64 to
// 1,024.
inline constexpr size_t kMostStepCalls = 256;
// The latest calls of a communicator and their parts are judged, and the communicators with the
// most parts: 2 million sums and 8 MB each. Range 1,000 to 100,000; 100,000 to 10 million; 1 to 16.
inline constexpr size_t kMostLengthCalls = 8192;
inline constexpr size_t kMostLengthParts = 1'000'000;
inline constexpr size_t kMostLengthCommunicators = 4;

// --- slow links ---

// Data on a link is late by this share of an operation's transfer. In a ring of one block a link of
// half the rate is late by 0.25. Range 0.05 to 0.2.
inline constexpr double kLeastDelay = 0.1;
// And by at least this, ns: below it the scheduler of the host is measured. Range 20 to 1000 us.
inline constexpr int64_t kLeastDelayNs = 50'000;
// The link that is the measure of the others, as a quantile of their paces: with four hosts a slow
// NIC is of half of all links. Range 0.2 to 0.4.
inline constexpr double kUsualLink = 0.25;
// Links are compared with those whose messages are at most this many times as long. Of longer ones
// a byte costs less. Range 1.1 to 1.5.
inline constexpr double kAlikeSizes = 1.25;
// Operations whose transfer costs less than this share of the job's time are not a cause. Range
// 0.01 to 0.1.
inline constexpr double kLeastTransfer = 0.02;

// --- one cause of several ---

// A rank's computation and its host's data have one cause if both are late for this share of the
// time in which either is. Range 0.5 to 0.9: the beginnings of episodes are known to some blocks.
inline constexpr double kLeastTogether = 0.7;
// What begins in this share of the time that is compared was so from the beginning. Range 0.02 to
// 0.1.
inline constexpr double kBeginning = 0.05;
// Links are late together if their delays correlate by this much, and it is not chance by this many
// standard errors (1 / sqrt(n) of n operations). Range 0.2 to 0.5; 2 to 5.
inline constexpr double kLeastAgreement = 0.3;
inline constexpr double kLeastAgreementErrors = 3;
// A link is a late one's companion if their blocks correlate by this much. Range 0.4 to 0.7.
inline constexpr double kLeastCompanion = 0.5;
// Of links that do not stand out the worst is late in this share of the blocks. Range 0.1 to 0.3.
inline constexpr double kLeastSuspect = 0.15;
// They come and go if they are late in this share of the operations, and not late in as much. Range
// 0.05 to 0.2.
inline constexpr double kLeastPart = 0.1;
// An operation is beside another communicator's if that one is busy for this share of it, and alone
// up to this. Range 0.3 to 0.7; 0.05 to 0.2.
inline constexpr double kLeastBusy = 0.5;
inline constexpr double kMostBusyAlone = 0.1;

// --- paths that fail ---

// A path that works again within this time was late, and not down, ns. Measured: on busy simulated
// fabrics paths that were declared failed by mistake return within 45 ms, those of a link that was
// down after 80 ms and more. Range 50 to 500 ms.
inline constexpr int64_t kLeastDownNs = 100'000'000;
// Outages of paths that begin at most this long one after the other have one cause: time-outs of
// connections that rarely send notice it later. Range 0.2 to 5 s.
inline constexpr int64_t kTogetherNs = 2'000'000'000;
// A link flaps if it has failed and come back this many times: once and twice are repairs. Range 3
// to 5.
inline constexpr size_t kLeastFlaps = 3;
// And not longer than this after the time before, ns. Range 2 to 60 min.
inline constexpr int64_t kMostPauseNs = 600'000'000'000;
// It no longer does after this many of its longest pauses, and at least this long. Range 2 to 5; 30
// to 300 s.
inline constexpr int64_t kCalmPauses = 3;
inline constexpr int64_t kLeastCalmNs = 60'000'000'000;
// Routers are common to failed paths that this share of them passes. Range 0.8 to 1.
inline constexpr double kLeastOnRoute = 0.9;
// Routers that failed paths have in common are behind it only where at least this share of the
// connections' paths does not pass them. Range 0.1 to 0.5.
inline constexpr double kLeastOtherPaths = 0.25;
// A way that does not work again after this time is down, ns. Range 5 to 60 s.
inline constexpr int64_t kLeastOutageNs = 10'000'000'000;
// Paths that fail together: one alone may be slow by chance. Range 2 to 8.
inline constexpr size_t kLeastFailedPaths = 2;

// --- degradation ---

// A slow place degrades, and did not break, if its level rose over at least this share of the
// episode by steps of which none is more than half of the rise. Range 0.3 to 0.8.
inline constexpr double kLeastRise = 0.5;

// --- rhythm of a job ---

// Calls that are compared for a period, the latest: at most 8 million comparisons a look. Range
// 1,000 to 100,000.
inline constexpr size_t kMostRhythmCalls = 8192;
// The longest period, calls: a step of a model of hundreds of layers, sharded. Range 256 to 2,048.
inline constexpr size_t kMostPeriod = 1024;
// Calls repeat if this share of them is as one period before: evaluations and checkpoints break a
// step now and then. Range 0.8 to 0.98.
inline constexpr double kLeastRepeats = 0.9;
// Communicators with the most calls, of which it is looked for. Range 10 to 1,000.
inline constexpr size_t kMostRhythms = 100;
// The same while a job runs, where it is looked for every 10 s beside other looks (monitor): at
// most half a million comparisons, a few ms, each. Chosen: what slows all ranks is in each of their
// communicators. Range 1 to 16; 1,000 to 4,096.
inline constexpr size_t kMostLiveRhythms = 4;
inline constexpr size_t kMostLiveRhythmCalls = 2048;
// Below this many steps nothing is said of their time; and on each side of a change. Range 4 to 20.
inline constexpr size_t kLeastSteps = 8;
// Steps that are longer together are blocks of equally many: at most this many are compared. Range
// 50 to 500.
inline constexpr size_t kMostStepBlocks = 200;
// Steps are about equally long up to this spread. Range 0.2 to 1.
inline constexpr double kMostStepSpread = 0.5;
// A change is worth a note from this factor and this many standard errors on. Chosen: as a slow
// rank that costs 10%, and as outliers. Range 1.05 to 1.5; 4 to 15.
inline constexpr double kLeastSlower = 1.1;
inline constexpr double kLeastSlowerErrors = 8.5;

// --- memory ---

// Operations of communicators with more ranks than this for each recorded process are not kept: a
// part of a rank that was not recorded has no facts, and its memory is the recording's to claim.
inline constexpr size_t kMostUnrecorded = 64;
// Reasons why something could not be judged, a sentence each, that are reported.
inline constexpr size_t kMostNotJudged = 20;
// Arrivals from one rank in an operation that runs, 32 bytes each; what comes after is not
// measured.
inline constexpr size_t kMostArrivals = 4096;
// And what a rank sends in it, 24 bytes a message.
inline constexpr size_t kMostDepartures = 4 * kMostArrivals;
// Of an operation whose messages share NICs, steps of 5 ns or so: a gather of 1,000 ranks takes two
// million. Range 1 to 100 million.
inline constexpr size_t kMostShareSteps = 5'000'000;
// Outages of a connection's paths that ended, its paths whose route is kept (and that fail at a
// time), and the routers of one.
inline constexpr size_t kMostOutages = 1'000;
inline constexpr size_t kMostRoutes = 256;
inline constexpr size_t kMostHops = 32;
// Times of losses and path changes that are kept for a connection.
inline constexpr size_t kMostTroubles = 10'000;

// --- what machines report themselves ---

// Kept of each class of messages, counter and machine, 24 to 128 bytes each: of counters that grow
// each second the last 68 minutes. Range 1,000 to 100,000.
inline constexpr size_t kMostNodeEvents = 4096;
// Messages and changes of links that are equal and this near are one that two samplers have read,
// ns. Range 1 to 500 ms.
inline constexpr int64_t kSameMessageNs = 100'000'000;
// Samples that are this far apart at most have nothing between them, ns: a second of a clock that
// drifts by 500 ppm is 0.5 ms longer. Range 1 to 500 ms.
inline constexpr int64_t kSampleJitterNs = 10'000'000;
// Stalls of tasks are kept from this share of the time on. Range 0.01 to 0.1.
inline constexpr double kLeastStallKept = 0.05;
// Messages and changes of links this long before a verdict's begin may have to do with it, and
// counters are compared with this time before it, ns. A rank whose GPU has failed is missed at the
// next operation, and a checkpoint may come before that. Range 10 to 600 s.
inline constexpr int64_t kNodeBeforeNs = 60'000'000'000;
// As much of it must have been sampled for counters to be compared, ns. Range 5 to 50 s.
inline constexpr int64_t kLeastNodeBeforeNs = 10'000'000'000;
// Counters of a verdict that lasts are compared over this time from its begin on, ns: later ones
// are no cause of it. Range 60 s to 1 h.
inline constexpr int64_t kNodeDuringNs = 600'000'000'000;
// A verdict's begin is known to this, and counters are read each second, ns. Range 1 to 5 s.
inline constexpr int64_t kNodeSlackNs = 2'000'000'000;
// What is counted from a verdict's begin on is evidence if it is this many, and this many times as
// frequent as before. Range 5 to 100; 2 to 10.
inline constexpr uint64_t kLeastNodeCount = 10;
inline constexpr double kLeastNodeRise = 3;
// Stalls of tasks are evidence from this share of the time on. Range 0.1 to 0.5.
inline constexpr double kLeastStall = 0.2;
// Sentences of a verdict. Range 2 to 10.
inline constexpr size_t kMostNodeSentences = 4;

// --- how values are compared (block_series.cc, outliers.cc, robust.cc, late_together.cc, slow.cc)
// ---

// Up to this number of ranks one is compared with the median of the others; of more the median of
// all is the same. Chosen. Range 3 to 10.
inline constexpr size_t kFewRanks = 4;
// Below this number of candidates how their levels differ is unknown. Chosen: the lower half of
// four are two. Range 4 to 8.
inline constexpr size_t kFewLevels = 4;
// Parts whose medians rise where something degrades bit by bit. Chosen: a step falls into one or
// two of them. Range 4 to 32.
inline constexpr size_t kRiseParts = 8;
// Quantile of a link's late shares that stands for all of it. Chosen: one outlier in ten does not
// decide. Range 0.75 to 0.95.
inline constexpr double kHighestShare = 0.9;
// Rounds of the fit of time over work. Chosen: reweighting by Huber converges by a constant factor
// a round. Range 5 to 100.
inline constexpr int kFitRounds = 20;

// --- slow links and NICs (slow_links.cc) ---

// Sides of NICs, sending and receiving, from which on NICs are compared: three hosts, since with
// two a sender is late exactly if its receiver is. Range 6 to 12.
inline constexpr size_t kLeastSides = 6;
// And links of each: with one, it is the NIC's. Range 2 to 4.
inline constexpr size_t kLeastLinks = 2;
// Quantile of its links' delays that counts for a NIC: the median, of two links the lower one, so
// that one slow link is not its NIC's. Range 0.4 to 0.49.
inline constexpr double kBelowHalf = 0.49;

// --- what is kept and shown ---

// Calls of a process that are remembered (job_facts.h): a message or NCCL's proxy may report after
// a call's end, but not much later. Chosen. Range 64 to 65,536.
inline constexpr size_t kMostCalls = 1024;
// Ranks of a communicator; a damaged recording has any sizes. Chosen: as collectives::kMostRanks.
// Range 1,024 to 2^20.
inline constexpr uint32_t kMostRanks = 1 << 16;
// Ranks of a communicator whose matrix of delays is kept: the number of its fields is their square.
// Chosen: as the live page's matrix of traffic. Range 64 to 1,024.
inline constexpr size_t kMostDelayRanks = 256;
// Incidents that the verdict of a flapping link lists. Chosen: the first ones show how often. Range
// 3 to 20.
inline constexpr size_t kMostFlapLines = 5;

}  // namespace heddle::insight::params
