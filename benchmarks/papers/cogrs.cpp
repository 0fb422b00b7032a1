// Placing reduces by their centre of gravity: Hammoud, Rehman, Sakr, CLOUD 2012.
#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/random.hpp"
#include "benchmarks/papers/experiment.hpp"
#include "benchmarks/papers/runs.hpp"
#include "schedulers/parts/gravity.hpp"
#include "schedulers/view/state.hpp"

namespace weft::papers {
namespace {

const char* const kCogrsPaper = "Hammoud et al., Center-of-Gravity Reduce Task Scheduling, CLOUD 2012";

// ---- CG-1 to CG-3 -----------------------------------------------------------------------------------------------------

/// Nodes from 1 on, so many of them in each rack.
schedulers::ClusterState racks_of(const std::vector<std::uint32_t>& sizes) {
  schedulers::ClusterState state;
  std::uint32_t id = 0;
  for (std::size_t rack = 0; rack < sizes.size(); ++rack) {
    for (std::uint32_t i = 0; i < sizes[rack]; ++i) {
      schedulers::NodeInfo info;
      info.id = NodeId(++id);
      info.capacity.cpu = 1;
      state.add_node(std::move(info), fmt::format("h{}", id), fmt::format("r{}", rack), {});
    }
  }
  return state;
}

/// Of reduces that one map on each of the nodes feeds equally.
Findings distances(const schedulers::ClusterState& state, const std::vector<std::uint32_t>& feeding,
                   const std::vector<std::tuple<std::string, std::uint32_t, double>>& expected) {
  schedulers::Gravity gravity;
  for (const std::uint32_t node : feeding) gravity.add(state, NodeId(node), 1);
  Findings found;
  for (const auto& [name, node, distance] : expected) {
    found.figures.push_back(
        {name, fmt::format("{:.0f}", distance), single(gravity.wtnd(state, NodeId(node))), Unit::number, exactly(distance)});
  }
  return found;
}

Findings fourteen_nodes(const Context&) {
  // The five distances leave no other place for the eleven maps: five in the first rack, six in the second.
  return distances(racks_of({7, 7}), {1, 2, 4, 5, 6, 8, 9, 10, 11, 13, 14},
                   {{"R0 on node 13", 13, 30},
                    {"R1 on node 12", 12, 32},
                    {"R2 on node 3", 3, 34},
                    {"R1 moved to node 11", 11, 30},
                    {"R2 moved to node 8", 8, 30}});
}

Findings six_nodes(const Context&) {
  return distances(racks_of({3, 3}), {1, 2}, {{"on TT4", 4, 8}, {"on TT1", 1, 2}, {"on TT2", 2, 2}});
}

Findings closed_form(const Context&) {
  double worst = 0, beaten = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Random random(seed);
    std::vector<std::uint32_t> sizes(1 + random.below(4));
    std::uint32_t nodes = 0;
    for (std::uint32_t& size : sizes) nodes += size = 1 + static_cast<std::uint32_t>(random.below(6));
    const schedulers::ClusterState state = racks_of(sizes);
    schedulers::Gravity gravity;
    std::vector<std::pair<NodeId, double>> sources;
    for (std::uint64_t i = 0, count = 1 + random.below(30); i < count; ++i) {
      sources.emplace_back(NodeId(1 + static_cast<std::uint32_t>(random.below(nodes))), 1 + static_cast<double>(random.below(100)));
      gravity.add(state, sources.back().first, sources.back().second);
    }
    double least = 1e300;
    for (std::uint32_t node = 1; node <= nodes; ++node) {
      double sum = 0;
      for (const auto& [source, weight] : sources) sum += weight * state.distance(source, NodeId(node));
      worst = std::max(worst, std::abs(sum - gravity.wtnd(state, NodeId(node))));
      least = std::min(least, sum);
    }
    beaten += gravity.wtnd(state, gravity.nearest().front().node) > least + 1e-6 ? 1 : 0;
  }
  return {{{"closed form less the direct sum, largest of 500 random inputs", "0", single(worst), Unit::number, {-1e-6, 1e-6}},
           {"inputs where a node is nearer than the nearest source", "none", single(beaten), Unit::number, exactly(0)}}};
}

// ---- CG-4 -------------------------------------------------------------------------------------------------------------

const std::string kNative = "fifo(remote_per_heartbeat=1, reduces_per_heartbeat=1)";
const std::string kCogrs = "cogrs(inner=" + kNative + ")";

/// Sorts of 4 to 20 blocks, about one a minute, so that each has the cluster for itself.
Workload sorts(std::uint64_t seed, std::uint32_t most_reduces) {
  Random random(seed, 7);
  Workload workload;
  Time arrival(0);
  for (std::size_t i = 0; i < 60; ++i) {
    arrival += milliseconds(random.between(30'000, 90'000));
    StageSpec maps = stage(4 + static_cast<std::uint32_t>(random.below(17)), milliseconds(random.between(4'000, 12'000)));
    maps.input_bytes = maps.shuffle_bytes = std::uint64_t{maps.tasks} * (64 << 20);
    maps.partition_skew = 0.5;
    const StageSpec reduces = stage(1 + static_cast<std::uint32_t>(random.below(most_reduces)), seconds(3), {0});
    workload.jobs.push_back(job(arrival, {maps, reduces}));
  }
  return workload;
}

struct SortSetting {
  std::string what;
  double slow_start = 1, oversubscription = 5;
  std::uint32_t reduces = 4, replicas = 3;  // reduces: at most, of a job
  double home = 0;                          // of the blocks, in a rack that the job has drawn
  std::string off_rack_reason{}, time_reason{};
};

const std::vector<SortSetting>& sort_settings() {
  static const std::vector<SortSetting> all{
      {"input spread, 1 to 4 reduces",
       1,
       5,
       4,
       3,
       0,
       {},
       "all reduces of a job are drawn to one rack and share its downlink, where the native scheduler uses those of all racks"},
      {"the same, reduces begin after 5 % of the maps", 0.05, 5, 4, 3, 0,
       "by then one map has ended, and its node is taken for the centre",
       "as above, and the little that is saved between racks is no bottleneck at 5:1"},
      {"input of a job in one rack, 1 reduce, 20:1", 1, 20, 1, 1, 0.9, {}, {}}};
  return all;
}

Findings off_rack(const Context& context) {
  Findings found;
  for (const auto& [nodes, racks, published] : {std::tuple(14u, 2u, "−9.6 % (private cluster)"), {20u, 5u, "−38.6 % (EC2)"}}) {
    for (const SortSetting& setting : sort_settings()) {
      const auto measured = context.over_seeds([&, nodes = nodes, racks = racks](std::uint64_t seed) {
        ClusterModel model = hadoop(nodes, racks, 2, setting.oversubscription, seed);
        model.slow_start = setting.slow_start;
        model.storage.concentration = setting.home;
        model.storage.replicas = setting.replicas;
        const Workload workload = sorts(seed, setting.reduces);
        const RunResult before = run(workload, model, kNative), after = run(workload, model, kCogrs);
        const auto off = [](const RunResult& result) { return result.traffic[1].cross_rack; };
        return std::vector<double>{off(after) / off(before) - 1, mean_completion(after) / mean_completion(before) - 1};
      });
      const std::string where = fmt::format("{} racks, {}", racks, setting.what);
      found.figures.push_back(
          {where + ": bytes between racks", published, measured[0], Unit::change, {-0.45, -0.05}, setting.off_rack_reason});
      found.figures.push_back({where + ": time", "up to −23.8 %", measured[1], Unit::change, {-0.3, -0.01}, setting.time_reason});
    }
  }
  return found;
}

// ---- CG-5 -------------------------------------------------------------------------------------------------------------

/// Reduces of a job that came before take the slots, whatever node they are on, for half a second to four.
Findings whoever_asks(const Context&) {
  ClusterModel model = cluster(6, 2, 2);
  model.groups[0].capacity.map_slots = model.groups[0].capacity.reduce_slots = 1;
  model.groups[0].hosts = {"TT1", "TT2", "TT3", "TT4", "TT5", "TT6"};
  Random random(5);
  StageSpec before = stage(1, seconds(1)), others = stage(6'000, Time(0), {0});
  before.shuffle_bytes = 6'000;
  for (std::uint32_t i = 0; i < others.tasks; ++i) others.durations.push_back(milliseconds(random.between(500, 4000)));
  Workload workload = jobs({job(Time(0), {before, others})});
  for (int i = 1; i <= 200; ++i) {
    StageSpec maps = stage(2, seconds(1));
    maps.input_bytes = maps.shuffle_bytes = 2'000'000;
    maps.hosts = {{"TT1"}, {"TT2"}};
    JobSpec one = job(seconds(10 * i), {maps, stage(1, seconds(1), {0})});
    one.options.priority = 1;
    workload.jobs.push_back(one);
  }
  const RunResult result = run(workload, model, "fifo");
  double elsewhere = 0;
  for (std::size_t i = 1; i < result.jobs.size(); ++i) elsewhere += result.jobs[i].traffic[1].cross_rack > 0 ? 1 : 0;
  return {{{"reduces in the rack without sources",
            "on TT1, TT2 or TT4, whichever asks first",
            single(elsewhere / 200),
            Unit::percent,
            {0.4, 0.6}}}};
}

}  // namespace

std::vector<Experiment> cogrs_experiments() {
  return {
      {"CG-1", "Total network distance: fourteen nodes", kCogrsPaper, "two racks of seven nodes; eleven maps feed each reduce", "",
       fourteen_nodes},
      {"CG-2", "Total network distance: two racks of three", kCogrsPaper, "TT1 and TT2, in one rack, feed the reduce", "",
       six_nodes},
      {"CG-3", "The centre of gravity is a source, and its distance has a closed form", kCogrsPaper,
       "500 random clusters of 1 to 4 racks with weighted sources", "", closed_form},
      {"CG-4", "Fewer bytes between racks, and shorter jobs", kCogrsPaper,
       "14 nodes in 2 racks and 20 in 5, 2 map and 2 reduce slots, 1 Gbit/s, uplinks 5:1 unless said; 60 sorts of 4 to 20 blocks, "
       "one after the other; against Hadoop's own scheduler",
       "one seed", off_rack},
      {"CG-5", "The native scheduler gives a reduce to whoever asks first", kCogrsPaper,
       "TT1 to TT3 in one rack, TT4 to TT6 in another, reduce slots that come free at random; 200 jobs with maps on TT1 and TT2 "
       "and "
       "one reduce",
       "", whoever_asks}};
}

}  // namespace weft::papers
