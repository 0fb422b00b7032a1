// weft's API. Reference: docs/api.md.
#pragma once

#include "base/hash.hpp"
#include "base/random.hpp"
#include "weft/counters.hpp"
#include "weft/dataset.hpp"
#include "weft/failure.hpp"
#include "weft/flow.hpp"
#include "weft/hash.hpp"
#include "weft/main.hpp"
#include "weft/mapreduce.hpp"
#include "weft/partitioning.hpp"
#include "weft/run.hpp"
#include "weft/text.hpp"
