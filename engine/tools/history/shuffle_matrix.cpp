#include "engine/tools/history/shuffle_matrix.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "engine/tools/display/json_members.hpp"

namespace weft::history {

namespace {

constexpr std::size_t kMostNodes = 200;  // in a matrix of nodes

/// A task that finished, with the partitions that it read.
struct FinishedReader {
  std::uint32_t node = 0;
  std::size_t first = 0, count = 1;
};

class Matrix {
 public:
  Matrix(const EventHistory& history, const LoggedJob& job, bool by_rack) : history_(history), job_(job) {
    std::set<std::uint32_t> nodes;
    for (const auto& [stage, outputs] : job.outputs)
      for (const auto& [node, sizes] : outputs) nodes.insert(node);
    for (const LoggedAttempt& attempt : job.attempts)
      if (attempt.fate == Fate::finished) nodes.insert(attempt.node);
    made_.by_rack = by_rack || nodes.size() > kMostNodes;
    std::map<std::string, std::size_t> places;
    for (const std::uint32_t node : nodes) {
      const auto [place, first] = places.try_emplace(name_of_place(node), places.size());
      if (first) made_.names.push_back(place->first);
      place_[node] = place->second;
    }
    made_.bytes.assign(made_.names.size(), std::vector<std::uint64_t>(made_.names.size()));
  }

  ShuffleMatrix make() {
    for (const master::LoggedStage& stage : job_.stages)
      if (!stage.inputs.empty()) add_stage(stage);
    return std::move(made_);
  }

 private:
  std::string name_of_place(std::uint32_t node) const {
    const LoggedWorker* worker = history_.worker(node);
    if (!made_.by_rack) return history_.worker_name(node);
    return worker == nullptr ? "unknown" : worker->rack;
  }

  /// Empty when the partitions that a task read are not known: some were split, or tasks are missing between those that were
  /// launched.
  std::vector<FinishedReader> readers_of(std::uint32_t stage, std::size_t partitions) const {
    std::map<std::uint32_t, const LoggedAttempt*> tasks;
    for (const LoggedAttempt& attempt : job_.attempts) {
      if (attempt.stage != stage) continue;
      const LoggedAttempt*& task = tasks[attempt.task];
      if (task == nullptr || attempt.fate == Fate::finished) task = &attempt;
    }
    const bool merged = std::any_of(tasks.begin(), tasks.end(), [](const auto& task) { return task.second->partitions > 1; });
    if (merged && tasks.rbegin()->first + 1 != tasks.size()) return {};
    std::vector<FinishedReader> readers;
    std::size_t at = 0;
    for (const auto& [number, attempt] : tasks) {
      if (!merged) at = number;
      if (attempt->fate == Fate::finished) readers.push_back({attempt->node, at, attempt->partitions});
      at += attempt->partitions;
    }
    return at <= partitions ? readers : std::vector<FinishedReader>();
  }

  void add_stage(const master::LoggedStage& stage) {
    bool all = true;
    for (const std::uint32_t input : stage.inputs) {
      const auto outputs = job_.outputs.find(input);
      const auto sizes = job_.partition_bytes.find(input);
      if (sizes == job_.partition_bytes.end()) continue;  // its maps have written nothing yet
      const bool whole = std::find(stage.broadcast.begin(), stage.broadcast.end(), input) != stage.broadcast.end();
      const auto readers = readers_of(stage.id, whole ? SIZE_MAX : sizes->second.size());
      if (outputs == job_.outputs.end() || readers.empty())
        all = all && !begun(stage.id);
      else
        for (const auto& [node, of_node] : outputs->second) add_outputs(node, of_node, readers, whole);
    }
    if (!all) made_.left_out.push_back(stage.id);
  }
  bool begun(std::uint32_t stage) const {
    return std::any_of(job_.attempts.begin(), job_.attempts.end(),
                       [stage](const LoggedAttempt& one) { return one.stage == stage && one.fate == Fate::finished; });
  }

  void add_outputs(std::uint32_t node, const std::vector<std::uint64_t>& sizes, const std::vector<FinishedReader>& readers,
                   bool whole) {
    auto& row = made_.bytes[place_.at(node)];
    for (const FinishedReader& reader : readers) {
      const std::size_t first = whole ? 0 : std::min(reader.first, sizes.size());
      const std::size_t end = whole ? sizes.size() : std::min(reader.first + reader.count, sizes.size());
      std::uint64_t& cell = row[place_.at(reader.node)];
      for (std::size_t i = first; i < end; ++i) cell += sizes[i];
    }
  }

  const EventHistory& history_;
  const LoggedJob& job_;
  ShuffleMatrix made_;
  std::map<std::uint32_t, std::size_t> place_;  // of nodes, in `names`
};

}  // namespace

ShuffleMatrix shuffle_matrix(const EventHistory& history, const LoggedJob& job, bool by_rack) {
  return Matrix(history, job, by_rack).make();
}

std::string shuffle_matrix_json(const ShuffleMatrix& matrix) {
  return tools::json_line(tools::object("by", matrix.by_rack ? "rack" : "node", "names", matrix.names, "bytes", matrix.bytes,
                                        "stages_left_out", matrix.left_out));
}

}  // namespace weft::history
