// The concepts of ranges and their element types. Headers that job programs read include this one: with libstdc++ it leaves out the
// views.
#pragma once

#include <iterator>  // defines the macro of the library

#if defined(__GLIBCXX__) && __has_include(<bits/ranges_base.h>)
#include <bits/ranges_base.h>
#else
#include <ranges>
#endif
