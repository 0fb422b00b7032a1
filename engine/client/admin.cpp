#include "engine/client/admin.hpp"

#include <utility>

#include "base/machine.hpp"
#include "base/rpc/credentials.hpp"
#include "engine/client/binary_upload.hpp"

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

Result<JobId> Admin::detach_once(const Detach& detach, const std::string& program_file) {
  WEFT_ASSIGN(const auto message, call(kDetachJob, encode(detach)));
  WEFT_ASSIGN(const Submitted submitted, decode<Submitted>(message));
  if (!submitted.binary_known)  // also of a job that was begun, by a driver that went away before it had uploaded this
    WEFT_TRY(upload_binary(program_file, program_file, detach.submit.binary, [this](rpc::MessageType type, rpc::Payload payload) {
      return link_.call(type, std::move(payload), kUploadDeadline);
    }));
  if (submitted.key == 0) return submitted.job;  // known, and begun
  return call(kStartDriver, encode(Attach{submitted.job, submitted.key})).map([&](auto&&) { return submitted.job; });
}

Result<JobId> Admin::detach(const Detach& detach, const std::string& program_file) {
  storage::Retry retry(options_, kAdminPauses);
  while (true) {
    auto job = detach_once(detach, program_file);
    if (job || detach.submit.options.request_id.empty() || !retry.again(job.error())) return job;
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
