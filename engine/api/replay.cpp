#include "replay.hpp"

#include <map>

#include "runtime/operators/fault.hpp"
#include "weft/flow.hpp"

namespace weft::detail {
namespace {

/// Unwinds a definition whose replay is not needed any more.
struct StopReplay {};

}  // namespace

class ReplayGraph final : public Graph {
 public:
  explicit ReplayGraph(bool check_variants) : check_variants_(check_variants) {}

  ShuffleRef add_shuffle(StageDraft draft) override {
    const Determinism read = determinism_behind(draft);
    return std::make_shared<const ShuffleHandle>(ShuffleId(add(std::move(draft)).value()), read, released_);
  }
  Buffer act(StageDraft draft, const Combine&) override {
    add(std::move(draft));
    return next_value();
  }
  Buffer value(const std::function<Buffer()>&) override { return next_value(); }
  std::string open_output(const std::string&) override { return std::string(as_chars(next_value().view())); }
  void add_sink(StageDraft draft, const std::string&) override { add(std::move(draft)); }
  std::vector<std::string> expand(std::span<const std::string>, const PathFields*) override { return {}; }
  bool on_driver() const override { return false; }
  bool check_variants() const override { return check_variants_; }

  void provide(ActionId action, Buffer value) {
    const std::lock_guard lock(mutex_);
    values_.emplace(action.value(), std::move(value));
    changed_.notify_all();
  }

  void end(std::string how) {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    how_ = std::move(how);
    changed_.notify_all();
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }

  weft::Result<const runtime::StageBody*> stage(StageId id, std::uint64_t fingerprint) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return id.value() < stages_.size() || ended_ || parked(); });
    if (id.value() >= stages_.size()) {
      return fail(Code::plan_mismatch,
                  "this program's definition has no stage " + std::to_string(id.value()) + " " +
                      (ended_ ? how_ : "before the value of action " + std::to_string(next_action_) + " is known") +
                      "; define() must do the same in every run");
    }
    const Defined& found = stages_[id.value()];
    if (found.fingerprint != fingerprint) {
      return fail(Code::plan_mismatch,
                  "stage " + std::to_string(id.value()) + ", here '" + found.name +
                      "', is another one at the driver; use the same binary and let define() depend on its options only");
    }
    return found.body.get();
  }

 private:
  struct Defined {
    std::string name;
    std::uint64_t fingerprint = 0;
    std::unique_ptr<const runtime::StageBody> body;
  };

  StageId add(StageDraft draft) {
    refuse_in_tasks(draft.name);
    const std::lock_guard lock(mutex_);
    const StageId id(static_cast<std::uint32_t>(stages_.size()));
    stages_.push_back({draft.name, stage_fingerprint(draft), std::move(draft.body)});
    changed_.notify_all();
    return id;
  }

  bool parked() const { return waiting_ && !values_.contains(next_action_); }

  Buffer next_value() {
    std::unique_lock lock(mutex_);
    waiting_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return stopping_ || values_.contains(next_action_); });
    if (stopping_) throw StopReplay{};
    waiting_ = false;
    auto value = values_.extract(next_action_++);
    return std::move(value.mapped());
  }

  const bool check_variants_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Defined> stages_;
  std::map<std::uint32_t, Buffer> values_;
  std::uint32_t next_action_ = 0;
  bool waiting_ = false;
  bool ended_ = false;
  bool stopping_ = false;
  std::string how_;  // the definition ended
  ShuffleHandle::Released released_ = std::make_shared<std::vector<ShuffleId>>();
};

ReplayProgram::ReplayProgram(std::function<void(Flow&)> define, bool check_variants)
    : graph_(std::make_shared<ReplayGraph>(check_variants)) {
  thread_ = std::thread([graph = graph_, define = std::move(define)] {
    std::string how = "(it ends without)";
    const auto with_error = [&how](const std::string& what) { how = "(it ends with the error '" + what + "')"; };
    try {
      Flow flow(graph);
      define(flow);
    } catch (const StopReplay&) {
    } catch (const std::exception& fault) {
      with_error(fault.what());
    } catch (const runtime::TaskError& fault) {  // what operators look at when they are defined, such as whether there is Arrow
      with_error(fault.error.to_string());
    } catch (...) {
      how = "(it ends with an error)";
    }
    graph->end(std::move(how));
  });
}

ReplayProgram::~ReplayProgram() {
  graph_->stop();
  thread_.join();
}

weft::Result<const runtime::StageBody*> ReplayProgram::stage(StageId id, std::uint64_t fingerprint) {
  return graph_->stage(id, fingerprint);
}

void ReplayProgram::provide(ActionId action, Buffer value) { graph_->provide(action, std::move(value)); }

}  // namespace weft::detail
