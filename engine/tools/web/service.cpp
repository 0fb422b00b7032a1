#include "engine/tools/web/service.hpp"

#include <tuple>
#include <utility>
#include <vector>

#include <unistd.h>

#include "base/file.hpp"
#include "base/log.hpp"
#include "base/named_file.hpp"
#include "base/rpc/credentials.hpp"
#include "engine/tools/web/live.hpp"
#include "engine/tools/web/metrics.hpp"
#include "engine/tools/web/pages.hpp"
#include "engine/tools/web/routes.hpp"

namespace weft::web {

namespace {

constexpr std::string_view kEvents = "/api/v1/events", kMetrics = "/metrics";
constexpr int kKeptEvery = 30;                                                              // samples
constexpr std::uint64_t kMostKept = 64u << 20;                                              // bytes of the file of samples
constexpr std::size_t kMostUsers = 64;                                                      // whose connections are kept
constexpr Duration kPause = std::chrono::seconds(1), kPauseOfPast = std::chrono::hours(1);  // what is past does not change

/// "/files?path=/a" as a request. What is watched is written as it is: without %.
http::Request as_request(const std::string& resource) {
  http::Request request;
  request.method = "GET";
  const std::size_t question = resource.find('?');
  request.path = std::string(kApi) + resource.substr(0, question);
  if (question == std::string::npos) return request;
  const std::string parameter = resource.substr(question + 1);
  const std::size_t equals = parameter.find('=');
  if (equals != std::string::npos) request.query[parameter.substr(0, equals)] = parameter.substr(equals + 1);
  return request;
}

Duration unix_time() { return std::chrono::system_clock::now().time_since_epoch(); }

bool is_api(std::string_view path) { return path.starts_with(kApi) && (path.size() == kApi.size() || path[kApi.size()] == '/'); }

/// For whom the request is made. Masters ask for themselves, and so does everybody where nobody says who he is.
std::string user_of(const http::Request& request) {
  if (!request.peer || request.peer->role == rpc::Role::master) return {};
  // With a blank, which no user's name has: a worker has no jobs or files of its own.
  return request.peer->role == rpc::Role::user ? request.peer->name : "worker " + request.peer->name;
}

/// Of pools and of the cluster. What cannot be asked leaves a gap.
Result<void> take_samples(Cluster& cluster) {
  WEFT_ASSIGN(const auto admin, cluster.admin());
  WEFT_ASSIGN(const auto groups, admin->groups());
  WEFT_ASSIGN(const auto nodes, admin->nodes());
  WEFT_ASSIGN(const auto jobs, admin->jobs());
  WEFT_ASSIGN(const auto scheduler, admin->scheduler());
  const TimePoint now = SystemClock().now();
  cluster.pool_samples().add(now, groups);
  cluster.samples().add(now, nodes, jobs, scheduler.spec);
  return {};
}

}  // namespace

/// The cluster as one user sees it, and what he watches.
struct Service::View {
  View(const Cluster& same, std::string user)
      : cluster(same, std::move(user)),
        live([this](const std::string& resource) { return ask(cluster, as_request(resource)); },
             cluster.past() == nullptr || cluster.past()->grows() ? kPause : kPauseOfPast) {}

  Cluster cluster;
  Live live;
  TimePoint used{};
};

template <class... Of>
Service::Service(Of&&... cluster) : cluster_(std::forward<Of>(cluster)...) {}

Service::~Service() {
  server_.reset();  // nothing is asked any more
  views_.clear();
  refusals_.reset();
  if (sampler_) sampler_.reset(), keep_samples();
}

Result<std::unique_ptr<Service>> Service::start(const ServiceOptions& options) {
  std::unique_ptr<Service> service(new Service(options.master, options.event_log, options.log_began));
  if (!options.submit_dir.empty()) service->cluster_.allow_submissions(options.submit_dir);
  if (options.audit) service->cluster_.note_refusals(options.audit);
  service->samples_ = options.samples;
  service->restore_samples();
  WEFT_TRY(service->begin(options.listen));
  service->sampler_.emplace([of = service.get(), taken = 0]() mutable {
    std::ignore = take_samples(of->cluster_);
    if (++taken % kKeptEvery == 0) of->keep_samples();
  });
  return service;
}

Result<std::unique_ptr<Service>> Service::start(const std::string& listen, std::unique_ptr<history::LoggedJobs> past) {
  std::unique_ptr<Service> service(new Service(std::move(past)));
  WEFT_TRY(service->begin(listen));
  return service;
}

Result<void> Service::begin(const std::string& listen) {
  http::ServerOptions options;
  options.listen = listen;
  WEFT_ASSIGN(options.security, rpc::security_of_environment());
  insecure_ = options.security.insecure;
  // The page itself says nothing of the cluster. It asks who somebody is when it is refused what it shows.
  if (options.security.encrypted()) options.open = [](std::string_view path) { return !is_api(path) && path != kMetrics; };
  if (Refusals* const refusals = cluster_.refusals()) {
    options.on_refused = [refusals](const http::RefusedRequest& one) { refusals->add(entry_of(one), SystemClock().now()); };
    refusals_.emplace([refusals] { refusals->write_due(SystemClock().now()); }, Refusals::kInterval);
  }
  WEFT_ASSIGN(server_, http::Server::start(std::move(options), [this](const http::Request& request) { return reply(request); }));
  return {};
}

/// For a user who was not there of late, in the place of the one who asked least recently and watches nothing. Null: all watch.
std::shared_ptr<Service::View> Service::view_for(const http::Request& request) {
  const std::string user = user_of(request);
  const std::lock_guard lock(mutex_);
  auto found = views_.find(user);
  if (found == views_.end() && views_.size() >= kMostUsers) {
    auto oldest = views_.end();
    for (auto view = views_.begin(); view != views_.end(); ++view)
      if (!view->second->live.watched() && (oldest == views_.end() || view->second->used < oldest->second->used)) oldest = view;
    if (oldest == views_.end()) return nullptr;
    views_.erase(oldest);
  }
  if (found == views_.end()) found = views_.emplace(user, std::make_shared<View>(cluster_, user)).first;
  found->second->used = SystemClock().now();
  return found->second;
}

void Service::restore_samples() {
  if (samples_.empty() || ::access(samples_.c_str(), F_OK) != 0) return;
  const auto text = read_file(samples_, kMostKept);
  const Result<void> restored =
      !text ? Result<void>(fail(text.error())) : cluster_.samples().restore(*text, SystemClock().now(), unix_time());
  if (!restored)
    Log("http").warn("the page has nothing of the time before this master: {}: {}", samples_, restored.error().to_string());
}

/// A full disk costs them, and nothing else.
void Service::keep_samples() {
  if (samples_.empty()) return;
  auto file = NamedFile::create(samples_, IfExists::replace);
  if (!file) return Log("http").debug("{}", file.error().to_string());
  auto kept = file->append(as_bytes(cluster_.samples().kept(SystemClock().now(), unix_time())));
  if (kept) kept = file->close();
  if (!kept) Log("http").debug("{}", kept.error().to_string());
}

http::Response Service::reply(const http::Request& request) {
  const bool events = request.path == kEvents;
  if (is_api(request.path)) {
    const auto view = view_for(request);
    if (view == nullptr) return http::error_response(503, "too many users watch at a time; try again");
    return events ? view->live.watch(request) : answer(view->cluster, request);
  }
  if (request.method != "GET") return http::error_response(405, "pages are read");
  if (request.path == "/healthz" || request.path == "/readyz") return health();
  if (request.path == kMetrics) return metrics();
  return page(request.path, cluster_.past() == nullptr ? "" : cluster_.past()->grows() ? "growing" : "logs", insecure_);
}

/// Whether the master answers; of event logs, whether this process does.
http::Response Service::health() {
  if (cluster_.past() == nullptr) {
    const auto admin = cluster_.admin();
    const auto answered = admin ? (*admin)->scheduler() : fail(admin.error());
    if (!answered) return http::error_response(503, answered.error().to_string());
  }
  return {.type = "text/plain", .body = "ok\n"};
}

http::Response Service::metrics() {
  auto text = master_metrics(cluster_);
  if (!text) return http::error_response(text.error());
  return {.type = kMetricsType, .body = std::move(*text)};
}

}  // namespace weft::web
