// ShuffleWatcher where the paper does not say what was there: how large inputs are (the calibration), how many jobs users have at a
// time, and where inputs lie; and the paper's two examples.
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/papers/page.hpp"
#include "benchmarks/papers/shufflewatcher_rows.hpp"
#include "schedulers/parts/reduce_racks.hpp"

namespace weft::papers {
namespace {

// ---- SW-C: the calibration ---------------------------------------------------------------------------------------------

// The paper has as many arrivals under all schedulers and gets 46 % more throughput than delay. What does not arrive cannot end, so
// under delay no more than 1 / 1.46 of the jobs that arrived can have ended. The smallest sizes of which that holds are taken.
constexpr double kMostUnderDelay = 1 / 1.46;

Findings calibration(const Context& context, MixRuns& runs) {
  Findings all;
  for (const double scale : {0.4, 0.5, 0.6, 0.7, 0.8, 1.0}) {
    MixSetting setting = usual(context);
    setting.scale = scale;
    const auto found = context.over_seeds([&](std::uint64_t seed) {
      const MixRun run = runs.get(setting, kDelay, seed);
      return std::vector<double>{run.jobs_per_hour * in_seconds(setting.gap) / 3600, run.uplinks_used, run.jobs_of_user};
    });
    const auto row = [&](const char* what, const char* published, std::size_t at, Unit unit, Band band) {
      all.figures.push_back({fmt::format("input_scale {}: {}", scale, what), published, found[at], unit, band});
    };
    row("jobs that end under delay, of those that arrive", "at most 68 %", 0, Unit::percent, at_most(kMostUnderDelay));
    row("uplinks in use", "", 1, Unit::percent, {});
    row("jobs of a user at a time", "", 2, Unit::number, {});
  }
  return all;
}

// ---- SW-L: how many jobs users have at a time --------------------------------------------------------------------------

Findings by_load(const Context& context, MixRuns& runs) {
  Findings all;
  for (const double scale : {0.4, 0.6, 0.8, 1.0}) {
    MixSetting setting = usual(context);
    setting.scale = scale;
    const auto found = context.over_seeds([&](std::uint64_t seed) {
      const MixRun fair = runs.get(setting, kFair, seed), delay = runs.get(setting, kDelay, seed);
      const MixRun strict = runs.get(setting, kWatcher, seed), relaxed = runs.get(setting, kRelaxed, seed);
      return std::vector<double>{fair.jobs_of_user,
                                 more(strict.jobs_per_hour, fair.jobs_per_hour),
                                 more(strict.turn_around, fair.turn_around),
                                 more(strict.cross_per_task(), fair.cross_per_task()),
                                 more(relaxed.jobs_per_hour, delay.jobs_per_hour),
                                 more(relaxed.turn_around, delay.turn_around),
                                 more(relaxed.cross_per_task(), delay.cross_per_task())};
    });
    constexpr std::array kWhat{"jobs of a user at a time, fair",
                               "throughput, against fair",
                               "turn-around, against fair",
                               "traffic between racks, against fair",
                               "throughput, relaxed against delay",
                               "turn-around, relaxed against delay",
                               "traffic between racks, relaxed against delay"};
    for (std::size_t i = 0; i < kWhat.size(); ++i)
      all.figures.push_back(
          {fmt::format("input_scale {}: {}", scale, kWhat[i]), "", found[i], i == 0 ? Unit::number : Unit::change, {}});
  }
  return all;
}

// ---- SW-U: the same jobs of fewer users --------------------------------------------------------------------------------

constexpr std::uint32_t kFewUsers = 5;
const char* const kFewReason =
    "not proven; a user's jobs go in the order of their submission, so that under fair five large jobs can hold back all others, "
    "which "
    "ShuffleWatcher passes by when they would cross";

Findings with_few_users(const Context& context, MixRuns& runs) {
  MixSetting setting = usual(context);
  setting.users = kFewUsers;
  const auto there =
      context.over_seeds([&](std::uint64_t seed) { return std::vector<double>{runs.get(setting, kDelay, seed).jobs_of_user}; });
  const auto strict = gains(context, runs, setting, kWatcher, kFair), relaxed = gains(context, runs, setting, kRelaxed, kDelay);
  return {{{"jobs of a user at a time, delay", "", there[0], Unit::number, {}},
           {"throughput, against fair", "+39 %", strict[0], Unit::change, {0.25, 0.5}},
           {"turn-around, against fair", "−27 %", strict[1], Unit::change, {-0.35, -0.18}},
           {"traffic between racks, against fair", "−36 %", strict[2], Unit::change, {-0.45, -0.28}},
           {"throughput, relaxed against delay", "+46 %", relaxed[0], Unit::change, {0.32, 0.6}},
           {"turn-around, relaxed against delay", "−32 %", relaxed[1], Unit::change, {-0.42, -0.22}},
           {"traffic between racks, relaxed against delay", "−48 %", relaxed[2], Unit::change, {-0.56, -0.38}}}};
}

// ---- SW-D: where inputs lie --------------------------------------------------------------------------------------------

Findings by_concentration(const Context& context, MixRuns& runs) {
  Findings all;
  Curve traffic{"traffic between racks", {}, false}, throughput{"throughput", {}, false}, turn_around{"turn-around", {}, false};
  for (const double part : {0.3, 0.5, 0.7, 0.9, 0.95, 1.0}) {
    MixSetting setting = usual(context);
    setting.concentration = part;
    const auto found = gains(context, runs, setting, kWatcher, kFair);
    const auto row = [&](const char* what, Curve& curve, const char* published, std::size_t at) {
      all.figures.push_back({fmt::format("{}, {:.0f} % at home", what, 100 * part), published, found[at], Unit::change, {}});
      curve.points.push_back({part, 100 * found[at].mean});
    };
    row("traffic between racks", traffic, "−36 %", 2);
    row("throughput", throughput, "+39 %", 0);
    row("turn-around", turn_around, "−27 %", 1);
  }
  all.charts.push_back(line_chart("shufflewatcher-placement.svg", "Against fair, by where inputs lie",
                                  "part of a job's blocks with a replica in its home rack", "change, percent",
                                  {traffic, throughput, turn_around}));
  return all;
}

// ---- SW-17, SW-18: the examples ----------------------------------------------------------------------------------------

/// Of 100 GB on two racks, what reduces in these numbers fetch from the other one.
double crossing(const std::vector<double>& held, const std::vector<std::uint32_t>& reduces) {
  const double all = reduces[0] + reduces[1];
  return 100 * (held[0] * reduces[1] + held[1] * reduces[0]) / all;
}

Findings ninety_and_ten(const Context&) {
  const std::vector<double> held{0.9, 0.1};
  const double even = crossing(held, {50, 50}), sarp = crossing(held, schedulers::largest_remainders(100, held));
  return {{{"GB that cross, reduces evenly on both racks", "50", single(even), Unit::number, exactly(50)},
           {"GB that cross, SARP", "18", single(sarp), Unit::number, exactly(18)},
           {"less", "−64 %", single(more(sarp, even)), Unit::change, exactly(-0.64)}}};
}

/// Two jobs whose blocks all lie in both racks, one after the other.
RunResult two_jobs(const std::string& scheduler) {
  Workload workload;
  for (int i = 0; i < 2; ++i) {
    StageSpec maps = stage(4, seconds(10));
    maps.input_bytes = maps.shuffle_bytes = 4ull << 26;
    for (std::uint32_t task = 0; task < 4; ++task)
      maps.hosts.push_back({fmt::format("node-{}", task), fmt::format("node-{}", 4 + task)});
    JobSpec spec = job(milliseconds(i), {maps, stage(4, seconds(10), {0})}, "user");
    spec.hints.shuffle_ratio = 1;
    workload.jobs.push_back(spec);
  }
  ClusterModel model = cluster(8, 1, 2);
  model.step = seconds(1);
  model.network.flows = true;
  model.network.nic = 31.25e6;
  model.network.uplink = 25e6;
  return run(workload, model, scheduler);
}

Findings two_racks(const Context&) {
  const auto crossed = [](const RunResult& result, simulator::TrafficKind kind) {
    return result.traffic[static_cast<std::size_t>(kind)].cross_rack / 1e6;
  };
  const RunResult watcher = two_jobs("shufflewatcher(mode=paper)");
  return {{{"MB of shuffle that cross", "0", single(crossed(watcher, simulator::TrafficKind::shuffle)), Unit::number, exactly(0)},
           {"MB of input that cross", "0", single(crossed(watcher, simulator::TrafficKind::map_read)), Unit::number, exactly(0)}}};
}

}  // namespace

std::vector<Experiment> shufflewatcher_sweeps(const std::shared_ptr<MixRuns>& runs) {
  return {on_hundred_nodes(runs, "SW-U", "The same jobs of five users, who have many at a time (SW-4, SW-5)", with_few_users,
                           kFewReason),
          long_experiment(runs, "SW-C", "The one factor of all sizes", calibration, "too few jobs are left over"),
          long_experiment(runs, "SW-L", "How much depends on how many jobs users have", by_load, ""),
          long_experiment(runs, "SW-D", "How much depends on where inputs lie", by_concentration, "")};
}

std::vector<Experiment> shufflewatcher_examples() {
  const char* const paper = "Ahmad et al., ShuffleWatcher, USENIX ATC 2014";
  return {{"SW-17", "The example of SARP: 100 GB, nine tenths of it in one of two racks", paper, "100 reduces on two racks", "",
           ninety_and_ten},
          {"SW-18", "The example of SAMP: two jobs, both on the same two racks", paper,
           "2 racks of 4 nodes with a slot each; each job has four maps, of blocks that lie in both racks, and four reduces", "",
           two_racks}};
}

}  // namespace weft::papers
