// The devices that a worker lends to tasks: which there are, who holds which, and which have failed.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/fd.hpp"
#include "base/ids.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "base/rpc/rpc.hpp"
#include "runtime/devices/device.hpp"

namespace weft::runtime {

/// All devices of this machine, listed by a process of its own, which may crash or hang: then the error says so. `why`: there are
/// none, and what is missing.
Result<std::vector<Device>> list_devices(std::string& why);

/// Those that `wanted` names (WorkerOptions::devices), of one kind. An error names those that there are.
Result<std::vector<Device>> choose_devices(std::string_view wanted, const std::vector<Device>& all);

/// Reactor thread only, but for open().
class WorkerDevices {
 public:
  /// Called when a device was found to have failed: how many have, and all reasons.
  using Failed = std::function<void(std::uint32_t lost, const std::string& why)>;

  /// Lists and chooses the devices, and claims each for this process: another worker of the machine cannot have it until this one
  /// ends. With "auto" and "cpu" those that others have are left to them.
  static Result<WorkerDevices> open(std::string_view wanted);
  /// Of these. `all`: a device that another worker has is an error, already_exists; otherwise it is left to that one.
  static Result<WorkerDevices> claimed(std::vector<Device> devices, bool all);

  bool empty() const { return devices_.empty(); }
  /// The resources with the devices among them: "memory=4GiB,accelerator=2".
  std::string capacity(std::string resources) const;
  /// Facts for schedulers and people: accelerator=gpu, its name and its memory.
  std::map<std::string, std::string> attributes() const;

  /// Gives the attempt a working device that no other holds. Nothing: there is none, as when the last one has just failed.
  std::optional<std::size_t> take(const AttemptId& attempt);
  void give_back(const AttemptId& attempt);
  /// No device is free, but one that works is held, and comes back.
  bool all_held() const;
  bool is_holder(const AttemptId& attempt) const { return held_.contains(attempt); }
  /// Variables for the executor of tasks that hold the device, "NAME=value"; without one: of tasks that hold none, and see none.
  std::vector<std::string> environment(std::optional<std::size_t> device) const;
  const Device& operator[](std::size_t device) const { return devices_[device].is; }

  /// An executor died that held it. Tries it in a process, on `background`; a device that fails is lent to no task from now on.
  void suspect(std::size_t device, rpc::Reactor& reactor, rpc::Reactor& background, const Failed& failed);

  /// Of this worker, which try devices now.
  std::vector<pid_t> processes() const;

 private:
  struct Lent {
    Device is;
    Fd claim;
    std::string failure;  // empty: it works
    bool held = false;
    pid_t trying = 0;  // the process that tries it now; 0: none does
  };
  void fail(std::size_t device, const std::string& why, const Failed& failed);

  std::vector<Lent> devices_;
  std::map<AttemptId, std::size_t> held_;
  Log log_{"worker"};
};

}  // namespace weft::runtime
