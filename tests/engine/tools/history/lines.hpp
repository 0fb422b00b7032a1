// Lines of an event log as tests write them.
#pragma once

#include <chrono>
#include <string>

#include "engine/tools/history/history.hpp"

namespace weft::history {

/// An event log that a test writes line by line, and the history of it; times are milliseconds.
class WrittenLog {
 public:
  explicit WrittenLog(std::optional<std::uint64_t> only = {}, std::size_t most = 1000) : history(only, most) {}

  master::EventLine line(int at, const char* event) const {
    master::EventLine made;
    made.at = std::chrono::milliseconds(at);
    made.event = event;
    return made;
  }
  void started(int at) { write(line(at, "log_started")); }
  void worker(int at, std::uint32_t node, const std::string& name, const std::string& host = "") {
    auto made = line(at, "worker_joined");
    made.node = node;
    made.name = name;
    made.host = host;
    made.rack = "r1";
    made.capacity.cpu = 2;
    write(made);
  }
  void lost(int at, std::uint32_t node, const std::string& why) {
    auto made = line(at, "worker_lost");
    made.node = node;
    made.reason = why;
    write(made);
  }
  void job(int at, std::uint64_t id, const std::string& pool = "") {
    auto made = line(at, "job_submitted");
    made.job = id;
    made.name = "count";
    made.options.pool = pool;
    write(made);
  }
  /// A stage of that many tasks that reads these shuffles.
  void stage(int at, std::uint64_t job, std::uint32_t id, std::uint32_t tasks, std::vector<std::uint32_t> inputs = {},
             double memory = 0) {
    auto made = line(at, "plan_extended");
    made.job = job;
    auto& stage = made.stages.emplace_back();
    stage.id = id;
    stage.name = "stage" + std::to_string(id);
    stage.tasks = tasks;
    stage.inputs = std::move(inputs);
    stage.demand.memory = memory;
    write(made);
  }
  master::EventLine attempt(int at, const char* event, std::uint64_t job, std::uint32_t stage, std::uint32_t task,
                            std::uint32_t number, std::uint32_t node) const {
    auto made = line(at, event);
    made.job = job;
    made.stage = stage;
    made.task = task;
    made.attempt = number;
    made.node = node;
    return made;
  }
  void launch(int at, std::uint64_t job, std::uint32_t stage, std::uint32_t task, std::uint32_t number, std::uint32_t node,
              bool speculative = false) {
    auto made = attempt(at, "task_launched", job, stage, task, number, node);
    made.speculative = speculative;
    write(made);
  }
  void finish(int at, std::uint64_t job, std::uint32_t stage, std::uint32_t task, std::uint32_t number, std::uint32_t node,
              std::vector<std::uint64_t> partitions = {}, std::vector<runtime::HotKey> hot_keys = {}) {
    auto made = attempt(at, "task_finished", job, stage, task, number, node);
    made.partition_bytes = std::move(partitions);
    made.usage.hot_keys = std::move(hot_keys);
    made.usage.peak_memory = 1000;
    write(made);
  }
  void fail(int at, std::uint64_t job, std::uint32_t stage, std::uint32_t task, std::uint32_t number, std::uint32_t node,
            const char* kind, const std::string& message) {
    auto made = attempt(at, "task_failed", job, stage, task, number, node);
    made.kind = kind;
    made.message = message;
    write(made);
  }
  void kill(int at, std::uint64_t job, std::uint32_t stage, std::uint32_t task, std::uint32_t number, std::uint32_t node) {
    write(attempt(at, "task_killed", job, stage, task, number, node));
  }
  void end(int at, std::uint64_t job, const char* event = "job_finished") {
    auto made = line(at, event);
    made.job = job;
    write(made);
  }

  EventHistory history;
  std::string log;  // the lines

 private:
  void write(const master::EventLine& made) {
    history.apply(made);
    log += master::to_json(master::EventLine(made)) + "\n";
  }
};

}  // namespace weft::history
