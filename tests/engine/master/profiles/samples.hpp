// Made-up tasks and plans for the tests of profiles.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/master/profiles/history.hpp"

namespace weft::profiles::test {

inline Duration seconds_of(double seconds) { return Duration(static_cast<std::int64_t>(seconds * 1e9)); }

inline TaskSample task(double seconds, double bytes, double written = 0) {
  TaskSample made;
  made.duration = seconds_of(seconds);
  made.bytes = bytes;
  made.written = written;
  return made;
}

/// One that reads files of that many bytes in all.
inline plan::Stage maps(std::uint32_t id, std::uint32_t tasks, std::uint64_t bytes, std::uint64_t fingerprint = 1) {
  plan::Stage stage;
  stage.id = StageId(id);
  stage.name = "maps";
  stage.fingerprint = fingerprint;
  stage.partitions = 2;
  plan::Branch branch;
  branch.tasks = tasks;
  for (std::uint32_t i = 0; i < tasks; ++i) {
    storage::Split split;
    split.path = "/in";
    split.length = bytes / tasks;
    branch.splits.push_back({std::move(split)});
  }
  stage.branches.push_back(std::move(branch));
  return stage;
}

inline plan::Stage reduces(std::uint32_t id, std::uint32_t tasks, std::uint32_t parent, std::uint64_t fingerprint = 2) {
  plan::Stage stage;
  stage.id = StageId(id);
  stage.name = "reduces";
  stage.fingerprint = fingerprint;
  stage.output = plan::OutputKind::result;
  plan::Branch branch;
  branch.kind = plan::BranchKind::shuffles;
  branch.tasks = tasks;
  branch.partitioned.emplace_back(parent);
  stage.branches.push_back(std::move(branch));
  return stage;
}

inline StageIdentity identity(const plan::Stage& stage) {
  return {stage.name, stage.fingerprint, stage.branches.at(0).kind == plan::BranchKind::shuffles};
}

inline schedulers::JobInfo job_named(const std::string& name) {
  schedulers::JobInfo job;
  job.id = JobId(9);
  job.name = name;
  return job;
}

}  // namespace weft::profiles::test
