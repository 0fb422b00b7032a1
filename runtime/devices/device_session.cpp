#include "runtime/devices/device_session.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include <fmt/core.h>
#include <unistd.h>

#include "base/print_error.hpp"
#include "base/text.hpp"
#include "runtime/devices/kernel_code.hpp"

namespace weft::runtime {
namespace {

std::atomic<int> ends_with{0};  // an exit code; 0: the process goes on

/// A device that other variables hide (CUDA_VISIBLE_DEVICES) leaves its platform with the only one that is visible.
Result<cl::DeviceId> device_at(const cl::Functions& f, std::string_view label) {
  const auto at = parse_device_label(label);
  if (!at) return fail(Code::invalid_argument, fmt::format("'{}' is no label of a device such as 0.0", escaped(label)));
  const auto missing = [&] {
    return fail(Code::not_found,
                fmt::format("there is no device {}; weft worker --list-devices shows those that there are", escaped(label)));
  };
  constexpr cl::Uint kMost = 256;
  std::vector<cl::Platform> platforms(kMost);
  std::vector<cl::DeviceId> devices(kMost);
  cl::Uint count = 0;
  if (f.clGetPlatformIDs(kMost, platforms.data(), &count) != cl::kSuccess || at->platform >= std::min(count, kMost))
    return missing();
  if (f.clGetDeviceIDs(platforms[at->platform], cl::kTypeAll, kMost, devices.data(), &count) != cl::kSuccess || count == 0)
    return missing();
  if (count == 1) return devices[0];
  if (at->device >= std::min(count, kMost)) return missing();
  return devices[at->device];
}

std::string short_file(const std::string& path) { return std::filesystem::path(path).filename().string(); }

/// The first line that names an error, or the first at all.
std::string first_error(const std::string& log) {
  std::string_view first;
  for (const std::string_view line : split(log, '\n')) {
    const std::string_view text = trim(line);
    if (text.find("error") != std::string_view::npos) return escaped(text.substr(0, 300));
    if (first.empty()) first = text;
  }
  return first.empty() ? "the driver gives no reason" : escaped(first.substr(0, 300));
}

}  // namespace

void end_process_on_device_faults(int exit_code) { ends_with = exit_code; }

void abandon_device(const std::string& what) {
  const int exit_code = ends_with;
  if (exit_code == 0) return;
  print_error("{}\n", what);
  std::fflush(stderr);
  _exit(exit_code);
}

void device_fault(const std::string& what) {
  abandon_device(what);
  throw std::runtime_error(what);
}

Result<DeviceSession*> DeviceSession::of_process() {
  const char* label = std::getenv(kDeviceVariable);
  if (label == nullptr || *label == '\0') return nullptr;
  static const auto opened = [label]() -> Result<DeviceSession*> {
    auto session = open(label);
    if (!session) return fail(std::move(session).error().wrap(fmt::format("{}={}", kDeviceVariable, escaped(label))));
    return session->release();
  }();
  return opened;
}

Result<std::unique_ptr<DeviceSession>> DeviceSession::open(std::string_view label) {
  std::string why;
  const cl::Functions* f = cl::load(why);
  if (f == nullptr) return fail(Code::unavailable, why);
  std::unique_ptr<DeviceSession> made(new DeviceSession(*f));
  WEFT_ASSIGN(made->device_, device_at(*f, label));
  char name[256]{};
  if (f->clGetDeviceInfo(made->device_, cl::kDeviceName, sizeof name - 1, name, nullptr) == cl::kSuccess)
    made->name_ = escaped(trim(std::string_view(name)));
  cl::Int error = cl::kSuccess;
  made->context_ = f->clCreateContext(nullptr, 1, &made->device_, nullptr, nullptr, &error);
  if (error != cl::kSuccess)
    return fail(Code::unavailable, fmt::format("device {} ({}) gives no context: {}", label, made->name_, cl::error_name(error)));
  return made;
}

Result<cl::Queue> DeviceSession::make_queue() const {
  cl::Int error = cl::kSuccess;
  const cl::Queue queue = functions_.clCreateCommandQueue(context_, device_, 0, &error);
  if (error != cl::kSuccess)
    return fail(Code::unavailable, fmt::format("device {} gives no queue: {}", name_, cl::error_name(error)));
  return queue;
}

Result<void> DeviceSession::try_memory() const {
  const auto refused = [&](cl::Int error) {
    return fail(Code::unavailable, fmt::format("device {}: {}", name_, cl::error_name(error)));
  };
  WEFT_ASSIGN(const cl::Queue queue, make_queue());
  cl::Int error = cl::kSuccess;
  const cl::Memory memory = functions_.clCreateBuffer(context_, cl::kReadWrite, 1, nullptr, &error);
  if (error != cl::kSuccess) return refused(error);
  const char sent = 'w';
  char got = 0;
  error = functions_.clEnqueueWriteBuffer(queue, memory, 1, 0, 1, &sent, 0, nullptr, nullptr);
  if (error == cl::kSuccess) error = functions_.clEnqueueReadBuffer(queue, memory, 1, 0, 1, &got, 0, nullptr, nullptr);
  functions_.clReleaseMemObject(memory);
  functions_.clReleaseCommandQueue(queue);
  if (error != cl::kSuccess) return refused(error);
  if (got != sent) return fail(Code::corrupt, fmt::format("device {} gives other bytes than it was sent", name_));
  return {};
}

std::string DeviceSession::build_log(cl::Program program) const {
  std::size_t size = 0;
  if (functions_.clGetProgramBuildInfo(program, device_, cl::kBuildLog, 0, nullptr, &size) != cl::kSuccess) return {};
  std::string log(std::min<std::size_t>(size, 1u << 20), '\0');
  if (functions_.clGetProgramBuildInfo(program, device_, cl::kBuildLog, log.size(), log.data(), nullptr) != cl::kSuccess) return {};
  return log.substr(0, log.find('\0'));
}

/// The driver's messages name the job's own source. Products and sums are not fused, because the host's are not.
Result<cl::Program> DeviceSession::build(const KernelCode& code) const {
  const std::string text =
      fmt::format("#pragma OPENCL FP_CONTRACT OFF\n#line {} \"{}\"\n{}", code.line, short_file(code.file), code.source);
  const char* source = text.c_str();
  const std::size_t length = text.size();
  cl::Int error = cl::kSuccess;
  const cl::Program program = functions_.clCreateProgramWithSource(context_, 1, &source, &length, &error);
  if (error == cl::kSuccess) error = functions_.clBuildProgram(program, 1, &device_, "", nullptr, nullptr);
  if (error == cl::kSuccess) return program;
  if (cl::is_want_of_memory(error)) return fail(Code::resource_exhausted, cl::error_name(error));
  const std::string log = build_log(program);
  functions_.clReleaseProgram(program);
  return fail(Code::invalid_argument, fmt::format("kernel '{}' ({}:{}) does not compile for {}: {}", code.name,
                                                  short_file(code.file), code.line, name_, first_error(log)));
}

Result<cl::KernelId> DeviceSession::make_kernel(const KernelCode& code) {
  std::lock_guard lock(mutex_);
  cl::Program& program = programs_[code.source];
  if (program == nullptr) {
    WEFT_ASSIGN(program, build(code));
  }
  cl::Int error = cl::kSuccess;
  const cl::KernelId kernel = functions_.clCreateKernel(program, code.name.c_str(), &error);
  if (error != cl::kSuccess)
    return fail(Code::invalid_argument, fmt::format("the source at {}:{} has no kernel '{}' ({})", short_file(code.file), code.line,
                                                    code.name, cl::error_name(error)));
  return kernel;
}

}  // namespace weft::runtime
