#include "benchmarks/shuffle/shaped_runs.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/file.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "benchmarks/measure.hpp"
#include "benchmarks/shuffle/comparison.hpp"
#include "benchmarks/shuffle/group_by_records.hpp"
#include "benchmarks/shuffle/shaped_cluster.hpp"
#include "benchmarks/shuffle/timeline_page.hpp"

namespace weft::bench {
namespace {

using Words = std::vector<std::string>;
constexpr std::uint64_t kValueBytes = 4096;
// A node of the published runs made this many bytes a second where nothing held it up: 200 GB in four sizes on 50 nodes in 146.9 s.
// Two processors shared by all nodes cannot be slow in the same proportion to the network, so maps pause.
constexpr std::uint64_t kNodeBytesPerSecond = 27'200'000;
// Of a hundred records those that the second shuffle moves, as in the published sort.
constexpr std::uint32_t kStrays = 7;
const Words kModes{"pull", "memory"};

double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1u << 20); }

/// What jobs gave, by mode; a job at a time.
using ByMode = std::map<std::string, std::vector<JobRun>>;

class Comparing {
 public:
  explicit Comparing(const ShapedSetting& setting) : setting_(setting) {}

  bool run() {
    shaped();
    loopback();
    return !missed_;
  }

 private:
  // ---- jobs -------------------------------------------------------------------------------------------------------

  std::string tasks() const { return std::to_string(setting_.maps()); }

  Words group_by(const std::string& program, std::uint64_t bytes, std::uint64_t rate = 0) const {
    return {"group_by",  program, "--bytes", std::to_string(bytes), "--value-bytes", std::to_string(kValueBytes), "--maps", tasks(),
            "--reduces", tasks(), "--rate",  std::to_string(rate)};
  }
  /// Made and digested by one thread, without weft.
  static std::string expected(std::uint64_t bytes, std::uint32_t strays = 0) {
    const std::uint64_t records = bytes / kValueBytes;
    Digest digest;
    std::unordered_set<std::uint64_t> keys;
    for (std::uint64_t index = 0; index < records; ++index) {
      const Record record = make_record(index, records, kValueBytes);
      const std::uint64_t key = second_key(record.first, strays);
      digest.add(key, record.second);
      if (keys.insert(key).second) ++digest.groups;
    }
    return to_string(digest) + "\n";
  }

  /// Runs the job in both modes, `rounds` times, and checks every output.
  ByMode alternate(ShapedCluster& cluster, int rounds, const Words& words, const std::string& output,
                   const std::function<void()>& after = {}) {
    const std::size_t before = cluster.runs().size();
    Words order;
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < kModes.size(); ++i) {
        const std::string& mode = order.emplace_back(kModes[(i + static_cast<std::size_t>(round)) % kModes.size()]);
        FinishedJob job = cluster.run(words, mode);
        if (job.output != output)
          need<void>(fail(Code::corrupt, fmt::format("{} in mode {} gave {}, not {}", words.front(), mode, job.output, output)));
        if (after) after();
        samples_[mode] = std::move(job.samples);
      }
    }
    const std::vector<JobRun> runs = cluster.runs();
    if (runs.size() != before + order.size()) need<void>(fail(Code::corrupt, "the event log has other jobs than those that ran"));
    ByMode result;
    for (std::size_t i = 0; i < order.size(); ++i) result[order[i]].push_back(runs[before + i]);
    return result;
  }

  // ---- what is compared -------------------------------------------------------------------------------------------

  void row(const ByMode& runs, std::string what, const std::function<double(const JobRun&)>& figure,
           std::optional<double> most = std::nullopt, std::string bound = {}, const char* unit = "s") {
    Row row{std::move(what), {}, {}, unit, most, std::move(bound)};
    for (const JobRun& run : runs.at("pull")) row.pull.push_back(figure(run));
    for (const JobRun& run : runs.at("memory")) row.memory.push_back(figure(run));
    missed_ = missed_ || !kept(row);
    std::printf("%s\n", text_of(row).c_str());
    std::fflush(stdout);
  }

  static const ShuffleRun& first(const JobRun& run) { return run.shuffles.front(); }
  /// Of a sort those before it move samples.
  static const ShuffleRun& largest(const JobRun& run) {
    return *std::max_element(run.shuffles.begin(), run.shuffles.end(),
                             [](const ShuffleRun& a, const ShuffleRun& b) { return a.bytes < b.bytes; });
  }
  static const ShuffleRun& last(const JobRun& run) { return run.shuffles.back(); }

  void stages(const ByMode& runs, const std::string& what, bool judged) {
    using Limit = std::optional<double>;
    row(
        runs, what + ": map stage", [](const JobRun& run) { return first(run).map_seconds; }, judged ? Limit(-0.05) : Limit(),
        "-5 % to -20 %");
    row(
        runs, "  reduce stage", [](const JobRun& run) { return first(run).reduce_seconds; }, judged ? Limit(-0.65) : Limit(),
        "-65 % to -90 %");
    row(runs, "  shuffle write of the median map", [](const JobRun& run) { return first(run).write_seconds; });
    row(runs, "  shuffle read of the median reduce", [](const JobRun& run) { return first(run).read_seconds; });
    row(
        runs, "  both together", [](const JobRun& run) { return first(run).write_seconds + first(run).read_seconds; },
        judged ? Limit(-0.8) : Limit(), "-80 % to -95 %");
  }

  void shaped() {
    const test::ShapedNetwork network(setting_.name, setting_.nodes, setting_.megabits);
    fmt::print("shuffle modes, {}, median of {} runs in each mode\n{}\n", cluster_facts(), setting_.rounds, headline());
    first_shuffles(network);
    second_shuffle(network);
  }

  std::string cluster_facts() const {
    const SlowDisk& disk = setting_.disk;
    return fmt::format("{} nodes of {} slots, {} Mbit/s each way, {}", setting_.nodes, setting_.slots, setting_.megabits,
                       disk.bytes_per_second == 0
                           ? "the disk as it is"
                           : fmt::format("disks of {:.1f} MB/s behind {} of page cache",
                                         static_cast<double>(disk.bytes_per_second) / 1e6, human_bytes(disk.page_cache)));
  }

  void first_shuffles(const test::ShapedNetwork& network) {
    ShapedCluster cluster(cluster_setting("shaped", &network));
    (void)cluster.run(group_by("once", 4u << 20), "memory");  // brings the program to the workers
    group_by_test(cluster);
    terasort(cluster);
  }

  void group_by_test(ShapedCluster& cluster) {
    const std::string output = expected(setting_.bytes);
    const std::uint64_t rate = kNodeBytesPerSecond / static_cast<std::uint64_t>(setting_.slots);
    const ByMode paced = alternate(cluster, setting_.rounds, group_by("once", setting_.bytes, rate), output);
    const std::string size = human_bytes(setting_.bytes);
    stages(paced, "GroupByTest " + size, true);
    if (!setting_.html.empty()) write_timelines(paced);
    const ByMode fast = alternate(cluster, setting_.rounds, group_by("once", setting_.bytes), output);
    stages(fast, "Maps without pauses", false);
  }

  void write_timelines(const ByMode& runs) {
    std::vector<Timeline> timelines;
    for (const std::string& mode : kModes) timelines.push_back({mode, runs.at(mode).back(), samples_.at(mode)});
    const std::vector<std::pair<std::string, std::string>> facts{
        {"Job", "GroupByTest, " + human_bytes(setting_.bytes) + ", the last run in each mode"},
        {"Cluster", cluster_facts()},
        {"Sampled",
         "ten times a second: the processes of each worker in /proc, its network link; disk: what goes into the page "
         "cache to be written"}};
    need(write_file(setting_.html, timeline_page("Shuffle modes over time", facts, timelines)));
  }

  void terasort(ShapedCluster& cluster) {
    const std::string input = setting_.data + "/unsorted", output = setting_.data + "/sorted";
    const std::uint64_t records = setting_.bytes / 2 / 100;
    const auto made = test::run({setting_.programs + "/tera_records", std::to_string(records), input}, {});
    if (made.exit_code != 0) need<void>(fail(Code::unavailable, "tera_records: " + made.err));
    const std::string expected = checksum(input);
    const auto check = [&] {
      const auto valid = test::run({setting_.programs + "/terasort", "validate", "--quiet", "--input", output}, {});
      if (valid.exit_code != 0 || valid.out.find(expected) == std::string::npos)
        need<void>(fail(Code::corrupt, "the sorted records are not the unsorted ones: " + valid.out + valid.err));
      std::filesystem::remove_all(output);
    };
    const std::string rate = std::to_string(kNodeBytesPerSecond / static_cast<std::uint64_t>(setting_.slots));
    const Words sort{"sort", "--input", input, "--output", output, "--partitions", tasks()};
    const auto compare = [&](Words words, const std::string& what, std::optional<double> most) {
      words.insert(words.end(), sort.begin(), sort.end());
      const bool paced = words.front() == "group_by";
      if (paced) words.insert(words.end(), {"--rate", rate});
      const ByMode runs = alternate(cluster, setting_.rounds, words, "", check);
      row(runs, what + ": map stage", [](const JobRun& run) { return largest(run).map_seconds; });
      row(
          runs, "  reduce stage", [](const JobRun& run) { return largest(run).reduce_seconds; }, most, "at most -33.3 %");
      row(runs, "  its samples before that", [](const JobRun& run) { return first(run).map_seconds + first(run).reduce_seconds; });
    };
    compare({"group_by"}, "TeraSort " + human_bytes(records * 100), 1 / 1.5 - 1);
    compare({"terasort"}, "Maps without pauses", std::nullopt);
    std::filesystem::remove(input);
  }

  /// As terasort validate prints it.
  static std::string checksum(const std::string& file) {
    const std::string bytes = need(read_file(file, std::uint64_t{1} << 30));
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at + 100 <= bytes.size(); at += 100) sum += hash64(std::string_view(bytes).substr(at, 100));
    return fmt::format("checksum {:016x}\n", sum);
  }

  /// Of a sort after a partition by range: nearly all that a reduce reads was written on one node.
  void second_shuffle(const test::ShapedNetwork& network) {
    ClusterSetting setting = cluster_setting("second", &network);
    setting.scheduler = "delay(inner=fifo, node_wait=3s, rack_wait=0s)";  // as long as the published runs waited
    ShapedCluster cluster(setting);
    (void)cluster.run(group_by("once", 4u << 20), "memory");
    const std::uint64_t bytes = setting_.bytes / 2;
    Words words = group_by("twice", bytes);
    words.insert(words.end(), {"--strays", std::to_string(kStrays)});
    const ByMode runs = alternate(cluster, setting_.rounds, words, expected(bytes, kStrays));
    row(runs, "Second shuffle " + human_bytes(bytes) + ": reduce stage",
        [](const JobRun& run) { return last(run).reduce_seconds; });
    row(
        runs, "  bytes over the network", [](const JobRun& run) { return mib(last(run).moved); }, std::nullopt, {}, "MiB");
    Row locality{"  the same, perfect locality against memory", {}, {}, "MiB", 0.05, "at most +5 %"};
    for (const JobRun& run : runs.at("memory")) {
      locality.pull.push_back(mib(last(run).least_moved));
      locality.memory.push_back(mib(last(run).moved));
    }
    missed_ = missed_ || !kept(locality);
    std::printf("%s\n", text_of(locality).c_str());
  }

  void loopback() {
    ShapedCluster cluster(cluster_setting("loopback", nullptr));
    (void)cluster.run(group_by("once", 4u << 20), "memory");
    std::printf("unshaped, on loopback; whole jobs\n");
    const auto whole = [](const JobRun& run) { return static_cast<double>(run.ended_ns - run.began_ns) / 1e9; };
    for (const std::uint64_t bytes : {std::uint64_t{1} << 20, setting_.bytes / 8, setting_.bytes}) {
      const int rounds = bytes < setting_.bytes ? 2 * setting_.rounds + 1 : setting_.rounds;
      row(alternate(cluster, rounds, group_by("once", bytes), expected(bytes)), "GroupByTest " + human_bytes(bytes), whole, 0.05,
          "at most +5 %");
    }
  }

  ClusterSetting cluster_setting(const std::string& name, const test::ShapedNetwork* network) const {
    return {.programs = setting_.programs,
            .directory = setting_.spills + "/" + name,
            .nodes = setting_.nodes,
            .slots = setting_.slots,
            .network = network,
            .disk = network != nullptr ? setting_.disk : SlowDisk{}};
  }

  const ShapedSetting& setting_;
  std::map<std::string, std::vector<std::vector<NodeSample>>> samples_;  // of the last run in each mode
  bool missed_ = false;
};

}  // namespace

bool run_shaped(const ShapedSetting& setting) { return Comparing(setting).run(); }

}  // namespace weft::bench
