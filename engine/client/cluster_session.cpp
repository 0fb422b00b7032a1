#include "engine/client/cluster_session.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "base/machine.hpp"
#include "base/print_error.hpp"
#include "base/rpc/credentials.hpp"
#include "base/unguessable.hpp"
#include "engine/client/binary_upload.hpp"
#include "engine/client/progress.hpp"
#include "engine/client/stop_signal.hpp"
#include "engine/master/protocol/protocol.hpp"
#include "storage/master_connection.hpp"
#include "storage/retry.hpp"

namespace weft::client {

namespace {

constexpr Duration kCallDeadline = std::chrono::seconds(30);
constexpr Duration kPollWait = std::chrono::milliseconds(250);
constexpr Duration kPollDeadline = std::chrono::seconds(20);  // then the master hangs, or cannot be reached any more
constexpr Duration kSlotsDeadline = std::chrono::seconds(20);

constexpr storage::Retry::Pauses kPauses{std::chrono::milliseconds(20), std::chrono::seconds(1)};

class ClusterSession final : public Session {
 public:
  ClusterSession(const RunOptions& options, ClusterSessionOptions cluster)
      : options_(options),
        cluster_(std::move(cluster)),
        progress_(options.job_name, options.quiet),
        link_({cluster_.master, cluster_.away, [this](const std::string& line) { say(line); }, is_succeeded(), cluster_.security,
               cluster_.same_binary ? std::string() : user()},
              stop_) {}

  Result<void> open() {
    if (options_.driver_of) return attach(*options_.driver_of);
    const storage::Waiting tell = [this](const std::string& what) { say(what + " (--patience)"); };
    storage::Retry retry(options_.patience, tell, kPauses);
    for (bool waited = false;; waited = true) {
      Result<void> begun = link_.connect();
      if (begun) {
        WEFT_TRY(wait_for_slots());
        begun = submit();
        // Made again when its answer was lost: the master knows it by its number, unless it took the end of the connection for the
        // end of the driver. Then the job that it had made, which has no plan and runs nothing, is over.
        if (begun || !MasterLink::is_lost(begun.error())) return begun;
      } else {
        begun = fail(std::move(begun).error().wrap(
            fmt::format("no weft master answers at {}; start one with `weft master` or correct --cluster{}", cluster_.master.text,
                        cluster_.master.alternatives.empty() ? "" : storage::kNoneLeads)));
      }
      if (!stop_.requested() && retry.again(begun.error())) continue;
      if (!waited) return begun;
      return fail(std::move(begun).error().wrap(fmt::format("gave up after {:.1f} s", in_seconds(retry.spent()))));
    }
  }

  Result<std::vector<std::vector<Buffer>>> run(plan::PlanPart part) override {
    const ActionId action = part.action;
    const SharedBytes encoded(plan::encode(part));
    WEFT_TRY(call(kRunPart, [&] { return rpc::with_bulk(encode(JobRequest{driver_.job}), encoded); }));
    const Undisturbed undisturbed(progress_);
    while (true) {
      WEFT_ASSIGN(PollReply reply, poll(action, kPollWait));
      const TimePoint now = SystemClock().now();
      if (progress_.due(now)) progress_.update(now, status_);
      if (status_.state != master::JobState::running) {
        progress_.fail(status_);
        return fail(Code::user_code, status_.error);
      }
      if (reply.finished) return std::move(reply.results);
      if (cluster_.check) WEFT_TRY(cluster_.check());
      if (stop_.requested()) return stopped();
    }
  }

  Result<void> record(ActionId action, ByteView value) override {
    const SharedBytes bytes(Buffer::copy_of(value));
    return call(kRecordValue, [&] { return rpc::with_bulk(encode(ValueRecord{driver_.job, action}), bytes); }).map([](auto&&) {});
  }

  Result<std::optional<RecordedAction>> recorded(ActionId action) override {
    if (!options_.driver_of) return std::nullopt;
    WEFT_ASSIGN(const auto message, call(kRecorded, [&] { return encode(ValueRecord{driver_.job, action}); }));
    WEFT_ASSIGN(auto before, decode<Recorded>(message));
    if (!before.has_value && !before.has_part) return std::nullopt;
    RecordedAction found;
    if (before.has_value) found.value = std::move(before.value);
    if (before.has_part) {
      WEFT_ASSIGN(found.part, plan::decode_part(before.part.view()));
    }
    return found;
  }

  Result<void> close() override {
    auto closed = poll(ActionId{}, Duration(0)).map([](auto&&) {});
    if (closed) {
      progress_.finish(SystemClock().now(), status_);
      closed = call(kCloseJob, [&] { return encode(JobRequest{driver_.job}); }).map([](auto&&) {});
    }
    // Its answer may have been lost with the master that finished the job.
    if (!closed && link_.ended() && link_.ended()->state == master::JobState::finished) return {};
    return closed;
  }

  master::JobStatus status() override { return status_; }
  std::uint32_t parallelism() override { return std::max(1U, slots_); }
  /// Each slot may be one of another worker.
  Executors executors() override { return {parallelism(), executors_of(options_).task_memory}; }
  std::optional<DriverKey> driver_key() const override { return is_succeeded() ? std::optional(driver_) : std::nullopt; }
  bool job_goes_on() const override { return is_succeeded() && (interrupted_ || link_.gave_up()); }

 private:
  /// By another driver, if this one ends before its job.
  bool is_succeeded() const {
    return options_.driver_of || (options_.job.on_disconnect == master::OnDisconnect::go_on && !cluster_.same_binary);
  }

  /// Whose job it is.
  std::string user() const { return options_.job.user.empty() ? user_name() : options_.job.user; }

  Result<rpc::Message> call(rpc::MessageType type, const MasterLink::Request& request, Duration deadline = kCallDeadline) {
    return link_.call(type, request, deadline);
  }

  Result<PollReply> poll(ActionId action, Duration wait) {
    WEFT_ASSIGN(const auto message, call(
                                        kPoll,
                                        [&] {
                                          return encode(Poll{driver_.job, action, wait});
                                        },
                                        kPollDeadline));
    WEFT_ASSIGN(auto reply, decode<PollReply>(message));
    status_ = reply.status;
    return reply;
  }

  void say(const std::string& line) {
    progress_.pause();
    if (!options_.quiet) print_error("{}: {}\n", options_.job_name, line);
  }

  tl::unexpected<Error> stopped() {
    interrupted_ = true;
    if (!is_succeeded()) return fail(Code::cancelled, "stopped by a signal; the job was killed");
    return fail(Code::cancelled, fmt::format("stopped by a signal; job {} goes on with another driver", driver_.job.value()));
  }

  Result<void> attach(const DriverKey& driver) {
    driver_ = driver;
    link_.belongs_to({driver.job, driver.key}, true);
    WEFT_ASSIGN(const Submitted submitted, link_.attach());
    slots_ = submitted.slots;
    return {};
  }

  Result<void> submit() {
    Submit submit;
    submit.name = options_.job_name;
    std::error_code ignored;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
    submit.program = program.string();
    submit.arguments = options_.arguments;
    submit.directory = std::filesystem::current_path(ignored).string();
    submit.same_binary = cluster_.same_binary;
    if (!submit.same_binary) {
      WEFT_ASSIGN(submit.binary, hash_file("/proc/self/exe"));
    }
    submit.memory_bytes = options_.memory_bytes;
    submit.options = options_.job;
    submit.options.submitter = submitter_;
    submit.options.user = user();
    WEFT_ASSIGN(const auto message, call(kSubmitJob, [&] { return encode(submit); }));
    WEFT_ASSIGN(const Submitted submitted, decode<Submitted>(message));
    driver_ = {submitted.job, submitted.key};
    slots_ = submitted.slots;
    link_.belongs_to({submitted.job, submitted.key}, submitted.kept);
    return submit.same_binary ? Result<void>() : upload(submit.binary, submitted.binary_known);
  }

  Result<void> wait_for_slots() {
    const TimePoint end = SystemClock().now() + kSlotsDeadline;
    while (cluster_.wait_for_slots > 0) {
      WEFT_ASSIGN(const auto message, call(kListNodes, [] { return rpc::Payload{}; }));
      WEFT_ASSIGN(const NodeList list, decode<NodeList>(message));
      std::uint32_t slots = 0;
      for (const NodeStatus& node : list.nodes) slots += node.slots;
      if (slots >= cluster_.wait_for_slots) return {};
      if (cluster_.check) WEFT_TRY(cluster_.check());
      if (SystemClock().now() > end) return fail(Code::deadline_exceeded, "the private cluster's workers did not come up in time");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return {};
  }

  /// The pieces of a master that went away are gone: an upload begins again.
  Result<void> upload(const Hash128& hash, bool known) {
    MasterLink::Outage outage;
    while (!known) {
      auto uploaded = upload_binary(
          "/proc/self/exe", "this program's own file", hash,
          [this](rpc::MessageType type, rpc::Payload payload) { return link_.call_once(type, std::move(payload), kCallDeadline); });
      if (uploaded || !link_.kept() || !MasterLink::is_lost(uploaded.error())) return uploaded;
      WEFT_ASSIGN(const Submitted attached, link_.attach_again(outage, std::move(uploaded).error()));
      known = attached.binary_known;
    }
    return {};
  }

  const RunOptions options_;
  const ClusterSessionOptions cluster_;
  const StopSignal stop_;
  Progress progress_;
  MasterLink link_;
  DriverKey driver_;
  const std::uint64_t submitter_ = unguessable_number();
  std::uint32_t slots_ = 0;
  bool interrupted_ = false;  // by a signal
  master::JobStatus status_;
};

}  // namespace

Result<std::unique_ptr<Session>> open_cluster_session(const RunOptions& options, ClusterSessionOptions cluster) {
  auto session = std::make_unique<ClusterSession>(options, std::move(cluster));
  WEFT_TRY(session->open());
  return std::unique_ptr<Session>(std::move(session));
}

Result<std::unique_ptr<Session>> open_cluster(const RunOptions& options) {
  WEFT_ASSIGN(auto master, rpc::Endpoint::parse_list(options.cluster));
  WEFT_ASSIGN(auto security, rpc::security_of_environment());
  return open_cluster_session(options, {.master = std::move(master), .check = {}, .security = std::move(security)});
}

}  // namespace weft::client
