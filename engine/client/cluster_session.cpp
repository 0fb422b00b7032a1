#include "engine/client/cluster_session.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "base/machine.hpp"
#include "engine/client/binary_upload.hpp"
#include "engine/client/progress.hpp"
#include "engine/client/stop_signal.hpp"
#include "engine/master/protocol/protocol.hpp"
#include "storage/retry.hpp"

namespace weft::client {

namespace {

constexpr Duration kConnectDeadline = std::chrono::seconds(5);
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
        reactor_(rpc::Reactor::start("driver")),
        progress_(options.job_name, options.quiet) {}

  ~ClusterSession() override {
    if (connection_) reactor_->run([this] { connection_->close(); });
    reactor_->stop();
  }

  Result<void> open() {
    const storage::Waiting tell = [this](const std::string& what) {
      if (!options_.quiet) fmt::print(stderr, "{}: {} (--patience)\n", options_.job_name, what);
    };
    storage::Retry retry(options_.patience, tell, kPauses);
    for (bool waited = false;; waited = true) {
      auto connection = rpc::connect(*reactor_, cluster_.master, kConnectDeadline);
      if (connection) {
        connection_ = std::move(*connection);
        return submit();
      }
      Error why = std::move(connection)
                      .error()
                      .wrap(fmt::format("no weft master answers at {}; start one with `weft master` or correct --cluster",
                                        cluster_.master.text));
      if (!stop_.requested() && retry.again(why)) continue;
      if (!waited) return fail(std::move(why));
      return fail(std::move(why).wrap(fmt::format("gave up after {:.1f} s", in_seconds(retry.spent()))));
    }
  }

  Result<std::vector<std::vector<Buffer>>> run(plan::PlanPart part) override {
    const ActionId action = part.action;
    WEFT_TRY(call(kRunPart, rpc::with_bulk(encode(JobRequest{job_}), SharedBytes(plan::encode(part)))));
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
      if (stop_.requested()) return fail(Code::cancelled, "stopped by a signal; the job was killed");
    }
  }

  Result<void> record(ActionId action, ByteView value) override {
    return call(kRecordValue, rpc::with_bulk(encode(ValueRecord{job_, action}), SharedBytes(Buffer::copy_of(value))))
        .map([](auto&&) {});
  }

  Result<void> close() override {
    WEFT_TRY(poll(ActionId{}, Duration(0)));
    progress_.finish(SystemClock().now(), status_);
    return call(kCloseJob, encode(JobRequest{job_})).map([](auto&&) {});
  }

  master::JobStatus status() override { return status_; }
  std::uint32_t parallelism() override { return std::max(1U, slots_); }

 private:
  Result<rpc::Message> call(rpc::MessageType type, rpc::Payload payload, Duration deadline = kCallDeadline) {
    auto answer = rpc::call(*reactor_, connection_, type, std::move(payload), deadline);
    if (!answer && (answer.error().code() == Code::unavailable || answer.error().code() == Code::deadline_exceeded))
      return fail(std::move(answer).error().wrap(fmt::format("lost the master at {}", cluster_.master.text)));
    return answer;
  }

  Result<PollReply> poll(ActionId action, Duration wait) {
    WEFT_ASSIGN(const auto message, call(kPoll, encode(Poll{job_, action, wait}), kPollDeadline));
    WEFT_ASSIGN(auto reply, decode<PollReply>(message));
    status_ = reply.status;
    return reply;
  }

  Result<void> submit() {
    WEFT_TRY(wait_for_slots());
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
    if (submit.options.user.empty()) submit.options.user = user_name();
    WEFT_ASSIGN(const auto message, call(kSubmitJob, encode(submit)));
    WEFT_ASSIGN(const Submitted submitted, decode<Submitted>(message));
    job_ = submitted.job;
    slots_ = submitted.slots;
    if (!submit.same_binary && !submitted.binary_known) WEFT_TRY(upload(submit.binary));
    return {};
  }

  Result<void> wait_for_slots() {
    const TimePoint end = SystemClock().now() + kSlotsDeadline;
    while (cluster_.wait_for_slots > 0) {
      WEFT_ASSIGN(const auto message, call(kListNodes, {}));
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

  Result<void> upload(const Hash128& hash) {
    return upload_binary("/proc/self/exe", "this program's own file", hash,
                         [this](rpc::MessageType type, rpc::Payload payload) { return call(type, std::move(payload)); });
  }

  const RunOptions options_;
  const ClusterSessionOptions cluster_;
  const StopSignal stop_;
  std::unique_ptr<rpc::Reactor> reactor_;
  rpc::ConnectionPtr connection_;
  JobId job_;
  std::uint32_t slots_ = 0;
  master::JobStatus status_;
  Progress progress_;
};

}  // namespace

Result<std::unique_ptr<Session>> open_cluster_session(const RunOptions& options, ClusterSessionOptions cluster) {
  auto session = std::make_unique<ClusterSession>(options, std::move(cluster));
  WEFT_TRY(session->open());
  return std::unique_ptr<Session>(std::move(session));
}

Result<std::unique_ptr<Session>> open_cluster(const RunOptions& options) {
  WEFT_ASSIGN(auto master, rpc::Endpoint::parse(options.cluster));
  return open_cluster_session(options, {std::move(master), false, 0, {}});
}

}  // namespace weft::client
