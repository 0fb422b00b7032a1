// A piece of work that a hand-written program and a weft program both do, and the questions the benchmarks ask of it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "benchmarks/e2e/command.hpp"
#include "benchmarks/e2e/digest.hpp"
#include "benchmarks/e2e/setting.hpp"

namespace weft::bench {

struct Work {
  std::string name;           // "WordCount, 1024 MiB of Zipf text"
  Command limit;              // the hand-written program and its inputs; output directory and threads are appended
  Command weft;               // the weft program and its options but --output and where to run
  double embedded_bound = 0;  // ratios to the limit
  double workers_bound = 0;
  Digest (*digest)(const std::string& directory) = digest_lines;
};

/// The limit, weft embedded and weft on two worker processes on the same input, in turn: seconds, ratio, peak memory, bytes moved
/// per stage. Ends the program when the outputs differ.
void compare_with_limit(const Setting& setting, const Work& work);

/// What the second thread brings, against what it brings the limit.
void measure_scaling(const Setting& setting, const Work& work);

/// `work` on `variant`'s input in at most `bound` times the time, embedded. `factor` is how much larger variant's input is.
void compare_inputs(const Setting& setting, const std::string& what, const Work& work, const Work& variant, double factor,
                    double bound);

/// The same work with more options, in at most `bound` times the time, embedded.
void compare_options(const Setting& setting, const std::string& what, const Work& work, const Command& options, double bound);

/// The embedded run of a work, writing to `output`.
Command embedded(const Work& work, const std::string& output, unsigned threads = 2);

}  // namespace weft::bench
