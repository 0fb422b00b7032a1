// The text of metrics is OpenMetrics: read by a parser that follows the specification, not the writer.
#include "engine/tools/web/metrics.hpp"

#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "engine/tools/web/worker_metrics.hpp"

namespace weft::web {
namespace {

struct Family {
  std::string type, unit, help;
  std::map<std::string, double> samples;  // by name and labels, as written
};

/// Families by name, or what is wrong with the text (https://github.com/OpenObservability/OpenMetrics).
struct Parsed {
  std::map<std::string, Family> families;
  std::string wrong;
};

bool is_name(const std::string& text) {
  return !text.empty() &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:") == std::string::npos &&
         (std::isdigit(static_cast<unsigned char>(text[0])) == 0);
}

/// The end of a set of labels that begins at `at` with {; nothing when it is not well-formed.
std::optional<std::size_t> end_of_labels(const std::string& line, std::size_t at) {
  std::set<std::string> names;
  for (++at;; ++at) {
    const std::size_t equals = line.find('=', at);
    if (equals == std::string::npos || !is_name(line.substr(at, equals - at))) return std::nullopt;
    if (!names.insert(line.substr(at, equals - at)).second || line[equals + 1] != '"') return std::nullopt;
    for (at = equals + 2; at < line.size() && line[at] != '"'; ++at)
      if (line[at] == '\\' && std::string("\\\"n").find(line[++at]) == std::string::npos) return std::nullopt;
    if (++at >= line.size()) return std::nullopt;
    if (line[at] == '}') return at + 1;
    if (line[at] != ',') return std::nullopt;
  }
}

Parsed parse(const std::string& text) {
  Parsed parsed;
  std::istringstream lines(text);
  std::string current;
  bool ended = false;
  for (std::string line; std::getline(lines, line);) {
    parsed.wrong = line;  // until the line is understood
    if (ended) return parsed;
    if (line == "# EOF") {
      ended = true;
    } else if (line.starts_with("# ")) {
      const std::size_t name_end = line.find(' ', 7);
      const std::string what = line.substr(2, 4), name = line.substr(7, name_end - 7), value = line.substr(name_end + 1);
      if (what == "TYPE") {
        if (!is_name(name) || parsed.families.contains(name) || (value != "gauge" && value != "counter")) return parsed;
        parsed.families[current = name].type = value;
      } else if (name != current) {
        return parsed;
      } else if (what == "UNIT") {
        if (!name.ends_with("_" + value)) return parsed;
        parsed.families[name].unit = value;
      } else if (what != "HELP" || value.empty()) {
        return parsed;
      }
    } else {
      const std::size_t brace = line.find_first_of("{ ");
      const std::string name = line.substr(0, brace);
      const std::optional<std::size_t> end = line[brace] == '{' ? end_of_labels(line, brace) : brace;
      if (current.empty() || !end || line[*end] != ' ') return parsed;
      Family& family = parsed.families[current];
      if (name != current + (family.type == "counter" ? "_total" : "")) return parsed;
      char* rest = nullptr;
      const double value = std::strtod(line.c_str() + *end + 1, &rest);
      if (*rest != '\0' || (family.type == "counter" && value < 0)) return parsed;
      if (!family.samples.emplace(line.substr(0, *end), value).second) return parsed;
    }
    parsed.wrong.clear();
  }
  if (!ended) parsed.wrong = "there is no # EOF";
  return parsed;
}

ClusterReadings two_workers() {
  ClusterReadings state;
  for (std::uint32_t i = 1; i <= 2; ++i) {
    client::NodeStatus& node = state.nodes.emplace_back();
    node.id = NodeId(i);
    node.name = i == 1 ? "w\"1\\\n" : "w2";
    node.rack = "r1";
    node.capacity.cpu = 4;
    node.running = i;
    node.prefetch.prefetched_bytes = 1000 * i;
  }
  state.nodes[1].excluded = true;
  state.nodes[1].standing.nominal.accelerator = 4;
  state.nodes[1].capacity.accelerator = 3;
  state.nodes[1].used.accelerator = 2;
  state.masters = {
      "c", 3, {{"a", "h:1", client::MasterStatus::State::leads, 0, {}}, {"b", "h:2", client::MasterStatus::State::in_sync, 0, {}}}};
  state.jobs.now = std::chrono::seconds(100);
  state.jobs.jobs.resize(3);
  state.jobs.jobs[0].deadline = std::chrono::seconds(50);
  state.jobs.jobs[2].state = master::JobState::failed;
  client::GroupInfo pool;
  pool.status.name = "nightly";
  pool.pending = 7;
  state.groups.push_back(pool);
  pool.status.name = "ni\xffght";  // what is no UTF-8 makes the whole page unreadable for Prometheus
  state.groups.push_back(pool);
  state.scheduler.trouble.refused = 3;
  return state;
}

TEST(MetricsText, IsWhatTheSpecificationSays) {
  Metrics metrics;
  add_process(metrics);
  add_cluster(metrics, two_workers());
  const Parsed parsed = parse(metrics.text());
  EXPECT_EQ(parsed.wrong, "");
  const auto value = [&](const std::string& family, const std::string& sample) {
    const auto found = parsed.families.find(family);
    if (found == parsed.families.end() || !found->second.samples.contains(sample)) return -1.0;
    return found->second.samples.at(sample);
  };
  EXPECT_EQ(value("weft_masters", "weft_masters{state=\"leads\"}"), 1);
  EXPECT_EQ(value("weft_masters", "weft_masters{state=\"in sync\"}"), 1);
  EXPECT_EQ(value("weft_masters", "weft_masters{state=\"copies\"}"), 0);
  EXPECT_EQ(value("weft_master_epoch", "weft_master_epoch"), 3);
  EXPECT_EQ(value("weft_workers", "weft_workers{state=\"ready\"}"), 1);
  EXPECT_EQ(value("weft_workers", "weft_workers{state=\"excluded\"}"), 1);
  EXPECT_EQ(value("weft_workers", "weft_workers{state=\"dead\"}"), 0);
  EXPECT_EQ(value("weft_slots", "weft_slots"), 8);
  EXPECT_EQ(value("weft_running_tasks", "weft_running_tasks"), 3);
  EXPECT_EQ(value("weft_jobs", "weft_jobs{state=\"running\"}"), 2);
  EXPECT_EQ(value("weft_late_jobs", "weft_late_jobs"), 1);
  EXPECT_EQ(value("weft_worker_prefetched_bytes", "weft_worker_prefetched_bytes_total{worker=\"w2\",rack=\"r1\",node=\"2\"}"),
            2000);
  const std::string second = "{worker=\"w2\",rack=\"r1\",node=\"2\"}";
  EXPECT_EQ(value("weft_worker_devices", "weft_worker_devices" + second), 4);
  EXPECT_EQ(value("weft_worker_devices_held", "weft_worker_devices_held" + second), 2);
  EXPECT_EQ(value("weft_worker_devices_excluded", "weft_worker_devices_excluded" + second), 1);
  EXPECT_EQ(value("weft_worker_slots", "weft_worker_slots{worker=\"w\\\"1\\\\\\n\",rack=\"r1\",node=\"1\"}"), 4);
  EXPECT_EQ(value("weft_pool_waiting_tasks", "weft_pool_waiting_tasks{pool=\"nightly\"}"), 7);
  EXPECT_EQ(value("weft_pool_waiting_tasks", "weft_pool_waiting_tasks{pool=\"ni\uFFFDght\"}"), 7);
  EXPECT_EQ(value("weft_scheduler_refused_decisions", "weft_scheduler_refused_decisions_total"), 3);
  EXPECT_GT(value("process_resident_memory_bytes", "process_resident_memory_bytes"), 0);
  EXPECT_FALSE(parsed.families.contains("weft_files"));
}

TEST(MetricsText, OfAWorkerToo) {
  runtime::protocol::Heartbeat heartbeat;
  heartbeat.measured.worker.cpu = 1.5;
  heartbeat.prefetch.wasted_bytes = 7;
  Metrics metrics;
  add_process(metrics);
  add_worker(metrics, heartbeat);
  const Parsed parsed = parse(metrics.text());
  EXPECT_EQ(parsed.wrong, "");
  EXPECT_EQ(parsed.families.at("weft_self_cpus").samples.at("weft_self_cpus"), 1.5);
  EXPECT_EQ(parsed.families.at("weft_self_prefetch_wasted_bytes").samples.at("weft_self_prefetch_wasted_bytes_total"), 7);
}

TEST(MetricsText, SlotsAreOfWorkersThatAreThere) {
  ClusterReadings state = two_workers();
  for (const bool dead : {true, false}) {
    client::NodeStatus& gone = state.nodes.emplace_back(state.nodes[0]);
    (dead ? gone.dead : gone.lost) = true;
  }
  Metrics metrics;
  add_cluster(metrics, state);
  const Parsed parsed = parse(metrics.text());
  EXPECT_EQ(parsed.families.at("weft_slots").samples.at("weft_slots"), 8);
  EXPECT_EQ(parsed.families.at("weft_running_tasks").samples.at("weft_running_tasks"), 3);
  EXPECT_EQ(parsed.families.at("weft_workers").samples.at("weft_workers{state=\"lost\"}"), 1);
}

TEST(MetricsText, DoesNotGrowWithoutBound) {
  ClusterReadings state = two_workers();
  state.nodes.resize(10'000, state.nodes[1]);
  Metrics metrics;
  add_cluster(metrics, state);
  const Parsed parsed = parse(metrics.text());
  EXPECT_EQ(parsed.wrong, "");
  EXPECT_FALSE(parsed.families.contains("weft_worker_slots"));
  EXPECT_EQ(parsed.families.at("weft_slots").samples.at("weft_slots"), 40'000);
}

TEST(MetricsText, TheParserOfThisTestRefusesWhatIsWrong) {
  for (const char* text :
       {"a 1\n# EOF\n", "# TYPE a gauge\na 1\n", "# TYPE a gauge\na 1\na 2\n# EOF\n", "# TYPE a counter\na 1\n# EOF\n",
        "# TYPE a gauge\n# UNIT a bytes\na 1\n# EOF\n", "# TYPE a gauge\na{b=\"\\x\"} 1\n# EOF\n",
        "# TYPE a gauge\na{b=\"1\",b=\"2\"} 1\n# EOF\n", "# TYPE a gauge\na one\n# EOF\n"})
    EXPECT_NE(parse(text).wrong, "") << text;
}

}  // namespace
}  // namespace weft::web
