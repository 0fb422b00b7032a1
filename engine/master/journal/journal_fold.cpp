#include "engine/master/journal/journal_fold.hpp"

#include <type_traits>
#include <utility>

namespace weft::master {

namespace {

/// No stage has more tasks: a number beyond that is none of ours.
constexpr std::uint32_t kMostTasks = 1u << 24;

Extent* task_of(std::map<StageId, std::vector<Extent>>& tasks, StageId stage, std::uint32_t task) {
  if (task >= kMostTasks) return nullptr;
  auto& of_stage = tasks[stage];
  if (task >= of_stage.size()) of_stage.resize(std::size_t{task} + 1);
  return &of_stage[task];
}

/// Of a fact that is about no task.
Extent& extent_of(JournalFold::Job& job, const SubmissionFact&) { return job.submission; }
Extent& extent_of(JournalFold::Job& job, const PartFact&) { return job.parts.emplace_back(); }
Extent& extent_of(JournalFold::Job& job, const ValueFact& fact) { return job.values[fact.action]; }
Extent& extent_of(JournalFold::Job& job, const ShapeFact& fact) { return job.shapes[fact.stage]; }
Extent& extent_of(JournalFold::Job& job, const DriverFact&) { return job.driver; }

}  // namespace

void JournalFold::replace(Extent& kept, Extent where) {
  bytes_ += where.length;
  bytes_ -= kept.length;
  kept = where;
}

template <class Key>
void JournalFold::drop(std::map<Key, Extent>& kept, const Key& key) {
  const auto found = kept.find(key);
  if (found == kept.end()) return;
  bytes_ -= found->second.length;
  kept.erase(found);
}

void JournalFold::add(const JournalRecord& record, Extent where) {
  marks_.merge(record.marks);
  masters_ = std::max(masters_, record.masters);
  if (!record.cluster.empty()) cluster_ = record.cluster;
  if (record.numbering != 0) numbering_ = record.numbering;
  if (const NodeSetting& set = record.setting; !set.worker.empty())
    set.capacity.empty() ? drop(settings_, set.worker) : replace(settings_[set.worker], where);
  if (record.node) replace(nodes_[record.node->node], where);
  if (record.node_gone != NodeId()) drop(nodes_, record.node_gone);
  if (!record.job) return;
  const JobId id = *record.job;
  if (!record.ended) {
    Job& job = running_[id];
    const std::uint64_t before = bytes_;
    record.fact ? add_fact(job, *record.fact, where) : replace(job.status, where);
    job.bytes += bytes_ - before;
    return;
  }
  if (const auto job = running_.find(id); job != running_.end()) {
    bytes_ -= job->second.bytes;
    running_.erase(job);
  }
  const auto [ended, first] = ended_.try_emplace(id);
  replace(ended->second, where);
  if (first) order_.push_back(id);
  if (order_.size() <= jobs_kept_) return;
  drop(ended_, order_.front());
  order_.pop_front();
}

/// The end of a task says all that its launch and its failures did, but for attempts that come later.
void JournalFold::add_fact(Job& job, const JobFact& fact, Extent where) {
  std::visit(
      [&]<class Fact>(const Fact& what) {
        if constexpr (requires { what.attempt; }) {
          auto& kept = std::is_same_v<Fact, FinishFact>   ? job.finished
                       : std::is_same_v<Fact, LaunchFact> ? job.launched
                                                          : job.failed;
          if (Extent* const task = task_of(kept, what.stage, what.task)) replace(*task, where);
          if constexpr (std::is_same_v<Fact, FinishFact>) {
            if (Extent* const launched = task_of(job.launched, what.stage, what.task)) replace(*launched, {});
          }
        } else {
          replace(extent_of(job, what), where);
        }
      },
      fact);
}

std::vector<Extent> JournalFold::ended() const {
  std::vector<Extent> statuses;
  for (const JobId id : order_) statuses.push_back(ended_.at(id));
  return statuses;
}

void for_each_of(JournalFold::Job& job, const std::function<void(Extent&)>& see) {
  if (job.status.length > 0) see(job.status);
  if (job.submission.length > 0) see(job.submission);
  for (Extent& part : job.parts) see(part);
  for (auto& [action, value] : job.values) see(value);
  for (auto& [stage, shape] : job.shapes) see(shape);
  if (job.driver.length > 0) see(job.driver);
  for (auto* tasks : {&job.failed, &job.finished, &job.launched}) {
    for (auto& [stage, of_stage] : *tasks) {
      for (Extent& fact : of_stage)
        if (fact.length > 0) see(fact);
    }
  }
}

Result<void> JournalFold::move_all(const std::function<Result<Extent>(Extent)>& move) {
  Result<void> moved;
  const auto one = [&](Extent& kept) {
    if (!moved) return;
    auto where = move(kept);
    if (where)
      kept = *where;
    else
      moved = fail(std::move(where).error());
  };
  for (const JobId id : order_) one(ended_.at(id));
  for (auto& [id, node] : nodes_) one(node);
  for (auto& [id, job] : running_) for_each_of(job, one);
  for (auto& [worker, setting] : settings_) one(setting);
  return moved;
}

}  // namespace weft::master
