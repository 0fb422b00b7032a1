// A libOpenCL.so.1 for tests of what weft does when a driver fails. It has one device, a GPU by its own account; its kernels copy
// `in` to `out`, at once, whatever their source says. Programs find it by LD_LIBRARY_PATH. What it does otherwise is in variables:
//
//   FAKE_OPENCL_LARGEST=BYTES   it has no memory for larger buffers
//   FAKE_OPENCL_BREAKS=FILE     the first kernel makes the file and dies; while the file is there, every use of the device dies
//   FAKE_OPENCL_NAME=NAME       of its device: two devices of one name are one
//   FAKE_OPENCL_REFUSES=N       it has no resources for kernels after the first N
//   FAKE_OPENCL_FAILS=1         kernels end with an error
//   FAKE_OPENCL_HOLDS=FILE      no kernel ends while the file is there
//   FAKE_OPENCL_RUNS=FILE       each kernel appends a line with the bytes that it copied
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "runtime/devices/opencl.hpp"

namespace weft::runtime::cl {

struct PlatformHandle {};
struct DeviceHandle {};
struct ContextHandle {};
struct QueueHandle {};
struct ProgramHandle {};
struct EventHandle {};
struct MemoryHandle {
  std::vector<char> bytes;
};
struct KernelHandle {
  std::array<MemoryHandle*, 2> ends{};  // in, out
};

namespace {

PlatformHandle the_platform;
DeviceHandle the_device;
ContextHandle the_context;
EventHandle the_event;
int held = 0;  // queues, buffers and kernels that were not released

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void append(const std::string& path, const std::string& line) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return;
  [[maybe_unused]] const auto written = write(file, line.data(), line.size());
  close(file);
}

void die_if_broken() {
  const std::string file = setting("FAKE_OPENCL_BREAKS");
  if (!file.empty() && access(file.c_str(), F_OK) == 0) raise(SIGABRT);
}

Int give(const void* value, std::size_t bytes, std::size_t size, void* into, std::size_t* got) {
  if (got != nullptr) *got = bytes;
  if (into != nullptr) std::memcpy(into, value, std::min(bytes, size));
  return kSuccess;
}
template <class Value>
Int give(Value value, std::size_t size, void* into, std::size_t* got) {
  return give(&value, sizeof value, size, into, got);
}
Int give(const char* text, std::size_t size, void* into, std::size_t* got) {
  return give(text, std::strlen(text) + 1, size, into, got);
}

}  // namespace
}  // namespace weft::runtime::cl

using namespace weft::runtime::cl;

extern "C" {

Int clGetPlatformIDs(Uint, Platform* platforms, Uint* count) {
  if (platforms != nullptr) *platforms = &the_platform;
  *count = 1;
  return kSuccess;
}
Int clGetPlatformInfo(Platform, Uint, std::size_t size, void* into, std::size_t* got) { return give("Fake", size, into, got); }
Int clGetDeviceIDs(Platform, Bits, Uint, DeviceId* devices, Uint* count) {
  if (devices != nullptr) *devices = &the_device;
  *count = 1;
  return kSuccess;
}
Int clGetDeviceInfo(DeviceId, Uint what, std::size_t size, void* into, std::size_t* got) {
  switch (what) {
    case kDeviceType:
      return give(kTypeGpu, size, into, got);
    case kDeviceMemory:
      return give(std::uint64_t{1} << 30, size, into, got);
    case kDeviceName:
      return give(("fake " + setting("FAKE_OPENCL_NAME")).c_str(), size, into, got);
    default:
      return give(Uint{1}, size, into, got);
  }
}
Context clCreateContext(const std::intptr_t*, Uint, const DeviceId*, void (*)(const char*, const void*, std::size_t, void*), void*,
                        Int* error) {
  die_if_broken();
  *error = kSuccess;
  return &the_context;
}
Queue clCreateCommandQueue(Context, DeviceId, Bits, Int* error) {
  *error = kSuccess;
  ++held;
  return new QueueHandle;
}
Memory clCreateBuffer(Context, Bits, std::size_t bytes, void*, Int* error) {
  const std::string largest = setting("FAKE_OPENCL_LARGEST");
  *error = !largest.empty() && bytes > std::stoull(largest) ? kAllocationFailure : kSuccess;
  if (*error != kSuccess) return nullptr;
  ++held;
  return new MemoryHandle{std::vector<char>(bytes)};
}
Program clCreateProgramWithSource(Context, Uint, const char**, const std::size_t*, Int* error) {
  *error = kSuccess;
  return new ProgramHandle;
}
Int clBuildProgram(Program, Uint, const DeviceId*, const char*, void (*)(Program, void*), void*) { return kSuccess; }
Int clGetProgramBuildInfo(Program, DeviceId, Uint, std::size_t size, void* into, std::size_t* got) {
  return give("", size, into, got);
}
KernelId clCreateKernel(Program, const char*, Int* error) {
  *error = kSuccess;
  ++held;
  return new KernelHandle;
}
Int clGetKernelInfo(KernelId, Uint, std::size_t size, void* into, std::size_t* got) { return give(Uint{3}, size, into, got); }
Int clSetKernelArg(KernelId kernel, Uint number, std::size_t size, const void* value) {
  if (number < kernel->ends.size() && size == sizeof(Memory)) std::memcpy(&kernel->ends[number], value, size);
  return kSuccess;
}
Int clEnqueueWriteBuffer(Queue, Memory memory, Uint, std::size_t at, std::size_t bytes, const void* from, Uint, const Event*,
                         Event*) {
  std::memcpy(memory->bytes.data() + at, from, bytes);
  return kSuccess;
}
Int clEnqueueReadBuffer(Queue, Memory memory, Uint, std::size_t at, std::size_t bytes, void* into, Uint, const Event*,
                        Event* event) {
  std::memcpy(into, memory->bytes.data() + at, bytes);
  if (event != nullptr) *event = &the_event;
  return kSuccess;
}
Int clEnqueueNDRangeKernel(Queue, KernelId kernel, Uint, const std::size_t*, const std::size_t*, const std::size_t*, Uint,
                           const Event*, Event*) {
  if (const std::string file = setting("FAKE_OPENCL_BREAKS"); !file.empty()) append(file, "broken\n");
  die_if_broken();
  static std::uint64_t kernels = 0;
  if (const std::string most = setting("FAKE_OPENCL_REFUSES"); !most.empty() && kernels++ >= std::stoull(most))
    return kOutOfResources;
  const auto [in, out] = kernel->ends;
  const std::size_t bytes = std::min(in->bytes.size(), out->bytes.size());
  std::memcpy(out->bytes.data(), in->bytes.data(), bytes);
  if (const std::string file = setting("FAKE_OPENCL_RUNS"); !file.empty()) append(file, std::to_string(bytes) + "\n");
  return kSuccess;
}
Int clGetEventInfo(Event, Uint, std::size_t size, void* into, std::size_t* got) {
  if (const std::string file = setting("FAKE_OPENCL_HOLDS"); !file.empty() && access(file.c_str(), F_OK) == 0)
    return give(Int{1}, size, into, got);
  return give(Int{setting("FAKE_OPENCL_FAILS").empty() ? 0 : -9999}, size, into, got);
}
Int clFlush(Queue) { return kSuccess; }
Int clFinish(Queue) { return kSuccess; }
Int clReleaseMemObject(Memory memory) {
  --held;
  delete memory;
  return kSuccess;
}
Int clReleaseEvent(Event) { return kSuccess; }
Int clReleaseKernel(KernelId kernel) {
  --held;
  delete kernel;
  return kSuccess;
}
Int clReleaseProgram(Program program) {
  delete program;
  return kSuccess;
}
Int clReleaseCommandQueue(Queue queue) {
  --held;
  delete queue;
  return kSuccess;
}
Int clReleaseContext(Context) { return kSuccess; }

/// Of this process; not OpenCL's.
int fake_opencl_held() { return held; }

}  // extern "C"
