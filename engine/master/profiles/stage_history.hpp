// The model of one stage of a program, from its earlier runs: durations of tasks by the bytes that they read, their output and use.
//
// A task of the latest run counts 1, one of the run before it 1/2, of that before 1/4: exponential forgetting by runs, so that a
// run of many tasks does not forget its own first ones. Tasks of about the same size (powers of two of the bytes that they read)
// form a class. A duration is predicted from all classes, in which the near ones count most, and the slope of durations over bytes:
//
//   duration(x) = mean over the classes of: mean of the class + slope * (x - mean bytes of the class)
//
// The slope is that of least squares. Where sizes hardly differ, it is drawn towards that of the line through the launch overhead.
// A pure function of the samples.
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

/// The finished attempt of a task that counted.
struct TaskSample {
  Duration duration{0};  // from its launch to its end, as the master saw it
  Duration run{0};       // of that, from the first instruction of its stage's code to the last; 0: not known
  double bytes = 0;      // read from files and shuffles
  double written = 0;    // to its shuffle
  /// Its length if it had had its node to itself, without waits for map outputs. Unset: not known; its length counts.
  std::optional<Duration> alone{};
  std::optional<double> disk_written{};  // bytes that disks wrote for it; unset: not known; `written` counts
  /// Processor time, and the time of waits for input files, map outputs, and its writes; 0: not known.
  Duration cpu{0}, read{0}, shuffle{0}, write{0};
  double memory = 0;                  // the most that it held
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
  double memory = 0;                                 // the most; each later run takes off a tenth
  double overhead = 0;                               // seconds of launches: measured outside the stage's code, or estimated
  std::map<int, double> histogram{};                 // tasks by duration: half octaves, 2 * log2 of the seconds
};

/// Durations over the predicted ones for tasks of their size.
struct Relative {
  double weight = 0, sum = 0;
  double value() const { return weight > 0 ? sum / weight : 1; }
};

/// What identifies a stage in the plan.
struct StageIdentity {
  std::string name;
  std::uint64_t fingerprint = 0;  // differs between versions of the program
  bool reads_shuffle = false;
};

struct StageHistory {
  StageIdentity is;
  std::uint64_t runs = 0;
  std::int64_t learned = 0;          // time of the last sample, seconds since 1970
  std::vector<SizeClass> classes{};  // by size
  std::map<std::string, Relative> kinds{};
  Relative local{}, remote{};
  double error = 0, error_weight = 0;  // of the runs before the latest: |predicted - true| / true of the mean duration
  double predicted = 0, truth = 0;     // seconds of those tasks of the latest run for which there was a prediction
  JobId run{};                         // the latest; of this master only

  /// The number of tasks, by their weights.
  double tasks() const;
  /// Includes the run that goes on.
  double mean_error() const;
  /// `predicted`: the prediction for a task of this size when the stage was planned.
  void add(JobId job, const TaskSample& task, std::optional<Duration> predicted);
  /// For tasks that read `bytes` in the mean. Nothing while there are no samples.
  std::optional<schedulers::StageProfile> profile(double bytes) const;
  /// The predicted output of a task that reads `bytes`.
  double written(double bytes) const;
  /// Of durations; nothing while there are none.
  std::optional<Duration> quantile(double part) const;

 private:
  void begin_run(JobId job);
  SizeClass& class_of(double bytes);
  static double says(const SizeClass& one, double bytes);
  const SizeClass* nearest(double bytes) const;
};

}  // namespace weft::profiles
