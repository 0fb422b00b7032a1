// Durations, time points and clocks. Headers that job programs read include this one: with libstdc++ it leaves out the calendar and
// the streams that <chrono> brings.
#pragma once

#include <ratio>  // defines the macro of the library

#if defined(__GLIBCXX__) && __has_include(<bits/chrono.h>)
#include <bits/chrono.h>
#else
#include <chrono>
#endif
