#include "engine/master/profiles/history.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace weft::profiles {

namespace {

/// What the stages of a job are believed to write, by stage: planned before, or in the part.
using Written = std::map<StageId, double>;

/// Bytes that all tasks of a stage read together, what each reads whole aside.
double bytes_read(const schedulers::JobInfo& job, const plan::Stage& stage, const Written& written) {
  const auto output_of = [&](ShuffleId shuffle) {
    const StageId id(shuffle.value());
    if (const auto predicted = written.find(id); predicted != written.end()) return predicted->second;
    const schedulers::StageInfo* info = job.stage(id);
    if (info == nullptr) return 0.0;
    if (!info->complete() && info->profile)
      return info->profile->output_ratio * info->profile->bytes * static_cast<double>(info->tasks.size());
    return static_cast<double>(info->output.total_bytes());
  };
  double bytes = 0;
  for (const plan::Branch& branch : stage.branches) {
    for (const auto& group : branch.splits)
      for (const auto& split : group) bytes += static_cast<double>(split.length);
    for (ShuffleId input : branch.partitioned) bytes += output_of(input);
  }
  return bytes;
}

}  // namespace

/// The stage of that number; where there is none, the last one of its name: the stages of a loop are alike.
const StageHistory* History::like(const Stages& stages, const plan::Stage& stage, bool& other_version) const {
  if (const auto found = stages.find(stage.id); found != stages.end()) {
    if (found->second.is.fingerprint == stage.fingerprint) return &found->second;
    other_version = true;
    return nullptr;
  }
  const auto alike =
      std::find_if(stages.rbegin(), stages.rend(), [&](const auto& one) { return one.second.is.name == stage.name; });
  return alike == stages.rend() ? nullptr : &alike->second;
}

std::vector<std::optional<schedulers::StageProfile>> History::predict(const schedulers::JobInfo& job, const plan::PlanPart& part,
                                                                      bool& other_version) const {
  std::vector<std::optional<schedulers::StageProfile>> profiles(part.stages.size());
  const auto program = programs_.find(job.name);
  if (program == programs_.end()) return profiles;
  std::vector<std::size_t> order(part.stages.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return part.stages[a].id < part.stages[b].id; });
  Written written;
  for (const std::size_t i : order) {
    const plan::Stage& stage = part.stages[i];
    const StageHistory* known = like(program->second, stage, other_version);
    const double tasks = stage.task_count();
    if (known == nullptr || tasks == 0) continue;
    const double each = bytes_read(job, stage, written) / tasks;
    profiles[i] = known->profile(each);
    written[stage.id] = known->written(each) * tasks;
  }
  return profiles;
}

void History::learn(const StageKey& key, const StageIdentity& is, JobId job, const TaskSample& task,
                    std::optional<Duration> predicted, std::int64_t now) {
  auto [at, added] = programs_[key.program].try_emplace(key.stage);
  StageHistory& known = at->second;
  if (added) ++stages_;
  if (added || known.is.fingerprint != is.fingerprint) {
    known = StageHistory();
    known.is = is;
  }
  known.add(job, task, predicted);
  known.learned = now;
  changed_.insert(key);
  make_room();
}

std::size_t History::forget(const std::string& program) {
  std::size_t count = 0;
  for (auto at = programs_.begin(); at != programs_.end();) {
    if (!program.empty() && at->first != program) {
      ++at;
      continue;
    }
    for (const auto& [stage, known] : at->second) changed_.insert({at->first, stage});
    count += at->second.size();
    at = programs_.erase(at);
  }
  stages_ -= count;
  return count;
}

/// The program of which nothing was learned for longest goes first; of a single one, its first stages.
void History::make_room() {
  const auto latest = [](const Stages& stages) {
    std::int64_t learned = 0;
    for (const auto& [id, stage] : stages) learned = std::max(learned, stage.learned);
    return learned;
  };
  while (stages_ > most_stages_ && programs_.size() > 1) {
    const auto oldest = std::min_element(programs_.begin(), programs_.end(),
                                         [&](const auto& a, const auto& b) { return latest(a.second) < latest(b.second); });
    forget(std::string(oldest->first));
  }
  for (; stages_ > most_stages_; --stages_) {
    auto& [program, stages] = *programs_.begin();
    changed_.insert({program, stages.begin()->first});
    stages.erase(stages.begin());
  }
}

void History::restore(const StageKey& key, StageHistory stage) {
  stage.run = JobId();  // jobs are numbered again when a master begins without a journal
  if (programs_[key.program].insert_or_assign(key.stage, std::move(stage)).second) ++stages_;
  changed_.insert(key);
}

Result<void> History::import(const std::vector<std::pair<StageKey, StageHistory>>& stages) {
  for (const auto& [key, stage] : stages) {
    const StageHistory* known = find(key);
    if (known == nullptr || known->is.fingerprint == stage.is.fingerprint) continue;
    return fail(
        Code::already_exists,
        fmt::format("stage {} of {} is of another version of the program (fingerprint {:016x}) than the one learned here "
                    "({:016x}); `weft profile forget {}` comes first",
                    key.stage.value(), escaped(key.program), stage.is.fingerprint, known->is.fingerprint, escaped(key.program)));
  }
  for (const auto& [key, stage] : stages) restore(key, stage);
  make_room();
  return {};
}

std::set<StageKey> History::take_changes() { return std::exchange(changed_, {}); }

const StageHistory* History::find(const StageKey& key) const {
  const auto program = programs_.find(key.program);
  if (program == programs_.end()) return nullptr;
  const auto stage = program->second.find(key.stage);
  return stage == program->second.end() ? nullptr : &stage->second;
}

}  // namespace weft::profiles
