// The algorithms of <algorithm> on iterators. Headers that job programs read include this one: with libstdc++ it leaves out those
// on ranges and the parallel ones, which take the compiler longer than all of weft's own headers of the same size.
#pragma once

#include <iterator>  // defines the macro of the library

#if defined(__GLIBCXX__) && __has_include(<bits/stl_algo.h>)
#include <bits/stl_algo.h>
#else
#include <algorithm>
#endif
