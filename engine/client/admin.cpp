#include "engine/client/admin.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/machine.hpp"
#include "base/rpc/credentials.hpp"
#include "base/unguessable.hpp"
#include "engine/client/binary_upload.hpp"
#include "storage/transient.hpp"

namespace weft::client {

namespace {
constexpr Duration kAdminDeadline = std::chrono::seconds(15);
constexpr Duration kUploadDeadline = std::chrono::seconds(30);  // of a piece
constexpr storage::Retry::Pauses kAdminPauses{std::chrono::milliseconds(20), std::chrono::seconds(1)};
}  // namespace

Admin::Admin(rpc::Endpoint endpoint, const std::string& master, AdminOptions options, rpc::Security security)
    : options_(std::move(options)),
      reactor_(rpc::Reactor::start("admin", std::move(security))),
      link_(*reactor_, std::move(endpoint), master, options_.user ? *options_.user : user_name()) {}

Admin::~Admin() {
  link_.close();
  reactor_->stop();
}

Result<std::unique_ptr<Admin>> Admin::connect(const std::string& master, AdminOptions options) {
  WEFT_ASSIGN(auto endpoint, rpc::Endpoint::parse_list(master));
  WEFT_ASSIGN(auto security, rpc::security_of_environment());
  std::unique_ptr<Admin> admin(new Admin(std::move(endpoint), master, std::move(options), std::move(security)));
  WEFT_TRY(admin->link_.await(storage::Retry::at_first(admin->options_, kAdminPauses)));
  return admin;
}

Result<rpc::Message> Admin::call(rpc::MessageType type, rpc::Payload payload) {
  return link_.call(type, std::move(payload), kAdminDeadline);
}

template <class Request>
Result<rpc::Message> Admin::ask(rpc::MessageType type, const Request& request) {
  return link_.call(
      type, [&] { return encode(request); }, kAdminDeadline, storage::Retry(options_, kAdminPauses), nullptr);
}

Result<rpc::Message> Admin::ask(rpc::MessageType type) {
  return link_.call(
      type, [] { return rpc::Payload(); }, kAdminDeadline, storage::Retry(options_, kAdminPauses), nullptr);
}

Result<storage::ActedFor> Admin::who() {
  WEFT_ASSIGN(const auto message, link_.call(
                                      storage::kActFor, [] { return storage::encode(storage::ActFor{}); }, kAdminDeadline,
                                      storage::Retry(options_, kAdminPauses), nullptr));
  return storage::decode_acted_for(message);
}

Result<JobList> Admin::jobs() {
  WEFT_ASSIGN(const auto message, ask(kListJobs));
  return decode<JobList>(message);
}

Result<JobList> Admin::job(JobId id) {
  WEFT_ASSIGN(const auto message, ask(kJobStatus, JobRequest{id}));
  WEFT_ASSIGN(auto list, decode<JobList>(message));
  if (list.jobs.size() != 1) return fail(Code::corrupt, "the master answered with another number of jobs than one");
  return list;
}

Result<void> Admin::kill(JobId id, const std::string& reason) {
  return call(kKillJob, encode(KillRequest{id, reason})).map([](auto&&) {});
}

/// How far a detached job has come, as far as answers have said.
struct Admin::Submission {
  JobId job;              // 0: not known
  std::uint64_t key = 0;  // with which its driver is to be started; 0: that is done, or it is over
  bool ordered = false;   // the order to start it was sent: then the job may run, and end, though no answer has said so
};

Result<void> Admin::submit_once(const Detach& detach, const std::string& program_file, Submission& submission) {
  WEFT_ASSIGN(const auto message, call(kDetachJob, encode(detach)));
  WEFT_ASSIGN(const Submitted submitted, decode<Submitted>(message));
  submission.job = submitted.job;
  submission.key = submitted.key;
  if (submitted.binary_known) return {};
  // Also of a job that was begun, by a driver that went away before it had uploaded this.
  return upload_binary(program_file, program_file, detach.submit.binary, [this](rpc::MessageType type, rpc::Payload payload) {
    return link_.call(type, std::move(payload), kUploadDeadline);
  });
}

Result<void> Admin::start_once(Submission& submission) {
  const bool again = std::exchange(submission.ordered, true);
  auto started = call(kStartDriver, encode(Attach{submission.job, submission.key})).map([](auto&&) {});
  if (started || !again || started.error().code() != Code::cancelled) return started;
  const auto status = job(submission.job);
  return status && status->jobs[0].state != master::JobState::running ? Result<void>() : started;  // it ran, and is over
}

Result<JobId> Admin::detach(Detach detach, const std::string& program_file) {
  detach.submit.options.submitter = unguessable_number();
  storage::Retry retry(options_, kAdminPauses);
  Submission submission;
  while (true) {
    // Once its start was ordered the job is not submitted again: it may be over, and would run twice. By a request id the master
    // knows also one that is over.
    const bool known = submission.ordered && detach.submit.options.request_id.empty();
    auto done = known ? Result<void>() : submit_once(detach, program_file, submission);
    if (done && submission.key != 0) done = start_once(submission);
    if (done) return submission.job;
    if (known && done.error().code() == Code::not_found) {  // of a master that keeps no jobs, and took it along
      submission = {};
      continue;
    }
    if (retry.again(done.error())) continue;
    if (submission.job == JobId() || !storage::is_transient(done.error())) return fail(std::move(done).error());
    return fail(
        std::move(done).error().wrap(fmt::format("job {0} was submitted, and it is not known whether it was started; weft job "
                                                 "status {0} shows it",
                                                 submission.job.value())));
  }
}

Result<std::vector<JobLog>> Admin::logs(JobId id, std::uint64_t max_bytes) {
  WEFT_ASSIGN(const auto message, ask(kJobLogs, LogsWanted{id, max_bytes}));
  WEFT_ASSIGN(JobLogs logs, decode<JobLogs>(message));
  return std::move(logs.logs);
}

Result<NodeList> Admin::node_list() {
  WEFT_ASSIGN(const auto message, ask(kListNodes));
  return decode<NodeList>(message);
}

Result<std::vector<NodeStatus>> Admin::nodes() {
  WEFT_ASSIGN(NodeList list, node_list());
  return std::move(list.nodes);
}

Result<void> Admin::set_node(const NodeCapacity& wanted) {
  return call(kSetNode, encode(wanted)).map([](auto&&) {});
}

Result<std::vector<GroupInfo>> Admin::groups() {
  WEFT_ASSIGN(const auto message, ask(kListGroups));
  WEFT_ASSIGN(GroupList list, decode<GroupList>(message));
  return std::move(list.groups);
}

Result<MasterList> Admin::masters() {
  WEFT_ASSIGN(const auto message, ask(kListMasters));
  return decode<MasterList>(message);
}

Result<Events> Admin::events(const EventsWanted& wanted) {
  WEFT_ASSIGN(auto message, ask(kReadEvents, wanted));
  return decode<Events>(message);
}

Result<std::string> Admin::past(const std::string& span) {
  WEFT_ASSIGN(auto message, ask(kReadPast, PastWanted{span}));
  WEFT_ASSIGN(const Past past, decode<Past>(message));
  return std::string(as_chars(past.json.view()));
}

Result<ProfileReply> Admin::profiles(ProfileRequest request) {
  WEFT_ASSIGN(const auto message, call(kProfiles, encode(std::move(request))));
  return decode<ProfileReply>(message);
}

Result<SchedulerInfo> Admin::scheduler() {
  WEFT_ASSIGN(const auto message, ask(kShowScheduler));
  return decode<SchedulerInfo>(message);
}

Result<SchedulerInfo> Admin::configure_scheduler(const std::string& spec) {
  SchedulerInfo wanted;
  wanted.spec = spec;
  WEFT_ASSIGN(const auto message, call(kConfigureScheduler, encode(wanted)));
  return decode<SchedulerInfo>(message);
}

Result<master::JobExplanation> Admin::explain(JobId id) {
  WEFT_ASSIGN(const auto message, ask(kExplainJob, JobRequest{id}));
  return decode<master::JobExplanation>(message);
}

}  // namespace weft::client
