#include "runtime/worker/worker_devices.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/attributes.hpp"
#include "base/text.hpp"
#include "runtime/executor/process.hpp"
#include "runtime/worker/spawn.hpp"

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;
constexpr Duration kTryDeadline = 30s, kOverDeadline = 2s;
constexpr std::size_t kMostOutput = 256u << 10;

struct Output {
  std::string text;
  int status = 0;
};

/// What the process prints until it ends; it is killed at the deadline, and when it prints too much. One that the drivers hold in
/// the kernel, so that it cannot be killed, is left there.
Result<Output> collect(pid_t child, const Fd& from) {
  Output output;
  const TimePoint deadline = SystemClock().now() + kTryDeadline;
  char piece[4096];
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SystemClock().now());
    pollfd ready{from.get(), POLLIN, 0};
    const int polled = left.count() > 0 ? ::poll(&ready, 1, static_cast<int>(left.count())) : 0;
    if (polled < 0 && errno == EINTR) continue;
    const ssize_t count = polled > 0 ? ::read(from.get(), piece, sizeof piece) : -1;
    if (count > 0 && output.text.size() < kMostOutput) {
      output.text.append(piece, static_cast<std::size_t>(count));
      continue;
    }
    auto status = count == 0 ? wait_for_child(child, deadline - SystemClock().now()) : std::nullopt;
    if (!status) {
      ::kill(-child, SIGKILL);
      status = wait_for_child(child, kOverDeadline);
    }
    if (!status) return weft::fail(Code::deadline_exceeded, "the drivers do not let a process end that asked them");
    output.status = *status;
    if (count == 0) return output;
    if (count > 0)
      return weft::fail(Code::invalid_argument, fmt::format("the drivers print more than {}", human_bytes(kMostOutput)));
    return weft::fail(Code::deadline_exceeded, fmt::format("the drivers did not answer within {}", format_duration(kTryDeadline)));
  }
}

struct Asking {
  pid_t process;
  Fd output;
};

/// Starts this program as the process that asks the drivers.
Result<Asking> begin_asking(const std::string& tried) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return weft::fail(errno_error("cannot make a pipe", errno));
  Fd from(ends[0]);
  const Fd into(ends[1]);
  SpawnOptions options;
  options.path = "/proc/self/exe";
  options.arguments = {"weft-devices"};
  options.environment = {fmt::format("{}={}", kRoleVariable, kDevicesRole), fmt::format("{}={}", kTriedDeviceVariable, tried)};
  options.output = into.get();
  options.own_group = true;
  WEFT_ASSIGN(const pid_t child, spawn(options));
  return Asking{child, std::move(from)};
}

std::string last_word(const Output& output) {
  const std::string_view text = trim(output.text);
  const std::string_view line = text.substr(text.rfind('\n') == std::string_view::npos ? 0 : text.rfind('\n') + 1);
  return line.empty() ? std::string() : ": " + escaped(line.substr(0, 300));
}

/// The error says how the device failed.
Result<void> verdict(const Asking& asking) {
  WEFT_ASSIGN(const Output output, collect(asking.process, asking.output));
  if (WIFEXITED(output.status) && WEXITSTATUS(output.status) == 0) return {};
  return weft::fail(Code::unavailable, fmt::format("its driver ended a process that tried it by {}{}", describe_exit(output.status),
                                                   last_word(output)));
}

/// Held by a socket with an abstract name, so that it ends with this process, however that ends. Nothing: another process has it.
Result<std::optional<Fd>> claim(const Device& device) {
  const std::string name =
      fmt::format("weft-device-{} {} {}", device.label, device.platform, device.name).substr(0, sizeof(sockaddr_un::sun_path) - 1);
  Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return weft::fail(errno_error("cannot make a socket", errno));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0) return std::optional<Fd>(std::move(socket));
  if (errno == EADDRINUSE) return std::optional<Fd>();
  return weft::fail(errno_error(fmt::format("cannot claim device {}", device.label), errno));
}

std::string listed(const std::vector<Device>& all) {
  std::vector<std::string> words;
  for (const Device& device : all) words.push_back(fmt::format("{} ({}, {})", device.label, device.kind, device.name));
  return words.empty() ? std::string("there is none") : "there are " + join(words, ", ");
}

std::vector<Device> of_kind(const std::vector<Device>& all, std::string_view kind) {
  std::vector<Device> those;
  std::copy_if(all.begin(), all.end(), std::back_inserter(those), [&](const Device& device) { return device.kind == kind; });
  return those;
}

/// Which variable tells the platform's other runtimes which of its devices they may use, and what means none.
struct Runtime {
  std::string_view platform;
  const char *variable, *none;  // null: there is no such value
};
constexpr Runtime kRuntimes[] = {
    {"NVIDIA", "CUDA_VISIBLE_DEVICES", "-1"}, {"AMD", "HIP_VISIBLE_DEVICES", "-1"}, {"Intel", "ZE_AFFINITY_MASK", nullptr}};

}  // namespace

Result<std::vector<Device>> list_devices(std::string& why) {
  WEFT_ASSIGN(const Asking asking, begin_asking(""));
  WEFT_ASSIGN(const Output output, collect(asking.process, asking.output));
  std::vector<Device> all;
  for (const std::string_view line : split(output.text, '\n')) {
    if (auto device = parse_device_line(line))
      all.push_back(std::move(*device));
    else if (!trim(line).empty())
      why = escaped(trim(line).substr(0, 300));
  }
  if (!WIFEXITED(output.status) || WEXITSTATUS(output.status) != 0)
    return weft::fail(Code::unavailable,
                      fmt::format("the process that lists devices ended by {}{}", describe_exit(output.status), last_word(output)));
  if (!all.empty()) why.clear();
  return all;
}

Result<std::vector<Device>> choose_devices(std::string_view wanted, const std::vector<Device>& all) {
  if (wanted.empty() || wanted == "none") return std::vector<Device>();
  if (wanted == "auto") {
    auto gpus = of_kind(all, "gpu");
    return gpus.empty() ? of_kind(all, "accelerator") : gpus;
  }
  if (wanted == "cpu") return of_kind(all, "cpu");
  std::vector<Device> chosen;
  for (const std::string_view part : split(wanted, ',')) {
    const std::string_view label = trim(part);
    if (!parse_device_label(label))
      return weft::fail(Code::invalid_argument,
                        fmt::format("worker.devices: '{}' is neither none, auto nor cpu, nor a label such as 0.0", escaped(label)));
    const auto found = std::find_if(all.begin(), all.end(), [&](const Device& device) { return device.label == label; });
    if (found == all.end())
      return weft::fail(Code::not_found, fmt::format("worker.devices: there is no device {}; {}", escaped(label), listed(all)));
    if (std::find(chosen.begin(), chosen.end(), *found) != chosen.end())
      return weft::fail(Code::invalid_argument, fmt::format("worker.devices names {} twice", escaped(label)));
    chosen.push_back(*found);
    if (found->kind != chosen.front().kind)
      return weft::fail(Code::invalid_argument, fmt::format("worker.devices: {} is a {} and {} a {}; start a worker for each kind",
                                                            chosen.front().label, chosen.front().kind, found->label, found->kind));
  }
  return chosen;
}

Result<WorkerDevices> WorkerDevices::open(std::string_view wanted) {
  if (wanted.empty() || wanted == "none") return WorkerDevices();
  std::string why;
  auto all = list_devices(why);
  if (!all && wanted != "auto") return weft::fail(std::move(all).error().wrap("worker.devices"));
  Log log("worker");
  if (!all) {
    log.warn("no devices: {}", all.error().to_string());
    return WorkerDevices();
  }
  if (!why.empty()) log.debug("no devices: {}", why);
  WEFT_ASSIGN(auto chosen, choose_devices(wanted, *all));
  return claimed(std::move(chosen), wanted != "auto" && wanted != "cpu");
}

Result<WorkerDevices> WorkerDevices::claimed(std::vector<Device> devices, bool all) {
  WorkerDevices made;
  for (Device& device : devices) {
    WEFT_ASSIGN(auto claim_of, claim(device));
    if (!claim_of && all)
      return weft::fail(Code::already_exists,
                        fmt::format("worker.devices: another worker of this machine has device {}", device.label));
    if (!claim_of) {
      made.log_.info("device {} ({}) is another worker's", device.label, device.name);
      continue;
    }
    made.log_.info("tasks may hold device {}: {}, {}, {}", device.label, device.name, device.kind,
                   human_bytes(device.memory_bytes));
    made.devices_.push_back({std::move(device), std::move(*claim_of), {}, false, 0});
  }
  return made;
}

std::string WorkerDevices::capacity(std::string resources) const {
  if (empty()) return resources;
  return fmt::format("{}{}{}={}", resources, resources.empty() ? "" : ",", kAcceleratorAttribute, devices_.size());
}

std::map<std::string, std::string> WorkerDevices::attributes() const {
  if (empty()) return {};
  const Device& first = devices_.front().is;
  const std::string name(kAcceleratorAttribute);
  return {{name, first.kind}, {name + "_name", first.name}, {name + "_memory", human_bytes(first.memory_bytes)}};
}

std::optional<std::size_t> WorkerDevices::take(const AttemptId& attempt) {
  if (const auto held = held_.find(attempt); held != held_.end()) return held->second;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (devices_[i].held || !devices_[i].failure.empty()) continue;
    devices_[i].held = true;
    held_.emplace(attempt, i);
    return i;
  }
  return std::nullopt;
}

bool WorkerDevices::all_held() const {
  const auto works = [](const Lent& lent) { return lent.failure.empty(); };
  const auto free = [&](const Lent& lent) { return works(lent) && !lent.held; };
  return std::any_of(devices_.begin(), devices_.end(), works) && std::none_of(devices_.begin(), devices_.end(), free);
}

void WorkerDevices::give_back(const AttemptId& attempt) {
  const auto held = held_.extract(attempt);
  if (held) devices_[held.mapped()].held = false;
}

std::vector<std::string> WorkerDevices::environment(std::optional<std::size_t> device) const {
  if (empty()) return {};
  const std::string_view platform = device ? std::string_view(devices_[*device].is.platform) : std::string_view();
  std::vector<std::string> variables{fmt::format("{}={}", kDeviceVariable, device ? devices_[*device].is.label : "")};
  for (const Runtime& runtime : kRuntimes) {
    if (platform.find(runtime.platform) != std::string_view::npos)
      variables.push_back(fmt::format("{}={}", runtime.variable, parse_device_label(devices_[*device].is.label)->device));
    else if (runtime.none != nullptr)
      variables.push_back(fmt::format("{}={}", runtime.variable, runtime.none));
  }
  return variables;
}

void WorkerDevices::suspect(std::size_t device, rpc::Reactor& reactor, rpc::Reactor& background, const Failed& failed) {
  if (!devices_[device].failure.empty() || devices_[device].trying > 0) return;
  auto begun = begin_asking(devices_[device].is.label);
  if (!begun) return log_.warn("device {} cannot be tried: {}", devices_[device].is.label, begun.error().to_string());
  devices_[device].trying = begun->process;
  background.post([this, device, &reactor, failed, asking = std::make_shared<Asking>(std::move(*begun))] {
    reactor.post([this, device, failed, works = verdict(*asking)] {
      devices_[device].trying = 0;
      if (!works) fail(device, works.error().to_string(), failed);
    });
  });
}

std::vector<pid_t> WorkerDevices::processes() const {
  std::vector<pid_t> processes;
  for (const Lent& lent : devices_)
    if (lent.trying > 0) processes.push_back(lent.trying);
  return processes;
}

void WorkerDevices::fail(std::size_t device, const std::string& why, const Failed& failed) {
  Lent& lent = devices_[device];
  lent.failure = fmt::format("device {} ({}) failed: {}", lent.is.label, lent.is.name, why);
  log_.error("{}; no task gets it until this worker is started again", lent.failure);
  std::vector<std::string> reasons;
  for (const Lent& one : devices_)
    if (!one.failure.empty()) reasons.push_back(one.failure);
  failed(static_cast<std::uint32_t>(reasons.size()), join(reasons, "; "));
}

}  // namespace weft::runtime
