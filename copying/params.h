// Bounds of a copy, each with its unit and reason.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"

namespace heddle::copying::params {

inline constexpr uint32_t kVersion = 1;  // of the messages

// A message of file data, and the messages of a side: 64 MiB, which fills 50 Gb/s over a round trip
// of 10 ms (1,000 km). Both sides hold as much, whatever the number and size of files.
inline constexpr size_t kMessageBytes = 1 << 20;
inline constexpr size_t kMessages = 64;
// A message of answers, and the answers in flight: 1 MiB a side.
inline constexpr size_t kAnswerBytes = 64 << 10;
inline constexpr size_t kAnswers = 16;
// Files whose state at the receiver is asked for ahead of their data, and the bytes of their names.
inline constexpr size_t kMostOffers = 4096;
inline constexpr size_t kMostOfferBytes = 4 << 20;
// Offers in a message without data, so that the first answers come early.
inline constexpr size_t kOffersAMessage = 256;

inline constexpr size_t kLongestName = 255;    // NAME_MAX of Linux
inline constexpr size_t kLongestPath = 4095;   // PATH_MAX without the end
inline constexpr size_t kDeepestFolder = 256;  // each open folder of a walk is a descriptor
// Incomplete files whose checksum so far is kept between the offer and the data.
inline constexpr size_t kPartsKept = 16;
// A file that changed this short a while before it was read may change again without another time:
// 2 s is the coarsest time of a file system, that of FAT.
inline constexpr Nanos kSettled = seconds(2);
inline constexpr size_t kReadBytes = 1 << 20;  // of an incomplete file, read at once

inline constexpr size_t kMostSessions = 8;  // copies that one listener receives at once
inline constexpr Nanos kIntroduceWithin = seconds(10);
inline constexpr Nanos kSlice = millis(100);  // how soon a signal is seen
inline constexpr Nanos kGoodbye = seconds(2);

// Bytes of a text in a record: a path and a reason. Chosen: twice PATH_MAX of Linux. Range: 4,096
// to 65,536.
inline constexpr size_t kLongestText = 8192;
// Characters of a long name that a hidden name keeps before its checksum. Chosen: with a dot, 17
// and an ending below kLongestName. Range: 16 to 220.
inline constexpr size_t kKeptName = 200;

}  // namespace heddle::copying::params
