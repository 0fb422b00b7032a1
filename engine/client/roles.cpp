#include "engine/client/roles.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/print_error.hpp"
#include "base/private_directory.hpp"
#include "base/rpc/descriptors.hpp"
#include "base/text.hpp"
#include "engine/client/session.hpp"
#include "runtime/devices/device.hpp"
#include "runtime/executor/process.hpp"
#include "runtime/worker/worker.hpp"
#include "storage/parquet/module.hpp"

namespace weft::client {

namespace {

constexpr const char* kSettingsVariable = "WEFT_WORKER_SETTINGS";

/// A worker of a private cluster: ends when its driver does.
Result<void> run_worker() {
  const char* variable = std::getenv(kSettingsVariable);
  if (variable == nullptr) return fail(Code::invalid_argument, "WEFT_ROLE=worker is for the workers of private clusters only");
  keep_files_private();
  rpc::raise_descriptor_limit();
  storage::parquet::tell_children();
  runtime::WorkerOptions options;
  options.private_cluster = options.own_process = true;
  Config config;
  runtime::declare(config, options);
  for (std::string_view setting : split(variable, '\n')) WEFT_TRY(config.set(setting));
  ::unsetenv(kSettingsVariable);
  WEFT_ASSIGN(const auto worker, runtime::Worker::start(std::move(options)));
  (void)worker->wait();
  return {};
}

}  // namespace

std::vector<std::string> worker_environment(const std::vector<std::string>& settings) {
  return {fmt::format("{}=worker", runtime::kRoleVariable), fmt::format("{}={}", kSettingsVariable, join(settings, "\n"))};
}

std::optional<int> internal_role(int, char**, const std::function<std::unique_ptr<runtime::JobProgram>()>& program) {
  const char* role = std::getenv(runtime::kRoleVariable);
  if (role == nullptr) return std::nullopt;
  if (const auto listed = runtime::run_if_device_list()) return listed;
  if (std::string_view(role) != "worker") return runtime::run_if_executor(program);
  auto ended = run_worker();
  if (ended) return EXIT_SUCCESS;
  print_error("weft worker: {}\n", ended.error().to_string());
  return EXIT_FAILURE;
}

}  // namespace weft::client
