// weft master
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include <fmt/core.h>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/file.hpp"
#include "base/log.hpp"
#include "base/named_file.hpp"
#include "base/private_directory.hpp"
#include "base/rpc/credentials.hpp"
#include "base/rpc/descriptors.hpp"
#include "base/rpc/rpc.hpp"
#include "base/text.hpp"
#include "engine/client/stop_signal.hpp"
#include "engine/master/journal/journal_check.hpp"
#include "engine/master/journal/journal_file.hpp"
#include "engine/master/profiles/profile_database.hpp"
#include "engine/master/server/server.hpp"
#include "engine/master/storage/file_service.hpp"
#include "engine/tools/cli/command.hpp"
#include "engine/tools/cli/master_event_log.hpp"
#include "engine/tools/cli/master_group.hpp"
#include "engine/tools/web/service.hpp"

namespace weft::tools {

namespace {

struct MasterOptions {
  master::ServerOptions server;
  std::string port_file;
  master::FileServiceOptions files;
  std::string profiles;  // directory
  std::string http = "127.0.0.1:7078";
  bool http_given = false;
  std::string submit_dir;
  MasterGroupOptions group;
  EventLogOptions event_log;
  std::string audit_log;
};

/// Beside the journal, else in the data directory; empty when neither is given.
std::string directory_of_profiles(const MasterOptions& options) {
  if (!options.profiles.empty()) return options.profiles;
  if (!options.server.journal.empty()) return options.server.journal + ".profiles";
  return options.files.data_directory.empty() ? std::string() : options.files.data_directory + "/profiles";
}

std::string namespace_in(const std::string& data) { return data + "/namespace"; }

/// A data directory that was copied in part: without the namespace all files of the cluster would be gone, and nobody would notice.
/// A journal that names no cluster may be of a master that kept no files until now, unless it lies in the data directory. The
/// namespace is made before the journal, so a master that was killed when it began does not leave one without the other.
Result<void> check_whole(const std::string& data, const std::string& journal, bool beside) {
  std::error_code error;
  if (std::filesystem::is_directory(namespace_in(data), error) && !std::filesystem::is_empty(namespace_in(data), error)) return {};
  if (!std::filesystem::exists(journal, error)) return {};
  WEFT_ASSIGN(const std::string cluster, master::cluster_of_journal(journal));
  if (beside && cluster.empty()) return {};
  return fail(
      Code::invalid_argument,
      fmt::format("--data-dir: there is no namespace in {}, and the journal {} {}, so it was copied in part; copy it whole, or "
                  "remove the journal for a cluster without jobs and files",
                  data, journal, cluster.empty() ? "is there" : "is of cluster " + escaped(cluster)));
}

/// Another master's journal is refused before anything is made beside it. Whether one begins to use it now is seen later, when it
/// is opened.
Result<void> check_unused(const std::string& journal) {
  std::error_code error;
  if (!std::filesystem::exists(journal, error)) return {};
  return master::open_locked_journal(journal, false).map([](const Fd&) {});
}

/// A master with a directory of its own keeps its jobs there: they go on when it is started again.
Result<void> keep_jobs(MasterOptions& options) {
  master::ServerOptions& server = options.server;
  const std::string& data = options.files.data_directory;
  const bool beside = !server.journal.empty();
  std::error_code error;
  if (std::filesystem::exists(server.directory, error)) WEFT_TRY(keep_others_from_writing(server.directory));
  if (!beside && data.empty()) return {};
  if (beside && !options.group.wanted()) WEFT_TRY(check_unused(server.journal));
  if (server.directory.empty()) server.directory = beside ? server.journal + ".programs" : data + "/programs";
  if (!beside) server.journal = data + "/journal";
  if (data.empty()) return {};
  std::filesystem::create_directories(data, error);
  if (error) return fail(Code::io, fmt::format("--data-dir: cannot create {}: {}", data, error.message()));
  WEFT_TRY(keep_others_from_writing(data));
  return options.group.wanted() ? Result<void>() : check_whole(data, server.journal, beside);  // a member looks before it leads
}

/// The page of a master that serves. One thread.
class Page {
 public:
  /// Both outlive it.
  Page(const MasterOptions& options, master::Server& server) : options_(options), server_(server) {}

  /// Serves it, if it is wanted. An error only when the address was asked for and cannot be had, by a master that is the only one.
  Result<void> start() {
    if (options_.http == "none") return {};
    const auto tried = try_to_serve();
    if (tried) return {};
    if (options_.http_given && !options_.group.wanted())
      return fail(Error(tried.error()).wrap(fmt::format("--http {}", options_.http)));
    Log("master").warn("there is no page{}: {}; choose another address by --http HOST:PORT, or --http none",
                       options_.group.wanted() ? " until its address is free" : "", tried.error().to_string());
    return {};
  }
  /// Of one of several masters: the address may be free by now. Does nothing more often than every few seconds.
  void try_again() {
    if (service_ || options_.http == "none" || !options_.group.wanted() || SystemClock().now() < tried_ + kTryAgain) return;
    (void)try_to_serve();
  }

 private:
  static constexpr Duration kTryAgain = std::chrono::seconds(5);

  Result<void> try_to_serve() {
    const std::string& data = options_.files.data_directory;
    tried_ = SystemClock().now();
    WEFT_ASSIGN(service_, web::Service::start({options_.http, server_.address(), options_.server.event_log, server_.log_began(),
                                               options_.submit_dir, data.empty() ? std::string() : data + "/samples",
                                               [&server = server_](master::AuditEntry entry) { server.note(std::move(entry)); }}));
    server_.set_past(service_->past());
    std::printf("weft master's page is at %s/\n", service_->url().c_str());
    std::fflush(stdout);
    return {};
  }

  const MasterOptions& options_;
  master::Server& server_;
  std::unique_ptr<web::Service> service_;  // null: there is none
  TimePoint tried_{};
};

/// Writers renew the lease after a third of it, over slow networks and at slow masters.
Result<void> check_lease(const master::FileServiceOptions& files) {
  constexpr Duration kShortest = std::chrono::seconds(1);
  if (files.options.lease >= kShortest) return {};
  return fail(Code::invalid_argument, fmt::format("--lease: {} is too short for writers to renew it in time; at least {}",
                                                  format_duration(files.options.lease), format_duration(kShortest)));
}

/// What is wrong with the options is reported before anything starts; and where they leave a choice, it is made.
Result<void> complete(MasterOptions& options) {
  const std::string& data = options.files.data_directory;
  if (!options.group.wanted() && !data.empty()) WEFT_TRY(master::check_alone(data));
  if (!data.empty()) options.server.storage = master::file_service(options.files);
  WEFT_TRY(check_lease(options.files));
  WEFT_TRY(check_directory("--profiles", options.profiles));
  WEFT_TRY(check_directory("--submit-dir", options.submit_dir));
  if (!options.submit_dir.empty() && options.server.security.encrypted())
    return fail(Code::invalid_argument,
                "--submit-dir: programs that are started over HTTP would run as the master, so it cannot be used "
                "with --security; leave one of them out");
  if (!options.submit_dir.empty() && !std::filesystem::is_directory(options.submit_dir))
    return fail(Code::invalid_argument,
                fmt::format("--submit-dir: there is no {}; name the directory of job programs", options.submit_dir));
  options.profiles = directory_of_profiles(options);
  if (!options.profiles.empty()) options.server.profiles = master::profile_database(options.profiles);
  WEFT_TRY(keep_jobs(options));
  return {};
}

/// An error is reported before anything else, where the address is not known yet.
Result<void> write_port_file(const MasterOptions& options, const std::string& address) {
  if (options.port_file.empty()) return {};
  const auto replaced = replaceable_file(options.port_file);
  if (!address.empty()) return write_file(options.port_file, address + "\n");
  auto known = !replaced ? fail(replaced.error()) : *replaced ? write_file(options.port_file, "") : Result<void>();
  if (!known) return fail(std::move(known).error().wrap("--port-file"));
  return {};
}

/// Serves until a signal comes; an error is why the master cannot go on. Calls `began` when it listens.
Result<void> serve_until_stopped(MasterOptions& options, const client::StopSignal& stop, const std::function<void()>& began = {}) {
  std::atomic<bool> broken{false};
  std::optional<Error> why;  // written before `broken` is
  options.server.on_fatal = [&](const Error& error) {
    why = error;
    broken = true;
  };
  WEFT_ASSIGN(auto server, master::Server::start(options.server));
  if (began) began();
  WEFT_TRY(write_port_file(options, ""));
  std::printf("weft master listens on %s\n", server->address().c_str());
  std::fflush(stdout);
  std::optional<Page> page(std::in_place, options, *server);
  WEFT_TRY(page->start());
  WEFT_TRY(write_port_file(options, server->address()));
  while (!stop.requested() && !broken) {
    if (stop.take_reload()) server->reload();
    page->try_again();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  page.reset();
  server.reset();
  if (why) return fail(*why);
  return {};
}

/// One of several masters: follows, and serves when it leads. A leadership that is lost is no reason to end.
Result<void> serve_in_group(MasterOptions& options, const client::StopSignal& stop) {
  WEFT_ASSIGN(const rpc::Endpoint listen, rpc::Endpoint::parse(options.server.listen));
  WEFT_ASSIGN(const rpc::ReservedAddress reserved, rpc::reserve_address(listen, options.server.security));
  options.server.listen = reserved.endpoint.text;
  const std::string& data = options.files.data_directory;
  // The address that is taken where none is given may not be had, and is the same on all machines.
  if (options.http_given || !options.group.page_url.empty())
    options.server.page = page_url(options.group, options.http, options.server.security.encrypted());
  WEFT_ASSIGN(const auto member,
              join_group(options.group, options.server.listen, options.server.page, data,
                         {options.server.journal, namespace_in(data), options.server.directory, options.profiles}));
  WEFT_TRY(write_port_file(options, options.server.listen));
  while (!stop.requested()) {
    WEFT_ASSIGN(const auto leadership, member->lead([&stop] { return stop.requested(); }));
    if (!leadership) break;
    options.server.leadership = leadership.get();
    bool began = false;
    const auto served = serve_until_stopped(options, stop, [&] {
      began = true;
      member->stores_are_made();
    });
    if (served) break;
    // The record names this member alone from now on, so nobody could lead if it ended.
    if (!began && !try_to_listen(options.server.listen, options.server.security)) {
      Log("master").error("{}; this master gives the lead back, and takes it when that address is free",
                          served.error().to_string());
      continue;
    }
    if (!leadership->lost()) return served;
    Log("master").error("{}; it follows from now on", served.error().to_string());
  }
  return {};
}

/// The address is kept before anything is made in the directories of the user, so that a master which cannot have it leaves nothing
/// there. Nothing is kept of a Unix socket and of what listen() refuses by its form.
Result<std::optional<rpc::ReservedAddress>> reserve_listen(const master::ServerOptions& server) {
  WEFT_ASSIGN(const rpc::Endpoint listen, rpc::Endpoint::parse(server.listen));
  if (listen.text.starts_with("unix:") || !listen.alternatives.empty()) return std::nullopt;
  return rpc::reserve_address(listen, server.security).map([](rpc::ReservedAddress reserved) {
    return std::optional(std::move(reserved));
  });
}

Result<void> run(MasterOptions options) {
  keep_files_private();
  WEFT_ASSIGN(options.server.security, rpc::security_of_environment());
  rpc::raise_descriptor_limit();
  const client::StopSignal stop(client::StopSignal::Hangup::reloads);
  const std::string beside = options.server.journal;
  std::optional<rpc::ReservedAddress> reserved;
  if (!options.group.wanted()) {
    WEFT_ASSIGN(reserved, reserve_listen(options.server));
    if (reserved) options.server.listen = reserved->endpoint.text;
  }
  WEFT_TRY(complete(options));
  WEFT_ASSIGN(const EventLogPlace log, event_log_of(options.event_log, options.files.data_directory, beside));
  options.server.event_log = log.file;
  WEFT_ASSIGN(options.server.audit_log, audit_log_of(options.audit_log, options.files.data_directory));
  options.server.audit_rotation = audit_rotation();
  options.server.log_rotation = log.rotation;
  if (log.temporary && options.server.directory.empty()) options.server.directory = log.temporary->path() / "programs";
  return options.group.wanted() ? serve_in_group(options, stop) : serve_until_stopped(options, stop);
}

void add_scheduler_options(CLI::App& command, master::ServerOptions& server) {
  add_value(command, "--scheduler", server.scheduler, "SCHEDULER", "Scheduler, with options: NAME or 'NAME(key=value,…)'")
      ->capture_default_str();
  add_value(command, "--scheduler-plugin", server.scheduler_plugins, "FILE",
            "Shared object with schedulers of your own; may be repeated")
      ->take_all()
      ->allow_extra_args(false);
  add_duration_option(command, "--scheduler-timeout", server.scheduler_timeout, Zero::refused,
                      "With plugins: how long one call of a scheduler may take before the master gives up (default: 5s)");
  add_parsed(command, "--speculation", server.speculation, "on|off|'on(…)'", master::parse_speculation,
             "Speculative attempts of tasks that take much longer than others of their stage: on, off, or\n"
             "'on(slower=1.5,shortest=5s,…)' (default: on)");
}

void add_shuffle_options(CLI::App& command, master::ServerOptions& server) {
  command
      .add_option_function<std::string>(
          "--shuffle-mode",
          [&server](const std::string& text) { server.shuffle_mode = shuffle::parse_mode(text).value_or(shuffle::Mode::memory); },
          "For jobs that do not choose: memory keeps map outputs in memory and prefetches them, pull writes them to disk\n"
          "and fetches them when reduces start (default: memory)")
      ->check(CLI::IsMember({"memory", "pull"}));
  command
      .add_option("--shuffle-replicas", server.shuffle_replicas,
                  "For jobs that do not choose: how many workers hold each map output, 1 or 2; with 2 the maps of a lost worker\n"
                  "need not run again (default: 1)")
      ->check(CLI::IsMember({"1", "2"}));
  command
      .add_option("--slow-start", server.core.slow_start,
                  "For jobs that do not choose: part of the maps that must end before reduces start and wait for the others,\n"
                  "from 0 to 1 (default: what the scheduler says, usually 1)")
      ->check(CLI::Range(0.0, 1.0));
}

void add_file_options(CLI::App& command, master::FileServiceOptions& files) {
  add_value(command, "--data-dir", files.data_directory, "DIR",
            "Directory of what the master keeps: its jobs, and the namespace of the cluster's files; continued when it exists\n"
            "(default: jobs end with the master, and the cluster keeps no files)");
  add_duration_option(command, "--reclaim-delay", files.options.reclaim_delay, Zero::refused,
                      "How long the chunks of removed files are kept (default: 1min)");
  add_duration_option(command, "--lease", files.options.lease, Zero::refused,
                      "How long a writer may be silent before its file is abandoned, at least 1s (default: 1min)");
  add_duration_option(command, "--lost-grace", files.options.lost_grace, Zero::refused,
                      "How long a lost worker may take to come back before its chunks are copied (default: 2s)");
}

void add_http_options(CLI::App& command, MasterOptions& options) {
  const auto set = [&options](const std::string& where) {
    options.http = where;
    options.http_given = true;
  };
  command
      .add_option_function<std::string>(
          "--http", set, "Where the page, REST and metrics are served, or none (default: 127.0.0.1:7078, if that can be had)")
      ->type_name("HOST:PORT|none")
      ->check([](const std::string& text) {
        const auto parsed = text == "none" ? Result<rpc::Endpoint>() : rpc::Endpoint::parse(text);
        return parsed ? std::string() : "'" + text + "' is neither HOST:PORT nor none";
      });
  add_value(command, "--submit-dir", options.submit_dir, "DIR",
            "Directory of job programs that may be started over HTTP, on this machine (default: none may)");
}

}  // namespace

void add_master(CLI::App& app, Action& action) {
  Command<MasterOptions> made(app, action, "master", "Run a master: it takes jobs and gives their tasks to workers",
                              [](const MasterOptions& given) { return run(given); });
  made.checked([](const MasterOptions& given) { return check(given.group, given.files.data_directory); });
  CLI::App& command = made.app();
  MasterOptions& options = made.options();
  master::ServerOptions& server = options.server;
  server.speculation.on = true;
  add_value(command, "--listen", server.listen, "HOST:PORT", "Where workers and clients connect; port 0 takes any")
      ->check(parsed_by(rpc::Endpoint::parse))
      ->capture_default_str();
  add_http_options(command, options);
  add_value(command, "--admin", server.administrators, "USER[,USER…]",
            "Users who may do all: kill jobs of others, drain workers, change the scheduler and quotas; may be repeated\n"
            "(default: the user who runs the master). Where connections are not encrypted, that user and root always may")
      ->delimiter(',')
      ->take_all()
      ->allow_extra_args(false);
  add_scheduler_options(command, server);
  add_shuffle_options(command, server);
  add_value(command, "--journal", server.journal, "FILE",
            "File that keeps what the next master must know: its jobs, which go on, which ids were given, what operators set\n"
            "of workers; continued when it exists (default: `journal` in the data directory; without one, none is kept)");
  add_value(command, "--topology", server.topology, "FILE",
            "Racks: a file of lines HOST RACK, or a program that prints the rack of the host it is given (default: workers name\n"
            "theirs)");
  add_event_log_options(command, options.event_log);
  add_value(command, "--audit-log", options.audit_log, "FILE|none",
            "File of JSON lines that say who submitted, killed, changed and read what, and who was refused; continued when it\n"
            "exists, rotated at 64MiB and every day, kept for 90 days and 1GiB (default: `audit/requests` in the data directory,\n"
            "without one none)");
  add_value(command, "--directory", server.directory, "DIR",
            "Where uploaded programs are kept (default: the journal's name and .programs, else `programs` in the data directory,\n"
            "else a temporary directory)");
  add_value(command, "--profiles", options.profiles, "DIR",
            "Directory of what is learned of programs; continued when it exists (default: the journal's name and\n"
            ".profiles, else `profiles` in the data directory; without either they last as long as the master)");
  add_file_options(command, options.files);
  add_group_options(command, options.group);
  add_value(command, "--port-file", options.port_file, "FILE", "Write the address to this file when the master listens");
}

}  // namespace weft::tools
