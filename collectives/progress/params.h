// Parameters of judgement of the progress thread's waits: each with its unit, where it comes from,
// and the range in which it makes sense.
#pragma once

#include "base/nanos.h"

namespace heddle::collectives::params {

// The time between two samples of the threads that may wait. A sample costs 10 to 40 us of a core,
// nearly all for waking up. 500 us to 10 ms.
inline constexpr Nanos kSample = millis(2);
// The time after a call was made, or a wait ended with its call, when a wait often begins; it
// doubles up to the other. 50 us to 1 ms.
inline constexpr Nanos kSoonSample = micros(250);
// That is done again after this time at the earliest, however many calls there are. 4 samples to
// 100 ms.
inline constexpr Nanos kSoonEvery = millis(8);
// The time doubles up to this one while all of them wait: the end of their call is known at once.
// From kSample to 100 ms.
inline constexpr Nanos kAwaitedSample = millis(8);

}  // namespace heddle::collectives::params
