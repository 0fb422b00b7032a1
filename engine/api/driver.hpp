// The driver's side of a definition: plans stages, runs parts of the plan for actions, commits outputs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/api/job_data.hpp"
#include "engine/client/session.hpp"
#include "engine/master/plan/plan.hpp"
#include "runtime/executor/run_task.hpp"
#include "weft/detail/graph.hpp"

namespace weft::detail {

/// Stops the definition when only the plan is wanted and it needs a value that only a run could give.
struct PlanEndsHere {};

struct DriverSettings {
  std::uint32_t partitions = 0;  // 0: by the size of the input
  bool overwrite = false;
  bool keeps_other_directories = false;  // of what it overwrites
  std::string output{};  // that the command line names: checked before the first action, if the program has no sink by then
  bool check_variants = false;
  bool raw_input = false;                         // read_text reads any file as lines
  bool growing_inputs = false;                    // files may grow: what was listed is read
  bool executors = false;                         // tasks run in other processes
  std::uint32_t explain_with = 0;                 // plan for this parallelism and run nothing
  client::Executors explain_executors{};          // and for these
  std::shared_ptr<storage::RemoteFiles> files{};  // of the cluster
  bool succeeded = false;  // by another driver, if this process ends before its job does (--on-disconnect continue)
  std::optional<client::DriverKey> driver_of{};  // the job exists, and the session will be its: what is recorded is not done again
  std::function<Result<std::unique_ptr<client::Session>>(runtime::JobProgram&)> open_session;
};

/// Used by the driver's thread; stage() is also called by task threads while the driver waits in a session.
class DriverGraph final : public Graph, public runtime::JobProgram {
 public:
  explicit DriverGraph(DriverSettings settings);
  ~DriverGraph() override;

  ShuffleRef add_shuffle(StageDraft draft) override;
  Buffer act(StageDraft draft, const Combine& combine) override;
  Buffer value(const std::function<Buffer()>& make) override;
  std::string open_output(const std::string& path) override;
  void add_sink(StageDraft draft, const std::string& path) override;
  std::vector<std::string> expand(std::span<const std::string> inputs, const PathFields* chosen) override;
  bool on_driver() const override { return settings_.explain_with == 0; }
  bool has_executors() const override { return settings_.executors; }
  bool check_variants() const override { return settings_.check_variants; }

  Result<const runtime::StageBody*> stage(StageId id, std::uint64_t fingerprint) override;
  void provide(ActionId, Buffer) override {}

  /// The definition has ended: runs the sinks, publishes their outputs, ends the session. Throws JobFailure.
  void finish();
  /// The job has failed: ends the session, removes the outputs' work directories. A task that would not stop may still run, so its
  /// code is kept. True: the job goes on with another driver, which takes the directories over.
  bool abandon();
  /// All stages so far, planned.
  std::vector<const plan::Stage*> planned();
  /// Notes about the inputs so far.
  const storage::InputNotes& input_notes() const { return data_.input_notes(); }
  /// What the session knows of the job; nothing when no session was needed.
  std::optional<master::JobStatus> status();

 private:
  struct Entry {
    StageDraft draft;
    plan::Stage stage;
    bool is_settled = false;  // the joins that it begins with go one way
    bool is_planned = false;
    bool submitted = false;
  };
  struct Sink {
    StageId stage;
    std::string path;  // JobData::name_of()
  };

  /// What an action needs: the stages that were not submitted before, in the order of their ids, and the part of the plan.
  struct Work {
    std::vector<StageId> stages;
    plan::PlanPart part;
  };

  void check_output();
  StageId add(StageDraft draft);
  void plan_stage(Entry& entry);
  void outline(Entry& entry);
  plan::Branch plan_branch(const Origin& origin);
  const std::vector<storage::SplitGroup>& splits_of(const Origin& files);
  /// About how many bytes the records have that are made of files; nothing: it may be more, or that is not known.
  std::optional<std::uint64_t> most_bytes(const Lineage& lineage);
  /// About how many bytes of files are read for them.
  std::optional<std::uint64_t> input_bytes(const Lineage& lineage);
  using BytesOf = std::optional<std::uint64_t> (DriverGraph::*)(const Lineage& lineage);
  std::optional<std::uint64_t> sum_of(const Lineage& lineage, BytesOf bytes_of);
  /// Decides which way the joins go that the stage begins with. `before`: the stage as an earlier driver of the job has planned it,
  /// and decided it; null: none has.
  void settle(Entry& entry, const plan::Stage* before);
  void stream(Entry& entry, const StreamedJoin& join);
  /// The position of the way to go, or nothing for partitions. Adds to `held` what tasks hold then.
  std::optional<std::size_t> choose(Entry& entry, const std::vector<StreamedJoin>& ways, std::uint64_t& held);
  /// Marks the stage and those that it needs, which were not submitted yet.
  void need(StageId id, std::vector<bool>& wanted, const plan::PlanPart* before = nullptr);
  /// `before`: the part that an earlier driver of the job has submitted for the action; then it is what counts. `last`: no action
  /// follows, so every shuffle is dropped when its readers are done.
  Work begin(std::vector<StageId> targets, std::optional<plan::PlanPart> before, bool last = false);
  plan::PlanPart adopt(const std::vector<StageId>& stages, const std::vector<StageId>& targets, plan::PlanPart before);
  std::vector<std::vector<Buffer>> run(Work work);
  void publish(const std::string& output, const std::vector<Buffer>& names);
  /// Shuffles that only these stages read are not needed any more; the next part releases them.
  void done(const std::vector<StageId>& stages);
  /// What an earlier driver of the job has recorded of the next action.
  client::RecordedAction& recorded();
  client::RecordedAction take_recorded();
  std::vector<ShuffleId> take_released();
  std::vector<ShuffleId> submitted_shuffles() const;
  client::Session& session();
  void record(ActionId action, const Buffer& value);
  std::uint32_t parallelism();
  client::Executors executors() { return on_driver() ? session().executors() : settings_.explain_executors; }
  std::uint32_t default_partitions();

  DriverSettings settings_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<Sink> sinks_;
  JobData data_;
  ShuffleHandle::Released released_ = std::make_shared<std::vector<ShuffleId>>();
  std::vector<Buffer> recorded_;  // until there is a session
  std::uint32_t next_action_ = 0;
  std::uint32_t default_partitions_ = 0;  // the same for all stages, even if workers join meanwhile; 0: not decided
  std::map<const Origin*, std::vector<storage::SplitGroup>> splits_;  // of stages that are being planned
  std::map<std::string, Error> missing_;  // inputs that cannot be listed any more; an earlier driver of the job has listed them
  client::RecordedAction before_;         // of the action recorded_of_
  std::optional<std::uint32_t> recorded_of_;
  bool record_ended_ = false;  // what an earlier driver has done is done
  std::unique_ptr<client::Session> session_;
};

}  // namespace weft::detail
