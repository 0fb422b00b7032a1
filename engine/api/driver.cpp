#include "driver.hpp"

#include <algorithm>
#include <utility>

#include "base/hash.hpp"
#include "base/log.hpp"
#include "engine/master/protocol/protocol.hpp"
#include "join_choice.hpp"
#include "recorded_part.hpp"
#include "storage/remote_waiting.hpp"
#include "weft/failure.hpp"

namespace weft::detail {
namespace {

constexpr std::uint64_t kMaxValueBytes = 256u << 20;
constexpr std::uint64_t kGeneratedBytes = 256;  // of a record that is not read but made, where sizes are compared

const plan::Stage* find_stage(const plan::PlanPart& part, StageId id) {
  const auto found = std::find_if(part.stages.begin(), part.stages.end(), [&](const plan::Stage& stage) { return stage.id == id; });
  return found == part.stages.end() ? nullptr : &*found;
}

/// What choose() added to the names of operators.
void take_reasons(std::vector<std::string>& now, const std::vector<std::string>& before) {
  for (std::size_t i = 0; i < std::min(now.size(), before.size()); ++i)
    if (before[i].starts_with(now[i] + ", ")) now[i] = before[i];
}

bool reads_whole(const plan::Stage& stage, ShuffleId shuffle) {
  return std::any_of(stage.branches.begin(), stage.branches.end(), [&](const plan::Branch& branch) {
    return std::find(branch.broadcast.begin(), branch.broadcast.end(), shuffle) != branch.broadcast.end();
  });
}

/// By which the drivers of a job know each other's outputs, where others can read it: too short to find the key from it.
std::string token_of(const std::optional<client::DriverKey>& driver) {
  if (!driver) return {};
  const std::string text = std::to_string(driver->job.value()) + "/" + std::to_string(client::key_of_job(driver->key));
  return "job" + std::to_string(driver->job.value()) + "-" + to_string(hash128(as_bytes(text))).substr(0, 8);
}

}  // namespace

DriverGraph::DriverGraph(DriverSettings settings)
    : settings_(std::move(settings)), data_(settings_.files, settings_.overwrite, token_of(settings_.driver_of)) {
  if (settings_.keeps_other_directories) data_.keep_other_directories();
  if (settings_.driver_of) data_.is_away_from(settings_.driver_of->away_from);
}

DriverGraph::~DriverGraph() {
  session_.reset();  // no task runs any more when the outputs' work directories go
}

bool DriverGraph::abandon() {
  const bool goes_on = session_ && session_->job_goes_on();
  session_.reset();
  storage::stop_waiting_for_master(settings_.files.get());
  goes_on ? data_.leave_outputs() : data_.abandon_outputs();
  static auto* const kept = new std::vector<std::unique_ptr<Entry>>;
  for (auto& entry : entries_) kept->push_back(std::move(entry));
  entries_.clear();
  return goes_on;
}

StageId DriverGraph::add(StageDraft draft) {
  refuse_in_tasks(draft.name);
  const StageId id(static_cast<std::uint32_t>(entries_.size()));
  auto entry = std::make_unique<Entry>();
  entry->draft = std::move(draft);
  entries_.push_back(std::move(entry));
  return id;
}

ShuffleRef DriverGraph::add_shuffle(StageDraft draft) {
  const Determinism read = determinism_behind(draft);
  return std::make_shared<const ShuffleHandle>(ShuffleId(add(std::move(draft)).value()), read, released_);
}

Buffer DriverGraph::act(StageDraft draft, const Combine& combine) {
  const StageId target = add(std::move(draft));
  if (!on_driver()) throw PlanEndsHere{};
  check_output();
  client::RecordedAction before = take_recorded();
  if (before.value && !before.part)
    throw JobFailure(differs("it runs " + entries_[target.value()]->draft.name + ", and had a value of the driver's"));
  Work work = begin({target}, std::move(before.part));
  Buffer value;
  if (before.value) {
    done(work.stages);
    ++next_action_;
    return std::move(*before.value);
  }
  std::vector<std::vector<Buffer>> results = run(std::move(work));
  try {
    value = combine(results.at(0));
  } catch (const runtime::TaskError& fault) {
    throw JobFailure(fault.error);
  }
  record(ActionId(next_action_++), value);
  return value;
}

client::RecordedAction& DriverGraph::recorded() {
  if (std::exchange(recorded_of_, next_action_) == next_action_) return before_;
  before_ = {};
  if (!on_driver() || !settings_.driver_of || record_ended_) return before_;
  if (auto found = value_or_fail(session().recorded(ActionId(next_action_)))) before_ = std::move(*found);
  record_ended_ = !before_.value;  // an action is recorded when those before it are
  return before_;
}

client::RecordedAction DriverGraph::take_recorded() { return std::exchange(recorded(), {}); }

/// Refuses an output that cannot be written before long work begins.
void DriverGraph::check_output() {
  const std::string output = std::exchange(settings_.output, {});
  if (sinks_.empty() && !output.empty()) data_.check_output(output);
}

Buffer DriverGraph::value(const std::function<Buffer()>& make) {
  if (on_driver()) check_output();
  client::RecordedAction before = take_recorded();
  if (before.part) throw JobFailure(differs("the driver makes a value where stages were run"));
  if (before.value) {
    ++next_action_;
    return std::move(*before.value);
  }
  Buffer value = make();
  if (value.size() > kMaxValueBytes) {
    throw JobFailure(
        Error(Code::resource_exhausted, "a broadcast value is larger than 256 MiB; make it a dataset and join with it"));
  }
  record(ActionId(next_action_++), value);
  return value;
}

void DriverGraph::record(ActionId action, const Buffer& value) {
  if (!on_driver()) return;
  if (session_) {
    value_or_fail(session_->record(action, value.view()));
  } else {
    recorded_.push_back(Buffer::copy_of(value.view()));
  }
}

std::string DriverGraph::open_output(const std::string& path) {
  const client::RecordedAction before = take_recorded();
  const ActionId action(next_action_++);
  if (!on_driver()) return {};
  if (before.part) throw JobFailure(differs("the output " + path + " is opened where stages were run"));
  if (settings_.succeeded && !settings_.driver_of) data_.belongs_to(token_of(session().driver_key()));
  const std::string known = before.value ? std::string(as_chars(before.value->view())) : std::string();
  std::string name = data_.open_output(path, known);
  if (!before.value) record(action, Buffer::copy_of(as_bytes(name)));
  return name;
}

void DriverGraph::add_sink(StageDraft draft, const std::string& path) {
  sinks_.push_back({add(std::move(draft)), data_.name_of(path)});
}

/// What was read already may be gone; that matters only to stages that are planned now.
std::vector<std::string> DriverGraph::expand(std::span<const std::string> inputs, const PathFields* chosen) {
  try {
    return data_.expand(inputs, chosen);
  } catch (const JobFailure& failure) {
    const client::RecordedAction& before = recorded();
    if (!before.value && !before.part) throw;
    for (const std::string& input : inputs) missing_.emplace(input, failure.error());
    return {inputs.begin(), inputs.end()};
  }
}

weft::Result<const runtime::StageBody*> DriverGraph::stage(StageId id, std::uint64_t fingerprint) {
  if (id.value() >= entries_.size()) return fail(Code::plan_mismatch, "the job has no stage " + std::to_string(id.value()));
  const Entry& entry = *entries_[id.value()];
  if (entry.stage.fingerprint != fingerprint)
    return fail(Code::plan_mismatch, "stage " + entry.stage.name + " was planned differently");
  return entry.draft.body.get();
}

std::uint32_t DriverGraph::parallelism() { return std::max(1u, on_driver() ? session().parallelism() : settings_.explain_with); }

client::Session& DriverGraph::session() {
  if (!session_) {
    session_ = value_or_fail(settings_.open_session(*this));
    for (std::uint32_t i = 0; i < recorded_.size(); ++i) value_or_fail(session_->record(ActionId(i), recorded_[i].view()));
    recorded_.clear();
  }
  return *session_;
}

const std::vector<storage::SplitGroup>& DriverGraph::splits_of(const Origin& files) {
  const auto [found, fresh] = splits_.try_emplace(&files);
  if (fresh) {
    for (const std::string& file : files.files)
      if (const auto missing = missing_.find(file); missing != missing_.end()) throw JobFailure(missing->second);
    storage::SplitOptions options;
    options.min_groups = 4 * parallelism();
    options.multiple_of = parallelism();
    options.record_bytes = files.record_bytes;
    if (files.raw || settings_.raw_input) options.format = storage::Format::raw;
    options.whole_files = files.whole_files;
    options.growing_files = settings_.growing_inputs;
    found->second = data_.splits(files.files, options);
  }
  return found->second;
}

plan::Branch DriverGraph::plan_branch(const Origin& origin) {
  plan::Branch branch;
  for (const ShuffleRef& shuffle : origin.partitioned) branch.partitioned.push_back(shuffle->id());
  for (const ShuffleRef& shuffle : origin.broadcast) branch.broadcast.push_back(shuffle->id());
  branch.splittable = origin.splittable;
  if (origin.kind == Origin::Kind::shuffles) {
    branch.kind = plan::BranchKind::shuffles;
    branch.tasks = entries_[branch.partitioned.at(0).value()]->stage.partitions;
    branch.mergeable =
        settings_.partitions == 0 && std::all_of(branch.partitioned.begin(), branch.partitioned.end(), [&](ShuffleId id) {
          return entries_[id.value()]->draft.partitions == kDefaultPartitions &&
                 std::find(branch.broadcast.begin(), branch.broadcast.end(), id) == branch.broadcast.end();
        });
    return branch;
  }
  if (origin.kind == Origin::Kind::files) {
    branch.splits = splits_of(origin);
    if (branch.splits.empty()) branch.splits.emplace_back();  // no bytes: one task that finds nothing
  } else {
    const std::uint64_t chosen = origin.tasks > 0 ? origin.tasks : std::min<std::uint64_t>(origin.count, 2 * parallelism());
    const std::uint64_t tasks = std::max<std::uint64_t>(chosen, 1);
    branch.splits.resize(tasks);
    std::uint64_t from = 0;
    for (std::uint64_t i = 0; i < tasks; ++i) {
      const std::uint64_t length = origin.count / tasks + (i < origin.count % tasks ? 1 : 0);
      branch.splits[i].push_back({"", from, length, {}});
      from += length;
    }
  }
  branch.tasks = static_cast<std::uint32_t>(branch.splits.size());
  return branch;
}

/// Of its plan, what does not depend on the data.
void DriverGraph::outline(Entry& entry) {
  plan::Stage& stage = entry.stage;
  const auto here = std::find_if(entries_.begin(), entries_.end(), [&](const auto& e) { return e.get() == &entry; });
  stage.id = StageId(static_cast<std::uint32_t>(here - entries_.begin()));
  stage.name = entry.draft.name;
  stage.operators = entry.draft.lineage.operators;
  stage.output = entry.draft.output;
  stage.fingerprint = stage_fingerprint(entry.draft);
}

void DriverGraph::plan_stage(Entry& entry) {
  if (std::exchange(entry.is_planned, true)) return;
  outline(entry);
  plan::Stage& stage = entry.stage;
  stage.demand = entry.draft.lineage.hints.demand;
  stage.estimated_task_duration = entry.draft.lineage.hints.duration;
  stage.estimated_output_ratio = entry.draft.lineage.hints.output_ratio;
  stage.variants.assign(entry.draft.lineage.hints.variants.begin(), entry.draft.lineage.hints.variants.end());
  for (const Origin& origin : entry.draft.lineage.branches) {
    stage.branches.push_back(plan_branch(origin));
    if (entry.draft.partitions != kOnePerTask) continue;
    stage.branches.back().splittable.clear();  // the number of tasks must stay
    stage.branches.back().mergeable = false;
  }
  if (stage.output == plan::OutputKind::result) return;
  stage.indeterminate = indeterminate(entry.draft);
  stage.partitions = entry.draft.partitions;
  if (stage.partitions != kOnePerTask) check_partitions(stage.name, stage.partitions);
  if (stage.partitions == kOnePerTask) stage.partitions = stage.task_count();
  if (stage.partitions == kDefaultPartitions) stage.partitions = default_partitions();
}

std::uint32_t DriverGraph::default_partitions() {
  if (default_partitions_ == 0) default_partitions_ = settings_.partitions;
  if (default_partitions_ > 0) return default_partitions_;
  // Two for each slot, more for large inputs: what is done with a partition (a hash table, a sort) runs best in the caches, and
  // spills least, when the partition is small.
  constexpr std::uint64_t kBytes = 16u << 20, kMostPerSlot = 32;
  std::uint64_t bytes = 0;
  for (const auto& entry : entries_) {
    if (!entry->is_settled) continue;  // it is not needed yet, or belongs to a way that a join does not go
    for (const Origin& origin : entry->draft.lineage.branches) {
      if (origin.kind != Origin::Kind::files) continue;
      for (const auto& group : splits_of(origin)) {
        for (const storage::Split& split : group) bytes += split.length;
      }
    }
  }
  const std::uint64_t slots = parallelism();
  default_partitions_ = static_cast<std::uint32_t>(std::clamp(bytes / kBytes, 2 * slots, kMostPerSlot * slots));
  return default_partitions_;
}

std::optional<std::uint64_t> DriverGraph::sum_of(const Lineage& lineage, BytesOf bytes_of) {
  std::uint64_t bytes = 0;
  for (const Origin& origin : lineage.branches) {
    if (origin.kind == Origin::Kind::range) bytes += origin.count * kGeneratedBytes;
    if (origin.kind == Origin::Kind::files)
      for (const auto& group : splits_of(origin))
        for (const storage::Split& split : group) bytes += split.length;
    for (const ShuffleRef& shuffle : origin.partitioned) {
      const Entry& input = *entries_[shuffle->id().value()];
      const auto more = input.submitted ? std::nullopt : (this->*bytes_of)(input.draft.lineage);
      if (!more) return std::nullopt;
      bytes += *more;
    }
  }
  return bytes;
}

std::optional<std::uint64_t> DriverGraph::most_bytes(const Lineage& lineage) {
  if (lineage.may_grow) return std::nullopt;
  for (const Origin& origin : lineage.branches) {
    if (origin.kind != Origin::Kind::files) continue;
    for (const auto& group : splits_of(origin))
      for (const storage::Split& split : group)
        if (is_compressed(split.format)) return std::nullopt;
  }
  return sum_of(lineage, &DriverGraph::most_bytes);
}

std::optional<std::uint64_t> DriverGraph::input_bytes(const Lineage& lineage) { return sum_of(lineage, &DriverGraph::input_bytes); }

std::optional<std::size_t> DriverGraph::choose(Entry& entry, const std::vector<StreamedJoin>& ways, std::uint64_t& held) {
  std::vector<StreamedSizes> sizes;
  for (const StreamedJoin& way : ways)
    sizes.push_back({way.whole_side, most_bytes(entries_[way.whole->id().value()]->draft.lineage), input_bytes(*way.streamed)});
  const JoinChoice choice = choose_join(sizes, executors(), held);
  entry.draft.lineage.operators.front() += ", " + choice.why;
  if (choice.way) held += *sizes[*choice.way].whole;
  return choice.way;
}

/// The stage reads what the streamed side reads, and the other side whole.
void DriverGraph::stream(Entry& entry, const StreamedJoin& join) {
  Lineage& lineage = entry.draft.lineage;
  const Origin by_partition = std::move(lineage.branches.at(0));
  lineage.branches = join.streamed->branches;
  for (std::size_t i = 0; i < lineage.branches.size(); ++i) {
    auto& broadcast = lineage.branches[i].broadcast;
    broadcast.push_back(join.whole);
    broadcast.insert(broadcast.end(), by_partition.broadcast.begin(), by_partition.broadcast.end());
    // Files that were listed for the choice are not listed again.
    if (auto listed = splits_.extract(&join.streamed->branches[i])) {
      listed.key() = &lineage.branches[i];
      splits_.insert(std::move(listed));
    }
  }
  lineage.hints.take_larger(join.streamed->hints);
  lineage.operators.insert(lineage.operators.begin(), join.streamed->operators.begin(), join.streamed->operators.end());
}

void DriverGraph::settle(Entry& entry, const plan::Stage* before) {
  if (std::exchange(entry.is_settled, true)) return;
  Lineage& lineage = entry.draft.lineage;
  // A side that is streamed may begin with such a join itself.
  std::uint64_t held = 0;
  while (lineage.branches.size() == 1 && !lineage.branches[0].instead.empty()) {
    const std::vector<StreamedJoin> ways = std::exchange(lineage.branches[0].instead, {});
    std::optional<std::size_t> way;
    if (before == nullptr) {
      way = choose(entry, ways, held);
    } else {
      for (std::size_t i = 0; i < ways.size(); ++i)
        if (reads_whole(*before, ways[i].whole->id())) way = i;
    }
    if (way) stream(entry, ways[*way]);
    for (const StreamedJoin& other : ways)
      for (const Origin& origin : other.streamed->branches) splits_.erase(&origin);
  }
  for (Origin& branch : lineage.branches) branch.instead.clear();
  if (before != nullptr) take_reasons(lineage.operators, before->operators);
}

void DriverGraph::need(StageId id, std::vector<bool>& wanted, const plan::PlanPart* before) {
  Entry& entry = *entries_.at(id.value());
  if (entry.submitted || wanted[id.value()]) return;
  wanted[id.value()] = true;
  settle(entry, before == nullptr ? nullptr : find_stage(*before, id));
  for (const Origin& origin : entry.draft.lineage.branches) {
    for (const ShuffleRef& shuffle : origin.partitioned) need(StageId(shuffle->id().value()), wanted, before);
    for (const ShuffleRef& shuffle : origin.broadcast) need(StageId(shuffle->id().value()), wanted, before);
  }
}

/// A stage that was not submitted and whose shuffle nothing holds is never submitted: it belongs to a way that no join goes, or to
/// a dataset that was not used. So what it would have read is not kept for its sake.
std::vector<ShuffleId> DriverGraph::take_released() {
  std::vector<ShuffleId> released;
  while (!released_->empty()) {
    for (const ShuffleId id : std::exchange(*released_, {})) {
      Entry& entry = *entries_[id.value()];
      if (entry.submitted) {
        released.push_back(id);
        continue;
      }
      for (const Origin& origin : entry.draft.lineage.branches) splits_.erase(&origin);
      entry.draft.lineage.branches.clear();  // that may release more
    }
  }
  std::sort(released.begin(), released.end());
  return released;
}

std::vector<ShuffleId> DriverGraph::submitted_shuffles() const {
  std::vector<ShuffleId> shuffles;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i]->submitted && entries_[i]->stage.output == plan::OutputKind::shuffle)
      shuffles.emplace_back(static_cast<std::uint32_t>(i));
  }
  return shuffles;
}

DriverGraph::Work DriverGraph::begin(std::vector<StageId> targets, std::optional<plan::PlanPart> before, bool last) {
  std::vector<bool> wanted(entries_.size(), false);
  for (StageId target : targets) need(target, wanted, before ? &*before : nullptr);
  Work work;
  for (std::uint32_t i = 0; i < entries_.size(); ++i)
    if (wanted[i]) work.stages.emplace_back(i);
  if (before) {
    work.part = adopt(work.stages, targets, std::move(*before));
  } else {
    work.part.action = ActionId(next_action_);
    work.part.targets = std::move(targets);
    for (const StageId id : work.stages) {
      plan_stage(*entries_[id.value()]);
      work.part.stages.push_back(entries_[id.value()]->stage);
    }
  }
  for (const StageId id : work.stages) entries_[id.value()]->submitted = true;
  std::vector<ShuffleId> released = last ? submitted_shuffles() : take_released();
  if (!before) work.part.released = std::move(released);
  return work;
}

/// The stages are planned as they were then: inputs may have been listed differently, and the cluster had another size.
plan::PlanPart DriverGraph::adopt(const std::vector<StageId>& stages, const std::vector<StageId>& targets, plan::PlanPart before) {
  std::vector<plan::Stage> now;
  for (const StageId id : stages) {
    outline(*entries_[id.value()]);
    now.push_back(entries_[id.value()]->stage);
  }
  value_or_fail(check_same_part(now, targets, before));
  for (const plan::Stage& stage : before.stages) {
    Entry& entry = *entries_[stage.id.value()];
    entry.is_planned = true;
    entry.stage = stage;
    if (stage.output == plan::OutputKind::shuffle && entry.draft.partitions == kDefaultPartitions)
      default_partitions_ = stage.partitions;
    data_.read_again(stage);
  }
  return before;
}

std::vector<std::vector<Buffer>> DriverGraph::run(Work work) {
  auto results = value_or_fail(session().run(std::move(work.part)));
  done(work.stages);
  return results;
}

void DriverGraph::done(const std::vector<StageId>& stages) {
  for (const StageId id : stages) entries_[id.value()]->draft.lineage.branches.clear();
  splits_.clear();
}

/// What is published does not fail for a lost answer. Where another driver of the job follows, that one asks again.
void DriverGraph::publish(const std::string& output, const std::vector<Buffer>& names) {
  try {
    data_.commit(output, names);
  } catch (const JobFailure& failure) {
    if (session_ && session_->job_goes_on()) throw;
    const auto published = data_.is_published(output);
    if (!published)
      throw JobFailure(
          Error(failure.error()).wrap("nobody can say whether " + output + " was written: look there before the job is run again"));
    if (!*published) throw;
  }
}

void DriverGraph::finish() {
  if (!sinks_.empty()) {
    std::vector<StageId> targets;
    for (const Sink& sink : sinks_) targets.push_back(sink.stage);
    client::RecordedAction before = take_recorded();
    if (before.value) throw JobFailure(differs("it ends, and went on with action " + std::to_string(next_action_)));
    const std::vector<std::vector<Buffer>> results = run(begin(std::move(targets), std::move(before.part), true));
    for (std::size_t i = 0; i < sinks_.size(); ++i) publish(sinks_[i].path, results.at(i));
  }
  // This also attaches to the job, which is to be closed even if it has nothing to do.
  if (sinks_.empty() && (recorded().value || recorded().part))
    throw JobFailure(differs("it ends before action " + std::to_string(next_action_)));
  if (!session_) return;
  // The outputs are published: a master that is lost only now cannot make this a failure.
  if (const auto closed = session_->close(); !closed)
    Log("driver").warn("the job's end could not be reported to the master: {}", closed.error().to_string());
}

std::vector<const plan::Stage*> DriverGraph::planned() {
  std::vector<bool> wanted(entries_.size(), false);
  for (std::uint32_t i = 0; i < entries_.size(); ++i)
    if (entries_[i]->draft.output == plan::OutputKind::result) need(StageId(i), wanted);
  std::vector<const plan::Stage*> stages;
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    if (!wanted[i]) continue;
    plan_stage(*entries_[i]);
    stages.push_back(&entries_[i]->stage);
  }
  return stages;
}

std::optional<master::JobStatus> DriverGraph::status() {
  if (!session_) return std::nullopt;
  return session_->status();
}

}  // namespace weft::detail
