// What earlier runs tell of one stage of a program: how long tasks take by what they read, and what they write and use.
//
// A task of the latest run counts 1, one of the run before it 1/2, of that before 1/4: exponential forgetting by runs, so that a
// run of many tasks does not forget its own first ones. Tasks of about the same size (powers of two of the bytes they read) are
// kept together. A duration is predicted from all of these classes, the near ones first, and the slope of durations over bytes:
//
//   duration(x) = mean over the classes of: mean of the class + slope * (x - mean bytes of the class)
//
// The slope is that of least squares, drawn towards the line through a constant part of some milliseconds where sizes hardly
// differ. A pure function of what was added.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "schedulers/view/profile.hpp"

namespace weft::profiles {

/// A finished attempt, the one that counted.
struct TaskSample {
  Duration duration{0};  // from its launch to its end, as the master saw it
  Duration run{0};       // of that, from the first instruction of its stage's code to the last; 0: not known
  double bytes = 0;      // read from files and shuffles
  double written = 0;    // to its shuffle
  /// What it would have run with its node to itself, without waiting for map outputs; nothing: not known, as long as it took.
  std::optional<Duration> alone{};
  std::optional<double> disk_written{};  // bytes that disks wrote for it; nothing: not known, what it wrote to its shuffle
  /// Processor time, and waiting for input files, map outputs, and for what it wrote; 0: not known.
  Duration cpu{0}, read{0}, shuffle{0}, write{0};
  double memory = 0;                  // held at most
  bool placed = false, local = true;  // its input lies somewhere; and on its machine
  std::string kind{};                 // attributes of its node: "accelerator=gpu"
};

/// Sums over tasks of about the same size, with their weights.
struct SizeClass {
  int size = 0;       // log2 of the bytes that a task reads; -1: it reads nothing
  double weight = 0;  // tasks
  double seconds = 0, seconds2 = 0, bytes = 0, bytes2 = 0, bytes_seconds = 0;
  double written = 0;
  double cpu = 0, read = 0, shuffle = 0, write = 0;  // seconds
  double alone = 0, disk = 0;                        // seconds of tasks that share their node with nobody; bytes
  double memory = 0;                                 // the most, forgotten by a tenth with each run
  double overhead = 0;                // seconds, of launches: what is not their stage's code, or is believed not to be
  std::map<int, double> histogram{};  // tasks by duration: half octaves, 2 * log2 of the seconds
};

/// Durations over those that were expected of all tasks of their size.
struct Relative {
  double weight = 0, sum = 0;
  double value() const { return weight > 0 ? sum / weight : 1; }
};

/// What a stage is in the plan.
struct StageIdentity {
  std::string name;
  std::uint64_t fingerprint = 0;  // another one is another version of the program
  bool reads_shuffle = false;
};

struct StageHistory {
  StageIdentity is;
  std::uint64_t runs = 0;
  std::int64_t learned = 0;          // when it was added to last, seconds since 1970
  std::vector<SizeClass> classes{};  // by size
  std::map<std::string, Relative> kinds{};
  Relative local{}, remote{};
  double error = 0, error_weight = 0;  // of runs that are over: |predicted - true| / true of the mean duration
  double predicted = 0, truth = 0;     // seconds of the tasks of the latest run, where they were predicted
  JobId run{};                         // the latest; of this master only

  /// Tasks, the older ones counting less.
  double tasks() const;
  /// Including the run that goes on.
  double mean_error() const;
  /// `predicted`: what was said of a task of this size when the stage was planned.
  void add(JobId job, const TaskSample& task, std::optional<Duration> predicted);
  /// For tasks that read `bytes` bytes in the mean. Nothing when nothing was learned.
  std::optional<schedulers::StageProfile> profile(double bytes) const;
  /// What a task that reads so much writes.
  double written(double bytes) const;
  /// Of durations; nothing when there is none.
  std::optional<Duration> quantile(double part) const;

 private:
  void begin_run(JobId job);
  SizeClass& class_of(double bytes);
  static double says(const SizeClass& one, double bytes);
  const SizeClass* nearest(double bytes) const;
};

}  // namespace weft::profiles
