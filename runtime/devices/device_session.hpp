// The device that this process may use: its context, and the programs that were built for it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "runtime/devices/device.hpp"
#include "runtime/devices/opencl.hpp"

namespace weft::runtime {

struct KernelCode;

/// Any thread. Never destroyed: drivers have threads that may use it while the process ends.
class DeviceSession {
 public:
  /// The device that the environment names (kDeviceVariable), opened at the first call. Null: it names none. The error says why it
  /// cannot be used; it stays.
  static Result<DeviceSession*> of_process();
  static Result<std::unique_ptr<DeviceSession>> open(std::string_view label);

  const cl::Functions& functions() const { return functions_; }
  cl::Context context() const { return context_; }
  const std::string& name() const { return name_; }

  /// One that works in order.
  Result<cl::Queue> make_queue() const;
  /// Of the program, which is built when it is new. invalid_argument: it does not compile, or has no such kernel.
  Result<cl::KernelId> make_kernel(const KernelCode& code);
  /// Writes a byte of its memory and reads it.
  Result<void> try_memory() const;

 private:
  explicit DeviceSession(const cl::Functions& functions) : functions_(functions) {}
  Result<cl::Program> build(const KernelCode& code) const;
  std::string build_log(cl::Program program) const;

  const cl::Functions& functions_;
  cl::DeviceId device_ = nullptr;
  cl::Context context_ = nullptr;
  std::string name_;
  std::mutex mutex_;                             // guards programs_
  std::map<std::string, cl::Program> programs_;  // by source
};

/// In executors: a device that fails, or a kernel that does not end, ends the process, which frees the device; its worker says so.
/// `exit_code` is not 0.
void end_process_on_device_faults(int exit_code);
/// Ends the process so, or throws.
[[noreturn]] void device_fault(const std::string& what);
/// The device still computes what nobody wants any more: ends the process so, or returns.
void abandon_device(const std::string& what);

}  // namespace weft::runtime
